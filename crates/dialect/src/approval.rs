//! Questions to the user about commands that the guard lets pass only with approval, and texts about refused commands.
//!
//! Only findings of level `ask` lead to a question. A finding of level `deny` is final.

use std::future::ready;
use std::os::unix::ffi::OsStrExt;

use bashful_engine::{
    Approval, Approver, BoxFuture, Finding, GivenCommand, LONGEST_FOUND, Level, Plan, Redacted, Redactor, Refusal,
    Verdict,
};

use bashful_render::visible;

/// Most lines of a question. A yes counts only for a script that was shown whole, and nobody reads more.
const MOST_LINES: usize = 200;

/// Most bytes of a question. The commands of a finding that are not all there are longer.
const MOST_BYTES: usize = LONGEST_FOUND;

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
    let how = || how_to_allow(&refusal.given, &refusal.redactor);
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
    let redactor = plan.redactor();
    let text = question_text(plan, verdict, &redactor);
    if text.len() > MOST_BYTES || text.lines().count() > MOST_LINES {
        return Err(Approval::Unavailable("it is too long to show in a question".to_owned()));
    }
    Ok(redactor.redact(text))
}

/// The text of the question, before redaction. The first line has the danger, because some clients show hardly more.
fn question_text(plan: &Plan, verdict: &Verdict, redactor: &Redactor) -> String {
    let line = |text: &str| visible(redactor.redact(text).as_str());
    let script = redactor.redact(String::from_utf8_lossy(plan.script.as_bytes()));
    // The mark before each line keeps a script from imitating other parts of the question.
    let script: Vec<String> = script.lines().map(|line| format!("  | {}", visible(line))).collect();
    let directory = line(&plan.directory.to_string_lossy());
    let findings: Vec<_> = verdict
        .refusals()
        .map(|finding| {
            // The last link is the command as it would run. It quotes the script, which may contain newlines.
            let found = finding.chain.last().map(|command| format!("{}: ", line(command))).unwrap_or_default();
            let also = finding.also.iter().fold(String::new(), |also, command| also + "\nand " + &line(command));
            (format!("{found}{}", finding.concern().trim_end_matches('.')), &finding.rule, also)
        })
        .collect();
    let paragraphs: Vec<String> = findings
        .iter()
        .enumerate()
        .map(|(at, (finding, rule, also))| match at {
            0 => format!("{finding}. Run it? [{rule}]{also}\nin {directory}\n\n{}", script.join("\n")),
            _ => format!("also {finding}. [{rule}]{also}"),
        })
        .collect();
    paragraphs.join("\n\n")
}

/// Advice how the user can allow a refused command.
pub fn how_to_allow(refused: &GivenCommand, redactor: &Redactor) -> String {
    format!("the user can allow it once, in a terminal: {}", allow_line(refused, redactor))
}

/// The `bashful allow` line for a refused command. `SCRIPT`, `DIRECTORY` or `NAME=VALUE` stand for a text that is too long,
/// invisible or secret.
pub fn allow_line(refused: &GivenCommand, redactor: &Redactor) -> String {
    let word = |bytes: &[u8], otherwise: &str| {
        let text = String::from_utf8_lossy(bytes);
        let is_simple = text.len() <= REPEATED && !text.contains('\t') && visible(&text).as_bytes() == bytes;
        // A redacted line would allow another command, so a text with a secret is not shown.
        if is_simple && !redactor.finds_any_in(&text) { shell_quoted(&text) } else { otherwise.to_owned() }
    };
    let directory = word(refused.directory.as_os_str().as_bytes(), "DIRECTORY");
    let variables = refused.variables.iter().map(|(name, value)| {
        let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
        format!(" --env {}", word(&entry, &format!("{name}=VALUE")))
    });
    let places = [("session", &refused.session), ("dialect", &refused.dialect)];
    let places = places.iter().filter_map(|(option, name)| Some((option, name.as_ref()?)));
    let places = places.map(|(option, name)| format!(" --{option} {}", word(name.as_bytes(), "NAME")));
    let sandbox = refused.sandbox.map(|mode| format!(" --sandbox {mode}"));
    let options: String = variables.chain(places).chain(sandbox).collect();
    format!("bashful allow --cwd {directory}{options} {}", word(refused.script.as_bytes(), "SCRIPT"))
}

/// The text as one shell word, quoted only if needed.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use bashful_engine::{Engine, Guard, Judge, Options, Request, Script};

    use super::*;

    fn question_about(script: &str) -> Result<String, Approval> {
        let engine = Engine::new(Options::new("/bin/bash".into(), "/".into())).expect("an engine");
        let plan = engine.plan(Request::new(Script::new(script).expect("a script"))).expect("a plan");
        question(&plan, &Judge::new(Guard::default()).verdict(&plan)).map(Redacted::into_string)
    }

    #[test]
    fn every_command_that_a_loop_would_run_is_in_the_question() {
        let asked = question_about("for d in sdb1 sda; do mkfs.ext4 /dev/$d; done").expect("a question");
        let expected = "mkfs.ext4 /dev/sdb1: this overwrites a disk or a partition, and everything on it is lost. \
                        Run it? [disk/overwrite]\nand mkfs.ext4 /dev/sda\nin /\n\n  | for d in";
        assert!(asked.starts_with(expected), "{asked}");
    }

    #[test]
    fn nobody_is_asked_about_commands_that_a_question_cannot_show() {
        let long = "conv=sync,".repeat(500);
        for script in [
            format!("for d in sdb1 sdb2 sdb3 sda; do dd if=x {long} of=/dev/$d; done"),
            format!("x={long}; dd if=x $x$x$x$x of=/dev/sda"),
        ] {
            assert!(matches!(question_about(&script), Err(Approval::Unavailable(_))));
        }
    }
}
