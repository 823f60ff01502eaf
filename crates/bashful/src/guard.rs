//! The guard with the user's settings, and the user as its approver.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bashful_dialect::{Dialect, facts, how_to_allow, question, visible, visible_lines};
use bashful_engine::{
    Ancestry, Approval, Approver, BetterTool, BoxFuture, Distrust, ExpressionError, Finding, Guard, Interceptor, Judge,
    Level, Plan, Policy, Questions, Redactor, Refusal, RuleError, Setting, TextRule, ToolAdvice, Verdict, ancestry,
    marked_ancestor, prelude_in, run_aside, trust_settings,
};
use thiserror::Error;

use crate::allow::Allowances;
use crate::settings::{RuleLevel, Settings, may_be_there, read};
use crate::surroundings::Surroundings;

/// Time for a person at a console to answer. Clients of servers give up on a call after a minute.
const CONSOLE_PATIENCE: Duration = Duration::from_secs(45);

/// An error in the settings of the guard.
#[derive(Debug, Error)]
pub(crate) enum GuardError {
    #[error("cannot read the guard's rules in {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error(
        "the guard's rules in {} cannot be trusted: {}",
        path.display(),
        why.advise("name the file in `[guard] rules_file`")
    )]
    Distrusted { path: PathBuf, why: Distrust },
    #[error("{place}")]
    Rules { place: String, source: RuleError },
}

/// The interceptor named a better tool for the command.
#[derive(Debug, Error)]
#[error("{}", .0.text)]
pub(crate) struct Intercepted(pub(crate) BetterTool);

/// The guard refused the command.
#[derive(Debug, Error)]
#[error("{text}")]
pub(crate) struct Refused {
    text: String,
    /// The refusal as JSON facts.
    pub(crate) facts: serde_json::Value,
}

impl Refused {
    /// The refusal for a person: the reason, and how to allow the command.
    pub(crate) fn new(refusal: &Refusal) -> Self {
        let text = format!("{}\n{}", refusal.reason, how_to_allow(&refusal.given, &refusal.redactor));
        Self { text, facts: facts::of_refusal(refusal) }
    }
}

/// The judge for engines of this program; none if the settings turn the guard off.
pub(crate) fn judge(settings: &Settings, around: &Surroundings) -> Result<Option<Judge>, GuardError> {
    judge_for(settings, around, "run")
}

/// The same judge, whose questions in consoles name this surface.
pub(crate) fn judge_for(
    settings: &Settings,
    around: &Surroundings,
    surface: &str,
) -> Result<Option<Judge>, GuardError> {
    if !settings.guard.enabled {
        return Ok(None);
    }
    let guard = guard(settings, around)?;
    let approver =
        UserApprover { allowances: allowances(around), asks: true, questions: questions(settings, around, surface) };
    Ok(Some(Judge::new(guard).asking(Arc::new(approver))))
}

/// The same judge without questions on the terminal, which a console draws on. The console asks by itself.
pub(crate) fn silent_judge(settings: &Settings, around: &Surroundings) -> Result<Option<Judge>, GuardError> {
    let approver = Arc::new(UserApprover { allowances: allowances(around), asks: false, questions: None });
    Ok(judge(settings, around)?.map(|judge| judge.asking(approver)))
}

/// A guard with the levels and rules of the settings.
pub(crate) fn guard(settings: &Settings, around: &Surroundings) -> Result<Guard, GuardError> {
    let mut place = "`[guard] levels` or `dialects` in the settings".to_owned();
    let mut own_rules = String::new();
    let named = Some(PathBuf::from(&settings.guard.rules_file)).filter(|path| !path.as_os_str().is_empty());
    let usual =
        || around.settings_file().map(|file| file.with_file_name("rules.toml")).filter(|path| may_be_there(path));
    let usual = if named.is_none() { usual() } else { None };
    if let Some(path) = &usual {
        let distrusted = |why| GuardError::Distrusted { path: path.clone(), why };
        trust_settings(path, around.home().as_deref()).map_err(distrusted)?;
    }
    if let Some(path) = named.or(usual) {
        place = path.display().to_string();
        own_rules = read(&path).map_err(|source| GuardError::Unreadable { path, source })?;
    }
    let levels: BTreeMap<String, Setting> =
        settings.guard.levels.0.iter().map(|(name, level)| (name.clone(), level.setting())).collect();
    Guard::new(Policy { levels, own_rules }).map_err(|source| GuardError::Rules { place, source })
}

/// Turns on the rule about shells that wait for more commands, unless the settings have a level for it.
pub(crate) fn ask_about_interactive_shells(settings: &mut Settings) {
    settings.guard.levels.0.entry("shell/interactive".to_owned()).or_insert(RuleLevel::Ask);
}

