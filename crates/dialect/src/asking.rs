//! Asking about a command that the guard does not let pass just like that.
//!
//! Only what has to be asked is asked about: what is refused is refused, whoever could be asked.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_engine::{Answering, Consent, Eyes, Finding, Level, Plan, Refusal, Verdict};

use crate::visible::visible;

/// So much of a script is shown: what fits on a screen. What was found in it is shown beside it in any case.
const LINES_SHOWN: usize = 20;

/// And of one line, in characters.
const LINE_SHOWN: usize = 400;

/// Nobody reads more than this before they say yes.
const LONGEST_ASKED: usize = 64 * 1024;

/// A script that is longer is not repeated in the line that allows it.
const REPEATED: usize = 200;

/// Somebody who can be asked whether a command may run.
pub trait Asks: Send + Sync {
    /// What they say to this. A dropped future takes the question back.
    fn ask<'a>(&'a self, question: &'a str) -> Saying<'a>;
}

/// Somebody who makes up their mind.
pub type Saying<'a> = Pin<Box<dyn Future<Output = Said> + Send + 'a>>;

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It may run.
    Yes,
    /// It may not.
    No,
    /// The question was put away without an answer.
    Dismissed,
    /// There was no answer in time.
    Nothing,
    /// The answer comes with the call when it is made again.
    Later,
    /// Nobody could be asked, because of this.
    Unable(String),
}

/// A caller who is asked, and what they said.
pub(crate) struct Question {
    asks: Option<Arc<dyn Asks>>,
    heard: Mutex<Option<Said>>,
}

impl Question {
    pub(crate) fn new(asks: Option<Arc<dyn Asks>>) -> Self {
        Self { asks, heard: Mutex::default() }
    }

    /// Why it does not run, and what can be done about that; and what was said.
    pub(crate) fn refusal(self, refusal: &Refusal, eyes: &Eyes) -> (String, Option<Said>) {
        let heard = self.heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(said) = heard else { return (refused(refusal, eyes), None) };
        let found = refusal.verdict.refusals().map(Finding::text).collect::<Vec<_>>().join("\n\n");
        let how_to_allow = how_to_allow(&refusal.into(), eyes);
        let then = match &said {
            Said::No => "the user was asked and said no".to_owned(),
            Said::Dismissed => "the user was asked and gave no answer; it was not run".to_owned(),
            Said::Nothing => format!("the user was asked and did not answer in time; it was not run; {how_to_allow}"),
            Said::Unable(why) => format!("it has to be allowed, and {why}; {how_to_allow}"),
            Said::Yes | Said::Later => "it has to be allowed".to_owned(),
        };
        (format!("{found}\n\n{then}"), Some(said))
    }
}

impl Consent for Question {
    fn is_given<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> Answering<'a> {
        Box::pin(async move {
            if verdict.level() != Some(Level::Ask) {
                return false;
            }
            let said = match &self.asks {
                _ if plan.script.as_bytes().len() > LONGEST_ASKED => {
                    Said::Unable("it is too long to be asked about".to_owned())
                }
                Some(asks) => asks.ask(&text(plan, verdict)).await,
                None => Said::Unable("this client cannot ask the user".to_owned()),
            };
            let is_given = said == Said::Yes;
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
            is_given
        })
    }
}

/// What is asked: the command, where it would run, what was found in it, and why that matters.
fn text(plan: &Plan, verdict: &Verdict) -> String {
    let eyes = plan.eyes();
    let script = String::from_utf8_lossy(plan.script.as_bytes()).into_owned();
    let lines = |text: &str| {
        let shown = eyes.mask(text);
        let count = shown.lines().count();
        // Nothing in a script can pass for a part of the question, because each of its lines is marked.
        let mut lines: Vec<String> =
            shown.lines().take(LINES_SHOWN).map(|line| format!("  | {}", short(line))).collect();
        lines.extend((count > LINES_SHOWN).then(|| format!("  … and {} more lines", count - LINES_SHOWN)));
        lines.join("\n")
    };
    let findings: Vec<String> = verdict
        .refusals()
        .map(|finding| {
            let place = script.get(finding.span.clone()).unwrap_or_default();
            let place =
                if script.lines().count() > LINES_SHOWN { format!("\n{}", lines(place)) } else { String::new() };
            let message = finding.concern();
            // Words of the script are among it, which may have lines of their own.
            let found = short(&eyes.mask(finding.chain.join(" → ")));
            let found = if found.is_empty() { found } else { format!("\nfound: {found}") };
            format!("{}: {message}{found}{place}", finding.rule)
        })
        .collect();
    let directory = short(&eyes.mask(plan.directory.to_string_lossy()));
    format!("May this run in {directory}?\n\n{}\n\n{}", lines(&script), findings.join("\n\n"))
}

/// A line as it really is: nothing in it moves, hides or turns around what else is there.
fn short(line: &str) -> String {
    let end = line.char_indices().nth(LINE_SHOWN).map_or(line.len(), |(end, _)| end);
    let mut shown = visible(&line[..end]);
    let more = line[end..].chars().count();
    if more > 0 {
        shown = format!("{shown}… and {more} more characters");
    }
    shown
}

/// A command as it was given: that is what the user has to allow.
#[derive(Debug, Clone, Copy)]
pub struct Allowable<'a> {
    /// Its script.
    pub script: &'a [u8],
    /// Where it was to run.
    pub directory: &'a Path,
}

impl<'a> From<&'a Refusal> for Allowable<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        Self { script: refusal.script.as_bytes(), directory: &refusal.directory }
    }
}

/// Why it does not run, where nobody was asked. What is refused for good is no reason to go to the user.
pub(crate) fn refused(refusal: &Refusal, eyes: &Eyes) -> String {
    match refusal.verdict.level() {
        Some(Level::Ask) => format!("{}; {}", refusal.reason, how_to_allow(&refusal.into(), eyes)),
        _ => refusal.reason.clone(),
    }
}

/// What the user can do.
pub fn how_to_allow(refused: &Allowable<'_>, eyes: &Eyes) -> String {
    format!("the user can allow it once, in a terminal: {}", allow_line(refused, eyes))
}

/// The line that allows what was refused. What cannot be shown in it has to be put in.
pub fn allow_line(refused: &Allowable<'_>, eyes: &Eyes) -> String {
    let word = |bytes: &[u8], otherwise: &str| {
        let text = String::from_utf8_lossy(bytes);
        let is_simple = text.len() <= REPEATED && !text.contains('\t') && visible(&text).as_bytes() == bytes;
        // A secret is no part of a line to copy.
        if is_simple && eyes.mask(&*text) == text { quoted(&text) } else { otherwise.to_owned() }
    };
    let directory = word(refused.directory.as_os_str().as_bytes(), "DIRECTORY");
    format!("bashful allow --cwd {directory} {}", word(refused.script, "SCRIPT"))
}

/// One word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
