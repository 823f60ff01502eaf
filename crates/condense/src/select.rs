//! The filters that a user wants.

/// Filters by name or family. Empty lists mean all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only these, if there are any.
    pub only: Vec<String>,
    /// None of these.
    pub except: Vec<String>,
}

impl Selection {
    pub(crate) fn allows(&self, name: &str, family: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|one| one == name || one == family);
        (self.only.is_empty() || names(&self.only)) && !names(&self.except)
    }
}
