//! Makes a fence of a policy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::policy::{Caches, FencePolicy, Mode, Network};

/// A resolved fence: everything that decides what a command inside may do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fence {
    /// How much may be changed.
    pub mode: Mode,
    /// The directory that is the workspace.
    pub workspace: PathBuf,
    /// The network.
    pub network: Network,
    /// Hosts that can be reached, in [`Network::List`].
    pub domains: Vec<String>,
    /// Loopback ports of the host that can be reached.
    pub ports: Vec<u16>,
    /// Mounts, in their order. All that they do not mention can be read, and not changed.
    pub layers: Vec<Layer>,
    /// Directories of the host that may be changed.
    pub writable: Vec<PathBuf>,
}

/// A mount of a fence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Layer {
    /// A part of the host that may be changed.
    Writable(PathBuf),
    /// A directory of the fence itself, by name, in the place of one of the host.
    Private {
        /// Path inside.
        at: PathBuf,
        /// Name among the directories of the fence.
        name: String,
    },
    /// A directory of the host whose changes go to a directory of the fence.
    Overlay {
        /// Path inside and outside.
        at: PathBuf,
        /// Name among the directories of the fence.
        name: String,
    },
    /// An empty directory in memory, which may be changed.
    Empty(PathBuf),
    /// A directory or file that cannot be read.
    Hidden {
        /// Path inside.
        at: PathBuf,
        /// True for a directory.
        is_directory: bool,
        /// Paths below it that can be read all the same.
        shown: Vec<PathBuf>,
    },
    /// A part of a writable layer that may not be changed.
    ReadOnly(PathBuf),
    /// A directory that is made if there is none, in a private one.
    Made(PathBuf),
}

/// The kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// A look at the file system.
pub trait Look {
    /// The path without symbolic links, and its kind; none if there is nothing.
    fn real(&self, path: &Path) -> Option<(PathBuf, Kind)>;
    /// The contents of a small file.
    fn read(&self, path: &Path) -> Option<String>;
}

/// Where a fence stands.
#[derive(Debug, Clone)]
pub struct Place {
    /// The directory that is the workspace.
    pub directory: PathBuf,
    /// The home directory, if there is one.
    pub home: Option<PathBuf>,
    /// Directories that caches are in, by the variables that name them.
    pub caches: Vec<PathBuf>,
    /// The directory for temporary files, if a variable names one.
    pub temporary: Option<PathBuf>,
    /// Directories of bashful itself, which are hidden, each with the parts that can be read.
    pub own: Vec<(PathBuf, Vec<PathBuf>)>,
}

/// Error: a policy that cannot be resolved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The root directory would be the workspace.
    #[error("the whole machine cannot be the workspace of a sandbox; choose a directory below /")]
    Root,
    /// A directory to write to does not exist.
    #[error("the sandbox cannot make {} writable: there is no such directory", path.display())]
    NoDirectory {
        /// Path of the directory.
        path: PathBuf,
    },
}

/// Caches of package managers and tools below the home directory.
const CACHES: [&str; 7] = [".cache", ".cargo", ".npm", ".gradle", ".m2", "go", ".local/share"];

/// Directories with sockets and state of other programs.
const RUNTIME: [&str; 2] = ["/run", "/var/run"];

/// Directories for temporary files, and their names among those of the fence.
const TEMPORARY: [(&str, &str); 2] = [("/tmp", "tmp"), ("/var/tmp", "var-tmp")];

