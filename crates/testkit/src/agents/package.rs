//! Pinned packages of registries, and whether they are installed.

use std::path::Path;

/// A package of a registry, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// Of npm, as `NAME@VERSION`.
    Npm(&'static str),
    /// Of `PyPI`, as `NAME==VERSION`.
    Pypi(&'static str),
}

impl Package {
    /// The text by which its installer takes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Npm(text) | Self::Pypi(text) => text,
        }
    }

    /// Requires that this very version is in a directory. Whoever installs it there writes its text to the file `installed`.
    pub fn check_installed(self, prefix: &Path) -> Result<(), String> {
        let installed = std::fs::read_to_string(prefix.join("installed")).unwrap_or_default();
        if installed.trim_end() == self.text() {
            return Ok(());
        }
        Err(format!("{} is not installed in {}: run .ci/setup or cargo xtask agents", self.text(), prefix.display()))
    }
}
