//! Rewrites a command before it is planned, if a model wrote it.
//!
//! Models begin with `cd` where they could give a directory, end in `| head` where only the shown part should be
//! shorter, and use URLs that replies have named. So a leading `cd X &&` becomes the directory, a trailing `| head` or
//! `| tail` a limit on the shown lines, and an internal URL the path of its file. Only [`Engine::rewrite`] does this.
//!
//! Works on the parsed script, and leaves every other byte as it is. A script that cannot be parsed to its end, is not
//! UTF-8, or is too long for the parser stays unchanged. So does everything that only bash could decide.
//!
//! Invariant: the rewritten script does what the given one would have done, except for what the notices say.

mod directory;
mod lines;
mod prefix;
mod scheme;
mod url;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use bashful_bash::Outline;
use thiserror::Error;

pub use scheme::{ArtifactUrls, JobUrls, LocalUrls, Scheme, SkillUrls, UrlError, UrlFile};

use crate::backend::Backend;
use crate::request::{Given, Request, Script, ScriptError};
use crate::trust::make_missing;
use crate::{Engine, Streams};

/// Longest quote of a script in a notice, in characters.
const LONGEST_QUOTE: usize = 200;

/// Mark in place of the rest.
const CUT: &str = "…";

/// The changes that the engine makes to commands.
#[derive(Debug, Clone, Default)]
pub struct Rewriting {
    /// True: a leading `cd X &&` becomes the directory, and a `~` at the beginning of a directory the home directory.
    pub directory: bool,
    /// True if a trailing `| head` or `| tail` becomes a limit on the shown lines.
    pub lines: bool,
    /// Schemes of URLs that stand for files.
    pub schemes: Vec<Arc<dyn Scheme>>,
    /// Names of schemes that a model may assume, and that stand for no file here. They are refused.
    pub unsupported: Vec<String>,
    /// Text before every script; empty for none.
    pub prefix: String,
}

/// Purpose of a command, which decides about `head`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteFor {
    /// A caller that waits for the reply.
    Reply,
    /// A job, or another reader of the whole output. There `head` has to do its own work.
    Job,
    /// A person, who means the command as it stands. Only the prefix is added.
    Person,
}

/// A rewriting that changes many commands alike, so that a caller needs its explanation only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RewriteKind {
    /// A leading `cd` became the working directory.
    Directory,
    /// A trailing `head` or `tail` became a limit on lines.
    Lines,
}

/// A command that was rewritten.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The command after rewriting.
    pub request: Request,
    /// Explanations of what is done to every command like it.
    pub explanations: Vec<(RewriteKind, String)>,
    /// Notices about the other changes.
    pub notices: Vec<String>,
    /// Directories that the command wants to write to.
    wanted: Vec<PathBuf>,
}

/// Error: a command that cannot be rewritten.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// A URL stands for no file.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The rewritten text cannot be a script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A directory for its files cannot be created.
    #[error("cannot create {}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl Rewritten {
    /// Explanations and notices, in this order.
    pub fn remarks(&self) -> impl Iterator<Item = &str> {
        self.explanations.iter().map(|(_, text)| text).chain(&self.notices).map(String::as_str)
    }

    /// Creates the directories that the command wants to write to. Call it once the command is sure to run.
    pub fn make_room(&self) -> Result<(), RewriteError> {
        for path in &self.wanted {
            let made = make_missing(path);
            made.map_err(|source| RewriteError::Directory { path: path.clone(), source })?;
        }
        Ok(())
    }
}

/// Begins the URL of kept output.
const ARTIFACT: &[u8] = b"artifact://";

impl Engine {
    /// Rewrites a command as the options say. Reads files, and changes nothing.
    ///
    /// ```
    /// use bashful_engine::{Engine, Options, Request, RewriteFor, Script};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut options = Options::new("/bin/bash".into(), "/".into());
    /// options.rewriting.directory = true;
    /// let engine = Engine::new(options)?;
    /// let rewritten = engine.rewrite(Request::new(Script::new("cd usr/lib && ls")?), RewriteFor::Reply)?;
    /// assert_eq!(rewritten.request.script.as_bytes(), b"ls");
    /// assert_eq!(rewritten.request.workdir.as_deref(), Some("/usr/lib".as_ref()));
    /// assert_eq!(rewritten.remarks().next(), Some("`cd usr/lib` became the working directory"));
    /// # Ok(()) }
    /// ```
    pub fn rewrite(&self, request: Request, purpose: RewriteFor) -> Result<Rewritten, RewriteError> {
        let mut rewritten = Rewritten { request, explanations: Vec::new(), notices: Vec::new(), wanted: Vec::new() };
        if purpose != RewriteFor::Person {
            self.normalize(&mut rewritten, purpose)?;
        }
        let prefix = &self.options().rewriting.prefix;
        if !prefix.is_empty() {
            rewritten.add_prefix(prefix)?;
        }
        if rewritten.remarks().next().is_some() {
            let mask = self.mask();
            let explanations = rewritten.explanations.iter_mut().map(|(_, text)| text);
            for notice in explanations.chain(&mut rewritten.notices) {
                *notice = mask.sentence(notice).unwrap_or_else(|| std::mem::take(notice));
            }
        }
        Ok(rewritten)
    }

