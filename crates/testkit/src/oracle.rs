//! The oracle is bash itself: the same script runs by plain `bash -c` and by the engine, and both results are
//! compared byte by byte.
//!
//! The plain side shares no code with the engine: it is started by the standard library and `setsid`, so that a mistake
//! in how the engine starts programs cannot hide by being made on both sides.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bashful_engine::{ByteSize, Checked, Cleaning, Clip, End, Engine, Exit, Plan, Request, SessionName, Window};

use crate::{Place, WIDE, finished};

/// Largest output of a script, in bytes.
const SHOWN: ByteSize = ByteSize::mib(4);

/// Most bytes of an output in a failure message.
const TOLD: usize = 1500;

/// Number of ready shells.
const READY: usize = 2;

/// The visible result of a script.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// Standard output and standard error, in the order written.
    pub output: Vec<u8>,
    /// The end of the script.
    pub exit: Exit,
}

impl Seen {
    /// The output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.output.get(..TOLD).unwrap_or(&self.output);
        write!(out, "{:?}, {} bytes:\n{}", self.exit, self.output.len(), shown.escape_ascii())
    }
}

/// The ways in which the engine starts a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Starts a shell when the command comes.
    Cold,
    /// Starts shells ahead of time.
    Ready,
    /// Runs the script as the second command of a session.
    Session,
}

/// A directory, and three ways to run a script in it. Every run finds the directory empty.
#[derive(Debug)]
pub struct Oracle {
    /// The directory and engine options.
    pub place: Place,
    directory: PathBuf,
    /// An engine that starts shells when they are asked for.
    pub cold: Engine,
    /// An engine that starts shells ahead of time.
    pub ready: Engine,
}

impl Oracle {
    /// An oracle whose keepers are this puppet.
    ///
    /// # Panics
    ///
    /// If the directory cannot be made.
    pub fn new(puppet: &str) -> Self {
        Self::at(Place::new(puppet))
    }

    /// An oracle whose commands get what this `.bashrc` defines.
    ///
    /// # Panics
    ///
    /// If the snapshot fails.
    pub async fn with_rc(puppet: &str, rc: &str) -> Self {
        let mut place = Place::new(puppet);
        place.take_snapshots();
        std::fs::write(place.path().join(".bashrc"), rc).expect("a file in a directory of our own");
        let oracle = Self::at(place);
        for engine in [&oracle.cold, &oracle.ready] {
            engine.refresh_snapshot().await;
            assert!(engine.snapshot().is_some(), "{:?}", engine.why_no_snapshot());
        }
        oracle
    }

    fn at(mut place: Place) -> Self {
        // The test runner may leave descriptors open, which plain bash would pass to its scripts.
        bashful_sys::close_on_exec_from(3).expect("the system can mark descriptors");
        let directory = place.path().join("work");
        std::fs::create_dir(&directory).expect("a new directory in one of our own");
        place.options.directory.clone_from(&directory);
        place.options.window = Window::middle(SHOWN, ByteSize::kib(4));
        // Raw bytes are compared, so cleaning is off.
        place.options.cleaning = Cleaning::None;
        let cold = place.engine();
        place.options.ready = READY;
        let ready = place.engine();
        Self { place, directory, cold, ready }
    }

