//! Schemes of internal URLs, and the files that they stand for.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::quotable;
use crate::artifacts::{ArtifactStore, artifact_id};
use crate::jobs::{JobStore, job_id};

/// Most names listed for a caller that used an unknown one.
const MOST_LISTED: usize = 20;

/// A scheme of URLs that stand for files. A host can add its own.
pub trait Scheme: fmt::Debug + Send + Sync {
    /// Name of the scheme, before `://`.
    fn name(&self) -> &str;

    /// Finds the file of a name, which is the text after `://`, percent-decoded.
    fn find(&self, name: &str) -> Result<UrlFile, UrlError>;
}

/// The file of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlFile {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Directory that has to exist before the command runs, if the command may write the file.
    pub wanted: Option<PathBuf>,
}

/// Error: a URL that stands for no file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The scheme is known, but not supported here.
    #[error("Unsupported internal URL in bash command: {url}")]
    Unsupported {
        /// The URL, shortened.
        url: String,
    },
    /// There is nothing of that name.
    #[error("Unknown {kind}: {name}. Available: {}", list(available))]
    Unknown {
        /// Kind of the names: artifact, job or skill.
        kind: &'static str,
        /// Name that was given, shortened.
        name: String,
        /// Names that exist.
        available: Vec<String>,
    },
    /// The name leads out of its directory.
    #[error("Path traversal is not allowed in {scheme}:// URLs")]
    Traversal {
        /// Name of the scheme.
        scheme: String,
    },
    /// The name is known, but has no file.
    #[error("{url} resolved without a filesystem path and cannot be used in bash: {why}")]
    NoFile {
        /// The URL, shortened.
        url: String,
        /// Reason why there is no file.
        why: String,
    },
}

fn list(names: &[String]) -> String {
    let told = &names[names.len().saturating_sub(MOST_LISTED)..];
    match (told.is_empty(), told.len() < names.len()) {
        (true, _) => "none".to_owned(),
        (false, false) => told.join(", "),
        (false, true) => format!("…, {}", told.join(", ")),
    }
}

/// `artifact://7`: the whole raw output of a command.
#[derive(Debug, Clone)]
pub struct ArtifactUrls(pub Arc<ArtifactStore>);

impl Scheme for ArtifactUrls {
    fn name(&self) -> &'static str {
        "artifact"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        let entry = artifact_id(name).ok().and_then(|id| self.0.get(id).ok());
        let path = entry.map(|entry| entry.path).ok_or_else(|| UrlError::Unknown {
            kind: "artifact",
            name: quotable(name),
            available: self.0.ids().iter().map(u64::to_string).collect(),
        })?;
        Ok(UrlFile { path: absolute(path), wanted: None })
    }
}

/// `job://3`: the output of a job so far.
#[derive(Debug, Clone)]
pub struct JobUrls(pub Arc<JobStore>);

impl Scheme for JobUrls {
    fn name(&self) -> &'static str {
        "job"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        let job = job_id(name).ok().and_then(|id| self.0.get(id).ok());
        let path = job.map(|job| job.output_file).ok_or_else(|| UrlError::Unknown {
            kind: "job",
            name: quotable(name),
            available: self.0.ids().iter().map(u64::to_string).collect(),
        })?;
        if !path.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
            let why = format!("there is no file {}", path.display());
            return Err(UrlError::NoFile { url: format!("job://{}", quotable(name)), why });
        }
        Ok(UrlFile { path: absolute(path), wanted: None })
    }
}

/// `local://notes/plan.md`: files of the model's own, in one directory.
#[derive(Debug, Clone)]
pub struct LocalUrls(pub PathBuf);

impl Scheme for LocalUrls {
    fn name(&self) -> &'static str {
        "local"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        let root = absolute(self.0.clone());
        let path = below(&root, name).ok_or_else(|| UrlError::Traversal { scheme: "local".to_owned() })?;
        let parent = path.parent().filter(|parent| parent.starts_with(&root)).unwrap_or(&root);
        let wanted = if name.ends_with('/') { &path } else { parent };
        Ok(UrlFile { wanted: Some(wanted.to_path_buf()), path })
    }
}

/// `skill://name/path`: files of skills. Every directory below one of these is a skill; the first of a name counts.
#[derive(Debug, Clone)]
pub struct SkillUrls(pub Vec<PathBuf>);

impl SkillUrls {
    fn names(&self) -> Vec<String> {
        let entries = self.0.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
        let skills = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = skills.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Scheme for SkillUrls {
    fn name(&self) -> &'static str {
        "skill"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        let (skill, file) = name.split_once('/').unwrap_or((name, ""));
        let traversal = || UrlError::Traversal { scheme: "skill".to_owned() };
        if skill == ".." || skill == "." {
            return Err(traversal());
        }
        let names = self.names();
        if !names.iter().any(|known| known == skill) {
            return Err(UrlError::Unknown { kind: "skill", name: quotable(skill), available: names });
        }
        let root = self.0.iter().map(|directory| absolute(directory.join(skill))).find(|root| root.is_dir());
        let path = below(&root.ok_or_else(traversal)?, file).ok_or_else(traversal)?;
        // A pipe or a device is no part of a skill.
        if !path.is_file() && !path.is_dir() {
            let why = format!("there is no file {}", path.display());
            return Err(UrlError::NoFile { url: format!("skill://{}", quotable(name)), why });
        }
        Ok(UrlFile { path, wanted: None })
    }
}

/// The path of a name below a directory; none if it leads out, by its parts or by a symbolic link.
fn below(root: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name.trim_start_matches('/'));
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) || name.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    let path = if name.as_os_str().is_empty() { root.to_path_buf() } else { root.join(name) };
    // The existing part of the path.
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    if !there.starts_with(root) {
        return Some(path);
    }
    // A dangling link leads out as well, as soon as a command writes through it.
    there.canonicalize().ok()?.starts_with(root.canonicalize().ok()?).then_some(path)
}

/// Makes a path absolute, because the directory of the script is unknown.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
