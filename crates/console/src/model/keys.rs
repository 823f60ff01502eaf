//! The meaning of keys.

use std::time::Instant;

use bashful_render::CardState;
use bashful_screen::{Code, Key, Modifiers};

use super::card::{CardOwner, ListedCard};
use super::{
    Confirming, Effect, EnteredLine, Focus, How, Model, OverlayKey, PathWord, Purpose, Search, SessionRow, Sheet,
};

/// Lines that stay in sight when a page is turned.
const OVERLAP: usize = 2;

const PLAIN: Modifiers = Modifiers { ctrl: false, alt: false, shift: false };
const CTRL: Modifiers = Modifiers { ctrl: true, ..PLAIN };
const ALT: Modifiers = Modifiers { alt: true, ..PLAIN };

impl Model {
    pub(super) fn key(&mut self, key: Key, now: Instant) -> Vec<Effect> {
        if self.overlay.is_some() {
            return self.overlay_key(key, now);
        }
        self.note = None;
        let confirming = self.confirming.take();
        let confirming = confirming.as_ref();
        if let Some(effects) = self.everywhere(key, now) {
            return effects;
        }
        if self.sheet.is_some() {
            return self.sheet_key(key, confirming);
        }
        match self.focus {
            Focus::Input => self.input_key(key, now, confirming),
            Focus::Cards => self.cards_key(key, confirming),
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        if let Some(overlay) = &mut self.overlay {
            return vec![Effect::Type(overlay.paste(text))];
        }
        self.focus = Focus::Input;
        self.history.leave();
        if !self.input.insert(text) {
            self.note =
                Some(format!("the paste is too long for a line ({} bytes): nothing of it was typed", text.len()));
        }
        Vec::new()
    }

    /// Keys that mean the same wherever they are pressed, but in the overlay.
    fn everywhere(&mut self, key: Key, now: Instant) -> Option<Vec<Effect>> {
        if let Some(effects) = self.question_key(key, now) {
            return Some(effects);
        }
        let page = self.list.height().saturating_sub(OVERLAP).max(1).cast_signed();
        match (key.code, key.modifiers) {
            (Code::Char('l'), CTRL) => Some(vec![Effect::Redraw]),
            (Code::Char('z'), CTRL) => Some(vec![Effect::Suspend]),
            (Code::Char('c'), CTRL) => Some(self.interrupt()),
            (Code::Function(1), _) => {
                self.sheet = Some(Sheet::Help { top: 0 });
                Some(Vec::new())
            }
            (Code::Char('o'), CTRL) if self.sheet.is_none() => {
                self.toggle();
                Some(Vec::new())
            }
            (Code::PageUp, _) if self.sheet.is_none() => {
                self.list.scroll(-page);
                Some(Vec::new())
            }
            (Code::PageDown, _) if self.sheet.is_none() => {
                self.list.scroll(page);
                Some(Vec::new())
            }
            _ => None,
        }
    }

    /// Keys about the question on the screen.
    fn question_key(&mut self, key: Key, now: Instant) -> Option<Vec<Effect>> {
        if self.questions.is_empty() {
            return None;
        }
        match (key.code, key.modifiers) {
            (Code::Char('y' | 'Y'), ALT) => return Some(self.answer(true, now)),
            (Code::Char('n' | 'N'), ALT) => return Some(self.answer(false, now)),
            (Code::Up, ALT) => self.scroll_question(-1),
            (Code::Down, ALT) => self.scroll_question(1),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn overlay_key(&mut self, key: Key, now: Instant) -> Vec<Effect> {
        if self.overlay.as_ref().is_some_and(|overlay| overlay.shows_question)
            && let Some(effects) = self.question_key(key, now)
        {
            return effects;
        }
        let has_question = !self.questions.is_empty();
        self.note = None;
        let Some(overlay) = &mut self.overlay else { return Vec::new() };
        // The key that closes the question is not for the program.
        if std::mem::take(&mut overlay.shows_question) && has_question {
            return Vec::new();
        }
        match overlay.key(key) {
            OverlayKey::Type(bytes) => vec![Effect::Type(bytes)],
            OverlayKey::Kill => vec![Effect::KillTerminal],
            OverlayKey::Question => {
                overlay.shows_question = has_question;
                Vec::new()
            }
            OverlayKey::Nothing => Vec::new(),
        }
    }

    /// Ctrl-C: leaves what is open, empties the input, or stops the command.
    fn interrupt(&mut self) -> Vec<Effect> {
        if self.sheet.take().is_some() {
            return Vec::new();
        }
        if self.purpose != Purpose::Command || !self.input.is_empty() {
            self.purpose = Purpose::Command;
            self.input.take();
            self.history.leave();
            return Vec::new();
        }
        let is_running = |card: &&ListedCard| card.owner == CardOwner::Own && card.card.state == CardState::Running;
        let selected = self.list.selected().filter(is_running).map(|card| card.id);
        let newest = || self.list.cards().iter().rev().find(is_running).map(|card| card.id);
        if let Some(card) = selected.or_else(newest) {
            return vec![Effect::Cancel(card)];
        }
        self.note = Some("nothing runs; Ctrl-D or /quit leaves".to_owned());
        Vec::new()
    }

    /// Leaves at once if nothing would be stopped by it. `again` is to be entered or pressed a second time otherwise.
    fn quit(&mut self, confirming: Option<&Confirming>, again: &str) -> Vec<Effect> {
        let running = self.running_own();
        if running == 0 || confirming == Some(&Confirming::Quit) {
            return vec![Effect::Quit];
        }
        self.confirming = Some(Confirming::Quit);
        let (commands, them) = if running == 1 {
            ("1 command runs".to_owned(), "it")
        } else {
            (format!("{running} commands run"), "them")
        };
        self.note = Some(format!("{commands}; {again} again stops {them} and leaves"));
        Vec::new()
    }

    fn input_key(&mut self, key: Key, now: Instant, confirming: Option<&Confirming>) -> Vec<Effect> {
        match (key.code, key.modifiers) {
            (Code::Enter, ALT) | (Code::Char('j'), CTRL) => {
                self.input.insert("\n");
            }
            (Code::Enter | Code::Keypad('\r'), _) => return self.enter(now),
            (Code::Function(2), _) => return self.enter_as(How::Terminal, now),
            (Code::Function(3), _) => return self.enter_as(How::Background, now),
            (Code::Escape, _) if self.purpose != Purpose::Command => {
                self.purpose = Purpose::Command;
                self.input.take();
            }
            (Code::Escape, _) => self.focus = Focus::Cards,
            (Code::Tab, PLAIN) => {
                let text = self.input.text().to_owned();
                let word = PathWord::before(&text[..self.input.cursor()]);
                return vec![Effect::Complete { word, text }];
            }
            (Code::Up, PLAIN) | (Code::Char('p'), CTRL) => {
                if !self.input.up()
                    && let Some(entry) = self.history.older(self.input.text())
                {
                    self.input.set(entry);
                }
            }
            (Code::Down, PLAIN) | (Code::Char('n'), CTRL) => {
                if !self.input.down()
                    && let Some(entry) = self.history.newer()
                {
                    self.input.set(entry);
                }
            }
            (Code::Char('d'), CTRL) if self.input.is_empty() => return self.quit(confirming, "Ctrl-D"),
            (Code::Char('?'), PLAIN) if self.input.is_empty() && self.purpose == Purpose::Command => {
                self.sheet = Some(Sheet::Help { top: 0 });
            }
            _ => self.edit(key),
        }
        Vec::new()
    }

    /// Keys that move in the text or change it.
    fn edit(&mut self, key: Key) {
        let input = &mut self.input;
        match (key.code, key.modifiers) {
            (Code::Left, PLAIN) | (Code::Char('b'), CTRL) => input.left(),
            (Code::Right, PLAIN) | (Code::Char('f'), CTRL) => input.right(),
            (Code::Left, CTRL | ALT) | (Code::Char('b'), ALT) => input.word_left(),
            (Code::Right, CTRL | ALT) | (Code::Char('f'), ALT) => input.word_right(),
            (Code::Home, _) | (Code::Char('a'), CTRL) => input.line_start(),
            (Code::End, _) | (Code::Char('e'), CTRL) => input.line_end(),
            (Code::Backspace, PLAIN) | (Code::Char('h'), CTRL) => input.backspace(),
            (Code::Delete, PLAIN) | (Code::Char('d'), CTRL) => input.delete(),
            (Code::Backspace, ALT) | (Code::Char('w'), CTRL) => input.delete_word(),
            (Code::Char('u'), CTRL) => input.delete_to_line_start(),
            (Code::Char('k'), CTRL) => input.delete_to_line_end(),
            (Code::Char(character) | Code::Keypad(character), Modifiers { ctrl: false, alt: false, .. }) => {
                if !input.insert(character.encode_utf8(&mut [0; 4])) {
                    self.note = Some("the line is full".to_owned());
                }
            }
            _ => return,
        }
        self.history.leave();
    }

    /// Enter: carries out the line, or continues it after a backslash.
    fn enter(&mut self, now: Instant) -> Vec<Effect> {
        if self.purpose == Purpose::Command && continues(self.input.text()) {
            self.input.line_end();
            self.input.insert("\n");
            return Vec::new();
        }
        let line = self.input.take();
        match std::mem::take(&mut self.purpose) {
            Purpose::Command => {
                let entered = EnteredLine::parse(&line);
                // It may be a password.
                let is_kept = !entered.is_for_a_job();
                let mut effects = self.carry_out(entered, now);
                if is_kept && self.history.add(&line) {
                    effects.push(Effect::Remember(line));
                }
                effects
            }
            Purpose::Search => {
                self.start_search(&line);
                Vec::new()
            }
            Purpose::Send { job, .. } => vec![Effect::Send { job, text: line }],
        }
    }

    /// Enters the line as a command of this kind.
    fn enter_as(&mut self, how: How, now: Instant) -> Vec<Effect> {
        let entered = EnteredLine::parse(self.input.text());
        let Some(command) = entered.into_command().filter(|_| self.purpose == Purpose::Command) else {
            self.note = Some("type a command first".to_owned());
            return Vec::new();
        };
        let line = self.input.take();
        let mut effects = vec![self.run(how, command, now)];
        if self.history.add(&line) {
            effects.push(Effect::Remember(line));
        }
        effects
    }

    fn carry_out(&mut self, line: EnteredLine, now: Instant) -> Vec<Effect> {
        let confirming = self.entered.take();
        let confirming = confirming.as_ref();
        match line {
            EnteredLine::Tool(command) => return vec![self.run(How::Tool, command, now)],
            EnteredLine::Bang(command) => return vec![self.run(How::Bang, command, now)],
            EnteredLine::Terminal(command) => return vec![self.run(How::Terminal, command, now)],
            EnteredLine::Background(command) => return vec![self.run(How::Background, command, now)],
            EnteredLine::Send { job, text } if self.may_act() => return vec![Effect::Send { job, text }],
            EnteredLine::Stop { job: Some(job) } if self.may_act() => return vec![Effect::StopJob(job)],
            EnteredLine::Nothing | EnteredLine::Send { .. } | EnteredLine::Stop { job: Some(_) } => {}
            EnteredLine::Stop { job: None } => {
                let effects = self.stop(confirming, "/stop");
                self.entered = self.confirming.take();
                return effects;
            }
            EnteredLine::Search(text) => self.start_search(&text),
            EnteredLine::Sessions => return vec![Effect::ListSessions],
            EnteredLine::Clear => self.list.clear(),
            EnteredLine::Help => self.sheet = Some(Sheet::Help { top: 0 }),
            EnteredLine::Quit => {
                let effects = self.quit(confirming, "/quit");
                self.entered = self.confirming.take();
                return effects;
            }
            EnteredLine::Incomplete(what) => self.note = Some(what.to_owned()),
        }
        Vec::new()
    }

    fn start_search(&mut self, text: &str) {
        if text.is_empty() {
            self.search = None;
            return;
        }
        self.search = Some(Search::new(text));
        self.focus = Focus::Cards;
        self.find(true);
    }

    fn find(&mut self, back: bool) {
        let Some(search) = &mut self.search else {
            self.note = Some("type / to search first".to_owned());
            return;
        };
        if !search.go(&mut self.list, back) {
            self.note = Some(format!("not found: {}", search.text));
        }
    }

    fn cards_key(&mut self, key: Key, confirming: Option<&Confirming>) -> Vec<Effect> {
        let half = (self.list.height() / 2).max(1).cast_signed();
        match (key.code, key.modifiers) {
            (Code::Escape | Code::Tab, _) | (Code::Char('a' | ':'), PLAIN) => {
                self.focus = Focus::Input;
                self.list.follow();
                self.list.select_newest();
            }
            (Code::Up, PLAIN) => self.list.move_selection(-1),
            (Code::Down, PLAIN) => self.list.move_selection(1),
            (Code::Char('k'), PLAIN) => self.list.scroll(-1),
            (Code::Char('j'), PLAIN) => self.list.scroll(1),
            (Code::Char('u'), CTRL) => self.list.scroll(-half),
            (Code::Char('d'), CTRL) => self.list.scroll(half),
            (Code::Home, _) | (Code::Char('g'), PLAIN) => self.list.scroll(isize::MIN / 2),
            (Code::End | Code::Char('G'), _) => self.list.follow(),
            (Code::Enter, _) | (Code::Char('e' | ' '), PLAIN) => self.toggle(),
            (Code::Char('/'), PLAIN) => {
                self.purpose = Purpose::Search;
                self.focus = Focus::Input;
                self.input.take();
            }
            (Code::Char('n'), PLAIN) => self.find(true),
            (Code::Char('N'), _) => self.find(false),
            (Code::Char('y'), PLAIN) => return self.copy(|card| plain_output(&card.card.output)),
            (Code::Char('Y'), _) => return self.copy(|card| bashful_render::visible_lines(&card.card.command)),
            (Code::Char('o'), PLAIN) => return self.page(),
            (Code::Char('s'), PLAIN) => return self.stop(confirming, "s"),
            (Code::Char('i'), PLAIN) => return self.start_sending(),
            (Code::Char('r'), PLAIN) => self.repeat(),
            (Code::Char('S'), _) => return vec![Effect::ListSessions],
            (Code::Char('?'), _) => self.sheet = Some(Sheet::Help { top: 0 }),
            (Code::Char('q'), PLAIN) => return self.quit(confirming, "q"),
            _ => self.note = Some("? for help; Esc to type a command".to_owned()),
        }
        Vec::new()
    }

    /// Expands or collapses the selected card.
    fn toggle(&mut self) {
        let selected = self.list.selected().map(|card| card.id);
        if let Some(card) = selected.and_then(|id| self.list.get_mut(id)) {
            card.change(|card| card.expanded = !card.expanded);
        }
    }

    fn copy(&mut self, text: impl Fn(&ListedCard) -> String) -> Vec<Effect> {
        if let Some(text) = self.list.selected().map(text).filter(|text| !text.is_empty()) {
            return vec![Effect::Copy(text)];
        }
        self.note = Some("there is nothing to copy".to_owned());
        Vec::new()
    }

    fn page(&mut self) -> Vec<Effect> {
        let Some(card) = self.list.selected() else { return Vec::new() };
        vec![Effect::Page { text: colored_output(&card.card.output), artifact: card.card.artifact.clone() }]
    }

    /// Stops the selected command. That of another program has to be asked for `again`.
    fn stop(&mut self, confirming: Option<&Confirming>, again: &str) -> Vec<Effect> {
        let Some(card) = self.list.selected().filter(|card| card.is_under_way()) else {
            self.note = Some("the selected command has ended".to_owned());
            return Vec::new();
        };
        let job = card.card.job.as_ref().and_then(|job| job.parse().ok());
        let effect = match (&card.owner, job) {
            (CardOwner::Own, None) => return vec![Effect::Cancel(card.id)],
            (CardOwner::Own | CardOwner::Job(_), Some(job)) => Effect::StopJob(job),
            (CardOwner::Job(job), None) => Effect::StopJob(*job),
            (CardOwner::Elsewhere(key), _) => Effect::StopWatched(*key),
        };
        if card.owner == CardOwner::Own || confirming == Some(&Confirming::Stop(card.id)) {
            return vec![effect];
        }
        let (id, command) = (card.id, card.card.command.lines().next().unwrap_or_default().to_owned());
        if self.may_act() {
            self.confirming = Some(Confirming::Stop(id));
            self.note = Some(format!("{again} again stops {command}"));
        }
        Vec::new()
    }

    /// True if this console may act on what others have started. Otherwise it says why not.
    fn may_act(&mut self) -> bool {
        let why = self.settings.no_person.as_ref();
        self.note = why.map(|why| format!("not allowed here: {why}")).or(self.note.take());
        self.settings.no_person.is_none()
    }

    fn start_sending(&mut self) -> Vec<Effect> {
        let job = self.list.selected().filter(|card| card.takes_input).and_then(|card| card.card.job.as_ref());
        let Some(job) = job.and_then(|job| job.parse().ok()) else {
            self.note = Some("the selected command takes no input".to_owned());
            return Vec::new();
        };
        if !self.may_act() {
            return Vec::new();
        }
        let is_hidden = self.list.job_mut(job).is_some_and(|card| card.hides_input);
        (self.purpose, self.focus) = (Purpose::Send { job, is_hidden }, Focus::Input);
        self.input.take();
        // The program may have begun to ask for a password just now.
        vec![Effect::LookAtJobs]
    }

    /// Puts the selected command into the input.
    fn repeat(&mut self) {
        if let Some(card) = self.list.selected() {
            let command = card.card.command.clone();
            let mark = match card.how {
                Some(How::Bang) => "!",
                Some(How::Terminal) => "/pty ",
                Some(How::Background) => "/bg ",
                Some(How::Tool) | None => "",
            };
            self.input.set(format!("{mark}{command}"));
            self.focus = Focus::Input;
        }
    }

    fn sheet_key(&mut self, key: Key, confirming: Option<&Confirming>) -> Vec<Effect> {
        let rows = usize::from(self.size.1);
        let (count, selected) = match &mut self.sheet {
            Some(Sheet::Help { top }) => (usize::MAX, top),
            Some(Sheet::Sessions { rows, selected }) => (rows.len(), selected),
            None => return Vec::new(),
        };
        match (key.code, key.modifiers) {
            (Code::Up, _) | (Code::Char('k'), PLAIN) => *selected = selected.saturating_sub(1),
            (Code::Down, _) | (Code::Char('j'), PLAIN) => *selected = (*selected + 1).min(count.saturating_sub(1)),
            (Code::PageUp, _) => *selected = selected.saturating_sub(rows / 2),
            (Code::PageDown, _) => *selected = (*selected + rows / 2).min(count.saturating_sub(1)),
            (Code::Char('s'), PLAIN) => return self.end_session(confirming),
            _ => self.sheet = None,
        }
        Vec::new()
    }

    /// Ends the selected session. One that runs a command needs the key twice.
    fn end_session(&mut self, confirming: Option<&Confirming>) -> Vec<Effect> {
        let Some(Sheet::Sessions { rows, selected }) = &self.sheet else { return Vec::new() };
        let Some(SessionRow { name, is_busy, .. }) = rows.get(*selected).cloned() else { return Vec::new() };
        if !self.may_act() {
            return Vec::new();
        }
        let confirmed = Confirming::EndSession(name.clone());
        if is_busy && confirming != Some(&confirmed) {
            self.note = Some(format!("session {name} runs a command; s again ends both"));
            self.confirming = Some(confirmed);
            return Vec::new();
        }
        vec![Effect::EndSession(name)]
    }
}

/// The output as it is shown: characters alone.
fn plain_output(output: &str) -> String {
    text_of(output, bashful_render::Line::plain)
}

/// The output as it is shown, with its colors.
fn colored_output(output: &str) -> String {
    text_of(output, bashful_render::Line::ansi)
}

fn text_of(output: &str, text: impl Fn(&bashful_render::Line) -> String) -> String {
    let lines: Vec<String> = bashful_render::output_lines(output).iter().map(text).collect();
    lines.join("\n") + if output.ends_with('\n') { "\n" } else { "" }
}

/// True if a text ends with a backslash that continues its line.
fn continues(text: &str) -> bool {
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    backslashes % 2 == 1
}
