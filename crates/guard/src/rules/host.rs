//! Commands that hit the host itself: kills of processes that the script did not start, writes to whole disks, and
//! permissions of system directories.

use super::{DISK, DISK_IMAGE, KILL_BY_NAME, KILL_HOST, PERMISSIONS, is_system_directory};
use crate::marks::PARENT;
use crate::pattern::is_wide;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

/// Programs that an agent, its terminal or the session runs as.
const HOSTS: [&str; 22] = [
    "node", "nodejs", "bun", "deno", "claude", "codex", "gemini", "opencode", "goose", "cursor", "bashful", "bash",
    "sh", "zsh", "fish", "dash", "tmux", "screen", "sshd", "systemd", "init", "login",
];

/// Signals that end nothing.
const HARMLESS: [&str; 6] = ["0", "CONT", "WINCH", "CHLD", "URG", "18"];

/// Names of disks without their letters and numbers.
const DISKS: [&str; 10] = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-"];

/// Looks at a command of this name.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    match name {
        "kill" => kill(walk, arguments),
        "pkill" | "killall" => kill_by_name(walk, name, arguments),
        "killall5" => walk.find_rule(&KILL_HOST),
        "chmod" | "chown" | "chgrp" => permissions(walk, arguments),
        "cp" | "mv" => {
            if let Some(path) = arguments.last() {
                written(walk, path);
            }
        }
        "wipefs" if !arguments.iter().any(|word| word.starts_with('-') && word.contains('a')) => {}
        "wipefs" | "blkdiscard" | "shred" | "mkswap" => disks(walk, arguments.iter()),
        name if name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("mke2fs") => {
            disks(walk, arguments.iter());
        }
        _ => {}
    }
}

/// Judges that a file is written to.
pub(crate) fn written(walk: &mut ScriptWalk<'_>, path: &str) {
    if is_disk(path) {
        walk.find_rule(if is_later_disk(path) { &DISK_IMAGE } else { &DISK });
    }
}

/// True if a path is a disk behind the first of its kind, or a card, and no part of one: where people write images to.
fn is_later_disk(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    let is_later = |rest: &str| rest.len() == 1 && rest != "a" && rest.bytes().all(|byte| byte.is_ascii_lowercase());
    if ["sd", "hd", "vd", "xvd"].iter().any(|kind| name.strip_prefix(kind).is_some_and(is_later)) {
        return true;
    }
    let is_whole = |rest: &str, end: &str| rest.strip_suffix(end).is_some_and(|number| number.parse::<u8>().is_ok());
    name.strip_prefix("mmcblk").is_some_and(|rest| is_whole(rest, ""))
        || name.strip_prefix("nvme").is_some_and(|rest| is_whole(rest, "n1") && !rest.starts_with('0'))
        || name.strip_prefix("disk").is_some_and(|rest| is_whole(rest, "") && !matches!(rest, "0" | "1"))
}

fn disks<'w>(walk: &mut ScriptWalk<'_>, mut words: impl Iterator<Item = &'w String>) {
    if words.any(|word| is_disk(word)) {
        walk.find_rule(&DISK);
    }
}

/// True if a path is a disk or a part of one, as the system names them.
fn is_disk(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    if name.starts_with("mapper/") {
        return name != "mapper/control";
    }
    DISKS.iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        })
    })
}

fn permissions(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let is_recursive = arguments
        .iter()
        .any(|word| word == "--recursive" || word.starts_with('-') && !word.starts_with("--") && word.contains('R'));
    let has_reference = arguments.iter().any(|word| word.starts_with("--reference"));
    let operands = arguments.iter().filter(|word| !word.starts_with('-'));
    let targets: Vec<&String> = operands.skip(usize::from(!has_reference)).collect();
    for target in targets {
        let path = walk.absolute(target);
        let path = walk.world.concrete(&path);
        let Some(below) = path.strip_prefix('/').filter(|_| is_recursive) else { continue };
        if below.is_empty() || is_system_directory(below) || is_wide(below) {
            walk.find_rule(&PERMISSIONS);
        }
    }
}

fn kill(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let mut has_signal = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-l" | "-L" | "--list" | "--table" => return,
            "--" => has_signal = true,
            "-s" | "-n" | "--signal" if !has_signal => {
                has_signal = true;
                if words.next().is_some_and(|signal| is_harmless(signal)) {
                    return;
                }
            }
            signal if !has_signal && signal.len() > 1 && signal.starts_with('-') => {
                has_signal = true;
                if is_harmless(signal.trim_start_matches('-')) {
                    return;
                }
            }
            "-1" | "1" => return walk.find_rule(&KILL_HOST),
            target if target.contains(PARENT) => return walk.find_rule(&KILL_HOST),
            _ => {}
        }
    }
}

fn is_harmless(signal: &str) -> bool {
    HARMLESS.contains(&signal.trim_start_matches("SIG"))
}

fn kill_by_name(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    let mut patterns: Vec<&str> = Vec::new();
    let (mut of_user, mut of_parent) = (false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-l" | "--list" | "-V" | "--version" | "--help" => return,
            "-u" | "-U" | "--euid" | "--uid" | "--user" => {
                of_user = true;
                words.next();
            }
            "-P" | "--parent" | "-g" | "--pgroup" | "-s" | "--session" if name == "pkill" => {
                of_parent = true;
                if words.next().is_some_and(|parent| parent.contains(PARENT)) {
                    return walk.find_rule(&KILL_HOST);
                }
            }
            "-t" | "-G" | "--signal" | "-o" | "-y" | "-s" if !(name == "pkill" && word == "-o") => {
                if words.next().is_some_and(|value| word.starts_with("-s") && is_harmless(value)) {
                    return;
                }
            }
            flag if flag.len() > 1 && flag.starts_with('-') => {
                if is_harmless(flag.trim_start_matches('-')) {
                    return;
                }
            }
            pattern => patterns.push(pattern),
        }
    }
    let hits_host = |pattern: &&str| {
        let plain = pattern.trim_start_matches('^').trim_end_matches('$');
        HOSTS.contains(&base_name(plain)) || matches!(plain, "" | "." | ".*" | ".+" | "*") && name == "pkill"
    };
    // Children of a process that the script names are its own.
    if of_parent {
        return;
    }
    if patterns.iter().any(hits_host) || patterns.is_empty() && of_user {
        walk.find_rule(&KILL_HOST);
    } else if !patterns.is_empty() {
        walk.find_rule(&KILL_BY_NAME);
    }
}
