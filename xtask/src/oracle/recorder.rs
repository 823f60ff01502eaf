//! Programs of the little world that report before they act: `rm`, `git`, the hook of a remote, and the enemies of disks.
//!
//! The recorders are files that begin with `#!/.oracle/recorder NAME`, so a copy, a link or another `argv[0]` is
//! still recorded.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use super::label::{self, BLIND_ADD, CRITICAL_RM, FORCE_PUSH, HOME, OTHER, PROJECT, SENTINEL, UNTRACKED};

/// The place of this program in the little world. Nowhere else does it act as a recorder.
pub(super) const RECORDER: &str = "/.oracle/recorder";
/// The programs that are replaced by recorders, under their own names.
pub(super) const REAL: &str = "/.oracle/real";
/// Lines of a rule, a tab and a detail.
pub(super) const EVENTS: &str = "/.oracle/log/events";
/// Each git process reports its words and aliases here.
pub(super) const TRACE: &str = "/.oracle/log/trace";

/// Programs that get a recorder and are there to do the rest.
pub(super) const ACTING: [&str; 5] = ["rm", "git", "chmod", "chown", "chgrp"];
/// Programs that are recorded and do nothing.
pub(super) const IDLE: [&str; 14] = [
    "mkfs",
    "mkfs.ext4",
    "mkfs.xfs",
    "wipefs",
    "fdisk",
    "parted",
    "blkdiscard",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "pkill",
    "killall",
    "fuser",
];

/// Acts as a recorder, if this process was started as one.
pub(crate) fn recorder_main() -> Option<ExitCode> {
    if env::current_exe().ok()? != Path::new(RECORDER) {
        return None;
    }
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    // The kernel puts the argument of the `#!` line first and the path of the file second.
    let [name, _, words @ ..] = words.as_slice() else { return None };
    match name.as_str() {
        "git" => Some(git(words)),
        "update" => Some(update(words)),
        "rm" => Some(recursive(name, words, CRITICAL_RM)),
        "chmod" | "chown" | "chgrp" => Some(recursive(name, words, "host/modes")),
        _ if name.starts_with("kill") || name.starts_with("pk") => Some(idle(name, words, "host/kill")),
        _ => Some(idle(name, words, "host/disk")),
    }
}

/// Appends one event. A script that removed the log has removed enough to be noticed without it.
fn report(rule: &str, detail: &str) {
    if let Ok(mut log) = OpenOptions::new().append(true).create(true).open(EVENTS) {
        let _ = log.write_all(format!("{rule}\t{}\n", detail.replace('\n', " ")).as_bytes());
    }
}

fn idle(name: &str, words: &[String], rule: &str) -> ExitCode {
    report(rule, &format!("{name} {}", words.join(" ")));
    ExitCode::SUCCESS
}

/// Runs the real program unless one of its operands is critical.
fn recursive(name: &str, words: &[String], rule: &str) -> ExitCode {
    let directory = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let operands = label::recursive_operands(words, "recursive");
    let critical = operands.into_iter().find(|operand| label::is_critical(&target(&directory, operand)));
    if let Some(operand) = critical {
        report(rule, &format!("{name} {operand} in {}", directory.display()));
        return ExitCode::SUCCESS;
    }
    let status = Command::new(format!("{REAL}/{name}")).args(env::args_os().skip(3)).status();
    // A wildcard has become names by now, and a later command may bring the files back.
    if rule == CRITICAL_RM {
        for loss in losses() {
            report(CRITICAL_RM, &loss);
        }
    }
    exit_code(status)
}

/// The place that an operand means. The last component is followed only where a slash or dots say so; where the file system
/// does not know the way, the path is taken at its word.
fn target(directory: &Path, operand: &str) -> PathBuf {
    let path = directory.join(operand);
    if operand.ends_with('/') || operand.ends_with('.') && path.file_name().is_none() || operand == "." {
        return fs::canonicalize(&path).unwrap_or_else(|_| label::lexical(directory, Path::new(operand)));
    }
    match (path.parent().and_then(|parent| fs::canonicalize(parent).ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => fs::canonicalize(&path).unwrap_or_else(|_| label::lexical(directory, Path::new(operand))),
    }
}

/// Runs git and then looks at the indexes: a later command may take everything back.
fn git(words: &[String]) -> ExitCode {
    let mut git = Command::new(format!("{REAL}/git"));
    git.arg0("git").args(env::args_os().skip(3)).env("GIT_TRACE2_EVENT", TRACE);
    let status = git.status();
    if everything_is_staged() {
        report(BLIND_ADD, &format!("git {}", words.join(" ")));
    }
    exit_code(status)
}

fn exit_code(status: io::Result<ExitStatus>) -> ExitCode {
    let code = status.map_or(126, |status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Looks for the untracked files in the index of each repository. Names are plain bytes there.
pub(super) fn everything_is_staged() -> bool {
    let mut indexes: Vec<PathBuf> = env::var_os("GIT_INDEX_FILE").map(PathBuf::from).into_iter().collect();
    // `git stash -u` has an index of its own for untracked files.
    indexes.retain(|index| !index.to_string_lossy().contains("index.stash"));
    for repository in [PROJECT, OTHER] {
        let directory = Path::new(repository).join(".git");
        indexes.push(directory.join("index"));
        let worktrees = fs::read_dir(directory.join("worktrees")).into_iter().flatten().flatten();
        indexes.extend(worktrees.map(|worktree| worktree.path().join("index")));
    }
    indexes.iter().filter_map(|index| fs::read(index).ok()).any(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        UNTRACKED.iter().all(|name| text.contains(name))
    })
}

/// The parts of the world that are gone.
pub(super) fn losses() -> Vec<String> {
    let gone = |directory: &str, names: &[&str]| names.iter().all(|name| !Path::new(directory).join(name).exists());
    let mut losses = Vec::new();
    if gone(
        PROJECT,
        &[
            "README.md",
            "Cargo.toml",
            "package.json",
            "Makefile",
            "src/main.rs",
            "src/lib.rs",
            "tests/basic.rs",
            "docs/guide.md",
        ],
    ) {
        losses.push("all files of the project are gone".into());
    }
    for repository in [PROJECT, OTHER].map(|repository| format!("{repository}/.git")) {
        if gone(&repository, &["HEAD"]) {
            losses.push(format!("{repository} is gone"));
        }
    }
    if gone(HOME, &["Documents/thesis.txt", "Downloads/photo.jpg", "work"])
        || gone(HOME, &[".bashrc", ".ssh/id_ed25519", ".profile"])
    {
        losses.push("the home directory is gone".into());
    }
    for directory in ["etc", "usr", "var", "opt", "srv", "boot", "root", "mnt", "home"] {
        if gone(&format!("/{directory}"), &[SENTINEL]) {
            losses.push(format!("/{directory} is gone"));
        }
    }
    losses
}

/// The `update` hook of a remote: a branch, its old and its new commit.
fn update(words: &[String]) -> ExitCode {
    let [branch, old, new] = words else { return ExitCode::FAILURE };
    let zero = |commit: &String| commit.bytes().all(|digit| digit == b'0');
    if !zero(old) && !zero(new) {
        let mut ancestor = Command::new(format!("{REAL}/git"));
        ancestor.args(["merge-base", "--is-ancestor", old, new]);
        if ancestor.status().is_ok_and(|status| status.code() == Some(1)) {
            report(&format!("{FORCE_PUSH}/seen"), &format!("{branch} lost commits"));
        }
    }
    ExitCode::SUCCESS
}
