//! Watches commands of other programs, jobs and sessions.
//!
//! One inotify queue tells of new commands, of jobs and of output. Without one, the ticks of a console that shows something running
//! do. A job's end comes from its keeper.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bashful_engine::{
    ByteSize, CommandTerminal, Engine, JobPart, JobRecord, JobState, JobStore, JobTerminal, Questions,
    RegisteredCommand, Registry, SessionEntry, make_directory,
};
use bashful_render::CardState;
use bashful_sys::event;
use bashful_sys::notify::PathWatch;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::Message;
use super::commands::ended;
use crate::model::{Event, JobEnd, JobNews, Question, QuestionId, SessionRow, WatchedCommand, WatchedKey};

/// Shortest pause between two looks. A busy machine changes something all the time.
const PAUSE: Duration = Duration::from_millis(200);

/// Output of a job that its card has at most.
const JOB_SHOWN: ByteSize = ByteSize::kib(16);

/// Jobs at terminals whose screens are drawn at most.
const MOST_SCREENS: usize = 8;

/// A request to the watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchRequest {
    /// Look again.
    Look,
    /// A command of this console has become this job. It may have ended already.
    Job(u64),
}

/// The parts of a job that change by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JobLook {
    size: u64,
    hides_input: bool,
}

/// The places to watch.
pub(super) struct Places {
    pub(super) engine: Engine,
    pub(super) registry: Option<Arc<Registry>>,
    pub(super) questions: Option<Arc<Questions>>,
}

/// The watcher, on a task of its own.
pub(super) struct Watcher {
    engine: Engine,
    registry: Option<Arc<Registry>>,
    questions: Option<Arc<Questions>>,
    /// Questions that are shown, or were.
    asked: HashSet<String>,
    messages: mpsc::UnboundedSender<Message>,
    requests: mpsc::UnboundedReceiver<WatchRequest>,
    /// For tasks that wait for the end of a job.
    asking: mpsc::WeakUnboundedSender<WatchRequest>,
    watch: Option<(PathWatch, AsyncFd<OwnedFd>)>,
    /// The jobs that are shown as running, as they were at the last look.
    jobs: HashMap<u64, Option<JobLook>>,
    terminals: HashMap<u64, JobTerminal>,
    commands: Vec<WatchedCommand>,
}

impl Watcher {
    /// Starts to watch, until the returned end is dropped.
    pub(super) fn start(
        places: Places,
        messages: mpsc::UnboundedSender<Message>,
    ) -> mpsc::UnboundedSender<WatchRequest> {
        let Places { engine, registry, questions } = places;
        let (asking, requests) = mpsc::unbounded_channel();
        // Only directories that exist can be watched. One that cannot be made stays empty.
        let live = engine.jobs().map(|jobs| jobs.directory().join("live"));
        for directory in registry.iter().map(|registry| registry.directory()).chain(live.as_deref()) {
            let _ = make_directory(directory);
        }
        let watch = PathWatch::new().and_then(|watch| Ok((event::readable(watch.queue()?)?, watch)));
        let watcher = Self {
            engine,
            registry,
            questions,
            asked: HashSet::new(),
            messages,
            requests,
            asking: asking.downgrade(),
            watch: watch.ok().map(|(queue, watch)| (watch, queue)),
            jobs: HashMap::new(),
            terminals: HashMap::new(),
            commands: Vec::new(),
        };
        drop(tokio::spawn(watcher.run()));
        asking
    }

    async fn run(mut self) {
        while self.look().await.is_some() && self.changed().await.is_some() {
            sleep(PAUSE).await;
        }
    }

    /// Waits for a change, or until somebody asks. None if nobody can ask any more.
    async fn changed(&mut self) -> Option<()> {
        let queue = self.watch.as_ref().map(|(_, queue)| queue);
        let request = tokio::select! {
            request = self.requests.recv() => request?,
            () = readable(queue) => WatchRequest::Look,
        };
        if let Some((watch, _)) = &self.watch {
            watch.drain();
        }
        let mut next = Some(request);
        while let Some(request) = next {
            if let WatchRequest::Job(id) = request {
                self.jobs.entry(id).or_insert(None);
            }
            next = self.requests.try_recv().ok();
        }
        Some(())
    }

