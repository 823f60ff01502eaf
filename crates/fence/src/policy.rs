//! The policy of a person, before it is resolved.

use std::fmt;

/// How much of the machine a command may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Mode {
    /// No fence.
    #[default]
    Off,
    /// Files of the workspace and temporary files.
    Workspace,
    /// Temporary files only.
    ReadOnly,
}

impl Mode {
    /// The word for it in settings and arguments.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// The network of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Network {
    /// A loopback interface of its own, which all commands of the fence share.
    #[default]
    Off,
    /// The same, and the hosts of a list by a proxy.
    List,
    /// That of the host.
    On,
}

impl Network {
    /// The word for it in settings and facts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::List => "list",
            Self::On => "on",
        }
    }
}

/// Writes of a command to the caches of package managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Caches {
    /// Writes go to a copy, which only commands of the fence see: what they put there never runs outside.
    #[default]
    Private,
    /// Writes go to the caches.
    Shared,
}

/// The wishes of a person for a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencePolicy {
    /// How much may be changed.
    pub mode: Mode,
    /// More directories that may be changed, in [`Mode::Workspace`]. `~` is the home directory.
    pub write: Vec<String>,
    /// The caches of package managers.
    pub caches: Caches,
    /// Files and directories that cannot be read.
    pub hide: Vec<String>,
    /// Names below the directories that may be changed, and below the home directory, that stay as they are.
    pub protect: Vec<String>,
    /// The network.
    pub network: Network,
    /// Hosts that can be reached, in [`Network::List`].
    pub domains: Vec<String>,
    /// Loopback ports of the host that can be reached, unless its whole network can.
    pub ports: Vec<u16>,
}
