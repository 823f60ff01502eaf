//! Finds out if a failed command failed because of the fence.

use std::path::{Path, PathBuf};

use crate::policy::Network;
use crate::resolve::{Fence, Layer};

/// Something that the fence denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// A path that may not be changed.
    Write(PathBuf),
    /// A path that cannot be read.
    Read(PathBuf),
    /// A host that cannot be reached, as the output names it; none if it names none.
    Network(Option<String>),
}

/// Messages of programs that were denied a change or a look.
const FILE_MESSAGES: [&str; 4] =
    ["Read-only file system", "Permission denied", "Operation not permitted", "No such file or directory"];

/// Messages of programs that found no network.
const NETWORK_MESSAGES: [&str; 8] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "Name or service not known",
    "getaddrinfo",
    "Could not resolve hostname",
    "Temporary failure resolving",
    "failed to lookup address",
];

/// Most denials that are told.
const MOST: usize = 3;

/// Denials of the fence that the output of a failed command complains about. A path is checked against the fence: a
/// complaint about one that it lets pass is none of it.
pub fn denials(fence: &Fence, output: &str, directory: &Path) -> Vec<Denial> {
    let mut found = Vec::new();
    for line in output.lines() {
        if FILE_MESSAGES.iter().any(|message| line.contains(message)) {
            found.extend(paths_in(line, directory).into_iter().filter_map(|path| denied(fence, &path, line)));
        }
        let message = NETWORK_MESSAGES.iter().find(|message| line.contains(**message));
        if let (Network::Off, Some(message)) = (fence.network, message) {
            found.push(Denial::Network(host_in(line, message)));
        }
    }
    let mut told: Vec<Denial> = Vec::new();
    if found.iter().any(|denial| matches!(denial, Denial::Network(Some(_)))) {
        found.retain(|denial| *denial != Denial::Network(None));
    }
    for denial in found {
        if !told.contains(&denial) && told.len() < MOST {
            told.push(denial);
        }
    }
    told
}

/// The denial of a path that a complaint names; none if the fence lets it pass.
fn denied(fence: &Fence, path: &Path, line: &str) -> Option<Denial> {
    let is_hidden = fence.layers.iter().any(|layer| match layer {
        Layer::Hidden { at, shown, .. } => path.starts_with(at) && !shown.iter().any(|shown| path.starts_with(shown)),
        _ => false,
    });
    if is_hidden {
        return Some(Denial::Read(path.to_path_buf()));
    }
    (line.contains("Read-only file system") && !can_change(fence, path)).then(|| Denial::Write(path.to_path_buf()))
}

/// True if the last layer that a path is in may be changed.
fn can_change(fence: &Fence, path: &Path) -> bool {
    let last = fence.layers.iter().rev().find_map(|layer| match layer {
        Layer::Writable(at)
        | Layer::Private { at, .. }
        | Layer::Overlay { at, .. }
        | Layer::Empty(at)
        | Layer::Made(at)
            if path.starts_with(at) =>
        {
            Some(true)
        }
        Layer::ReadOnly(at) | Layer::Hidden { at, .. } if path.starts_with(at) => Some(false),
        _ => None,
    });
    last.unwrap_or(false)
}

/// The words of a complaint that could be paths, as absolute ones.
fn paths_in(line: &str, directory: &Path) -> Vec<PathBuf> {
    let is_edge = |char: char| char.is_whitespace() || "'\"`:,()[]".contains(char);
    let words = line.split(is_edge).filter(|word| word.contains('/') || word.contains('.'));
    words.map(|word| normal(&directory.join(word))).collect()
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            std::path::Component::CurDir => {}
            part => normal.push(part),
        }
        normal
    })
}

/// The name of a host in a complaint: behind the message, or in quotes before it.
fn host_in(line: &str, message: &str) -> Option<String> {
    let (before, behind) = line.split_once(message)?;
    let is_part = |char: char| char.is_ascii_alphanumeric() || ".-".contains(char);
    let named = behind.split(|char| !is_part(char)).map(|word| word.trim_matches('.')).find(|word| is_host(word));
    let quoted = || before.split(['\'', '"']).skip(1).step_by(2).filter(|word| is_host(word)).last();
    named.or_else(quoted).map(str::to_owned)
}

fn is_host(word: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    word.contains('.') && word.split('.').all(is_part) && !word.starts_with(|char: char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Mode;

    fn fence() -> Fence {
        let layers = vec![
            Layer::Private { at: "/tmp".into(), name: "tmp".into() },
            Layer::Writable("/w".into()),
            Layer::Hidden { at: "/h/.ssh".into(), is_directory: true, shown: Vec::new() },
            Layer::ReadOnly("/w/.git/hooks".into()),
        ];
        let workspace = PathBuf::from("/w");
        let writable = vec![workspace.clone()];
        Fence {
            mode: Mode::Workspace,
            workspace,
            network: Network::Off,
            domains: Vec::new(),
            ports: Vec::new(),
            layers,
            writable,
        }
    }

    #[track_caller]
    fn check(output: &str, expected: &[Denial]) {
        assert_eq!(denials(&fence(), output, Path::new("/w/a")), expected);
    }

    #[test]
    fn what_a_program_complains_about_is_named_if_the_fence_denied_it() {
        check("touch: cannot touch '/etc/x': Read-only file system", &[Denial::Write("/etc/x".into())]);
        check("bash: ../.git/hooks/x: Read-only file system", &[Denial::Write("/w/.git/hooks/x".into())]);
        check("cat: /h/.ssh/id: Permission denied", &[Denial::Read("/h/.ssh/id".into())]);
        check("cat: /h/.ssh/id: No such file or directory", &[Denial::Read("/h/.ssh/id".into())]);
        let curl = "curl: (6) Could not resolve host: example.org";
        check(curl, &[Denial::Network(Some("example.org".into()))]);
        check(
            &format!("socket.gaierror: Name or service not known\n{curl}\n{curl}"),
            &[Denial::Network(Some("example.org".into()))],
        );
        check("urllib.error.URLError: Temporary failure in name resolution", &[Denial::Network(None)]);
    }

    #[test]
    fn complaints_about_what_the_fence_lets_pass_are_not_its_own() {
        check("cat: /w/secret: Permission denied", &[]);
        check("touch: cannot touch '/w/x': Read-only file system", &[]);
        check("cat: /h/other: No such file or directory", &[]);
        check("all is well in /etc/x", &[]);
    }
}
