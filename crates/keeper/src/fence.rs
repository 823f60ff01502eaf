//! The fence around the commands of a keeper: how one is made, and how this process goes inside.
//!
//! A keeper that makes a fence hands out handles on its namespaces and ends; the handles hold them. A keeper that goes inside
//! keeps its own view of files and processes. Only the users are shared, because that gives it the rights over everything below it.
//!
//! Invariant: a process goes inside of one fence, once, and never leaves.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bashful_sys::fence::{self, Confinement, FilterInstruction, Init, Joined, KEPT_BY_ROOT, MountedTree};
use bashful_sys::spawn::Fenced;

use crate::protocol::{FenceLayer, FenceOrder, LayerKind};

/// The fence that this process is inside of.
static INSIDE: OnceLock<Inside> = OnceLock::new();

/// The fence of this keeper.
pub(crate) struct Inside {
    pub(crate) init: Init,
    confinement: Confinement,
    /// Lock of the directories of the fence. Whoever holds it uses them.
    _lock: OwnedFd,
}

impl Inside {
    /// The fence for a shell that starts now.
    pub(crate) fn around(&self) -> Fenced<'_> {
        Fenced { inside: Some(self.init.child.pidfd.as_fd()), confinement: &self.confinement }
    }
}

/// The fence that this process is inside of; none if it is not.
pub(crate) fn inside() -> Option<&'static Inside> {
    INSIDE.get()
}

/// Goes inside of the fence with these namespaces. The last handle is the lock of its directories.
pub(crate) fn enter(mut handles: Vec<OwnedFd>, has_host_network: bool) -> io::Result<()> {
    let lock = handles.pop().ok_or(io::ErrorKind::InvalidInput)?;
    let users = handles.first().ok_or(io::ErrorKind::InvalidInput)?;
    let filter = bashful_fence::filter(has_host_network)
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no filter of system calls for this machine"))?;
    let instruction =
        |(code, jump_true, jump_false, operand)| FilterInstruction { code, jump_true, jump_false, operand };
    let is_root = rustix::process::geteuid().is_root();
    let confinement = Confinement {
        capabilities: Some(if is_root { KEPT_BY_ROOT } else { 0 }),
        filter: filter.into_iter().map(instruction).collect(),
    };
    fence::join_users_and_new_pids(users.as_fd())?;
    let init = Init::start(Joined { handles: &handles }, &confinement)?;
    INSIDE.set(Inside { init, confinement, _lock: lock }).map_err(|_| io::ErrorKind::AlreadyExists.into())
}

/// Descriptors that a shell opens through `/proc`. Inside of a fence, the first process there holds copies, until this is dropped.
pub(crate) struct OpenForShell(pub(crate) Vec<OwnedFd>);

impl Drop for OpenForShell {
    fn drop(&mut self) {
        if let Some(inside) = inside() {
            inside.init.forget(HELD_FOR_GOOD);
        }
    }
}

/// Number of descriptors that a session's shell opens once: that for its own output.
const HELD_FOR_GOOD: u8 = 1;

/// A fence that could not be made, and the path that was the problem.
pub(crate) struct NotMade {
    pub(crate) at: PathBuf,
    pub(crate) error: io::Error,
}

