//! Programs in Python and JavaScript that a script holds: read as a whole, and run over values that are known in part.
//!
//! A program that cannot be read is looked through for calls instead; see [`super::code`].

mod trial;

/// A language whose programs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Script,
}

impl Language {
    /// The language of an interpreter, by the name of its program without a version.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "python" | "pypy" | "ipython" => Some(Self::Python),
            "node" | "nodejs" | "bun" | "deno" => Some(Self::Script),
            _ => None,
        }
    }
}