/// Sets the levels that the settings have for this dialect, unless they have a level for the rule everywhere.
pub(crate) fn set_dialect_levels(settings: &mut Settings, dialect: Dialect) {
    for (rule, level) in settings.guard.dialects.of(dialect) {
        settings.guard.levels.0.entry(rule.clone()).or_insert(level);
    }
}

/// The store of allowances; none without a state directory.
pub(crate) fn allowances(around: &Surroundings) -> Option<Allowances> {
    Some(Allowances::new(around.state_part("allowed")?))
}

/// The interceptor with the rules of the settings; none if they turn it off. Invalid rules are skipped.
pub(crate) fn tool_advice(settings: &Settings) -> Option<Arc<dyn Interceptor>> {
    let wanted = &settings.interceptor;
    let advice = || ToolAdvice {
        rules: text_rules(settings).flatten().collect(),
        tools: wanted.tools.0.iter().map(ToString::to_string).collect(),
    };
    wanted.enabled.then(|| Arc::new(advice()) as Arc<dyn Interceptor>)
}

/// The user's rules for the interceptor; an error for each invalid one.
pub(crate) fn text_rules(settings: &Settings) -> impl Iterator<Item = Result<TextRule, ExpressionError>> {
    let rules = settings.interceptor.rules.0.iter();
    rules.map(|rule| TextRule::new(&rule.pattern, &rule.flags, &rule.tool, &rule.message))
}

/// Approves by stored allowances, or by a question on the terminal.
struct UserApprover {
    allowances: Option<Allowances>,
    /// Asks on the terminal, if there is no allowance.
    asks: bool,
    /// Asks in consoles, if there is no terminal.
    questions: Option<Questions>,
}

impl Approver for UserApprover {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async {
            // An allowance names the given command, not the rewritten one.
            let take = |allowances: &Allowances| allowances.use_up(&plan.given_command(), SystemTime::now());
            if self.allowances.as_ref().is_some_and(take) {
                return Approval::Approved;
            }
            if !self.asks || verdict.level() != Some(Level::Ask) {
                return Approval::NotAsked;
            }
            if find_person().is_err() {
                return self.ask_in_consoles(plan, verdict).await;
            }
            let about = about(plan, verdict, &plan.redactor());
            // A separate thread reads the answer, so that Ctrl-C still works.
            match run_aside("bashful-ask", move || asks(&about, "run it?")).await {
                Some(true) => Approval::Approved,
                Some(false) | None => Approval::Declined,
            }
        })
    }
}

impl UserApprover {
    /// Asks a person at a console. Without one, or without an answer, others may be asked.
    async fn ask_in_consoles(&self, plan: &Plan, verdict: &Verdict) -> Approval {
        let (Some(questions), Ok(about)) = (&self.questions, question(plan, verdict)) else {
            return Approval::NotAsked;
        };
        match questions.ask(about, CONSOLE_PATIENCE).await {
            Ok(Some(true)) => Approval::Approved,
            Ok(Some(false)) => Approval::Declined,
            // A place that cannot be used is like one without a person.
            Ok(None) | Err(_) => Approval::NotAsked,
        }
    }
}

/// The place of questions for consoles; none unless the settings want it.
pub(crate) fn questions(settings: &Settings, around: &Surroundings, surface: &str) -> Option<Questions> {
    let directory = around.state_part("questions").filter(|_| settings.guard.console_answers)?;
    Some(Questions::new(directory, surface).without_answers_of_agents(AGENTS, VARIABLES_OF_AGENTS))
}

/// The programs that `bashful hook` knows.
const AGENTS: &[&str] = &["claude", "codex", "gemini", "copilot", "qwen", "opencode"];

/// The variables by which a command can tell that one of these agents runs it.
const VARIABLES_OF_AGENTS: &[&str] =
    &["CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "COPILOT_CLI", "QWEN_CODE", "OPENCODE"];

/// The reason why no person can be asked.
#[derive(Debug, Error)]
pub(crate) enum NoPerson {
    #[error("there is no terminal to ask on")]
    NoTerminal,
    #[error(
        "a command has started this program (process {keeper} supervises the command), and no command may answer for \
         a person; use a terminal that no command has started"
    )]
    BelowKeeper { keeper: i32 },
    #[error("cannot tell who has started this program, because process {pid} is hidden")]
    Hidden { pid: i32 },
    #[error(
        "an agent has started this program (process {pid} is the agent, or has its variables), and no command may answer for a \
         person; use a terminal that no agent has started"
    )]
    BelowAgent { pid: i32 },
}

/// Fails unless a person can be asked on this terminal. A command can create a terminal (`script`, `tmux`), but it
/// cannot escape its keeper.
pub(crate) fn find_person() -> Result<(), NoPerson> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(NoPerson::NoTerminal);
    }
    find_no_keeper()?;
    find_no_agent()
}

