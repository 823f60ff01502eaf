//! The sources of a snapshot: the rc files, the shell, and the variables that it was started with.
//!
//! Of the files that the rc files source, only those are watched that `~/.bashrc` names by a plain path. A change in
//! any other one shows once the snapshot is old.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bashful_bash::Outline;
use rustix::fs::OFlags;

use crate::environment::Environment;
use crate::fixed_name::FixedName;

use super::NoSnapshot;

/// File that interactive shells read first, if bash was built so.
const OF_THE_SYSTEM: &str = "/etc/bash.bashrc";

/// Bytes of a file that are read.
const READ_AT_MOST: u64 = 4 << 20;

/// Most files named in `~/.bashrc` that are watched.
const NAMED_AT_MOST: usize = 32;

/// Variables that differ between terminals, and that rc files ignore or set themselves.
const NOISE: [&str; 18] = [
    "PWD",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TERM_SESSION_ID",
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "SSH_TTY",
    "XDG_SESSION_ID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "VSCODE_IPC_HOOK_CLI",
];

/// The sources of a snapshot, and its keys.
pub(super) struct SnapshotSources {
    /// Watched files: the rc files and the shell.
    pub(super) files: Vec<PathBuf>,
    pub(super) stamp: FilesStamp,
    /// Key of the files and the shell.
    pub(super) files_key: String,
    /// Key of the files, the shell and the variables.
    pub(super) key: String,
}

/// State of files at a moment: for each existing one, every fact that changes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilesStamp(Vec<Option<[i64; 7]>>);

impl FilesStamp {
    pub(super) fn of(files: &[PathBuf]) -> Self {
        let stamp = |path: &PathBuf| {
            let facts = path.metadata().ok()?;
            let [device, inode, length] = [facts.dev(), facts.ino(), facts.len()].map(u64::cast_signed);
            Some([device, inode, length, facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()])
        };
        Self(files.iter().map(stamp).collect())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let file = |file: &Option<[i64; 7]>| file.unwrap_or_default().map(i64::to_le_bytes).as_flattened().to_vec();
        self.0.iter().flat_map(file).collect()
    }

    /// State of the first file.
    pub(super) fn first(&self) -> Option<[i64; 7]> {
        *self.0.first()?
    }
}

/// Files that are always watched; `~/.bashrc` is the first of them.
pub(super) fn always_watched(base: &Environment) -> Vec<PathBuf> {
    let home = home(base).into_iter();
    let own = home.flat_map(|home| [home.join(".bashrc"), home.join(".bash_aliases")]);
    own.chain([PathBuf::from(OF_THE_SYSTEM)]).collect()
}

/// Reads the sources; none if the user has no rc file.
pub(super) fn read_sources(shell: &Path, base: &Environment) -> Result<Option<SnapshotSources>, NoSnapshot> {
    let Some(home) = home(base) else { return Ok(None) };
    let rc = home.join(".bashrc");
    let text = match read(&rc) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(NoSnapshot::Unreadable { path: rc, why: error.to_string() }),
    };
    let mut files = always_watched(base);
    files.extend(named_in(&text, &home));
    files.push(shell.to_path_buf());
    // Before they are read: a change meanwhile is noticed the next time.
    let stamp = FilesStamp::of(&files);
    let contents: Vec<_> = files.iter().map(|path| if path == shell { None } else { read(path).ok() }).collect();
    let shell_is = FilesStamp::of(&[shell.to_path_buf()]);
    let paths = files.iter().map(|path| path.as_os_str().as_bytes());
    let of_paths = FixedName::new("snapshot").field(env!("CARGO_PKG_VERSION").as_bytes()).list(paths);
    // A missing file differs from an empty one.
    let of_contents = contents.iter().fold(of_paths, |name, content| name.list(content.as_deref().into_iter()));
    let of_files = of_contents.field(&shell_is.to_bytes());
    let variables: BTreeMap<&OsString, &OsString> =
        base.variables.iter().filter(|(name, _)| !NOISE.iter().any(|noise| name == noise)).collect();
    let entries = variables.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let of_all = of_files.clone().list(entries.collect::<Vec<_>>().into_iter());
    Ok(Some(SnapshotSources { files_key: of_files.hex(), key: of_all.hex(), files, stamp }))
}

fn home(base: &Environment) -> Option<PathBuf> {
    base.variables.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Reads a file, or its beginning. A pipe in its place must not block.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = std::fs::File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = Vec::new();
    file.take(READ_AT_MOST).read_to_end(&mut text)?;
    Ok(text)
}

/// Files that a text sources by a plain absolute path.
fn named_in(text: &[u8], home: &Path) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(text);
    let files = Outline::before_error(&text).sourced_files();
    let paths = files.into_iter().map(|file| match file.text.strip_prefix("~/") {
        Some(rest) if file.tilde => home.join(rest),
        _ => PathBuf::from(file.text),
    });
    paths.filter(|path| path.is_absolute()).take(NAMED_AT_MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(named_in(text.as_bytes(), Path::new("/h")), expected);
    }

    #[test]
    fn files_that_are_named_plainly_are_known() {
        check("if [ -f ~/.bash_aliases ]; then\n    . ~/.bash_aliases\nfi", &["/h/.bash_aliases"]);
        check("[ -r \"$HOME/.x\" ] && source \"$HOME/.x\"; . '/etc/y'", &["/h/.x", "/etc/y"]);
        check("\\. ${HOME}/z # comment", &["/h/z"]);
        check(". \"$NVM_DIR/nvm.sh\"; . relative; . /etc/*.sh; . <(echo)\nsource", &[]);
    }

    #[test]
    fn only_what_bash_would_source_is_known() {
        check("# . /etc/comment\necho '. /etc/text'\n. '/etc/a b'; f() { . /c; }", &["/etc/a b", "/c"]);
        check(". /a\nfi\n. /behind/an/error", &["/a"]);
    }
}
