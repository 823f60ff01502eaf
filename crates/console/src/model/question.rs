//! Questions of the guard, and the answers that count.
//!
//! An answer counts only for a question that a person can have read: it is on the screen with every finding, and has been there
//! for [`READING`]. Keys that were meant for another question, or were typed ahead, answer nothing.

use std::time::{Duration, Instant};

use super::{Effect, Model};

/// Time that a question is on the screen before its answer counts.
pub(crate) const READING: Duration = Duration::from_millis(500);

/// The name of a question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QuestionId {
    /// About a command of this console, in the order in which questions came.
    Own(u64),
    /// About a command of another program, by the name of its file.
    Elsewhere(String),
}

/// A question of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: QuestionId,
    /// The program that asks; none for this console.
    pub(crate) origin: Option<String>,
    pub(crate) about: String,
}

impl Question {
    /// The question with its findings, and the script. The script is the second paragraph, if each of its lines has the mark that a
    /// script cannot imitate. Any other text belongs to the findings as a whole.
    pub(crate) fn parts(&self) -> (String, String) {
        let is_script = |line: &str| line.starts_with("  | ") || line.starts_with("  … ");
        let mut paragraphs = self.about.splitn(3, "\n\n");
        match (paragraphs.next(), paragraphs.next(), paragraphs.next()) {
            (Some(head), Some(script), Some(findings)) if script.lines().all(is_script) => {
                (format!("{head}\n\n{findings}"), script.to_owned())
            }
            _ => (self.about.clone(), String::new()),
        }
    }
}

/// The question on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenQuestion {
    id: QuestionId,
    /// Every finding can be read.
    pub(crate) fits: bool,
    /// The first row of the script that is shown.
    pub(crate) top: usize,
    /// The time at which it came on the screen.
    since: Option<Instant>,
    /// It has been there long enough.
    pub(crate) is_ready: bool,
}

impl Model {
    /// The view says if the first question is on the screen, and if all of its findings are. Returns what is known of it.
    pub(crate) fn see_question(&mut self, fits: Option<bool>) -> Option<&mut SeenQuestion> {
        let Some((fits, first)) = fits.zip(self.questions.front()) else {
            self.seen = None;
            return None;
        };
        let id = first.id.clone();
        let seen = self.seen.take().filter(|seen| seen.id == id);
        let seen = seen.unwrap_or(SeenQuestion { id, fits, top: 0, since: None, is_ready: false });
        Some(self.seen.insert(SeenQuestion { fits, ..seen }))
    }

    /// The drawn frame is on the screen now.
    pub(crate) fn shown(&mut self, now: Instant) {
        if let Some(seen) = &mut self.seen {
            seen.since.get_or_insert(now);
        }
    }

    /// The time from which the answer to the question on the screen counts, while it does not.
    pub(crate) fn question_due(&self) -> Option<Instant> {
        let seen = self.seen.as_ref().filter(|seen| !seen.is_ready)?;
        seen.since.map(|since| since + READING)
    }

    pub(super) fn question_read(&mut self, now: Instant) {
        let is_due = self.question_due().is_some_and(|due| due <= now);
        if let Some(seen) = self.seen.as_mut().filter(|_| is_due) {
            seen.is_ready = true;
        }
    }

    /// Answers the question on the screen, or says why the answer does not count.
    pub(super) fn answer(&mut self, yes: bool, now: Instant) -> Vec<Effect> {
        self.question_read(now);
        let first = self.questions.front().map(|question| &question.id);
        let seen = self.seen.as_ref().filter(|seen| Some(&seen.id) == first);
        let why_not = match seen {
            Some(seen) if !seen.is_ready => Some("not answered: the question has only just come; read it first"),
            None => Some("not answered: the question has only just come; read it first"),
            Some(seen) if yes && !seen.fits => Some("not approved: the window is too small to show why the guard asks"),
            Some(_) => None,
        };
        if let Some(why_not) = why_not {
            self.note = Some(why_not.to_owned());
            return Vec::new();
        }
        self.seen = None;
        let question = self.questions.pop_front();
        question.map(|question| Effect::Answer { question: question.id, yes }).into_iter().collect()
    }

    /// Scrolls the script of the question on the screen. The view keeps it in bounds.
    pub(super) fn scroll_question(&mut self, by: isize) {
        if let Some(seen) = &mut self.seen {
            seen.top = seen.top.saturating_add_signed(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(about: &str, findings: &str, script: &str) {
        let question = Question { id: QuestionId::Own(1), origin: None, about: about.to_owned() };
        assert_eq!(question.parts(), (findings.to_owned(), script.to_owned()));
    }

    #[test]
    fn findings_come_apart_from_the_script() {
        check(
            "May it?\n\n  | a\n  | \n  … and 3 more lines\n\nrule: why\nfound: x\n\nother: why",
            "May it?\n\nrule: why\nfound: x\n\nother: why",
            "  | a\n  | \n  … and 3 more lines",
        );
        check("May it?\n\nrule: why", "May it?\n\nrule: why", "");
        check("May it?\n\nsomething\n\nrule: why", "May it?\n\nsomething\n\nrule: why", "");
    }
}
