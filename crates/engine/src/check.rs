//! The check between a plan and its start.
//!
//! Nothing starts without a [`Checked`], and only [`check`] makes one. The guard judges the script. If it refuses, an
//! [`Approver`] may still approve the command.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_fence::Mode;
use bashful_guard::{Finding, Guard, Level, Prelude, Verdict};
use thiserror::Error;

use crate::backend::BoxFuture;
use crate::judge_threads::JudgeThreads;
use crate::plan::Plan;
use crate::redact::Redactor;
use crate::request::GivenCommand;

/// A plan that may run.
///
/// The fields are private, so there is no way around the check:
///
/// ```compile_fail,E0451
/// # fn demo(plan: bashful_engine::Plan) {
/// let checked = bashful_engine::Checked { plan, verdict: Default::default() };
/// # }
/// ```
#[derive(Debug)]
pub struct Checked {
    plan: Plan,
    verdict: Verdict,
}

impl Checked {
    /// The plan that may run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the plan, which has to be checked again.
    pub(crate) fn into_plan(self) -> Plan {
        self.plan
    }

    /// Verdict of the guard. A refusal in it was approved.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// The guard, and its approver.
#[derive(Clone)]
pub struct Judge {
    /// Rules of the guard.
    pub guard: Arc<Guard>,
    /// Decides about commands that the guard refuses, before the caller's approver does. Without either, they are
    /// refused.
    pub approver: Option<Arc<dyn Approver>>,
    threads: Arc<JudgeThreads>,
}

impl Judge {
    /// A judge with these rules, and without an approver.
    pub fn new(guard: Guard) -> Self {
        Self { guard: Arc::new(guard), approver: None, threads: Arc::default() }
    }

    /// The same judge, with this approver.
    #[must_use]
    pub fn asking(self, approver: Arc<dyn Approver>) -> Self {
        Self { approver: Some(approver), ..self }
    }

    /// True if the guard would refuse this script in an ordinary shell.
    pub fn refuses(&self, script: &str) -> bool {
        self.guard.judge(script, &Prelude::default()).refuses()
    }

    /// Returns the guard's verdict on a plan. Takes as long as the guard does, on this thread.
    pub fn verdict(&self, plan: &Plan) -> Verdict {
        let (script, prelude) = in_its_world(plan);
        self.guard.judge(&script, &prelude)
    }

    /// The guard's verdict on a script in this shell, with a deadline.
    pub(crate) async fn verdict_in(&self, script: String, prelude: Prelude) -> Verdict {
        self.threads.judge(&self.guard, script, prelude).await
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Judge").field("can_ask", &self.approver.is_some()).finish_non_exhaustive()
    }
}

/// The script of a plan, and the shell before its first command as far as it is known.
fn in_its_world(plan: &Plan) -> (String, Prelude) {
    let script = String::from_utf8_lossy(plan.script.as_bytes());
    let home = plan.environment.variables.get(std::ffi::OsStr::new("HOME"));
    let definitions = plan.snapshot.as_ref().and_then(|snapshot| snapshot.used_by(&script));
    let own = plan.own_variables.iter().filter_map(|name| {
        let value = plan.environment.variables.get(std::ffi::OsStr::new(name))?;
        Some((name.clone(), value.to_string_lossy().into_owned()))
    });
    // A session has variables of its own, and a file of the user's may set any.
    let is_decided = plan.environment_is_whole
        && plan.session.is_none()
        && !["BASH_ENV", "ENV"].iter().any(|name| plan.environment.variables.contains_key(std::ffi::OsStr::new(name)));
    let names = || plan.environment.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
    let prelude = Prelude {
        environment: is_decided.then(names),
        home: home.map(|home| home.to_string_lossy().into_owned()).filter(|home| home.starts_with('/')),
        definitions: definitions.unwrap_or_default(),
        persistent: plan.session.is_some(),
        variables: own.filter(|(name, _)| !matches!(name.as_str(), "HOME" | "PWD")).collect(),
        ..prelude_in(&plan.directory)
    };
    (script.into_owned(), prelude)
}

/// The working directory for the guard, which reads no file system: as it is spelled, and without symbolic links.
pub fn prelude_in(directory: &Path) -> Prelude {
    let real = directory.canonicalize().ok().filter(|real| real != directory);
    Prelude {
        directory: Some(directory.to_string_lossy().into_owned()),
        real_directory: real.map(|real| real.to_string_lossy().into_owned()),
        ..Prelude::default()
    }
}

/// Decides if a command that the guard refuses may run this once.
pub trait Approver: Send + Sync {
    /// Decides about this very command. A dropped future withdraws the question.
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval>;
}

/// Answer of an [`Approver`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Approval {
    /// The command may run.
    Approved,
    /// The approver asked nobody.
    #[default]
    NotAsked,
    /// The user was asked and declined.
    Declined,
    /// The user dismissed the question without an answer.
    Dismissed,
    /// The user did not answer in time.
    NoAnswer,
    /// The answer comes with the repeated call.
    Later,
    /// Nobody could be asked, for this reason.
    Unavailable(String),
}

