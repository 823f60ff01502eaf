//! Guarantees of the engine on this machine.

/// Guarantees that the engine can give on this machine, in this program.
#[expect(clippy::struct_excessive_bools, reason = "each is a promise of its own, and people read them as a list")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promises {
    /// Form of the keepers.
    pub keeper: KeeperForm,
    /// A process that left its group and its session, and whose parents are gone, is still found and stopped.
    pub catches_daemons: bool,
    /// Commands are stopped when this program dies, even by `SIGKILL`.
    pub survives_own_death: bool,
    /// Processes that a killed keeper leaves behind are found and stopped.
    pub survives_keeper_death: bool,
    /// Leftover processes can continue to write after this program has ended.
    pub leftovers_keep_writing: bool,
    /// A keeper is a process with a single thread. False if this program had started threads when it called
    /// [`keeper_main`](crate::keeper_main), because every keeper then does so too. Assumed to be true for a program
    /// that [`KeeperProgram::At`](crate::KeeperProgram::At) names.
    pub keepers_are_small: bool,
    /// A stop ends every process of the command, up to those that `catches_daemons` is about.
    pub stops_the_tree: bool,
    /// A command has no variables but those of its plan, so withheld ones stay out.
    pub withholds_variables: bool,
    /// The engine reads every byte of the output, each stream by itself. Otherwise it gets the text of both, of which the
    /// beginning may be missing.
    pub keeps_whole_output: bool,
}

/// Form of the keepers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperForm {
    /// A small process for each command.
    Process,
    /// Unknown: a backend of the host supervises the commands.
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
            stops_the_tree: true,
            withholds_variables: true,
            keeps_whole_output: true,
        }
    }

    pub(crate) const fn of_client_terminals() -> Self {
        Self {
            keeper: KeeperForm::Backend,
            catches_daemons: false,
            survives_own_death: false,
            survives_keeper_death: false,
            leftovers_keep_writing: false,
            keepers_are_small: false,
            stops_the_tree: false,
            withholds_variables: false,
            keeps_whole_output: false,
        }
    }
}
