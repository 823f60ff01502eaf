//! News about commands: output, ends, commands of other programs, jobs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bashful_render::{CardExit, CardKind, CardState};

use super::card::{CardId, CardOwner, ListedCard, WatchedKey};
use super::{Model, Purpose};

/// The end of an own command, or of its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) state: CardState,
    /// The text of the result.
    pub(crate) text: String,
    pub(crate) exit: Option<CardExit>,
    pub(crate) elapsed: Option<Duration>,
    pub(crate) size: Option<u64>,
    pub(crate) truncated: Option<String>,
    pub(crate) artifact: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) job: Option<u64>,
    pub(crate) notices: Vec<String>,
    /// The directory of the shell of bang commands afterwards.
    pub(crate) shell_directory: Option<PathBuf>,
}

impl Ending {
    /// The end of a command that could not be run.
    pub(crate) fn failed(text: String) -> Self {
        Self {
            state: CardState::Failed,
            text: String::new(),
            exit: None,
            elapsed: None,
            size: None,
            truncated: None,
            artifact: None,
            timeout: None,
            job: None,
            notices: vec![text],
            shell_directory: None,
        }
    }
}

/// A command of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchedCommand {
    pub(crate) key: WatchedKey,
    /// The surface, and the session if it has one.
    pub(crate) origin: String,
    pub(crate) script: String,
    pub(crate) directory: String,
    pub(crate) age: Duration,
    pub(crate) timeout: Duration,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) last_line: String,
}

/// A job, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobNews {
    pub(crate) id: u64,
    pub(crate) script: String,
    pub(crate) directory: String,
    pub(crate) age: Duration,
    pub(crate) timeout: Duration,
    pub(crate) takes_input: bool,
    /// Its terminal does not show what is typed, as at a password prompt.
    pub(crate) hides_input: bool,
    /// The end of the output, or the screen of a job with a terminal.
    pub(crate) text: String,
    pub(crate) bytes: u64,
    pub(crate) end: Option<JobEnd>,
}

/// The end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobEnd {
    pub(crate) state: CardState,
    pub(crate) exit: Option<CardExit>,
}

impl Model {
    pub(super) fn progress(&mut self, card: CardId, text: String, bytes: u64, lines: u64) {
        if let Some(card) = self.list.get_mut(card)
            && card.card.state == CardState::Running
        {
            card.written = lines;
            card.change(|card| (card.output, card.size) = (text, Some(bytes)));
        }
    }

    pub(super) fn ended(&mut self, id: CardId, ending: Ending) {
        self.close_overlay(id);
        let last_screen = self.last_screen.take_if(|(card, _)| *card == id);
        let Some(card) = self.list.get_mut(id) else { return };
        if ending.job.is_none() || ending.state != CardState::Backgrounded {
            card.began = None;
        }
        card.change(|card| {
            card.state = ending.state;
            // The bytes of a program that moved the cursor about make no text.
            card.output = last_screen.map_or(ending.text, |(_, screen)| screen);
            card.exit = ending.exit;
            card.elapsed = ending.elapsed.or(card.elapsed);
            card.size = ending.size;
            card.truncated = ending.truncated;
            card.artifact = ending.artifact;
            card.timeout = ending.timeout;
            card.job = ending.job.map(|job| job.to_string());
            card.notices = ending.notices;
        });
    }

    /// Takes the list of commands that run elsewhere. A card whose command is not on it any more goes: nobody but its own program
    /// knows how it ended.
    pub(super) fn watched(&mut self, commands: Vec<WatchedCommand>, now: Instant) {
        let gone = self.list.remove_watched(|key| !commands.iter().any(|command| command.key == *key));
        if let Some(card) = gone {
            let script = card.command.lines().next().unwrap_or_default().to_owned();
            self.note = Some(format!("{} has ended: {script}", card.origin.unwrap_or_default()));
        }
        for command in commands {
            let owner = CardOwner::Elsewhere(command.key);
            if !self.list.cards().iter().any(|card| card.owner == owner) {
                let id = self.next_id();
                let mut card = ListedCard::new(id, owner.clone(), CardKind::Watched, &command.script);
                card.began = now.checked_sub(command.age);
                self.list.add(card);
            }
            let Some(card) = self.list.iter_mut().find(|card| card.owner == owner) else { continue };
            card.written = command.lines;
            card.change(|card| {
                card.origin = Some(command.origin);
                card.directory = Some(command.directory);
                card.timeout = Some(command.timeout);
                card.size = Some(command.bytes);
                card.output = command.last_line;
                card.elapsed = card.elapsed.max(Some(Duration::from_secs(command.age.as_secs())));
            });
        }
    }

    pub(super) fn job(&mut self, news: JobNews, now: Instant) {
        if let Purpose::Send { job, is_hidden } = &mut self.purpose
            && *job == news.id
        {
            *is_hidden |= news.hides_input;
        }
        if self.list.job_mut(news.id).is_none() {
            if news.end.is_some() {
                return;
            }
            let id = self.next_id();
            let mut card = ListedCard::new(id, CardOwner::Job(news.id), CardKind::Watched, &news.script);
            card.change(|card| {
                card.job = Some(news.id.to_string());
                card.directory = Some(news.directory.clone());
            });
            self.list.add(card);
        }
        let Some(card) = self.list.job_mut(news.id) else { return };
        // The answer to its call comes first, and says that it is a job.
        if card.owner == CardOwner::Own && card.card.state == CardState::Running {
            return;
        }
        card.began = if news.end.is_some() { None } else { now.checked_sub(news.age) };
        card.takes_input = news.takes_input && news.end.is_none();
        card.hides_input = news.hides_input;
        card.change(|card| {
            card.state = news.end.map_or(CardState::Backgrounded, |end| end.state);
            card.exit = news.end.and_then(|end| end.exit);
            let has_ended = news.end.is_some();
            card.elapsed = Some(if has_ended { news.age } else { Duration::from_secs(news.age.as_secs()) });
            card.timeout = Some(news.timeout);
            card.size = Some(news.bytes);
            card.output = news.text;
        });
    }
}
