//! Resource limits: reads them, passes them on, and raises the limit on descriptors.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Resources whose limits a child inherits. The index is the number that [`Limit`] uses on the wire.
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

/// Soft and hard limit on one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    resource: u8,
    /// Limit in force; none means unlimited.
    pub soft: Option<u64>,
    /// Highest value to which the process may raise the soft limit; none means unlimited.
    pub hard: Option<u64>,
}

/// A resource that a host can limit for its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedResource {
    /// Address space of one process, in bytes.
    AddressSpace,
    /// Processor time of one process, in seconds.
    ProcessorSeconds,
    /// Largest file that a process may write, in bytes.
    FileSize,
    /// Open descriptors of one process.
    Descriptors,
    /// Processes of this user, including those outside of commands.
    Processes,
}

impl Limit {
    /// Soft and hard limit in one, which a command cannot raise.
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

    /// Current limit on open descriptors of this process.
    pub fn descriptors() -> Self {
        Self::read(9)
    }

    /// Current limit on the stack of this process's first thread, in bytes.
    pub fn stack() -> Self {
        Self::read(15)
    }

    /// Decodes a limit from a message; none if there is no such resource.
    pub fn from_parts(resource: u8, soft: Option<u64>, hard: Option<u64>) -> Option<Self> {
        (usize::from(resource) < RESOURCES.len()).then_some(Self { resource, soft, hard })
    }

    /// Number of the resource for [`Limit::from_parts`].
    pub fn resource(self) -> u8 {
        self.resource
    }

    fn read(resource: u8) -> Self {
        let now = getrlimit(RESOURCES[usize::from(resource)]);
        Self { resource, soft: now.current, hard: now.maximum }
    }

    /// The same limit, raised as far as this process may raise it.
    #[must_use]
    pub fn raised(self) -> Self {
        Self { soft: self.hard, ..self }
    }

    /// Puts the limit in force for this process.
    pub(crate) fn set(self) -> Result<(), Errno> {
        setrlimit(RESOURCES[usize::from(self.resource)], Rlimit { current: self.soft, maximum: self.hard })
    }
}

/// All limits of this process, to find out later if any has changed.
pub fn all() -> Vec<Limit> {
    (0_u8..).take(RESOURCES.len()).map(Limit::read).collect()
}

/// Raises the limit on open descriptors as far as possible, and returns the limit before.
///
/// Commands should get the old limit back: some programs close every descriptor up to the limit, one by one.
pub fn raise_descriptors() -> Limit {
    let before = Limit::descriptors();
    // A process that may not raise it keeps the old limit.
    let _ = before.raised().set();
    before
}
