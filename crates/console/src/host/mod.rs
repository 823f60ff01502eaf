//! The terminal, the keys and the engine around the model.

mod approver;
mod attended;
mod cells;
mod clipboard;
mod commands;
mod effects;
mod history_file;
mod keyboard;
mod pager;
mod paths;
mod person_screen;
mod watch;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bashful_dialect::{Dialect, Toolbox};
use bashful_engine::{PersonPresence, Questions, Registry};
use bashful_render::{Look, Signs};
use bashful_screen::Decoded;
use bashful_sys::{signal, terminal};
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal as listen};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};

use crate::model::{ConsoleSettings, Effect, Escape, Event, Model, Question, QuestionId};
use attended::{ShownTerminal, TerminalNews};
use commands::Commands;
use history_file::HistoryFile;
use keyboard::Keyboard;
use pager::PagerProcess;
use person_screen::PersonScreen;
use watch::{Places, WatchRequest, Watcher};

/// Shortest time between two frames. Faster ones would only cost.
const FRAME: Duration = Duration::from_millis(16);

/// Time between two changes of the times on the screen.
const TICK: Duration = Duration::from_secs(1);

/// Signals that end a console after it has put the terminal back. Ctrl-C is one only if another program sends it.
const ENDING: [signal::Signal; 5] =
    [signal::Signal::TERM, signal::Signal::HUP, signal::Signal::QUIT, signal::Signal::USR1, signal::Signal::USR2];

/// Time for a pager to end.
const PAGER_PATIENCE: Duration = Duration::from_secs(1);

/// A console before it runs.
#[derive(Debug)]
pub struct Console {
    /// The tools that typed commands call. Its engine must not ask on the terminal.
    pub toolbox: Toolbox,
    /// The dialect of the toolbox.
    pub dialect: Dialect,
    /// The directory of typed commands, for completion.
    pub directory: PathBuf,
    /// The user's home, for `~`.
    pub home: Option<PathBuf>,
    /// Time after which typed commands are stopped; the dialect's own if none.
    pub timeout: Option<Duration>,
    /// Commands of other programs.
    pub registry: Option<Arc<Registry>>,
    /// The file of entered lines. Without one, they are forgotten.
    pub history: Option<PathBuf>,
    /// The setting about the Escape key.
    pub escape: Escape,
    /// Colors are shown.
    pub colors: bool,
    /// The terminal shows characters beyond ASCII.
    pub unicode: bool,
    /// The command line of the pager.
    pub pager: OsString,
    /// Questions of other programs that may be answered here.
    pub questions: Option<Arc<Questions>>,
    /// The reason why this console may not act for a person: a command has started it.
    pub no_person: Option<String>,
}

/// Error: a console that cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// Standard input or output is none.
    #[error("the console needs a terminal; use `bashful run` for scripts")]
    NoTerminal,
    /// The terminal failed.
    #[error("cannot use the terminal")]
    Io(#[from] io::Error),
}

impl Console {
    /// Runs until the person leaves, or a signal ends this program; returns the number of that signal. The terminal is as before
    /// afterwards. Dropping the future gives the terminal back, and stops every command that is no job.
    ///
    /// Must be called within a tokio runtime.
    pub async fn run(self) -> Result<Option<i32>, ConsoleError> {
        if !PersonScreen::is_there() {
            return Err(ConsoleError::NoTerminal);
        }
        let mut open = OpenConsole::new(self)?;
        let ran = open.run().await;
        open.end_pager().await;
        ran?;
        Ok(open.ended_by)
    }

    fn settings(&self) -> ConsoleSettings {
        let directory = match self.home.as_ref().and_then(|home| self.directory.strip_prefix(home).ok()) {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => self.directory.display().to_string(),
        };
        ConsoleSettings {
            escape: self.escape,
            title: format!("{}  {}", self.dialect, bashful_render::visible(&directory)),
            timeout: self.timeout,
            no_person: self.no_person.clone(),
        }
    }
}

