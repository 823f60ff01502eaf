//! Runs every test binary many times, on a busy machine and in odd surroundings, to find tests that pass only by luck.
//!
//! The last commit is cloned to paths of different lengths and built there. Each round runs all test binaries once, in its own
//! mixture of path, home, terminal type, language, umask, signals, standard input and user. Several run at once, beside busy
//! loops, so that two cores have the load of twelve.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::{Done, cargo, print};

/// Length of the paths of the clones: the shortest that is usual, an ordinary one, and one that wraps every line of a terminal.
const LENGTHS: [usize; 3] = [10, 60, 150];

/// Rounds without a wish.
const ROUNDS: usize = 30;

/// Test binaries that run at once. Each has two threads.
const AT_ONCE: usize = 4;

/// Busy loops beside them.
const BUSY_LOOPS: usize = 4;

/// A binary that takes longer hangs.
const LONGEST: &str = "1800";

/// The user that is not root: `nobody`, who owns nothing.
const ORDINARY: &str = "65534";

/// A test binary, and the directory in which cargo would run it.
struct Binary {
    name: String,
    path: PathBuf,
    directory: PathBuf,
}

/// The surroundings of one round.
struct Surroundings {
    terminal: Option<&'static str>,
    language: &'static str,
    umask: &'static str,
    ignores_interrupts: bool,
    closed_input: bool,
    is_root: bool,
}

impl Surroundings {
    /// Every value meets every other within a few rounds.
    fn of_round(round: usize) -> Self {
        Self {
            terminal: [None, Some("dumb"), Some("xterm-256color")][(round + round / 3) % 3],
            language: ["C", "de_DE.UTF-8", "C.UTF-8"][(round / 2) % 3],
            umask: ["022", "077"][round % 2],
            ignores_interrupts: (round / 2).is_multiple_of(2),
            closed_input: (round / 4).is_multiple_of(2),
            is_root: (round / 3).is_multiple_of(2),
        }
    }

    fn in_words(&self) -> String {
        let Self { terminal, language, umask, ignores_interrupts, closed_input, is_root } = self;
        let user = if *is_root { "root" } else { "nobody" };
        let (interrupts, input) =
            (if *ignores_interrupts { "ignored" } else { "usual" }, if *closed_input { "closed" } else { "empty" });
        format!("TERM={terminal:?} LANG={language} umask={umask} SIGINT {interrupts}, input {input}, {user}")
    }