    /// Tells of everything that has changed. None if nobody listens any more.
    async fn look(&mut self) -> Option<()> {
        // Watches come before the look, so that no change falls between the two.
        if let (Some((watch, _)), Some(registry)) = (&self.watch, &self.registry) {
            let _ = watch.add_directory(registry.directory());
        }
        let commands = self.registry.as_ref().map(|registry| watched(registry)).unwrap_or_default();
        if commands != self.commands {
            self.commands.clone_from(&commands);
            self.messages.send(Message::Event(Event::Watched(commands))).ok()?;
        }
        if let Some(store) = self.engine.jobs().cloned() {
            self.look_at_jobs(&store).await?;
        }
        self.look_at_questions();
        Some(())
    }

    fn look_at_questions(&mut self) {
        let Some(questions) = &self.questions else { return };
        if let Some((watch, _)) = &self.watch {
            let _ = watch.add_directory(questions.directory());
        }
        let names = questions.names();
        self.asked.retain(|name| names.contains(name));
        for name in names {
            if self.asked.insert(name.clone()) {
                drop(tokio::spawn(show_question(Arc::clone(questions), name, self.messages.clone())));
            }
        }
    }

    async fn look_at_jobs(&mut self, store: &Arc<JobStore>) -> Option<()> {
        if let Some((watch, _)) = &self.watch {
            let _ = watch.add_directory(store.directory());
            let _ = watch.add_directory(&store.directory().join("live"));
        }
        let live: Vec<JobRecord> =
            store.list_live().unwrap_or_default().into_iter().filter(|job| !job.is_over()).collect();
        let ids: HashSet<u64> = live.iter().map(|job| job.id).collect();
        let over: Vec<u64> = self.jobs.keys().copied().filter(|id| !ids.contains(id)).collect();
        for id in over {
            self.jobs.remove(&id);
            if let Ok(job) = store.get(id) {
                self.tell(&job).await?;
            }
            self.terminals.remove(&id);
        }
        for job in live {
            let size = job.output_file.metadata().map_or(0, |facts| facts.len());
            let look = JobLook { size, hides_input: self.hides_input(job.id) };
            match self.jobs.insert(job.id, Some(look)).flatten() {
                Some(before) if before == look => continue,
                Some(_) => {}
                None => self.begin(store, &job),
            }
            self.tell(&job).await?;
        }
        Some(())
    }

    /// Watches a new job: its output, and its end.
    fn begin(&self, store: &Arc<JobStore>, job: &JobRecord) {
        if let Some((watch, _)) = &self.watch {
            let _ = watch.add_file(&job.output_file);
        }
        let (store, asking, id) = (Arc::clone(store), self.asking.clone(), job.id);
        drop(tokio::spawn(async move {
            let _ = store.wait(id).await;
            if let Some(asking) = asking.upgrade() {
                let _ = asking.send(WatchRequest::Look);
            }
        }));
    }

    async fn tell(&mut self, job: &JobRecord) -> Option<()> {
        let mut shown = job.clone();
        bashful_dialect::job::redact(&mut shown, &self.engine.redactor());
        let (output, bytes) = self.output(job);
        let text = self.screen(job).await.unwrap_or(output);
        let end = match &job.state {
            JobState::Lost => Some(JobEnd { state: CardState::Failed, exit: None }),
            _ => job.end().filter(|_| job.is_over()).map(|end| {
                let (state, exit) = ended(end);
                JobEnd { state, exit }
            }),
        };
        let news = JobNews {
            id: job.id,
            script: shown.script,
            directory: shown.directory.to_string_lossy().into_owned(),
            age: job.elapsed,
            timeout: job.lifetime,
            takes_input: job.takes_input || job.has_terminal,
            hides_input: self.hides_input(job.id),
            text,
            bytes,
            end,
        };
        self.messages.send(Message::Event(Event::Job(Box::new(news)))).ok()
    }

    /// The end of the output, and the bytes that the command has written.
    fn output(&self, job: &JobRecord) -> (String, u64) {
        match job.text(JobPart::LastLines(u64::MAX), JOB_SHOWN) {
            Ok(text) => {
                let shown = self.engine.output_redactor().show_part(&text.before, &text.raw, &text.after);
                (String::from_utf8_lossy(&shown).into_owned(), text.total)
            }
            // It has not written anything yet, or was removed.
            Err(_) => (String::new(), 0),
        }
    }