/// A message of a task to the loop.
#[derive(Debug)]
enum Message {
    Event(Event),
    /// A command has its terminal.
    Terminal(Box<ShownTerminal>),
    /// A command of this console waits for an answer.
    Question {
        question: Question,
        answer: oneshot::Sender<bool>,
    },
}

/// The next thing that happens.
enum Happened {
    Keys(Option<Vec<Decoded>>),
    Message(Message),
    Terminal(TerminalNews),
    Resized,
    Continued,
    AskedToSuspend,
    Interrupted,
    /// A signal with this number asks to end.
    Ended(i32),
    Tick,
    Frame,
    QuestionDue,
    Paged(Option<String>),
}

/// Signals of a console.
struct ConsoleSignals {
    resize: Signal,
    resume: Signal,
    suspend: Signal,
    interrupt: Signal,
    /// Signals that end this program, with their numbers.
    ending: Vec<(i32, Signal)>,
}

impl ConsoleSignals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            resize: listen(SignalKind::window_change())?,
            resume: listen(SignalKind::from_raw(signal::Signal::CONT.as_raw()))?,
            suspend: listen(SignalKind::from_raw(signal::Signal::TSTP.as_raw()))?,
            interrupt: listen(SignalKind::interrupt())?,
            ending: ENDING
                .map(|number| Ok((number.as_raw(), listen(SignalKind::from_raw(number.as_raw()))?)))
                .into_iter()
                .collect::<io::Result<_>>()?,
        })
    }
}

/// A console that has the terminal.
struct OpenConsole {
    console: Console,
    model: Model,
    screen: PersonScreen,
    keyboard: Keyboard,
    signals: ConsoleSignals,
    commands: Commands,
    history: Option<HistoryFile>,
    messages: (mpsc::UnboundedSender<Message>, mpsc::UnboundedReceiver<Message>),
    terminal: Option<ShownTerminal>,
    answers: HashMap<QuestionId, oneshot::Sender<bool>>,
    watcher: mpsc::UnboundedSender<WatchRequest>,
    /// Others know that a person is here.
    _presence: Option<PersonPresence>,
    /// A pager has the terminal.
    paging: Option<JoinHandle<Option<String>>>,
    pager: PagerProcess,
    /// The signal that ends this program.
    ended_by: Option<i32>,
    /// The directory of the shell of bang commands, once one has run.
    shell_directory: Option<PathBuf>,
    /// The time of the next frame, if something has changed.
    frame_at: Option<Instant>,
    last_frame: Instant,
    tick_at: Instant,
}