    /// Applies every rule but the prefix.
    fn normalize(&self, rewritten: &mut Rewritten, purpose: RewriteFor) -> Result<(), RewriteError> {
        let options = self.options();
        let rewriting = &options.rewriting;
        rewritten.replace_urls(rewriting)?;
        // What a command reads from an artifact is on disk already, and needs no artifact of its whole output.
        let given = rewritten.request.given.as_ref();
        let reads_saved =
            given.is_some_and(|given| given.script.as_bytes().windows(ARTIFACT.len()).any(|at| at == ARTIFACT));
        // In a session, the shell itself has to change its directory, and the parts of a pipeline must not change the
        // shell.
        let alone = rewritten.request.session.is_none();
        let snapshot = self.snapshot();
        let is_users = |name: &str| {
            let names = |snapshot: &crate::Snapshot| {
                snapshot.functions().iter().chain(snapshot.aliases()).any(|own| own == name)
            };
            snapshot.as_deref().is_some_and(names)
        };
        if rewriting.directory {
            rewritten.expand_tilde(options);
        }
        if rewriting.directory && alone && !is_users("cd") && rewritten.request.workdir.is_none() {
            rewritten.extract_directory(options, &**self.backend())?;
        }
        let pipes_on = is_users("head") || is_users("tail");
        if rewriting.lines && alone && !pipes_on && !reads_saved && purpose == RewriteFor::Reply {
            rewritten.extract_lines(options)?;
        }
        Ok(())
    }
}

impl Rewritten {
    /// Replaces the script, and remembers the given one.
    fn replace_script(&mut self, script: Script) {
        let before = std::mem::replace(&mut self.request.script, script);
        let variables = || self.request.env.iter().map(|(name, _)| name.clone()).collect();
        self.request.given.get_or_insert_with(|| Given { script: before, directory: None, variables: variables() });
    }

    fn replace_urls(&mut self, rewriting: &Rewriting) -> Result<(), RewriteError> {
        let mut finder = url::UrlFinder::new(rewriting);
        if finder.may_be_in(self.request.script.as_bytes()) {
            let parsed = str::from_utf8(self.request.script.as_bytes()).ok();
            match parsed.and_then(|text| Some((text, Outline::of(text)?))) {
                Some((text, outline)) => {
                    let edits = finder.in_script(text, &outline)?;
                    if !edits.is_empty() {
                        let script = Script::new(apply(text.as_bytes(), &edits))?;
                        self.replace_script(script);
                    }
                }
                None => finder.notices.push(url::NOT_PARSED.to_owned()),
            }
        }
        for (_, value) in &mut self.request.env {
            if let Some(replaced) = value.to_str().map(|value| finder.in_value(value)).transpose()?.flatten() {
                *value = replaced;
            }
        }
        if let Some(cwd) = self.request.workdir.as_deref().and_then(|path| path.to_str())
            && let Some(path) = finder.as_path(cwd)?
        {
            self.request.workdir = Some(path);
        }
        self.notices.append(&mut finder.notices);
        self.wanted.append(&mut finder.wanted);
        Ok(())
    }

    /// Expands a working directory `~` or `~/…`, as a shell would.
    fn expand_tilde(&mut self, options: &crate::Options) {
        let Some(below) = self.request.workdir.as_deref().and_then(|asked| asked.strip_prefix("~").ok()) else {
            return;
        };
        if let Some(home) = directory::home(options, &self.request.env) {
            self.request.workdir = Some(if below.as_os_str().is_empty() { home } else { home.join(below) });
        }
    }

