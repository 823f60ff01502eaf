//! Schemes of internal URLs, and the files that they stand for.

use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::quotable;
use crate::artifacts::{ArtifactStore, artifact_id};
use crate::jobs::{JobStore, job_id};

/// So many names are told to somebody who asked for another one.
const TOLD: usize = 20;

/// A kind of names that stand for files. A host adds its own.
pub trait Scheme: fmt::Debug + Send + Sync {
    /// What stands before `://`.
    fn name(&self) -> &str;

    /// The file that a name stands for. The name is what stands behind `://`, with `%20` and the like decoded.
    fn find(&self, name: &str) -> Result<UrlFile, UrlError>;
}

/// A file that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// A directory that has to be there before the command runs, if it is to write that file.
    pub wanted: Option<PathBuf>,
}

/// Why a URL stands for no file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Its scheme is known, but not here.
    #[error("Unsupported internal URL in bash command: {url}")]
    Unsupported {
        /// The URL.
        url: String,
    },
    /// There is nothing of that name.
    #[error("Unknown {kind}: {name}. Available: {}", list(available))]
    Unknown {
        /// What there is of this kind.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names that there are.
        available: Vec<String>,
    },
    /// The name leads out of where it may lead.
    #[error("Path traversal is not allowed in {scheme}:// URLs")]
    Traversal {
        /// The scheme.
        scheme: String,
    },
    /// The name is known, but there is no file.
    #[error("{url} resolved without a filesystem path and cannot be used in bash: {why}")]
    NoFile {
        /// The URL.
        url: String,
        /// Why not.
        why: String,
    },
}

fn list(names: &[String]) -> String {
    let told = &names[names.len().saturating_sub(TOLD)..];
    match (told.is_empty(), told.len() < names.len()) {
        (true, _) => "none".to_owned(),
        (false, false) => told.join(", "),
        (false, true) => format!("…, {}", told.join(", ")),
    }
}

/// `artifact://7`: the whole output of a command, as it was written.
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

/// `job://3`: what a job has written so far.
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

/// The path of a name below a directory; none if it leads out of it, by its parts or by a symbolic link.
fn below(root: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name.trim_start_matches('/'));
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) || name.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    let path = if name.as_os_str().is_empty() { root.to_path_buf() } else { root.join(name) };
    // The part of it that is there.
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    if !there.starts_with(root) {
        return Some(path);
    }
    // A link to what is not there leads out as well, as soon as somebody writes through it.
    there.canonicalize().ok()?.starts_with(root.canonicalize().ok()?).then_some(path)
}

/// Paths in scripts count from wherever the script is.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}