    /// The call of a binary. Its shell sets what a parent hands on.
    fn command(&self, binary: &Binary, home: &Path) -> Command {
        let trap = if self.ignores_interrupts { "trap '' INT; " } else { "" };
        let close = if self.closed_input { " <&-" } else { "" };
        let script = format!("umask {}; {trap}exec \"$@\"{close}", self.umask);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", LONGEST]);
        if !self.is_root {
            command.args(["setpriv", "--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"]);
        }
        command.args(["sh", "-c", &script, "sh"]).arg(&binary.path).args(["--test-threads", "2"]);
        command.env_clear().env("LANG", self.language).env("HOME", home).env("TMPDIR", home.join("tmp"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("RUST_BACKTRACE", "0");
        // An empty home has no toolchain, and some tests call cargo.
        let cargo_home = if self.is_root { tool_home("CARGO_HOME", ".cargo") } else { home.join(".cargo") };
        command.env("CARGO_HOME", cargo_home).env("RUSTUP_HOME", tool_home("RUSTUP_HOME", ".rustup"));
        command.envs(self.terminal.map(|terminal| ("TERM", terminal)));
        command.current_dir(&binary.directory).stdin(Stdio::null()).process_group(0);
        command
    }
}

/// A directory of the toolchain: where the variable says, or below the home of who hunts.
fn tool_home(variable: &str, usual: &str) -> PathBuf {
    let usual = || std::env::home_dir().unwrap_or_default().join(usual);
    std::env::var_os(variable).map_or_else(usual, PathBuf::from)
}

/// Fails unless the ordinary user can run what the tests run.
fn check_ordinary_user() -> Done {
    for program in [tool_home("CARGO_HOME", ".cargo").join("bin/cargo"), "target/clients/python/bin/python".into()] {
        let program = cargo::root().join(program);
        let mut command = Command::new("setpriv");
        command.args(["--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"]).arg(&program).arg("--version");
        let can = command.env("RUSTUP_HOME", tool_home("RUSTUP_HOME", ".rustup")).stdout(Stdio::null()).status()?;
        if !can.success() {
            let (user, program) = (ORDINARY, program.display());
            return Err(
                format!("user {user} cannot run {program}: let it into the directories above (chmod o+x)").into()
            );
        }
    }
    Ok(())
}

/// Hunts with these options: `--rounds N`, and names of test binaries.
pub(crate) fn main(options: &[&str]) -> Done {
    let (rounds, names) = match options {
        ["--rounds", number, names @ ..] => {
            (number.parse().map_err(|_| format!("--rounds takes a number, not {number:?}"))?, names)
        }
        names => (ROUNDS, names),
    };
    if let Some(option) = names.iter().find(|name| name.starts_with('-')) {
        return Err(
            format!("unknown option {option}; usage: cargo xtask ci --hunt [--rounds N] [TEST BINARY...]").into()
        );
    }
    check_ordinary_user()?;
    let logs = cargo::root().join("target/hunt");
    fs::create_dir_all(&logs)?;
    let clones = LENGTHS.iter().map(|length| prepare(*length, names)).collect::<Result<Vec<_>, _>>()?;
    let runs: Vec<(usize, usize)> =
        (0..rounds).flat_map(|round| (0..clones[round % clones.len()].len()).map(move |at| (round, at))).collect();
    let _busy: Vec<BusyLoop> = (0..BUSY_LOOPS).map(|_| BusyLoop::start()).collect::<Result<_, _>>()?;
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<String, Vec<String>>::new()));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((round, at)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let binary = &clones[round % clones.len()][*at];
                    for (test, why) in run(binary, *round, &logs) {
                        print::talk(&format!("xtask ci: {test} failed: {why}"));
                        failures.lock().expect("no thread panics").entry(test).or_default().push(why);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner()?;
    let minutes = began.elapsed().as_secs() / 60;
    print::talk(&format!("xtask ci: {} runs of {rounds} rounds in {minutes} minutes", runs.len()));
    for (test, whys) in &failures {
        print::talk(&format!("{} of {rounds}: {test}\n    {}", whys.len(), whys.join("\n    ")));
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} tests failed at least once", failures.len()).into()) }
}

/// Runs a binary once; the names of the tests that failed, each with its surroundings and the place of its output.
fn run(binary: &Binary, round: usize, logs: &Path) -> Vec<(String, String)> {
    let surroundings = Surroundings::of_round(round);
    let log = logs.join(format!("{round:02}-{}.log", binary.name.replace('/', "-")));
    let why = format!("round {round} ({}), output in {}", surroundings.in_words(), log.display());
    let finished = make_home(&surroundings).and_then(|home| {
        let output = File::create(&log)?;
        let mut command = surroundings.command(binary, home.path());
        let status = command.stdout(output.try_clone()?).stderr(output).status()?;
        Ok((status, fs::read(&log)?))
    });
    let (status, output) = match finished {
        Ok((status, output)) => (status, String::from_utf8_lossy(&output).into_owned()),
        Err(error) => return vec![(format!("{} (not run: {error})", binary.name), why)],
    };
    let failed = |line: &str| line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned);
    let mut failures: Vec<_> =
        output.lines().filter_map(failed).map(|test| (format!("{} {test}", binary.name), why.clone())).collect();
    if failures.is_empty() && !status.success() {
        failures.push((format!("{} ({status})", binary.name), why));
    } else if failures.is_empty() {
        let _ = fs::remove_file(&log);
    }
    failures
}

/// An empty home, with a directory for temporary files, for the user of these surroundings.
fn make_home(surroundings: &Surroundings) -> Result<tempfile::TempDir, std::io::Error> {
    let home = tempfile::Builder::new().prefix("hunt-").tempdir_in("/tmp")?;
    fs::create_dir(home.path().join("tmp"))?;
    if !surroundings.is_root {
        // Cargo writes locks beside its registry.
        fs::create_dir(home.path().join(".cargo"))?;
        std::os::unix::fs::symlink(
            tool_home("CARGO_HOME", ".cargo").join("registry"),
            home.path().join(".cargo/registry"),
        )?;
        let owner = ORDINARY.parse().ok();
        for path in ["", "tmp", ".cargo"].map(|name| home.path().join(name)) {
            std::os::unix::fs::chown(path, owner, owner)?;
        }
    }
    Ok(home)
}

/// Clones the last commit to a path of this length, and builds its tests.
fn prepare(length: usize, names: &[&str]) -> Result<Vec<Binary>, Box<dyn Error>> {
    let path = PathBuf::from(format!("{:x<length$}", "/tmp/hunt"));
    print::talk(&format!("xtask ci: building the last commit in {}", path.display()));
    if !path.exists() {
        check(Command::new("git").args(["clone", "--quiet"]).arg(cargo::root()).arg(&path))?;
        fs::create_dir_all(path.join("target"))?;
        std::os::unix::fs::symlink(cargo::root().join("target/clients"), path.join("target/clients"))?;
    }
    let head = Command::new("git").arg("-C").arg(cargo::root()).args(["rev-parse", "HEAD"]).output()?.stdout;
    check(Command::new("git").arg("-C").arg(&path).args(["fetch", "--quiet", "origin"]))?;
    check(
        Command::new("git")
            .arg("-C")
            .arg(&path)
            .args(["checkout", "--quiet", "--detach"])
            .arg(String::from_utf8(head)?.trim()),
    )?;
    let mut compile =
        cargo::command(&["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    let built = compile.current_dir(&path).env("CARGO_INCREMENTAL", "0").stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err(format!("the tests do not compile in {}", path.display()).into());
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let mut binaries: Vec<Binary> = messages.lines().filter_map(binary_of).collect();
    binaries.retain(|binary| names.is_empty() || names.iter().any(|name| binary.name.contains(name)));
    if binaries.is_empty() {
        return Err(format!("no test binary has one of these names: {}", names.join(", ")).into());
    }
    Ok(binaries)
}

/// The test binary that a message of cargo tells of.
fn binary_of(message: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = PathBuf::from(message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?);
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let name = format!("{}/{}", directory.file_name()?.display(), message["target"]["name"].as_str()?);
    Some(Binary { name, path, directory })
}

fn check(command: &mut Command) -> Done {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status})").into()) }
}

/// A process that does nothing, as fast as it can, until it is dropped.
struct BusyLoop(Child);

impl BusyLoop {
    fn start() -> Result<Self, std::io::Error> {
        Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().map(Self)
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