    fn extract_directory(&mut self, options: &crate::Options, backend: &dyn Backend) -> Result<(), RewriteError> {
        let Some(taken) = find_in_outline(&self.request.script, b"cd", directory::leading) else {
            return Ok(());
        };
        if is_function("cd", options, &self.request.env) {
            return Ok(());
        }
        let Some(moved) = directory::resolve(&taken.to, options, backend, &self.request.env) else { return Ok(()) };
        self.explanations.push((RewriteKind::Directory, format!("`{}` became the working directory", taken.quote)));
        self.replace_script(taken.rest(&self.request.script)?);
        self.request.workdir = Some(moved.to);
        if let Some(given) = &mut self.request.given {
            given.directory.get_or_insert_with(|| moved.from.clone());
        }
        // As `cd` would have left it.
        self.request.env.retain(|(name, _)| name != "OLDPWD");
        self.request.env.push(("OLDPWD".to_owned(), moved.from.into()));
        Ok(())
    }

    fn extract_lines(&mut self, options: &crate::Options) -> Result<(), RewriteError> {
        let found = |name| find_in_outline(&self.request.script, name, lines::trailing);
        let Some(taken) = found(b"head").or_else(|| found(b"tail")) else { return Ok(()) };
        if ["head", "tail"].iter().any(|name| is_function(name, options, &self.request.env)) {
            return Ok(());
        }
        // A limit that the caller asked for wins over one of the same kind in the script.
        let lines = self.request.lines.map_or(taken.lines, |asked| asked.or(taken.lines));
        let became =
            if taken.lines.or(lines) == lines { "became a line limit" } else { "gave way to the requested limit" };
        let explanation = format!("`{}` {became}; the exit status is the command's own", taken.quote);
        self.explanations.push((RewriteKind::Lines, explanation));
        self.replace_script(taken.rest(&self.request.script)?);
        self.request.lines = Some(lines);
        // The output is closed after the first lines, as by `head`. `tail` reads to the end.
        self.request.enough = taken.lines.first().and(lines.first());
        // In a pipe it would have run in a subshell, so its changes to a session's shell must not stay.
        self.request.apart = true;
        // Stderr does not go through the pipe, and is shown whole.
        self.request.streams = Streams::Split;
        Ok(())
    }

    /// Puts the prefix before the script, after its leading comments and empty lines.
    fn add_prefix(&mut self, prefix: &str) -> Result<(), RewriteError> {
        let script = self.request.script.as_bytes();
        let (edit, notice) = prefix::add_prefix(script, prefix);
        let script = Script::new(apply(script, &[edit]))?;
        self.replace_script(script);
        self.notices.push(notice);
        Ok(())
    }
}

/// The script without its leading `cd X &&`, whatever that leads to; none if it has none.
pub(crate) fn without_leading_cd(script: &Script) -> Option<Script> {
    find_in_outline(script, b"cd", directory::leading)?.rest(script).ok()
}

/// A change of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ScriptEdit {
    range: std::ops::Range<usize>,
    text: Vec<u8>,
}

/// Makes changes, which are in order and do not overlap.
fn apply(script: &[u8], edits: &[ScriptEdit]) -> Vec<u8> {
    let mut out = Vec::with_capacity(script.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&script[at..edit.range.start]);
        out.extend_from_slice(&edit.text);
        at = edit.range.end;
    }
    out.extend_from_slice(&script[at..]);
    out
}

/// Parses a script that contains this name, and applies `find`; none if it cannot be parsed.
fn find_in_outline<T, const N: usize>(
    script: &Script,
    name: &[u8; N],
    find: impl FnOnce((&str, &Outline<'_>)) -> Option<T>,
) -> Option<T> {
    // Most scripts need not be parsed.
    memchr::memmem::find(script.as_bytes(), name)?;
    let text = str::from_utf8(script.as_bytes()).ok()?;
    find((text, &Outline::of(text)?))
}

/// A piece of a script for a sentence: on one line, and shortened.
fn quotable(text: &str) -> String {
    let text = text.replace("\\\n", " ");
    let mut letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let short: String = letters.by_ref().take(LONGEST_QUOTE).collect();
    if letters.next().is_some() { short + CUT } else { short }
}

/// True if a name is a function in the environment of bash.
fn is_function(name: &str, options: &crate::Options, env: &[(String, OsString)]) -> bool {
    let variable = format!("BASH_FUNC_{name}%%");
    env.iter().any(|(name, _)| *name == variable) || options.host_environment.iter().any(|(name, _)| *name == *variable)
}
