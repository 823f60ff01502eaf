//! Pinned packages of registries, and whether they are installed.

use std::path::Path;

/// A package of a registry, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// An npm package, as `NAME@VERSION`.
    Npm(&'static str),
    /// A `PyPI` package, as `NAME==VERSION`.
    Pypi(&'static str),
}

impl Package {
    /// The package in its installer's notation.
    pub fn text(self) -> &'static str {
        match self {
            Self::Npm(text) | Self::Pypi(text) => text,
        }
    }

    /// Requires that exactly this version is installed in a directory. The installer writes the version to the first
    /// line of the file `installed`.
    pub fn check_installed(self, prefix: &Path) -> Result<(), String> {
        let installed = std::fs::read_to_string(prefix.join("installed")).unwrap_or_default();
        if installed.lines().next() == Some(self.text()) {
            return Ok(());
        }
        Err(format!("{} is not installed in {}: run .ci/setup or cargo xtask agents", self.text(), prefix.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_package_may_have_the_hash_of_its_lock_beside_it() {
        let prefix = tempfile::tempdir().expect("a directory");
        let check = |marker: &str| {
            std::fs::write(prefix.path().join("installed"), marker).expect("it is written");
            Package::Npm("a@1.0").check_installed(prefix.path()).is_ok()
        };
        assert!(check("a@1.0\n") && check("a@1.0\n0123  -\n"));
        assert!(!check("a@1.01\n") && !check("b@1.0\na@1.0\n") && !check(""));
    }
}
