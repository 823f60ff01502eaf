//! The key of a running shell: everything about it that cannot change any more.
//!
//! Two modules keep running shells, and this is the one list for both. `ready.rs` gives a waiting shell to a command
//! with the same key in every field. `sessions/store.rs` names the directory of a session by the fields that tell
//! sessions apart.
//!
//! Plan and key are destructured without `..`: a new field, such as a sandbox or a terminal, compiles only when both
//! have decided about it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use bashful_fence::Fence;

use crate::environment::Environment;
use crate::fixed_name::FixedName;
use crate::plan::Plan;
use crate::request::Streams;
use crate::reserve::Standing;
use crate::sessions::SessionName;
use crate::snapshot::Snapshot;
use crate::units::Grace;

/// Variables that change with every step of the program that starts a command, and do not matter to the command.
const PASSING: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// Everything about a running shell that cannot change any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellKey<'a> {
    shell: Cow<'a, Path>,
    /// Directory in which the shell starts.
    directory: Cow<'a, Path>,
    environment: Cow<'a, Environment>,
    streams: Streams,
    /// The shell's keeper was started with it.
    grace: Grace,
    /// The shell has sourced it.
    snapshot: Option<Arc<Snapshot>>,
    /// The shell is inside of it, and never leaves.
    fence: Option<Arc<Fence>>,
    /// None if they were not read.
    conditions: Option<Conditions>,
}

/// Conditions of machine and program that a shell inherits at its start. A plan does not contain them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Conditions {
    /// Device and inode: the same path may lead to another directory by now.
    directory_is: (u64, u64),
    standing: Standing,
}

impl<'a> ShellKey<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        let Plan {
            shell,
            directory,
            environment,
            streams,
            grace,
            snapshot,
            fence,
            // A waiting shell gets these with its command.
            script: _,
            lifetime: _,
            job_lifetime: _,
            session: _,
            // A command with input gets a new shell.
            input: _,
            // These concern the engine, whatever the shell.
            given: _,
            leftovers: _,
            window: _,
            condense_within: _,
            save_beyond: _,
            owner: _,
            lines: _,
            enough: _,
            cleaning: _,
            own_variables: _,
            dialect: _,
            asks_for_less_fence: _,
            environment_is_whole: _,
        } = plan;
        Self {
            shell: Cow::Borrowed(shell),
            directory: Cow::Borrowed(directory),
            environment: Cow::Borrowed(environment),
            streams: *streams,
            grace: *grace,
            snapshot: snapshot.clone(),
            fence: fence.clone(),
            conditions: None,
        }
    }

    /// Key of a shell that is started on this machine now; none if its conditions cannot be read.
    pub(crate) fn now(plan: &'a Plan) -> Option<Self> {
        let metadata = plan.directory.metadata().ok()?;
        let conditions = Conditions { directory_is: (metadata.dev(), metadata.ino()), standing: Standing::now()? };
        Some(Self { conditions: Some(conditions), ..Self::of(plan) })
    }

    pub(crate) fn into_owned(self) -> ShellKey<'static> {
        let Self { shell, directory, environment, streams, grace, snapshot, fence, conditions } = self;
        ShellKey {
            shell: Cow::Owned(shell.into_owned()),
            directory: Cow::Owned(directory.into_owned()),
            environment: Cow::Owned(environment.into_owned()),
            streams,
            grace,
            snapshot,
            fence,
            conditions,
        }
    }

    /// Hash in the name of a session's directory, which tells sessions apart. It is on disk: a field more or less hides
    /// sessions that run.
    pub(crate) fn session_hash(&self, name: &SessionName) -> String {
        let Self {
            shell,
            environment,
            snapshot,
            fence,
            // The shell of a session changes its directory with its commands.
            directory: _,
            // Every command of a session has its own.
            streams: _,
            // Values of the program that started the session hold for all of its commands.
            grace: _,
            conditions: _,
        } = self;
        let snapshot = snapshot.as_ref().map(|snapshot| snapshot.path().as_os_str().as_bytes());
        let variables = lasting_variables(environment);
        let entries = variables.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let hash = FixedName::new("session")
            .field(name.as_str().as_bytes())
            .field(shell.as_os_str().as_bytes())
            .list(snapshot.into_iter())
            .list(entries.collect::<Vec<_>>().into_iter());
        match fence {
            None => hash.hex(),
            Some(fence) => hash.field(format!("{fence:?}").as_bytes()).hex(),
        }
    }
}

/// The variables that tell one session from another.
fn lasting_variables(environment: &Environment) -> Vec<(&OsString, &OsString)> {
    let is_passing = |name: &OsString| PASSING.iter().any(|passing| name.as_os_str() == *passing);
    environment.variables.iter().filter(|(name, _)| !is_passing(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Options, Request, Script};

    fn plan(directory: &str) -> Plan {
        let mut options = Options::new("/bin/bash".into(), directory.into());
        options.host_environment =
            vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "1".into()), ("SHLVL".into(), "3".into())];
        let request = Request::new(Script::new("true").expect("a script"));
        Engine::new(options).expect("an engine").plan(request).expect("a plan")
    }

    #[test]
    fn the_name_of_a_session_on_disk_never_changes() {
        let name = SessionName::new("build 1").expect("a name");
        // SipHash-2-4 of the fields "session", "build 1", "/bin/bash", 0, 4, "A", "1", "PATH", "/usr/bin:/bin".
        let hash = "d7f1640929a3dc80b3d2c5d679bfdab9";
        assert_eq!(ShellKey::of(&plan("/")).session_hash(&name), hash);
        let elsewhere = Plan { streams: Streams::Split, grace: Grace(std::time::Duration::ZERO), ..plan("/usr") };
        assert_eq!(ShellKey::of(&elsewhere).session_hash(&name), hash);
    }

    #[test]
    fn a_waiting_shell_is_for_plans_that_differ_in_nothing_it_has_got_already() {
        let directory = tempfile::tempdir().expect("a directory");
        let here = plan(directory.path().to_str().expect("text"));
        let key = ShellKey::now(&here).expect("a key").into_owned();
        let other_script = Plan { script: Script::new("false").expect("a script"), ..here.clone() };
        assert_eq!(ShellKey::now(&other_script).as_ref(), Some(&key));
        let split = Plan { streams: Streams::Split, ..here.clone() };
        assert_ne!(ShellKey::now(&split).as_ref(), Some(&key));
        let longer_grace = Plan { grace: Grace(here.grace.0 * 2), ..here.clone() };
        assert_ne!(ShellKey::now(&longer_grace).as_ref(), Some(&key));
        let path = here.directory.clone();
        std::fs::rename(&path, path.with_extension("old")).expect("it moves");
        std::fs::create_dir(&path).expect("another one");
        assert_ne!(ShellKey::now(&here).as_ref(), Some(&key), "the path leads to another directory");
        std::fs::remove_dir(path.with_extension("old")).expect("it is empty");
    }
}