/// Fails if an agent started this program: a command of its own shell has no keeper above it, and can create a terminal.
pub(crate) fn find_no_agent() -> Result<(), NoPerson> {
    match marked_ancestor(AGENTS, VARIABLES_OF_AGENTS) {
        None => Ok(()),
        Some(pid) => Err(NoPerson::BelowAgent { pid }),
    }
}

/// Fails if a command of bashful started this program.
pub(crate) fn find_no_keeper() -> Result<(), NoPerson> {
    match ancestry() {
        Ancestry::Free => Ok(()),
        Ancestry::BelowKeeper(keeper) => Err(NoPerson::BelowKeeper { keeper }),
        Ancestry::Hidden(pid) => Err(NoPerson::Hidden { pid }),
    }
}

/// Asks on the terminal; false without one.
pub(crate) fn asks(about: &str, question: &str) -> bool {
    if find_person().is_err() {
        return false;
    }
    let mut answer = String::new();
    let asked = write!(std::io::stderr(), "{}\n{question} [y/N] ", visible_lines(about));
    let answered = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    answered.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// The text before a question: the whole given script, then the findings, so that a long script does not push them
/// off the screen.
pub(crate) fn about(plan: &Plan, verdict: &Verdict, redactor: &Redactor) -> String {
    let given = String::from_utf8_lossy(plan.given_script().as_bytes());
    // The margin keeps a script from imitating bashful's own lines.
    let lines: Vec<String> = redactor.redact(given).split('\n').map(|line| format!("  | {}", visible(line))).collect();
    let many = if lines.len() == 1 { "1 line".to_owned() } else { format!("{} lines", lines.len()) };
    let found = findings(&String::from_utf8_lossy(plan.script.as_bytes()), verdict, redactor);
    format!("the script ({many}):\n{}\n\n{found}", lines.join("\n"))
}

/// All findings, each with its line of the script.
pub(crate) fn findings(script: &str, verdict: &Verdict, redactor: &Redactor) -> String {
    let parts: Vec<String> = verdict.findings.iter().map(|finding| pointed(script, finding, redactor)).collect();
    parts.join("\n\n")
}

/// A finding with its line of the script, and carets under the dangerous command.
fn pointed(script: &str, finding: &Finding, redactor: &Redactor) -> String {
    let visible = |text: &str| visible(&redactor.redact(text));
    let level = match finding.level {
        Level::Warn => "warning",
        Level::Ask => "needs approval",
        Level::Deny => "refused",
    };
    let before = script.get(..finding.span.start).unwrap_or("");
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = visible(script.get(begin..).and_then(|rest| rest.lines().next()).unwrap_or(""));
    let number = 1 + before.matches('\n').count();
    let wide = |text: &str| unicode_width::UnicodeWidthStr::width(text);
    let lead = wide(&visible(before.get(begin..).unwrap_or("")));
    let about = visible(script.get(finding.span.clone()).unwrap_or("").lines().next().unwrap_or(""));
    let margin = format!("{number} | ");
    format!(
        "{}: {level}\n{margin}{line}\n{}{}\n{}",
        finding.rule,
        " ".repeat(margin.len() + lead),
        "^".repeat(wide(&about).max(1)),
        redactor.redact(finding.whole_text()).lines().map(visible).collect::<Vec<_>>().join("\n")
    )
}

/// The directories of a script that has no plan.
pub(crate) fn prelude(directory: Option<&Path>, around: &Surroundings) -> bashful_engine::Prelude {
    let home = around.variable("HOME").map(|home| home.to_string_lossy().into_owned());
    bashful_engine::Prelude {
        home: home.filter(|home| home.starts_with('/')),
        ..directory.map(prelude_in).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashful_engine::{Engine, Options};

    /// The redactor of an engine that withholds nothing.
    fn redactor() -> Redactor {
        Engine::new(Options::new("/bin/bash".into(), "/".into())).expect("an engine").redactor()
    }

    #[test]
    fn a_finding_points_at_its_place() {
        let script = "echo ü\nls && git push -f";
        let verdict = Guard::default().judge(script, &bashful_engine::Prelude::default());
        let text = findings(script, &verdict, &redactor());
        let start =
            "git/force-push: refused\n2 | ls && git push -f\n          ^^^^^^^^^^^\npermission denied: git push";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn nothing_in_a_script_reaches_the_terminal_as_more_than_text() {
        let script = "git push -f #\recho harmless\u{1b}[2K";
        let verdict = Guard::default().judge(script, &bashful_engine::Prelude::default());
        let text = findings(script, &verdict, &redactor());
        assert!(text.contains("1 | git push -f #\\recho harmless\\u{1b}[2K\n"), "{text}");
    }
}