    /// Runs a request's script by plain bash, in the environment that the engine would use.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn plain(&self, request: &Request) -> Seen {
        self.empty_directory();
        plain(&self.cold.plan(request.clone()).expect("a plan"))
    }

    /// Runs a request by the engine. On the ready way, a script that may use a waiting shell must get one.
    ///
    /// # Panics
    ///
    /// If the script does not end by itself, leaves processes behind, or misses its waiting shell.
    pub async fn ours(&self, way: Way, request: &Request) -> Seen {
        self.empty_directory();
        match way {
            Way::Cold => run(&self.cold, request).await.0,
            Way::Ready => {
                let waiting = self.waiting(request).await;
                let (seen, pid) = run(&self.ready, request).await;
                assert!(waiting.is_empty() || waiting.contains(&pid), "the shell {pid} was none of {waiting:?}");
                seen
            }
            Way::Session => self.in_session(request).await,
        }
    }

    /// Waits until all ready shells wait, and returns their process ids. None for a script that needs a fresh shell.
    ///
    /// # Panics
    ///
    /// If they never do. No shell waits with an environment that changes how bash starts.
    pub async fn waiting(&self, request: &Request) -> Vec<i32> {
        // Directory and environment decide whether a shell can wait. The script decides whether it is used.
        let likeness = self.check(&Request { script: crate::request(":").script, ..request.clone() }).await;
        let deadline = Instant::now() + WIDE;
        self.ready.prepare(&likeness);
        loop {
            // The engine counts a shell from the order to start it, so it may not run yet.
            let waiting = self.shells_for(likeness.plan());
            if self.ready.ready_for(&likeness) == READY && waiting.len() >= READY {
                let may_have_one = self.ready.ready_for(&self.check(request).await) > 0;
                return if may_have_one { waiting } else { Vec::new() };
            }
            assert!(Instant::now() < deadline, "no shell ever waited");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn in_session(&self, request: &Request) -> Seen {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = SessionName::new(format!("{}", COUNT.fetch_add(1, Ordering::Relaxed))).expect("a name");
        let first = Request { script: crate::request(":").script, session: Some(name.clone()), ..request.clone() };
        run(&self.cold, &first).await;
        let (seen, _) = run(&self.cold, &Request { session: Some(name.clone()), ..request.clone() }).await;
        // The process may have ended already.
        let _ = self.cold.sessions().expect("a place has sessions").end(&name).await;
        seen
    }

    /// The request, checked by the engine.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub async fn check(&self, request: &Request) -> Checked {
        self.ready.check(self.ready.plan(request.clone()).expect("a plan"), None).await.expect("it is allowed")
    }

    /// The shells that wait for plans like this one. Others may be about to end.
    fn shells_for(&self, plan: &Plan) -> Vec<i32> {
        let pid = |line: &String| line.split(' ').next().and_then(|pid| pid.parse().ok());
        self.place.survivors().iter().filter_map(pid).filter(|pid| waits_for(*pid, plan) == Some(true)).collect()
    }

    /// Empties the directory. The directory itself stays, because a waiting shell is in it.
    fn empty_directory(&self) {
        for entry in std::fs::read_dir(&self.directory).expect("no script removes it") {
            let path = entry.expect("nobody else is there").path();
            let is_directory = path.symlink_metadata().expect("nobody else is there").is_dir();
            if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }
                .expect("what a script made can be removed");
        }
    }
}

/// True if a shell has the environment and directory of this plan. None if the shell is gone.
fn waits_for(pid: i32, plan: &Plan) -> Option<bool> {
    let read = |process: &str, file: &str| std::fs::read(format!("/proc/{process}/{file}")).ok();
    let umask = |process: &str| {
        let status = String::from_utf8(read(process, "status")?).ok()?;
        status.lines().find(|line| line.starts_with("Umask:")).map(str::to_owned)
    };
    let pid = pid.to_string();
    let environment = read(&pid, "environ")?;
    // The additional variable is the one that makes the shell wait.
    let mut variables: Vec<_> = environment
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty() && !entry.starts_with(b"BASH_ENV="))
        .map(<[u8]>::to_vec)
        .collect();
    let entry = |(name, value): (&OsString, &OsString)| [name.as_bytes(), value.as_bytes()].join(&b'=');
    let mut planned: Vec<_> = plan.environment.variables.iter().map(entry).collect();
    variables.sort();
    planned.sort();
    let directory = std::fs::metadata(format!("/proc/{pid}/cwd")).ok()?;
    let same_directory = plan.directory.metadata().is_ok_and(|planned| planned.ino() == directory.ino());
    Some(variables == planned && same_directory && umask(&pid) == umask("self"))
}

/// Runs a request, and also returns the process id of its shell.
async fn run(engine: &Engine, request: &Request) -> (Seen, i32) {
    let reply = tokio::time::timeout(WIDE, engine.run(request.clone())).await.expect("it comes back");
    let outcome = finished(reply.expect("it starts"));
    let End::Own(exit) = outcome.end else { panic!("it did not end by itself: {outcome:?}") };
    assert_eq!(outcome.leftover, None);
    let Clip::Whole(output) = outcome.output.clip else { panic!("more output than is compared") };
    (Seen { output, exit }, outcome.pid.expect("whoever tells of its end has told of its start"))
}

/// Runs a plan's script by plain bash in a session of its own, with both outputs on one pipe.
fn plain(plan: &Plan) -> Seen {
    let (mut output, input) = io::pipe().expect("a pipe");
    // `setsid` finds bash by the same `PATH` as the engine did, and `$0` is then the bare name.
    let mut command = Command::new("setsid");
    command
        // Whoever runs the tests may have them ignore signals, as shells do with what runs in the background.
        .args(["env", "--default-signal", "bash", "-c"])
        .arg(OsStr::from_bytes(plan.script.as_bytes()))
        .env_clear()
        .envs(&plan.environment.variables)
        .current_dir(&plan.directory)
        .stdin(Stdio::null())
        .stdout(input.try_clone().expect("a descriptor"))
        .stderr(input);
    let mut child = command.spawn().expect("bash starts");
    // The command holds copies of the writing end, which would prevent the end of file.
    drop(command);
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes).expect("the pipe is readable");
    let status = child.wait().expect("it is our child");
    let small = |number: i32| u8::try_from(number).expect("the system knows no larger ones");
    let exit = match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(small(code)),
        (None, Some(signal)) => Exit::Signal(small(signal)),
        (None, None) => panic!("it neither returned nor was it killed: {status}"),
    };
    Seen { output: bytes, exit }
}
