//! The host program of the benchmarks, with its engines.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{
    ArtifactStore, Checked, Clip, End, Engine, Exit, JobStore, KeeperProgram, Options, Outcome, Reply, Request, Script,
    SessionStore,
};

/// Variables of commands. A fixed few, because every one of them makes bash start slower.
const VARIABLES: [&str; 6] = ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "USER"];

/// Number of waiting keepers in an engine with ready ones.
pub(crate) const READY: usize = 2;

/// Pause before every call, longer than any bash takes to start, so that the work of the last call is done. The floor
/// has it too, so that the processors are equally idle.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Longest wait for a ready shell. Some environments allow none, and then nothing is measured.
const NEVER_READY: Duration = Duration::from_secs(10);

/// Options that all engines of a benchmark share.
pub(crate) struct Host {
    pub(crate) program: PathBuf,
    pub(crate) bash: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Host {
    pub(crate) fn new(program: PathBuf) -> Result<Self, Box<dyn Error>> {
        let path = std::env::var_os("PATH").ok_or("there is no PATH")?;
        let variables = VARIABLES.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
        Ok(Self {
            program,
            bash: bashful_engine::find_bash(&path).ok_or("there is no bash on PATH")?,
            directory: std::env::current_dir()?,
            variables: variables.collect(),
        })
    }

    /// An engine whose keepers are the program that is shipped. To be called inside a runtime.
    pub(crate) fn engine(&self, ready: usize) -> Result<Engine, Box<dyn Error>> {
        self.engine_with(ready, None)
    }

    /// An engine with an artifact store.
    pub(crate) fn engine_with(
        &self,
        ready: usize,
        artifacts: Option<Arc<ArtifactStore>>,
    ) -> Result<Engine, Box<dyn Error>> {
        let mut options = Options::new(self.bash.clone(), self.directory.clone());
        options.host_environment.clone_from(&self.variables);
        options.keeper = KeeperProgram::At(self.program.clone());
        options.ready = ready;
        options.artifacts = artifacts;
        Ok(Engine::new(options)?)
    }

    /// An engine with a session store.
    pub(crate) fn engine_with_sessions(&self, sessions: Arc<SessionStore>) -> Result<Engine, Box<dyn Error>> {
        let mut options = Options::new(self.bash.clone(), self.directory.clone());
        options.host_environment.clone_from(&self.variables);
        options.keeper = KeeperProgram::At(self.program.clone());
        options.sessions = Some(sessions);
        Ok(Engine::new(options)?)
    }

    /// An engine with a job store.
    pub(crate) fn engine_with_jobs(&self, jobs: Arc<JobStore>) -> Result<Engine, Box<dyn Error>> {
        let mut options = Options::new(self.bash.clone(), self.directory.clone());
        options.host_environment.clone_from(&self.variables);
        options.keeper = KeeperProgram::At(self.program.clone());
        options.jobs = Some(jobs);
        Ok(Engine::new(options)?)
    }
}

/// A request for this script.
pub(crate) fn request(script: &str) -> Result<Request, Box<dyn Error>> {
    Ok(Request::new(Script::new(script)?))
}

/// The plan of the engine for this script.
pub(crate) async fn checked(engine: &Engine, script: &str) -> Result<Checked, Box<dyn Error>> {
    Ok(engine.check(engine.plan(request(script)?)?, None).await?)
}

/// Waits until all keepers for such commands wait. After the first request the engine replaces used ones by itself.
pub(crate) async fn until_ready(engine: &Engine, checked: &Checked) -> Result<(), Box<dyn Error>> {
    let give_up = Instant::now() + NEVER_READY;
    while engine.ready_for(checked) < READY {
        if Instant::now() > give_up {
            return Err("no keeper becomes ready on this machine".into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// The outcome of a command that ended by itself with 0, and wrote this. Figures of wrong results would be worthless.
pub(crate) fn right(reply: Reply, expected: &[u8]) -> Result<Outcome, Box<dyn Error>> {
    let outcome = reply.finished().ok_or("a command did not finish")?;
    let whole = matches!(&outcome.output.clip, Clip::Whole(bytes) if bytes == expected);
    if outcome.end == End::Own(Exit::Code(0)) && whole && outcome.leftover.is_none() {
        return Ok(outcome);
    }
    Err(format!("a command went wrong: {outcome:?}").into())
}