/// A person does not read a question and answer it faster than this.
const FASTEST_PERSON: Duration = Duration::from_millis(300);

impl Approval {
    /// The answer of a client that took so long. Some clients say no by themselves where they cannot ask anybody.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> Self {
        match self {
            Self::Declined | Self::Dismissed if elapsed < FASTEST_PERSON => {
                let milliseconds = elapsed.as_millis();
                let why = format!("nobody was asked: the client said no by itself, after {milliseconds} ms");
                Self::Unavailable(why)
            }
            answer => answer,
        }
    }
}

/// Error: a plan that may not run.
#[derive(Debug, Clone, Error)]
#[error("{reason}")]
pub struct Refusal {
    /// The rule, the effect, and what to do instead.
    pub reason: String,
    /// Findings of the guard.
    pub verdict: Verdict,
    /// The command that a user would approve.
    pub given: GivenCommand,
    /// Answer of the approver.
    pub approval: Approval,
    /// Redactor for texts about the command.
    pub redactor: Redactor,
}

/// Adds a question if the command asks to run with less fence than the policy says. No command decides that.
fn with_fence(mut verdict: Verdict, plan: &Plan) -> Verdict {
    let Some(mode) = plan.asks_for_less_fence else { return verdict };
    let script = String::from_utf8_lossy(plan.script.as_bytes()).into_owned();
    let message = match mode {
        Mode::Off => "this command asks to run outside of the sandbox".to_owned(),
        mode => format!("this command asks to run in the sandbox `{mode}`, which allows more"),
    };
    verdict.findings.push(Finding {
        rule: "sandbox/less".to_owned(),
        level: Level::Ask,
        span: 0..script.len(),
        chain: vec![script],
        also: Vec::new(),
        message,
        alternative: String::new(),
    });
    verdict
}

/// Judges a plan. The caller's approver decides if the judge's own asked nobody.
pub(crate) async fn check(
    plan: Plan,
    judge: Option<&Judge>,
    caller: Option<&dyn Approver>,
) -> Result<Checked, Refusal> {
    let verdict = match judge {
        Some(judge) => {
            let (script, prelude) = in_its_world(&plan);
            judge.verdict_in(script, prelude).await
        }
        None => Verdict::default(),
    };
    let verdict = with_fence(verdict, &plan);
    if !verdict.refuses() {
        return Ok(Checked { plan, verdict });
    }
    let own = judge.and_then(|judge| judge.approver.as_deref());
    let mut approval = Approval::NotAsked;
    for approver in own.into_iter().chain(caller) {
        approval = approver.approve(&plan, &verdict).await;
        match approval {
            Approval::Approved => return Ok(Checked { plan, verdict }),
            Approval::NotAsked => {}
            _ => break,
        }
    }
    let reason = reason(&verdict);
    let redactor = plan.redactor();
    Err(Refusal { reason, verdict, given: plan.given_command(), approval, redactor })
}