/// Makes a fence of a policy; none if it is off.
pub fn resolve(policy: &FencePolicy, place: &Place, look: &dyn Look) -> Result<Option<Fence>, FenceError> {
    if policy.mode == Mode::Off {
        return Ok(None);
    }
    let home = |text: &str| match (text.strip_prefix("~/"), &place.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    let mut fence = Fence {
        mode: policy.mode,
        workspace: place.directory.clone(),
        network: policy.network,
        domains: if policy.network == Network::List { policy.domains.clone() } else { Vec::new() },
        ports: if policy.network == Network::On { Vec::new() } else { policy.ports.clone() },
        layers: Vec::new(),
        writable: Vec::new(),
    };
    for (at, name) in TEMPORARY {
        // A link is a second way to a directory that is private already.
        if look.real(Path::new(at)).is_some_and(|(real, _)| real == Path::new(at)) {
            fence.layers.push(Layer::Private { at: at.into(), name: name.into() });
        }
    }
    let runtime: BTreeSet<PathBuf> = RUNTIME.iter().filter_map(|at| Some(look.real(Path::new(at))?.0)).collect();
    fence.layers.extend(runtime.into_iter().map(Layer::Empty));
    // Names of hosts are looked up with the help of a file that is often there.
    if policy.network == Network::On
        && let Some((names, Kind::File)) = look.real(Path::new("/etc/resolv.conf"))
        && names.starts_with("/run")
    {
        fence.layers.push(Layer::ReadOnly(names));
    }
    fence.layers.extend(place.temporary.clone().map(Layer::Made));
    if policy.caches == Caches::Private {
        add_caches(&mut fence, place, look);
    }
    if policy.mode == Mode::Workspace {
        let roots = std::iter::once(place.directory.clone()).chain(policy.write.iter().map(|text| home(text)));
        for root in roots {
            let (real, _) = look
                .real(&root)
                .filter(|(_, kind)| *kind == Kind::Directory)
                .ok_or(FenceError::NoDirectory { path: root })?;
            add_root(&mut fence, real, look)?;
        }
        if policy.caches == Caches::Shared {
            for (cache, _) in caches_of(place, look) {
                fence.layers.push(Layer::Writable(cache.clone()));
                fence.writable.push(cache);
            }
        }
    }
    // A workspace below a directory of temporary files is there in every mode.
    if policy.mode == Mode::ReadOnly
        && let Some((real, Kind::Directory)) = look.real(&place.directory)
        && TEMPORARY.iter().any(|(at, _)| real.starts_with(at))
    {
        fence.layers.push(Layer::ReadOnly(real));
    }
    for text in &policy.hide {
        if let Some((at, kind)) = look.real(&home(text)) {
            fence.layers.push(Layer::Hidden { at, is_directory: kind == Kind::Directory, shown: Vec::new() });
        }
    }
    for (own, shown) in &place.own {
        if let Some((at, Kind::Directory)) = look.real(own) {
            let shown = shown.iter().filter_map(|part| Some(look.real(part)?.0)).collect();
            fence.layers.push(Layer::Hidden { at, is_directory: true, shown });
        }
    }
    protect(&mut fence, &policy.protect, place, look);
    Ok(Some(fence))
}

/// The directories of caches that are there, without those that are below another one.
fn caches_of(place: &Place, look: &dyn Look) -> Vec<(PathBuf, Kind)> {
    let usual = place.home.iter().flat_map(|home| CACHES.iter().map(move |name| home.join(name)));
    let there: BTreeSet<PathBuf> = usual
        .chain(place.caches.iter().cloned())
        .filter_map(|path| look.real(&path))
        .filter(|(path, kind)| *kind == Kind::Directory && path.parent().is_some())
        .map(|(path, _)| path)
        .collect();
    let is_below = |path: &PathBuf| path.ancestors().skip(1).any(|above| there.contains(above));
    there.iter().filter(|path| !is_below(path)).map(|path| (path.clone(), Kind::Directory)).collect()
}

fn add_caches(fence: &mut Fence, place: &Place, look: &dyn Look) {
    for (at, _) in caches_of(place, look) {
        // The workspace may be below a cache: it stays what it is.
        let name = at.to_string_lossy().trim_start_matches('/').replace('/', "-");
        fence.layers.push(Layer::Overlay { at, name });
    }
}

/// Makes a directory writable, and the repository that it belongs to: a commit in a subdirectory or in a worktree changes files
/// elsewhere.
fn add_root(fence: &mut Fence, root: PathBuf, look: &dyn Look) -> Result<(), FenceError> {
    if root.parent().is_none() {
        return Err(FenceError::Root);
    }
    let repository = root.ancestors().find_map(|above| {
        let at = above.join(".git");
        look.real(&at).map(|(real, kind)| (at, real, kind))
    });
    // A command can write a link or a file of this name into the workspace, and neither may open another directory.
    let repository = match repository {
        Some((at, real, Kind::Directory)) if real == at => Some(real),
        Some((at, real, Kind::File)) if real == at => shared_repository(&at, &root, look),
        _ => None,
    };
    for path in std::iter::once(root).chain(repository) {
        // As a mount of its own it cannot be renamed, and what is protected in it stays where git looks for it.
        if !fence.layers.contains(&Layer::Writable(path.clone())) {
            fence.layers.push(Layer::Writable(path.clone()));
            fence.writable.push(path);
        }
    }
    Ok(())
}

/// The repository of a worktree, whose `.git` is a file. Believed only if the repository, which lies outside of the workspace, names
/// that file in turn.
fn shared_repository(file: &Path, root: &Path, look: &dyn Look) -> Option<PathBuf> {
    let (own, _) = look.real(Path::new(look.read(file)?.strip_prefix("gitdir:")?.trim()))?;
    let common = own.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    let names_it = look.read(&own.join("gitdir")).is_some_and(|text| Path::new(text.trim()) == file);
    (names_it && !own.starts_with(root)).then(|| common.to_path_buf())
}

/// Holds protected names below everything that may be changed.
fn protect(fence: &mut Fence, names: &[String], place: &Place, look: &dyn Look) {
    let mut roots = fence.writable.clone();
    roots.extend(place.home.clone().filter(|home| fence.writable.iter().any(|root| home.starts_with(root))));
    for root in roots {
        let is_repository = root.file_name().is_some_and(|name| name == ".git");
        for name in names {
            // `.git/hooks` below a root, and `hooks` below the repository itself.
            let below = if is_repository { name.strip_prefix(".git/") } else { Some(name.as_str()) };
            let Some(path) = below.map(|below| root.join(below)) else { continue };
            let layer = Layer::ReadOnly(path.clone());
            // No mount can hold a name that is not there, or a link.
            if look.real(&path).is_some_and(|(real, _)| real == path) && !fence.layers.contains(&layer) {
                fence.layers.push(layer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A file system of these paths; a directory ends in `/`, a link has its target behind ` -> `, a file its text behind ` = `.
    struct Disk(BTreeMap<PathBuf, String>);

    impl Look for Disk {
        fn real(&self, path: &Path) -> Option<(PathBuf, Kind)> {
            match self.0.get(path)?.as_str() {
                "/" => Some((path.to_path_buf(), Kind::Directory)),
                link if link.starts_with('/') => self.real(Path::new(link)),
                _ => Some((path.to_path_buf(), Kind::File)),
            }
        }

        fn read(&self, path: &Path) -> Option<String> {
            self.0.get(path).cloned()
        }
    }

    fn disk(entries: &[&str]) -> Disk {
        Disk(
            entries
                .iter()
                .map(|entry| match (entry.strip_suffix('/'), entry.split_once(" -> "), entry.split_once(" = ")) {
                    (Some(directory), ..) => (directory.into(), "/".to_owned()),
                    (_, Some((link, to)), _) => (link.into(), to.to_owned()),
                    (.., Some((file, text))) => (file.into(), text.to_owned()),
                    _ => ((*entry).into(), String::new()),
                })
                .collect(),
        )
    }

    fn policy(mode: Mode) -> FencePolicy {
        let list = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        FencePolicy {
            mode,
            write: Vec::new(),
            caches: Caches::Private,
            hide: list(&["~/.ssh", "~/.netrc"]),
            protect: list(&[".git/hooks", ".envrc"]),
            network: Network::Off,
            domains: Vec::new(),
            ports: Vec::new(),
        }
    }

    fn place(directory: &str) -> Place {
        let home = Some("/h".into());
        Place { directory: directory.into(), home, caches: Vec::new(), temporary: None, own: Vec::new() }
    }

    fn layers(mode: Mode, directory: &str, entries: &[&str]) -> Vec<Layer> {
        let fence = resolve(&policy(mode), &place(directory), &disk(entries)).expect("it resolves");
        fence.map(|fence| fence.layers).unwrap_or_default()
    }

    #[test]
    fn only_the_workspace_is_writable_and_its_protected_names_are_not() {
        let found = layers(Mode::Workspace, "/h/app", &["/h/app/", "/h/app/.git/", "/h/app/.git/hooks/", "/h/.ssh/"]);
        assert_eq!(
            found,
            [
                Layer::Writable("/h/app".into()),
                Layer::Writable("/h/app/.git".into()),
                Layer::Hidden { at: "/h/.ssh".into(), is_directory: true, shown: Vec::new() },
                Layer::ReadOnly("/h/app/.git/hooks".into()),
            ]
        );
        assert_eq!(layers(Mode::ReadOnly, "/h/app", &["/h/app/", "/h/app/.git/"]), []);
        assert_eq!(layers(Mode::Off, "/h/app", &["/h/app/"]), []);
    }

    #[test]
    fn a_worktree_can_commit_to_the_repository_that_it_shares() {
        let entries = [
            "/h/tree/",
            "/h/tree/.git = gitdir: /h/app/.git/worktrees/tree\n",
            "/h/app/.git/worktrees/tree/",
            "/h/app/.git/worktrees/tree/gitdir = /h/tree/.git\n",
            "/h/app/.git/",
            "/h/app/.git/hooks/",
        ];
        let found = layers(Mode::Workspace, "/h/tree", &entries);
        assert!(found.contains(&Layer::Writable("/h/app/.git".into())), "{found:?}");
        assert!(found.contains(&Layer::ReadOnly("/h/app/.git/hooks".into())), "{found:?}");
    }

    #[test]
    fn nothing_that_a_command_can_write_opens_another_directory() {
        for entries in [
            &["/h/app/", "/h/other/", "/h/app/.git -> /h/other"][..],
            &["/h/app/", "/h/other/", "/h/app/.git = gitdir: /h/other\n"],
            &["/h/app/", "/h/other/worktrees/x/", "/h/other/", "/h/app/.git = gitdir: /h/other/worktrees/x\n"],
            &[
                "/h/app/",
                "/h/app/worktrees/x/",
                "/h/app/.git = gitdir: /h/app/worktrees/x\n",
                "/h/app/worktrees/x/gitdir = /h/app/.git\n",
            ],
        ] {
            let fence = resolve(&policy(Mode::Workspace), &place("/h/app"), &disk(entries)).expect("it resolves");
            assert_eq!(fence.expect("a fence").writable, [PathBuf::from("/h/app")], "{entries:?}");
        }
    }

    #[test]
    fn the_whole_machine_is_no_workspace() {
        let error = resolve(&policy(Mode::Workspace), &place("/"), &disk(&["/"])).expect_err("refused");
        assert!(matches!(error, FenceError::Root | FenceError::NoDirectory { .. }), "{error}");
    }
}
