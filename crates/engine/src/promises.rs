//! What can be relied on, said truthfully.

/// What the engine can promise on this machine, in this program.
#[expect(clippy::struct_excessive_bools, reason = "each is a promise of its own, and people read them as a list")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// Who keeps the commands.
    pub keeper: KeeperForm,
    /// A process that leaves its group and its session, and whose parents are gone, is still found and stopped.
    pub catches_daemons: bool,
    /// Commands are stopped when this program dies, even of `SIGKILL`.
    pub survives_own_death: bool,
    /// What a killed keeper leaves behind is found and stopped.
    pub survives_keeper_death: bool,
    /// What a command leaves running can go on writing after this program has ended.
    pub leftovers_keep_writing: bool,
    /// A keeper is a process with a single thread. False if this program had started threads when it called
    /// [`keeper_main`](crate::keeper_main), because every keeper does so too. Unknown, and taken to be true, of a program that
    /// [`KeeperProgram::At`](crate::KeeperProgram::At) names.
    pub keepers_are_small: bool,
}

/// Who keeps the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperForm {
    /// A small process beside each.
    Process,
    /// A thread of this program for each, because it has no entry point for a keeper.
    Thread,
    /// Nobody that bashful knows: a backend of the host supervises the commands.
    Backend,
}

impl Promises {
    pub(crate) const fn of_processes(adopts_orphans: bool, keepers_are_small: bool) -> Self {
        Self {
            keeper: KeeperForm::Process,
            catches_daemons: true,
            survives_own_death: true,
            survives_keeper_death: adopts_orphans,
            leftovers_keep_writing: true,
            keepers_are_small,
        }
    }

    pub(crate) const fn of_threads() -> Self {
        Self {
            keeper: KeeperForm::Thread,
            catches_daemons: false,
            survives_own_death: false,
            survives_keeper_death: false,
            leftovers_keep_writing: false,
            keepers_are_small: false,
        }
    }
}