/// Notices about a command that runs although the guard has found something.
pub fn warnings(verdict: &Verdict) -> impl Iterator<Item = String> + '_ {
    let mut warns: Vec<&bashful_guard::Finding> =
        verdict.findings.iter().filter(|finding| finding.level == Level::Warn).collect();
    // One error of syntax makes several findings, and bash says the rest.
    let mut is_unread = false;
    warns.retain(|finding| !finding.is_unread() || !std::mem::replace(&mut is_unread, true));
    warns.into_iter().map(|finding| {
        let text = if finding.is_unread() { finding.message.clone() } else { finding.text().replace('\n', "; ") };
        format!("warning ({}): {text}", finding.rule)
    })
}

/// Text of a refusal, for the model.
pub fn reason(verdict: &Verdict) -> String {
    let mut parts: Vec<String> = verdict.refusals().map(bashful_guard::Finding::text).collect();
    if verdict.level() == Some(Level::Ask) {
        parts.push("needs approval, and nobody approved it".to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Request, Script};

    /// An approver that always gives the same answer.
    struct Always(Approval);

    impl Approver for Always {
        fn approve<'a>(&'a self, _: &'a Plan, _: &'a Verdict) -> BoxFuture<'a, Approval> {
            Box::pin(std::future::ready(self.0.clone()))
        }
    }

    fn plan(script: &str) -> Plan {
        let options = Options::new("/bin/bash".into(), "/".into());
        let request = Request::new(Script::new(script).expect("a script"));
        crate::Engine::new(options).expect("an engine").plan(request).expect("a plan")
    }

    /// Result with these two approvers: the judge's own, and the caller's.
    fn check_with(script: &str, own: Option<Approval>, caller: Option<Approval>) -> Result<Checked, Box<Refusal>> {
        let mut judge = Judge::new(Guard::default());
        judge.approver = own.map(|answer| Arc::new(Always(answer)) as Arc<dyn Approver>);
        let caller = caller.map(Always);
        let caller = caller.as_ref().map(|caller| caller as &dyn Approver);
        now(check(plan(script), Some(&judge), caller)).map_err(Box::new)
    }

    /// Result of a future that waits for nothing.
    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
    }

    #[test]
    fn what_the_guard_refuses_does_not_pass() {
        let refusal = check_with("git push --force", None, None).expect_err("refused");
        assert!(refusal.reason.starts_with("permission denied: git push --force is not allowed."), "{refusal}");
        assert!(refusal.reason.contains("instead: git push --force-with-lease"), "{refusal}");
        let declined = check_with("git push --force", Some(Approval::NotAsked), Some(Approval::Declined));
        assert_eq!(declined.expect_err("refused").approval, Approval::Declined);
    }

    #[test]
    fn nobody_is_asked_after_somebody_who_said_no() {
        let declined = check_with("git push --force", Some(Approval::Declined), Some(Approval::Approved));
        assert_eq!(declined.expect_err("refused").approval, Approval::Declined);
    }

    #[test]
    fn somebody_can_let_it_pass() {
        let (yes, not_asked) = (Some(Approval::Approved), Some(Approval::NotAsked));
        for (own, caller) in [(yes.clone(), None), (None, yes.clone()), (not_asked, yes)] {
            let checked = check_with("git push --force", own, caller).expect("it may run");
            assert!(checked.verdict().refuses());
        }
    }

    #[test]
    fn what_is_harmless_or_only_warned_about_passes() {
        assert!(check_with("echo hello", None, None).is_ok());
        assert!(check_with("git push --delete origin x", None, None).is_ok());
    }

    #[test]
    fn without_a_judge_everything_passes() {
        assert!(now(check(plan("git push --force"), None, Some(&Always(Approval::Declined)))).is_ok());
    }
}