/// Leaves the namespaces of the host, and mounts the layers. Returns handles on the new namespaces, and sockets that listen inside.
pub(crate) fn make(order: &FenceOrder) -> Result<Vec<OwnedFd>, NotMade> {
    let FenceOrder { has_host_network, ports, layers } = order;
    let has_host_network = *has_host_network;
    let at = |path: &str| {
        let at = PathBuf::from(path);
        move |error| NotMade { at, error }
    };
    fence::leave_for_own_namespaces(!has_host_network).map_err(at(""))?;
    fence::make_private().map_err(at("/"))?;
    // While everything can still be changed: an overlay of files that cannot be is one itself.
    let prepared: Vec<(&FenceLayer, Vec<ShownTree>)> = layers
        .iter()
        .map(|layer| prepare(layer).map(|trees| (layer, trees)).map_err(|error| NotMade { at: path(&layer.at), error }))
        .collect::<Result<_, _>>()?;
    fence::read_only_everywhere().map_err(at("/"))?;
    fence::mount_devices().map_err(at("/dev"))?;
    for (layer, trees) in prepared {
        place(layer, trees).map_err(|error| NotMade { at: path(&layer.at), error })?;
    }
    if !has_host_network {
        fence::loopback_up().map_err(at("lo"))?;
    }
    let mut handles = fence::handles_of_this_process(!has_host_network).map_err(at("/proc/self/ns"))?;
    for port in ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map_err(at(&format!("port {port}")))?;
        handles.push(listener.into());
    }
    Ok(handles)
}

fn path(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Files, and the path at which they are shown.
type ShownTree = (PathBuf, MountedTree);

/// Takes the files that a layer shows.
fn prepare(layer: &FenceLayer) -> io::Result<Vec<ShownTree>> {
    let (at, from) = (path(&layer.at), path(&layer.from));
    let tree = match layer.kind {
        LayerKind::Writable => MountedTree::take(&at)?,
        LayerKind::Private => MountedTree::take(&from)?,
        LayerKind::Overlay => {
            let [upper, work] = ["upper", "work"].map(|name| from.join(name));
            // A file system that cannot be under an overlay: an empty cache is filled anew.
            MountedTree::overlay(&at, &upper, &work).or_else(|_| MountedTree::take(&upper))?
        }
        LayerKind::ReadOnly => MountedTree::take(&at)?.read_only()?,
        LayerKind::HiddenDirectory => {
            let shown = layer.shown.iter().map(|shown| path(shown));
            return shown.map(|shown| Ok((shown.clone(), MountedTree::take(&shown)?.read_only()?))).collect();
        }
        LayerKind::Empty | LayerKind::HiddenFile | LayerKind::Made => return Ok(Vec::new()),
    };
    Ok(vec![(at, tree)])
}

/// Mounts a layer, over those before it.
fn place(layer: &FenceLayer, trees: Vec<ShownTree>) -> io::Result<()> {
    let at = path(&layer.at);
    match layer.kind {
        LayerKind::Empty => fence::mount_tmpfs(&at, 0o755),
        LayerKind::Made => make_directory(&at),
        // It is below a directory that is another one inside.
        LayerKind::HiddenDirectory | LayerKind::HiddenFile
            if trees.is_empty() && fs::symlink_metadata(&at).is_err() =>
        {
            Ok(())
        }
        LayerKind::HiddenDirectory => hide_directory(&at, trees),
        LayerKind::HiddenFile => fence::hide_file(&at),
        LayerKind::Writable | LayerKind::Private | LayerKind::Overlay | LayerKind::ReadOnly => show(trees),
    }
}

fn show(trees: Vec<ShownTree>) -> io::Result<()> {
    trees.into_iter().try_for_each(|(at, tree)| {
        if !at.exists() {
            make_mount_point(&at, tree.is_directory()?)?;
        }
        tree.place(&at)
    })
}

/// Makes a place for a mount in a directory that is private to the fence. Elsewhere nothing can be made any more.
fn make_mount_point(at: &Path, is_directory: bool) -> io::Result<()> {
    if is_directory {
        return make_directory(at);
    }
    at.parent().map_or(Ok(()), make_directory)?;
    fs::File::create(at).map(drop)
}

fn make_directory(at: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(at)
}

/// Mounts a directory that nobody can read or pass, or only pass to what is shown.
fn hide_directory(at: &Path, shown: Vec<ShownTree>) -> io::Result<()> {
    if !at.exists() {
        make_directory(at)?;
    }
    fence::mount_tmpfs(at, if shown.is_empty() { 0 } else { 0o111 })?;
    show(shown)?;
    fence::forbid_writing(at)
}
