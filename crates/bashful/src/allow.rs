//! `bashful allow`: the user approves one refused command for one run within a few minutes.
//!
//! An allowance is a file that only the user can read. It holds the script and what decides its effect (directory, variables,
//! session, dialect), word for word, and is removed when it is used. No model sees it, and nothing in it could be repeated by one. Allowing needs a terminal
//! that no command has started, and the guard refuses commands that would allow something: a model cannot allow a
//! command by accident. A command that tries hard can write the file itself, because it runs as the same user
//! (docs/security.md).

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bashful_dialect::{Dialect, visible};
use bashful_engine::{GivenCommand, make_directory};
use bashful_sys::plain;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cli::AllowArgs;
use crate::exit::Exit;
use crate::request;
use crate::settings::SandboxModeName;
use crate::setup;
use crate::surroundings::Surroundings;
use crate::{guard, print};

/// An error of `bashful allow`.
#[derive(Debug, Error)]
enum AllowError {
    #[error("only a person at a terminal can allow a command")]
    NoPerson(#[source] guard::NoPerson),
    #[error("cannot note what was allowed")]
    Write(#[source] std::io::Error),
}

/// The directory of allowances.
#[derive(Debug, Clone)]
pub(crate) struct Allowances {
    directory: PathBuf,
}

/// Format version of an allowance file. Version 1 had no variables.
const VERSION: u32 = 2;

/// One command that may run once. Bytes that are no text are replaced, here and in a command that is compared with it.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Allowance {
    version: u32,
    script: String,
    directory: PathBuf,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    session: Option<String>,
    dialect: Option<String>,
    sandbox: Option<String>,
    /// Seconds since 1970.
    until: u64,
}

impl Allowance {
    fn new(version: u32, given: &GivenCommand, until: u64) -> Self {
        let value = |(name, value): (&String, &OsString)| (name.clone(), value.to_string_lossy().into_owned());
        Self {
            version,
            script: String::from_utf8_lossy(given.script.as_bytes()).into_owned(),
            directory: given.directory.clone(),
            variables: given.variables.iter().map(value).collect(),
            session: given.session.clone(),
            dialect: given.dialect.clone(),
            sandbox: given.sandbox.map(|mode| mode.to_string()),
            until,
        }
    }

    fn is_for(&self, given: &GivenCommand) -> bool {
        *self == Self::new(self.version, given, self.until)
    }
}

impl Allowances {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Stores an allowance for one run of this command before `until`.
    fn store(&self, given: &GivenCommand, until: SystemTime) -> std::io::Result<()> {
        let allowance = Allowance::new(VERSION, given, seconds(until));
        make_directory(&self.directory)?;
        let number = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let path = self.directory.join(format!("{number}-{}.json", std::process::id()));
        plain::write(&path, serde_json::to_string(&allowance)?.as_bytes())
    }

    /// Uses up the allowance for this command; false if there is none.
    pub(crate) fn use_up(&self, given: &GivenCommand, now: SystemTime) -> bool {
        let Ok(entries) = fs::read_dir(&self.directory) else { return false };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(allowance) = read(&path) else { continue };
            if allowance.until < seconds(now) {
                // The allowance expired. Another process may remove it at the same time.
                let _ = fs::remove_file(&path);
            } else if allowance.is_for(given) {
                // Of two processes that use it at the same time, only one can remove it.
                return fs::remove_file(&path).is_ok();
            }
        }
        false
    }
}