    /// True if the terminal of a job does not show what is typed.
    fn hides_input(&self, job: u64) -> bool {
        let terminal = self.terminals.get(&job).and_then(|terminal| terminal.terminal());
        terminal.is_some_and(CommandTerminal::hides_input)
    }

    /// The screen of a job with a terminal.
    async fn screen(&mut self, job: &JobRecord) -> Option<String> {
        if !job.has_terminal {
            return None;
        }
        if !self.terminals.contains_key(&job.id) {
            if self.terminals.len() >= MOST_SCREENS {
                return None;
            }
            let terminal = self.engine.jobs()?.terminal(job.id).await.ok()?;
            self.terminals.insert(job.id, terminal);
        }
        let terminal = self.terminals.get(&job.id)?;
        let until = bashful_engine::ScreenUntil::Now;
        let _ = terminal.wait(&until, PAUSE).await;
        let rows = terminal.colored_rows();
        let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        Some(self.engine.output_redactor().mask(rows[..used].join("\n")))
    }
}

/// Shows a question of another program until it is answered, here or elsewhere.
async fn show_question(questions: Arc<Questions>, name: String, messages: mpsc::UnboundedSender<Message>) {
    let Ok(Some(mut open)) = questions.read(&name).await else { return };
    let id = QuestionId::Elsewhere(name);
    let origin = Some(format!("{} (process {})", open.surface, open.host_pid));
    let question = Question { id: id.clone(), origin, about: open.about.clone() };
    let (answer, answered) = oneshot::channel();
    if messages.send(Message::Question { question, answer }).is_err() {
        return;
    }
    let answer = tokio::select! {
        answer = answered => answer.ok(),
        () = open.withdrawn() => None,
    };
    if let Some(yes) = answer {
        // A program that is gone needs no answer.
        let _ = open.answer(yes).await;
    }
    let _ = messages.send(Message::Event(Event::Withdrawn(id)));
}

/// Commands of other programs that run now.
fn watched(registry: &Registry) -> Vec<WatchedCommand> {
    let commands = registry.list().unwrap_or_default().into_iter();
    commands.filter(|command| command.host_pid != std::process::id()).map(watched_command).collect()
}

fn watched_command(command: RegisteredCommand) -> WatchedCommand {
    let session = command.session.as_ref().map(|name| format!(", session {name}")).unwrap_or_default();
    WatchedCommand {
        key: key(&command),
        origin: format!("{} (process {}{session})", command.surface, command.host_pid),
        script: command.script,
        directory: command.directory,
        // Whole seconds: everything else tells the two apart from a look before.
        age: Duration::from_secs(command.began.elapsed().unwrap_or_default().as_secs()),
        timeout: command.lifetime,
        bytes: command.output_bytes,
        lines: command.output_lines,
        last_line: command.last_line,
    }
}

fn key(command: &RegisteredCommand) -> WatchedKey {
    let began = command.began.duration_since(UNIX_EPOCH).unwrap_or_default();
    let began_ms = u64::try_from(began.as_millis()).unwrap_or(u64::MAX);
    WatchedKey { host_pid: command.host_pid, pid: command.pid, began_ms }
}

/// Asks the keeper of another program's command to stop it. Returns a sentence about it.
pub(super) fn stop(registry: Option<&Registry>, wanted: WatchedKey) -> String {
    let listed = registry.and_then(|registry| Some((registry, registry.list().ok()?)));
    let found = listed.and_then(|(registry, commands)| {
        let command = commands.into_iter().find(|command| key(command) == wanted)?;
        Some(registry.stop(&command))
    });
    match found {
        None => "it has ended".to_owned(),
        Some(Ok(())) => "stopping it".to_owned(),
        Some(Err(error)) => format!("cannot stop it: {}", bashful_engine::error_chain(&error)),
    }
}

/// A row about a session.
pub(super) fn session_row(session: &SessionEntry) -> SessionRow {
    let word = if session.busy { "busy" } else { "idle" };
    SessionRow {
        name: session.name.clone(),
        state: format!("{word} {}s", session.since.as_secs()),
        is_busy: session.busy,
        directory: session.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default(),
        commands: session.commands,
    }
}

/// Waits until the queue has something; for ever without one.
async fn readable(queue: Option<&AsyncFd<OwnedFd>>) {
    if let Some(queue) = queue
        && let Ok(mut ready) = queue.readable().await
    {
        ready.clear_ready();
        return;
    }
    std::future::pending::<()>().await;
}
