//! The modes of a session: how long a command may run, and if it runs in the background.

use agent_client_protocol::v1::schema::{SessionMode, SessionModeState};
use bashful_dialect::BashMode;

/// The mode of a session, which its commands get as the argument `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CommandMode {
    #[default]
    Default,
    Slow,
    Background,
}

impl From<CommandMode> for BashMode {
    fn from(mode: CommandMode) -> Self {
        match mode {
            CommandMode::Default => Self::Default,
            CommandMode::Slow => Self::Slow,
            CommandMode::Background => Self::Background,
        }
    }
}

impl CommandMode {
    const ALL: [Self; 3] = [Self::Default, Self::Slow, Self::Background];

    /// The name, in the protocol and as an argument.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Slow => "slow",
            Self::Background => "background",
        }
    }

    /// The mode of this name, among those that the engine has.
    pub(crate) fn of(id: &str, has_jobs: bool) -> Option<Self> {
        Self::available(has_jobs).find(|mode| mode.id() == id)
    }

    fn available(has_jobs: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |mode| has_jobs || *mode != Self::Background)
    }

    /// All modes for a client, with this one as the current one.
    pub(crate) fn state(self, has_jobs: bool) -> SessionModeState {
        let modes = Self::available(has_jobs).map(|mode| {
            let (name, description) = match mode {
                Self::Default => ("Default", "commands end soon, or are stopped"),
                Self::Slow => ("Slow", "commands have more time, as builds and tests need"),
                Self::Background => ("Background", "commands become jobs, which outlive this agent"),
            };
            SessionMode::new(mode.id(), name).description(description.to_owned())
        });
        SessionModeState::new(self.id(), modes.collect())
    }
}
