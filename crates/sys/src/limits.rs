//! Resource limits: reading them, handing them on, making room for many descriptors.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Every resource that a child inherits.
const RESOURCES: [Resource; 16] = [
    Resource::As,
    Resource::Core,
    Resource::Cpu,
    Resource::Data,
    Resource::Fsize,
    Resource::Locks,
    Resource::Memlock,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Nofile,
    Resource::Nproc,
    Resource::Rss,
    Resource::Rtprio,
    Resource::Rttime,
    Resource::Sigpending,
    Resource::Stack,
];

/// A limit on one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    resource: u8,
    /// What is in force; none means unlimited.
    pub soft: Option<u64>,
    /// Up to where the process may raise it.
    pub hard: Option<u64>,
}

/// A resource that a host may limit for its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedResource {
    /// Memory of one process, in bytes of its address space.
    AddressSpace,
    /// Processor time of one process, in seconds.
    ProcessorSeconds,
    /// Largest file that a process may write, in bytes.
    FileSize,
    /// Open descriptors of one process.
    Descriptors,
    /// Processes of this user, those outside of commands counted too.
    Processes,
}

impl Limit {
    /// A limit that a command cannot raise.
    pub fn at_most(resource: LimitedResource, most: u64) -> Self {
        let resource = match resource {
            LimitedResource::AddressSpace => 0,
            LimitedResource::ProcessorSeconds => 2,
            LimitedResource::FileSize => 4,
            LimitedResource::Descriptors => 9,
            LimitedResource::Processes => 10,
        };
        Self { resource, soft: Some(most), hard: Some(most) }
    }

    /// The limit on open descriptors of this process.
    pub fn descriptors() -> Self {
        Self::read(9)
    }

    /// The limit on the stack of this process' first thread, in bytes.
    pub fn stack() -> Self {
        Self::read(15)
    }

    /// Takes a limit off a wire; none if there is no such resource.
    pub fn from_parts(resource: u8, soft: Option<u64>, hard: Option<u64>) -> Option<Self> {
        (usize::from(resource) < RESOURCES.len()).then_some(Self { resource, soft, hard })
    }

    /// The number under which [`Limit::from_parts`] knows the resource.
    pub fn resource(self) -> u8 {
        self.resource
    }

    fn read(resource: u8) -> Self {
        let now = getrlimit(RESOURCES[usize::from(resource)]);
        Self { resource, soft: now.current, hard: now.maximum }
    }

    /// The highest that this process may set by itself.
    #[must_use]
    pub fn raised(self) -> Self {
        Self { soft: self.hard, ..self }
    }

    /// Puts the limit in force for this process.
    pub(crate) fn set(self) -> Result<(), Errno> {
        setrlimit(RESOURCES[usize::from(self.resource)], Rlimit { current: self.soft, maximum: self.hard })
    }
}

/// All limits of this process, to see later whether any has changed.
pub fn all() -> Vec<Limit> {
    (0_u8..).take(RESOURCES.len()).map(Limit::read).collect()
}

/// Raises the limit on open descriptors as far as it goes, and tells what it was.
///
/// Commands should get the old one back: some programs close every descriptor up to the limit, one by one.
pub fn raise_descriptors() -> Limit {
    let before = Limit::descriptors();
    // Not being allowed to is no failure: the old limit is simply what there is.
    let _ = before.raised().set();
    before
}