impl OpenConsole {
    fn new(console: Console) -> io::Result<Self> {
        // Caught before the terminal is taken: an early one would leave it in raw mode.
        let signals = ConsoleSignals::new()?;
        let messages = mpsc::unbounded_channel();
        let history = console.history.clone().map(HistoryFile);
        let signs = if console.unicode { Signs::Unicode } else { Signs::Ascii };
        let look = Look { signs, expand_key: Some("Ctrl-O".to_owned()), ..Look::default() };
        let entries = history.as_ref().map(HistoryFile::read).unwrap_or_default();
        let now = Instant::now();
        // No command may answer for a person.
        let questions = console.questions.clone().filter(|_| console.no_person.is_none());
        // Told before the first look, so that no question falls between the two.
        let presence = questions.as_ref().and_then(|questions| questions.attend().ok());
        let places = Places {
            engine: console.toolbox.engine().clone(),
            registry: console.registry.clone(),
            questions: questions.filter(|_| presence.is_some()),
        };
        Ok(Self {
            model: Model::new(console.settings(), look, entries, person_screen::size()),
            keyboard: Keyboard::new()?,
            signals,
            commands: Commands::new(&console, messages.0.clone()),
            watcher: Watcher::start(places, messages.0.clone()),
            _presence: presence,
            history,
            messages,
            terminal: None,
            answers: HashMap::new(),
            paging: None,
            pager: PagerProcess::default(),
            ended_by: None,
            shell_directory: None,
            frame_at: Some(now),
            last_frame: now,
            tick_at: now,
            screen: PersonScreen::take(console.colors, console.unicode)?,
            console,
        })
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            let happened = self.next().await?;
            if !self.react(happened)? {
                return Ok(());
            }
        }
    }

    /// Waits for the next thing. Keys come before everything else.
    async fn next(&mut self) -> io::Result<Happened> {
        let Self { keyboard, signals, messages, terminal, paging, model, .. } = self;
        let tick_at = model.is_ticking().then_some(self.tick_at);
        let question_due = model.question_due();
        Ok(tokio::select! {
            biased;
            number = asked_to_end(&mut signals.ending) => Happened::Ended(number),
            _ = signals.interrupt.recv() => Happened::Interrupted,
            _ = signals.resize.recv() => Happened::Resized,
            _ = signals.resume.recv() => Happened::Continued,
            _ = signals.suspend.recv() => Happened::AskedToSuspend,
            keys = keyboard.next(), if paging.is_none() => Happened::Keys(keys?),
            () = due(self.frame_at), if paging.is_none() => Happened::Frame,
            () = due(tick_at) => Happened::Tick,
            () = due(question_due) => Happened::QuestionDue,
            problem = paged(paging) => Happened::Paged(problem),
            Some(message) = messages.1.recv() => Happened::Message(message),
            news = terminal_news(terminal) => Happened::Terminal(news),
        })
    }

    /// Does what is to be done. False to leave.
    fn react(&mut self, happened: Happened) -> io::Result<bool> {
        let now = Instant::now();
        match happened {
            Happened::Keys(None) => return Ok(false),
            Happened::Ended(number) => {
                self.ended_by = Some(number);
                return Ok(false);
            }
            // A pager has the terminal, and the key was for it.
            Happened::Interrupted if self.paging.is_some() => {}
            Happened::Interrupted => {
                self.ended_by = Some(signal::Signal::INT.as_raw());
                return Ok(false);
            }
            Happened::Keys(Some(keys)) => {
                for key in keys {
                    let event = match key {
                        Decoded::Key(key) => Event::Key(key),
                        Decoded::Paste(bytes) => Event::Paste(String::from_utf8_lossy(&bytes).into_owned()),
                        Decoded::PasteTooLong { bytes } => {
                            Event::Note(format!("a paste of {bytes} bytes is too long: nothing of it was typed"))
                        }
                        Decoded::Other(_) => continue,
                    };
                    if !self.handle(event, now)? {
                        return Ok(false);
                    }
                }
            }
            Happened::Message(message) => return self.receive(message, now),
            Happened::Terminal(news) => return self.terminal_news(news, now),
            Happened::Resized | Happened::Continued => return self.resized(now),
            // The pager has the terminal, and puts it back before it stops. The shell waits for this program, and would write
            // on the pager's screen.
            Happened::AskedToSuspend if self.paging.is_some() => {
                self.pager.wait_until_stopped();
                signal::stop_group()?;
            }
            Happened::AskedToSuspend => return self.carry_out(Effect::Suspend, now),
            Happened::Tick => {
                self.tick_at = now + TICK;
                let _ = self.watcher.send(WatchRequest::Look);
                return self.handle(Event::Tick, now);
            }
            Happened::QuestionDue => return self.handle(Event::QuestionDue, now),
            Happened::Frame => self.draw(now)?,
            Happened::Paged(problem) => {
                self.screen.end_lending();
                self.screen.take_again()?;
                self.resized(now)?;
                self.model.note = problem;
            }
        }
        Ok(true)
    }

    /// Gives an event to the model, and carries out what that wants. False to leave.
    fn handle(&mut self, event: Event, now: Instant) -> io::Result<bool> {
        let was_ticking = self.model.is_ticking();
        let effects = self.model.handle(event, now);
        if !was_ticking {
            self.tick_at = now + TICK;
        }
        self.need_frame(now);
        for effect in effects {
            if !self.carry_out(effect, now)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn receive(&mut self, message: Message, now: Instant) -> io::Result<bool> {
        match message {
            Message::Event(event) => {
                if let Event::Ended { card, ending } = &event {
                    self.commands.ended(*card);
                    self.shell_directory = ending.shell_directory.clone().or(self.shell_directory.take());
                    let job = ending.job.map(WatchRequest::Job);
                    if let Some(job) = job {
                        let _ = self.watcher.send(job);
                    }
                }
                if let Event::Withdrawn(id) = &event {
                    self.answers.remove(id);
                }
                self.handle(event, now)
            }
            Message::Terminal(terminal) => {
                let card = terminal.card;
                // One overlay is enough: another program waits for nobody.
                if self.terminal.is_some() {
                    terminal.stop();
                    return Ok(true);
                }
                self.terminal = Some(*terminal);
                self.handle(Event::TerminalBegan { card }, now)?;
                // The size may have changed since the command was asked for.
                self.resized(now)
            }
            Message::Question { question, answer } => {
                self.answers.insert(question.id.clone(), answer);
                self.handle(Event::Question(question), now)
            }
        }
    }

    fn terminal_news(&mut self, news: TerminalNews, now: Instant) -> io::Result<bool> {
        let Some(terminal) = &self.terminal else { return Ok(true) };
        match news {
            TerminalNews::Output(bytes) => {
                if let Some(overlay) = &mut self.model.overlay {
                    overlay.push(&bytes);
                    overlay.draw_some();
                    terminal.type_bytes(overlay.answers(now));
                }
                self.need_frame(now);
            }
            TerminalNews::Paused => terminal.resume(),
            TerminalNews::Ended => {
                let card = terminal.card;
                self.terminal = None;
                return self.handle(Event::TerminalEnded { card }, now);
            }
        }
        Ok(true)
    }

    fn resized(&mut self, now: Instant) -> io::Result<bool> {
        let (columns, rows) = person_screen::size();
        if self.paging.is_none() {
            self.screen.fit()?;
        }
        self.handle(Event::Resized { columns, rows }, now)
    }

    /// Ends a pager that has the terminal, and takes the terminal back from it.
    async fn end_pager(&mut self) {
        let Some(mut task) = self.paging.take() else { return };
        for signal in [signal::Signal::TERM, signal::Signal::KILL] {
            self.pager.signal(signal);
            if timeout(PAGER_PATIENCE, &mut task).await.is_ok() {
                break;
            }
        }
        self.screen.end_lending();
        // A pager that was killed has left its screen on.
        let _ = person_screen::write(terminal::RESET);
    }

    fn need_frame(&mut self, now: Instant) {
        self.frame_at.get_or_insert(now.max(self.last_frame + FRAME));
    }

    fn draw(&mut self, now: Instant) -> io::Result<()> {
        self.frame_at = None;
        self.last_frame = now;
        let has_more = self.model.overlay.as_mut().is_some_and(crate::model::Overlay::draw_some);
        self.screen.draw(&mut self.model)?;
        self.model.shown(Instant::now());
        if has_more {
            self.need_frame(now);
        }
        Ok(())
    }
}

/// Waits for one of the signals, and returns its number.
async fn asked_to_end(signals: &mut [(i32, Signal)]) -> i32 {
    std::future::poll_fn(|context| {
        let mut arrived = signals.iter_mut().filter_map(|(number, signal)| {
            let has_come = signal.poll_recv(context).is_ready();
            has_come.then_some(*number)
        });
        arrived.next().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

async fn due(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when.into()).await,
        None => std::future::pending().await,
    }
}

async fn paged(paging: &mut Option<JoinHandle<Option<String>>>) -> Option<String> {
    let Some(task) = paging else { return std::future::pending().await };
    let problem = task.await.unwrap_or_else(|error| Some(error.to_string()));
    *paging = None;
    problem
}

async fn terminal_news(terminal: &mut Option<ShownTerminal>) -> TerminalNews {
    match terminal {
        Some(terminal) => terminal.next().await,
        None => std::future::pending().await,
    }
}
