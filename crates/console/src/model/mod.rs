//! The console without a terminal: events in, effects out.
//!
//! No clock, no files and no processes. The host ([`crate::host`]) carries out the effects, and [`crate::view`] draws the model.

mod card;
mod completion;
mod history;
mod input;
mod keys;
mod line;
mod list;
mod news;
mod overlay;
mod question;
mod search;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bashful_render::{CardKind, CardState, Look};
use bashful_screen::{Key, Size};

pub(crate) use card::{CardId, CardOwner, ListedCard, WatchedKey};
pub(crate) use completion::{PathName, PathWord};
pub(crate) use history::{History, MOST as MOST_HISTORY};
pub(crate) use input::InputText;
pub(crate) use line::EnteredLine;
pub(crate) use list::{CardList, PlacedLine};
pub(crate) use news::{Ending, JobEnd, JobNews, WatchedCommand};
pub use overlay::Escape;
pub(crate) use overlay::{Overlay, OverlayKey};
pub(crate) use question::{Question, QuestionId, SeenQuestion};
pub(crate) use search::{Search, matches};

/// Something that has happened.
#[derive(Debug)]
pub(crate) enum Event {
    Key(Key),
    Paste(String),
    Resized {
        columns: u16,
        rows: u16,
    },
    /// A second has passed while something runs.
    Tick,
    /// The newest output of an own command.
    Progress {
        card: CardId,
        text: String,
        bytes: u64,
        lines: u64,
    },
    Ended {
        card: CardId,
        ending: Box<Ending>,
    },
    Question(Question),
    /// Nobody waits for the answer any more.
    Withdrawn(QuestionId),
    /// The question on the screen can have been read.
    QuestionDue,
    /// All commands of other programs that run now.
    Watched(Vec<WatchedCommand>),
    Job(Box<JobNews>),
    Sessions(Vec<SessionRow>),
    /// The names in the directory of a word that is to be completed.
    Names {
        word: PathWord,
        text: String,
        names: Vec<PathName>,
    },
    /// A command has its terminal.
    TerminalBegan {
        card: CardId,
    },
    TerminalEnded {
        card: CardId,
    },
    /// Something to tell.
    Note(String),
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    Run {
        card: CardId,
        how: How,
        command: String,
        size: Size,
    },
    Cancel(CardId),
    StopWatched(WatchedKey),
    StopJob(u64),
    Send {
        job: u64,
        text: String,
    },
    Type(Vec<u8>),
    Resize(Size),
    KillTerminal,
    Copy(String),
    /// Shows a text, or the artifact with all of it, in the pager.
    Page {
        text: String,
        artifact: Option<String>,
    },
    Complete {
        word: PathWord,
        text: String,
    },
    Answer {
        question: QuestionId,
        yes: bool,
    },
    Remember(String),
    ListSessions,
    EndSession(String),
    LookAtJobs,
    Redraw,
    Suspend,
    Quit,
}

/// The way of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Tool,
    Bang,
    Terminal,
    Background,
}

/// A session in the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub(crate) name: String,
    pub(crate) state: String,
    /// It runs a command.
    pub(crate) is_busy: bool,
    pub(crate) directory: String,
    pub(crate) commands: u64,
}

/// The part of the screen that gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Focus {
    #[default]
    Input,
    Cards,
}

/// The use of the input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Purpose {
    #[default]
    Command,
    Search,
    Send {
        job: u64,
        /// The job's terminal did not show what is typed at some time, so neither does the input.
        is_hidden: bool,
    },
}

/// A page over the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sheet {
    Help { top: usize },
    Sessions { rows: Vec<SessionRow>, selected: usize },
}

/// Settings of a console.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ConsoleSettings {
    pub(crate) escape: Escape,
    /// The name of the dialect, and the directory: for the first line.
    pub(crate) title: String,
    /// The timeout in the arguments of typed commands.
    pub(crate) timeout: Option<Duration>,
    /// The reason why this console may not act for a person, if it may not.
    pub(crate) no_person: Option<String>,
}

/// All of the console's state.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) settings: ConsoleSettings,
    pub(crate) list: CardList,
    pub(crate) input: InputText,
    pub(crate) purpose: Purpose,
    pub(crate) focus: Focus,
    pub(crate) history: History,
    pub(crate) search: Option<Search>,
    pub(crate) questions: VecDeque<Question>,
    /// The question that was drawn last.
    pub(crate) seen: Option<SeenQuestion>,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) sheet: Option<Sheet>,
    /// The last thing that was told. The next key removes it.
    pub(crate) note: Option<String>,
    /// A key has to be pressed again to do this.
    confirming: Option<Confirming>,
    /// A line has to be entered again to do this.
    entered: Option<Confirming>,
    /// The last screen of a program that had the overlay.
    last_screen: Option<(CardId, String)>,
    size: (u16, u16),
    next_card: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Confirming {
    Quit,
    Stop(CardId),
    EndSession(String),
}

