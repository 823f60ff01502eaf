//! Mounts of a fence. Everything here happens in a mount namespace of its own, so the host never sees any of it.

#![expect(unsafe_code, reason = "attributes of mounts and the flags of a network interface are not in rustix")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount, mount_change, move_mount,
    open_tree,
};
use rustix::net::{AddressFamily, SocketType, socket};

/// A tree of files that is mounted nowhere yet.
#[derive(Debug)]
pub struct MountedTree(OwnedFd);

impl MountedTree {
    /// Takes a copy of the mounts at and below a path, as they are now. The path must have no symbolic link: a directory that
    /// somebody replaced by one is an error.
    pub fn take(path: &Path) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        let tree = open_tree(CWD, path, flags)?;
        let is_at = std::fs::read_link(format!("/proc/self/fd/{}", tree.as_raw_fd()))?;
        // The kernel names a copy by its place in it, so files are compared, not names.
        let (ours, theirs) = (fstat(&tree)?, rustix::fs::lstat(path)?);
        if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino) {
            return Err(io::Error::other(format!("{} is not what it was ({})", path.display(), is_at.display())));
        }
        Ok(Self(tree))
    }

    /// An overlay: `lower` stays as it is, changes go to `upper`. `work` is an empty directory beside `upper`.
    pub fn overlay(lower: &Path, upper: &Path, work: &Path) -> io::Result<Self> {
        let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        // A colon separates lower directories.
        let lower = lower.as_os_str().as_bytes().iter().fold(Vec::new(), |mut escaped, byte| {
            escaped.extend((b"\\:".contains(byte)).then_some(b'\\').into_iter().chain([*byte]));
            escaped
        });
        fsconfig_set_string(overlay.as_fd(), "lowerdir", lower)?;
        fsconfig_set_string(overlay.as_fd(), "upperdir", upper)?;
        fsconfig_set_string(overlay.as_fd(), "workdir", work)?;
        fsconfig_set_flag(overlay.as_fd(), "userxattr")?;
        fsconfig_create(overlay.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Ok(Self(fsmount(overlay.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?))
    }

    /// True if it is a directory, and not a file.
    pub fn is_directory(&self) -> io::Result<bool> {
        Ok(FileType::from_raw_mode(fstat(&self.0)?.st_mode) == FileType::Directory)
    }

    /// Forbids writing to all of it.
    pub fn read_only(self) -> io::Result<Self> {
        set_read_only(self.0.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE)?;
        Ok(self)
    }

    /// Mounts it at a path.
    pub fn place(self, at: &Path) -> io::Result<()> {
        Ok(move_mount(self.0.as_fd(), c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
    }
}

/// Keeps mounts of this namespace from others, and theirs from this one.
pub fn make_private() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Forbids writing to everything that is mounted.
pub fn read_only_everywhere() -> io::Result<()> {
    set_read_only(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE)
}

/// Forbids writing to one mount.
pub fn forbid_writing(at: &Path) -> io::Result<()> {
    set_read_only(libc::AT_FDCWD, &c_path(at)?, 0)
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    users: u64,
}

const READ_ONLY: u64 = 1;

fn set_read_only(directory: libc::c_int, path: &CStr, flags: libc::c_int) -> io::Result<()> {
    let attributes = MountAttributes { set: READ_ONLY, clear: 0, propagation: 0, users: 0 };
    // SAFETY: a NUL-terminated path and a structure of the size that is given; the kernel only reads both.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Mounts an empty file system in memory, for a directory with this mode.
pub fn mount_tmpfs(at: &Path, mode: u32) -> io::Result<()> {
    let options = CString::new(format!("mode={mode:o}")).map_err(io::Error::other)?;
    Ok(mount(c"tmpfs", at, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))?)
}

/// A file that nobody can read. It is mounted over files that are hidden.
const NOTHING: &str = "/dev/.nothing";

/// Hides a file, once there are [devices](mount_devices).
pub fn hide_file(at: &Path) -> io::Result<()> {
    MountedTree::take(Path::new(NOTHING))?.read_only()?.place(at)
}

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Names below `/dev` that lead elsewhere.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Mounts a `/dev` with the harmless devices alone, and terminals, shared memory and message queues of its own.
pub fn mount_devices() -> io::Result<()> {
    let dev = Path::new("/dev");
    let known: Vec<(PathBuf, MountedTree)> = DEVICES
        .iter()
        .map(|name| dev.join(name))
        .filter_map(|path| MountedTree::take(&path).ok().map(|tree| (path, tree)))
        .collect();
    mount_tmpfs(dev, 0o755)?;
    for (path, device) in known {
        std::fs::File::create(&path)?;
        device.place(&path)?;
    }
    for (name, to) in DEVICE_LINKS {
        std::os::unix::fs::symlink(to, dev.join(name))?;
    }
    for name in ["pts", "shm", "mqueue"] {
        std::fs::create_dir(dev.join(name))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    mount(c"devpts", "/dev/pts", c"devpts", flags, Some(options))?;
    mount_tmpfs(Path::new("/dev/shm"), 0o1777)?;
    std::fs::File::create(NOTHING)?;
    std::fs::set_permissions(NOTHING, std::fs::Permissions::from_mode(0o0))?;
    // Not every kernel has them.
    let _ = mount(c"mqueue", "/dev/mqueue", c"mqueue", flags | MountFlags::NODEV, None);
    forbid_writing(dev)
}

/// Parts of `/proc` that change the whole machine.
const MACHINE: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Parts of `/proc` that show memory and keys of the machine.
const MEMORY: [&str; 5] = ["kcore", "keys", "key-users", "timer_list", "sched_debug"];

/// Mounts the `/proc` of the namespace of process ids that the caller is in, without its ways to change the machine, and
/// forbids further namespaces of users.
pub(super) fn mount_processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", "/proc", c"proc", flags, None)?;
    // A namespace of users gives every capability inside, and with it ways into the kernel that nobody else has.
    std::fs::write("/proc/sys/user/max_user_namespaces", "0")?;
    let there =
        |names: [&str; 5]| names.map(|name| Path::new("/proc").join(name)).into_iter().filter(|path| path.exists());
    for path in there(MACHINE) {
        MountedTree::take(&path)?.read_only()?.place(&path)?;
    }
    for path in there(MEMORY) {
        MountedTree::take(Path::new("/dev/null"))?.place(&path)?;
    }
    Ok(())
}

/// Starts the loopback interface of this network namespace.
pub fn loopback_up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::try_from(*from).unwrap_or_default();
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
    // SAFETY: the kernel reads a structure that outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
