//! Questions to the user about commands that the guard lets pass only with approval, and texts about refused commands.
//!
//! Only findings of level `ask` lead to a question. A finding of level `deny` is final.

use std::future::ready;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bashful_engine::{Approval, Approver, BoxFuture, Finding, Level, Plan, Redacted, Redactor, Refusal, Verdict};

use bashful_render::visible;

/// Most lines of a script in a question: what fits on a screen. The findings are always shown.
const LINES_SHOWN: usize = 20;

/// Most characters of one line in a question.
const LINE_SHOWN: usize = 400;

/// Longest script in bytes that a user is asked about. Nobody reads more before saying yes.
const LONGEST_ASKED: usize = 64 * 1024;

/// Longest script in bytes that the `bashful allow` line repeats.
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

/// The text about a refused command: the findings, the user's answer, and how to allow it.
pub(crate) fn refusal_text(refusal: &Refusal) -> String {
    let how = || how_to_allow(&refusal.into(), &refusal.redactor);
    let then = match &refusal.approval {
        // Level `deny`: the user is not asked, so the text does not mention it.
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

/// The question to a user about a command that needs approval: the command, its directory, and the findings with their
/// reasons. The error says why the user is not asked.
pub fn question(plan: &Plan, verdict: &Verdict) -> Result<Redacted, Approval> {
    if verdict.level() != Some(Level::Ask) {
        return Err(Approval::NotAsked);
    }
    if plan.script.as_bytes().len() > LONGEST_ASKED {
        return Err(Approval::Unavailable("it is too long to show in a question".to_owned()));
    }
    let redactor = plan.redactor();
    Ok(redactor.redact(question_text(plan, verdict, &redactor)))
}

/// The text of the question, before redaction.
fn question_text(plan: &Plan, verdict: &Verdict, redactor: &Redactor) -> String {
    let script = String::from_utf8_lossy(plan.script.as_bytes()).into_owned();
    let lines = |text: &str| {
        let shown = redactor.redact(text);
        let count = shown.lines().count();
        // The mark before each line keeps a script from imitating other parts of the question.
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
            // The chain quotes the script, which may contain newlines.
            let found = short(&redactor.redact(finding.chain.join(" → ")));
            let found = if found.is_empty() { found } else { format!("\nfound: {found}") };
            format!("{}: {message}{found}{place}", finding.rule)
        })
        .collect();
    let directory = short(&redactor.redact(plan.directory.to_string_lossy()));
    format!("May this run in {directory}?\n\n{}\n\n{}", lines(&script), findings.join("\n\n"))
}

/// One line, cut to [`LINE_SHOWN`] characters, with every invisible character escaped.
fn short(line: &str) -> String {
    let end = line.char_indices().nth(LINE_SHOWN).map_or(line.len(), |(end, _)| end);
    let mut shown = visible(&line[..end]);
    let more = line[end..].chars().count();
    if more > 0 {
        shown = format!("{shown}… and {more} more characters");
    }
    shown
}

/// A refused command as the caller gave it, before rewriting. The user allows exactly this.
#[derive(Debug, Clone, Copy)]
pub struct Allowable<'a> {
    /// The script, also one that is not UTF-8.
    pub script: &'a [u8],
    /// The working directory of the call.
    pub directory: &'a Path,
}

impl<'a> From<&'a Refusal> for Allowable<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        Self { script: refusal.script.as_bytes(), directory: &refusal.directory }
    }
}

/// Advice how the user can allow a refused command.
pub fn how_to_allow(refused: &Allowable<'_>, redactor: &Redactor) -> String {
    format!("the user can allow it once, in a terminal: {}", allow_line(refused, redactor))
}

/// The `bashful allow` line for a refused command. `SCRIPT` or `DIRECTORY` stand for a text that is too long, invisible or secret.
pub fn allow_line(refused: &Allowable<'_>, redactor: &Redactor) -> String {
    let word = |bytes: &[u8], otherwise: &str| {
        let text = String::from_utf8_lossy(bytes);
        let is_simple = text.len() <= REPEATED && !text.contains('\t') && visible(&text).as_bytes() == bytes;
        // A redacted line would allow another command, so a text with a secret is not shown.
        if is_simple && !redactor.finds_any_in(&text) { shell_quoted(&text) } else { otherwise.to_owned() }
    };
    let directory = word(refused.directory.as_os_str().as_bytes(), "DIRECTORY");
    format!("bashful allow --cwd {directory} {}", word(refused.script, "SCRIPT"))
}

/// The text as one shell word, quoted only if needed.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
