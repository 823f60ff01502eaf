//! System calls of the fence around a command: namespaces, mounts, capabilities, and filters of system calls.
//!
//! A *fence* is a set of namespaces that outlives the process that made it, because descriptors hold it. Any number of
//! commands can join it, each in a namespace of process ids of its own, whose first process is an [`Init`].

mod confine;
mod init;
mod mounts;
mod namespaces;

pub use confine::{Confinement, FilterInstruction, KEPT_BY_ROOT};
pub use init::Init;
pub use mounts::{
    MountedTree, forbid_writing, hide_file, loopback_up, make_private, mount_devices, mount_tmpfs, read_only_everywhere,
};
pub use namespaces::{Joined, NAMESPACES, handles_of_this_process, join_users_and_new_pids, leave_for_own_namespaces};