/// Reads an allowance of this user. A file that others can write to, or that has a second hard link, does not count.
fn read(path: &Path) -> Option<Allowance> {
    let mut file = plain::open(path).ok()?;
    let facts = file.metadata().ok()?;
    if facts.mode() & 0o022 != 0 || facts.nlink() > 1 {
        return None;
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    // An allowance of a newer version may mean something else, so it stays for that version.
    serde_json::from_slice(&text).ok().filter(|allowance: &Allowance| allowance.version <= VERSION)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Asks the user on the terminal, and stores the allowance.
pub(crate) fn main(args: &AllowArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    // The hook asks about interactive shells too, so they can be allowed.
    guard::ask_about_interactive_shells(&mut settings);
    guard::set_dialect_levels(&mut settings, args.dialect);
    let engine = setup::engine(&settings, &around, args.cwd.as_deref())?;
    let mut request = bashful_engine::Request::new(bashful_engine::Script::new(request::script(&args.script)?)?);
    request.workdir.clone_from(&args.cwd);
    request.env = args.env.iter().map(request::variable).collect::<Result<_, _>>()?;
    request.session.clone_from(&args.session);
    request.sandbox = args.sandbox.map(SandboxModeName::mode);
    request.dialect = Some(args.dialect).filter(|dialect| *dialect != Dialect::NATIVE).map(Dialect::name);
    engine.recall_snapshot();
    // The guard judges the rewritten script. The allowance has the given one, because a job or a session may rewrite
    // it differently.
    let rewritten = engine.rewrite(request, bashful_engine::RewriteFor::Reply)?;
    let plan = engine.plan(rewritten.request)?;
    let verdict = engine.verdict(&plan);
    let given = plan.given_command();
    if !verdict.refuses() {
        print::talk("the guard lets it pass anyway");
        return Ok(Exit::Code(0));
    }
    let allowances = guard::allowances(&around).ok_or_else(|| around.state().no_place("allowances"))?;
    let redactor = engine.redactor_for(&plan);
    let place = visible(&redactor.redact(given.directory.to_string_lossy()));
    let question = format!("allow it once, in {place}, within {} minutes?", args.minutes);
    guard::find_person().map_err(AllowError::NoPerson)?;
    if !guard::asks(&guard::about(&plan, &verdict, &redactor), &question) {
        print::talk("not allowed");
        return Ok(Exit::Code(1));
    }
    let until = SystemTime::now() + Duration::from_secs(60 * u64::from(args.minutes));
    allowances.store(&given, until).map_err(AllowError::Write)?;
    Ok(Exit::Code(0))
}

#[cfg(test)]
mod tests {
    use bashful_engine::SandboxMode;

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn store() -> (tempfile::TempDir, Allowances) {
        let directory = tempfile::tempdir().expect("a directory");
        let allowances = Allowances::new(directory.path().join("allowed"));
        (directory, allowances)
    }

    const NOON: SystemTime = UNIX_EPOCH;

    fn later(seconds: u64) -> SystemTime {
        NOON + Duration::from_secs(seconds)
    }

    fn given(script: &str, directory: &str) -> GivenCommand {
        GivenCommand::new(bashful_engine::Script::new(script).expect("a script"), directory.into())
    }

    #[test]
    fn what_was_allowed_passes_once() {
        let (_directory, allowances) = store();
        let push = given("git push -f", "/x");
        allowances.store(&push, later(300)).expect("noted");
        assert!(allowances.use_up(&push, later(10)));
        assert!(!allowances.use_up(&push, later(10)), "it is used up");
    }

    #[test]
    fn another_command_or_time_does_not_pass() {
        let (_directory, allowances) = store();
        let push = given("git push -f", "/x");
        allowances.store(&push, later(300)).expect("noted");
        let with_variable = |value: &str| {
            let variables = BTreeMap::from([("X".to_owned(), value.into())]);
            GivenCommand { variables, ..push.clone() }
        };
        let others = [
            given("git push -f ", "/x"),
            given("git push -f", "/y"),
            with_variable("/"),
            GivenCommand { session: Some("s".into()), ..push.clone() },
            GivenCommand { dialect: Some("pi".into()), ..push.clone() },
            GivenCommand { sandbox: Some(SandboxMode::Off), ..push.clone() },
        ];
        for other in others {
            assert!(!allowances.use_up(&other, later(10)), "{other:?}");
        }
        assert!(!allowances.use_up(&push, later(301)));
        assert!(!allowances.use_up(&push, later(10)), "what is too old is gone");
        allowances.store(&with_variable("a"), later(300)).expect("noted");
        assert!(!allowances.use_up(&with_variable("/"), later(10)));
        assert!(allowances.use_up(&with_variable("a"), later(10)));
    }

    #[test]
    fn an_allowance_of_a_newer_version_neither_counts_nor_goes() {
        let (_directory, allowances) = store();
        let push = given("git push -f", "/x");
        let check = |version: &str, passes: bool| {
            allowances.store(&push, later(300)).expect("noted");
            let path =
                fs::read_dir(&allowances.directory).expect("there").next().expect("one").expect("readable").path();
            let text = fs::read_to_string(&path).expect("readable").replace(r#""version":2,"#, version);
            fs::write(&path, text).expect("writable");
            assert_eq!(allowances.use_up(&push, later(10)), passes, "{version}");
            assert!(!allowances.use_up(&push, later(301)));
            assert_eq!(path.exists(), !passes, "{version}");
        };
        check(r#""version":1,"#, true);
        check(r#""version":2,"#, true);
        check(r#""version":3,"#, false);
    }

    #[test]
    fn nobody_else_can_read_it() {
        let (_directory, allowances) = store();
        allowances.store(&given("x", "/x"), later(300)).expect("noted");
        let entry = fs::read_dir(&allowances.directory).expect("there").next().expect("one").expect("readable");
        assert_eq!(entry.metadata().expect("facts").permissions().mode() & 0o777, 0o600);
        let directory = fs::metadata(&allowances.directory).expect("facts").permissions().mode();
        assert_eq!(directory & 0o777, 0o700);
    }
}
