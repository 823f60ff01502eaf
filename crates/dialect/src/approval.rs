//! Asking about a command that the guard does not let pass just like that.
//!
//! Only what has to be asked is asked about: what is refused is refused, whoever could be asked.

use std::future::ready;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bashful_engine::{Approval, Approver, BoxFuture, Finding, Level, Plan, Redacted, Redactor, Refusal, Verdict};

use crate::visible::visible;

/// So much of a script is shown: what fits on a screen. What was found in it is shown beside it in any case.
const LINES_SHOWN: usize = 20;

/// And of one line, in characters.
const LINE_SHOWN: usize = 400;

/// Nobody reads more than this before they say yes.
const LONGEST_ASKED: usize = 64 * 1024;

/// A script that is longer is not repeated in the line that allows it.
const REPEATED: usize = 200;

/// Stands for a client that cannot ask its user.
#[derive(Debug)]
pub(crate) struct NoApprover;

impl Approver for NoApprover {
    fn approve<'a>(&'a self, _: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(ready(match verdict.level() {
            Some(Level::Ask) => Approval::Unavailable("this client cannot ask the user".to_owned()),
            _ => Approval::NotAsked,
        }))
    }
}

/// The reason why a command does not run, and what can be done about that.
pub(crate) fn refusal_text(refusal: &Refusal) -> String {
    let how = || how_to_allow(&refusal.into(), &refusal.redactor);
    let then = match &refusal.approval {
        // A refusal for good is no reason to go to the user.
        Approval::NotAsked if refusal.verdict.level() != Some(Level::Ask) => return refusal.reason.clone(),
        Approval::NotAsked => return format!("{}; {}", refusal.reason, how()),
        Approval::Declined => "the user said no".to_owned(),
        Approval::Dismissed => "the user dismissed the question; not run".to_owned(),
        Approval::NoAnswer => format!("the user did not answer in time; not run; {}", how()),
        Approval::Unavailable(why) => format!("needs approval, but {why}; {}", how()),
        Approval::Approved | Approval::Later => "needs approval".to_owned(),
    };
    let found = refusal.verdict.refusals().map(Finding::text).collect::<Vec<_>>().join("\n\n");
    format!("{found}\n\n{then}")
}

/// The question to a user about a command that needs approval: the command, where it would run, the findings and their
/// reasons. The inner error says why the user is not asked.
pub fn question(plan: &Plan, verdict: &Verdict) -> Result<Redacted, Approval> {
    if verdict.level() != Some(Level::Ask) {
        return Err(Approval::NotAsked);
    }
    if plan.script.as_bytes().len() > LONGEST_ASKED {
        return Err(Approval::Unavailable("it is too long to show in a question".to_owned()));
    }
    let redactor = plan.redactor();
    Ok(redactor.redact(text(plan, verdict, &redactor)))
}

/// The text of the question: the command, where it would run, the findings, and why they matter.
fn text(plan: &Plan, verdict: &Verdict, redactor: &Redactor) -> String {
    let script = String::from_utf8_lossy(plan.script.as_bytes()).into_owned();
    let lines = |text: &str| {
        let shown = redactor.redact(text);
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
            let found = short(&redactor.redact(finding.chain.join(" → ")));
            let found = if found.is_empty() { found } else { format!("\nfound: {found}") };
            format!("{}: {message}{found}{place}", finding.rule)
        })
        .collect();
    let directory = short(&redactor.redact(plan.directory.to_string_lossy()));
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

/// Advice for the user who wants to allow a refused command.
pub fn how_to_allow(refused: &Allowable<'_>, redactor: &Redactor) -> String {
    format!("the user can allow it once, in a terminal: {}", allow_line(refused, redactor))
}

/// The line that allows what was refused. What cannot be shown in it has to be put in.
pub fn allow_line(refused: &Allowable<'_>, redactor: &Redactor) -> String {
    let word = |bytes: &[u8], otherwise: &str| {
        let text = String::from_utf8_lossy(bytes);
        let is_simple = text.len() <= REPEATED && !text.contains('\t') && visible(&text).as_bytes() == bytes;
        // A secret is no part of a line to copy.
        if is_simple && !redactor.finds_any_in(&text) { shell_quoted(&text) } else { otherwise.to_owned() }
    };
    let directory = word(refused.directory.as_os_str().as_bytes(), "DIRECTORY");
    format!("bashful allow --cwd {directory} {}", word(refused.script, "SCRIPT"))
}

/// The text as one word of a shell. Quotes only where a shell needs them.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
