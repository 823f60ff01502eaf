//! The oracle is bash itself: one script, done by plain `bash -c` and by the engine, to be compared byte by byte.
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

/// So much of the output is compared; no script of ours writes more.
const SHOWN: ByteSize = ByteSize::mib(4);

/// So much of an output is told when two differ.
const TOLD: usize = 1500;

/// How many shells wait on the ready way.
const READY: usize = 2;

/// What a caller can see of a script that has run.
#[derive(Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it wrote, standard output and standard error in their true order.
    pub output: Vec<u8>,
    /// How it ended.
    pub exit: Exit,
}

impl Seen {
    /// What it wrote, for those who know that it is text.
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
    /// When the command comes.
    Cold,
    /// Ahead of time.
    Ready,
    /// As a session, of which the script is the second command.
    Session,
}

/// A directory, and three ways to run a script in it. Every run finds the directory empty.
#[derive(Debug)]
pub struct Oracle {
    /// Where all of this happens.
    pub place: Place,
    directory: PathBuf,
    /// An engine that starts shells when they are asked for.
    pub cold: Engine,
    /// One that starts them ahead of time.
    pub ready: Engine,
}

impl Oracle {
    /// An oracle whose keepers are this puppet.
    ///
    /// # Panics
    ///
    /// If there is no place for it.
    pub fn new(puppet: &str) -> Self {
        Self::at(Place::new(puppet))
    }

    /// An oracle whose commands get what this `.bashrc` defines.
    ///
    /// # Panics
    ///
    /// If nothing comes of it.
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
        // Whoever started the tests may have left descriptors open, and plain bash would show those to its scripts.
        bashful_sys::close_on_exec_from(3).expect("the system can mark descriptors");
        let directory = place.path().join("work");
        std::fs::create_dir(&directory).expect("a new directory in one of our own");
        place.options.directory.clone_from(&directory);
        place.options.window = Window::middle(SHOWN, ByteSize::kib(4));
        // What is compared are bytes, not what is left of them for the eyes.
        place.options.cleaning = Cleaning::None;
        let cold = place.engine();
        place.options.ready = READY;
        let ready = place.engine();
        Self { place, directory, cold, ready }
    }

    /// What plain bash does with a request's script, in the environment that the engine would give it.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn plain(&self, request: &Request) -> Seen {
        self.empty_directory();
        plain(&self.cold.plan(request.clone()).expect("a plan"))
    }

    /// What the engine does with it. On the ready way, a script that may have a waiting shell gets one.
    ///
    /// # Panics
    ///
    /// If it does not come to its own end, leaves processes behind, or did not get the waiting shell that it should.
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

    /// Waits until as many shells wait as should, and gives their process ids. None for a script that has to have a
    /// fresh one.
    ///
    /// # Panics
    ///
    /// If they never do: no shell waits with an environment that changes how bash starts.
    pub async fn waiting(&self, request: &Request) -> Vec<i32> {
        // The directory and the environment decide whether there is one; the script decides whether it is used.
        let likeness = self.check(&Request { script: crate::request(":").script, ..request.clone() }).await;
        let deadline = Instant::now() + WIDE;
        self.ready.prepare(&likeness);
        loop {
            // The engine knows of a shell when its keeper has been told to start it: it may not be there yet.
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
        // It may have ended already.
        let _ = self.cold.sessions().expect("a place has sessions").end(&name).await;
        seen
    }

    /// The request, allowed.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub async fn check(&self, request: &Request) -> Checked {
        self.ready.check(self.ready.plan(request.clone()).expect("a plan"), None).await.expect("it is allowed")
    }

    /// The shells of this place that wait for plans like this one. Others may be about to end.
    fn shells_for(&self, plan: &Plan) -> Vec<i32> {
        let pid = |line: &String| line.split(' ').next().and_then(|pid| pid.parse().ok());
        self.place.survivors().iter().filter_map(pid).filter(|pid| waits_for(*pid, plan) == Some(true)).collect()
    }

    /// The directory itself stays: a waiting shell is already in it.
    fn empty_directory(&self) {
        for entry in std::fs::read_dir(&self.directory).expect("no script removes it") {
            let path = entry.expect("nobody else is there").path();
            let is_directory = path.symlink_metadata().expect("nobody else is there").is_dir();
            if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }
                .expect("what a script made can be removed");
        }
    }
}

/// Whether a shell has all that this plan would give it. None if it is gone.
fn waits_for(pid: i32, plan: &Plan) -> Option<bool> {
    let read = |process: &str, file: &str| std::fs::read(format!("/proc/{process}/{file}")).ok();
    let umask = |process: &str| {
        let status = String::from_utf8(read(process, "status")?).ok()?;
        status.lines().find(|line| line.starts_with("Umask:")).map(str::to_owned)
    };
    let pid = pid.to_string();
    let environment = read(&pid, "environ")?;
    // The one variable more is what it waits by.
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

/// Runs a request and gives the process id of its shell too.
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
    // It holds our copies of the writing end, and with those there is no end of file.
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