impl Model {
    pub(crate) fn new(settings: ConsoleSettings, look: Look, history: Vec<String>, size: (u16, u16)) -> Self {
        let list = CardList::new(look);
        Self { settings, list, history: History::new(history), size, ..Self::default() }
    }

    /// Takes an event, and returns what is to be done.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        match event {
            Event::Key(key) => return self.key(key, now),
            Event::Paste(text) => return self.paste(&text),
            Event::Resized { columns, rows } => return self.resized((columns, rows)),
            Event::Tick => self.list.iter_mut().for_each(|card| card.tick(now)),
            Event::Progress { card, text, bytes, lines } => self.progress(card, text, bytes, lines),
            Event::Ended { card, ending } => self.ended(card, *ending),
            Event::Question(question) => self.questions.push_back(question),
            Event::Withdrawn(id) => self.questions.retain(|question| question.id != id),
            Event::QuestionDue => self.question_read(now),
            Event::Watched(commands) => self.watched(commands, now),
            Event::Job(news) => self.job(*news, now),
            Event::Sessions(rows) => self.sessions(rows),
            Event::Names { word, text, names } => self.names(&word, &text, &names),
            Event::TerminalBegan { card } => self.terminal_began(card),
            Event::TerminalEnded { card } => self.close_overlay(card),
            Event::Note(note) => self.note = Some(note),
        }
        Vec::new()
    }

    /// True while something runs, so that times on the screen change.
    pub(crate) fn is_ticking(&self) -> bool {
        self.list.cards().iter().any(ListedCard::is_under_way)
    }

    fn resized(&mut self, size: (u16, u16)) -> Vec<Effect> {
        self.size = size;
        // It may no longer fit.
        self.see_question(None);
        let resized = self.overlay.as_mut().map(|overlay| Effect::Resize(overlay.resize(size)));
        resized.into_iter().collect()
    }

    /// Starts a command: a card, and the effect.
    fn run(&mut self, how: How, command: String, now: Instant) -> Effect {
        let id = self.next_id();
        let kind = if how == How::Bang { CardKind::Bang } else { CardKind::Tool };
        let mut card = ListedCard::new(id, CardOwner::Own, kind, &command);
        card.began = Some(now);
        card.how = Some(how);
        card.change(|card| card.timeout = self.settings.timeout.filter(|_| how == How::Tool));
        self.list.add(card);
        self.list.select_newest();
        self.list.follow();
        Effect::Run { card: id, how, command, size: Overlay::size(self.size) }
    }

    fn next_id(&mut self) -> CardId {
        self.next_card += 1;
        CardId(self.next_card)
    }

    fn terminal_began(&mut self, card: CardId) {
        let command = self.list.get_mut(card).map(|card| card.card.command.clone()).unwrap_or_default();
        self.overlay = Some(Overlay::new(card, &command, self.size, self.settings.escape));
    }

    /// Closes the overlay of this command, and keeps its last screen for the card.
    fn close_overlay(&mut self, card: CardId) {
        if let Some(overlay) = self.overlay.take_if(|overlay| overlay.card == card) {
            self.last_screen = Some((card, overlay.last_screen()));
        }
    }

    fn sessions(&mut self, rows: Vec<SessionRow>) {
        let selected = match &self.sheet {
            Some(Sheet::Sessions { selected, .. }) => (*selected).min(rows.len().saturating_sub(1)),
            _ => 0,
        };
        self.sheet = Some(Sheet::Sessions { rows, selected });
    }

    /// Completes a word, unless the text was changed meanwhile.
    fn names(&mut self, word: &PathWord, text: &str, names: &[PathName]) {
        if self.input.text() != text {
            return;
        }
        let (completed, listed) = word.complete(names);
        if let Some(completed) = completed {
            self.input.replace_before(word.start, &completed);
        }
        if !listed.is_empty() {
            self.note = Some(listed.join("  "));
        }
    }

    /// Cards of own commands that run.
    fn running_own(&self) -> usize {
        let is_running = |card: &&ListedCard| card.owner == CardOwner::Own && card.card.state == CardState::Running;
        self.list.cards().iter().filter(is_running).count()
    }

    /// Commands of this console, of other programs, and jobs that run.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let elsewhere = |card: &&ListedCard| matches!(card.owner, CardOwner::Elsewhere(_));
        let job = |card: &&ListedCard| card.is_under_way() && card.card.state == CardState::Backgrounded;
        let cards = self.list.cards();
        [self.running_own(), cards.iter().filter(elsewhere).count(), cards.iter().filter(job).count()]
    }
}
