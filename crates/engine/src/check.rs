//! The gate between a plan and its start.
//!
//! Nothing starts without a [`Checked`], and only [`check`] makes one. The guard judges what the script would do; where it
//! would not let it run, somebody may still say yes: see [`Consent`].

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bashful_guard::{Guard, Level, Prelude, Verdict};
use thiserror::Error;

use crate::plan::Plan;
use crate::request::Script;

/// A plan that may run.
///
/// Its fields are private, so there is no way around the check:
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
    /// What may run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Not yet allowed again.
    pub(crate) fn into_plan(self) -> Plan {
        self.plan
    }

    /// What the guard said about it; what it refused, somebody has let pass.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// Who judges scripts.
#[derive(Clone)]
pub struct Judge {
    /// The rules.
    pub guard: Arc<Guard>,
    /// Who can be asked. Without anybody, what would have to be asked is refused.
    pub consent: Option<Arc<dyn Consent>>,
}

impl Judge {
    /// A judge by these rules who has nobody to ask.
    pub fn new(guard: Guard) -> Self {
        Self { guard: Arc::new(guard), consent: None }
    }

    /// What the guard says about a plan.
    pub fn verdict(&self, plan: &Plan) -> Verdict {
        let script = String::from_utf8_lossy(plan.script.as_bytes());
        let home = plan.environment.variables.get(std::ffi::OsStr::new("HOME"));
        let definitions = plan.snapshot.as_ref().and_then(|snapshot| snapshot.used_by(&script));
        let prelude = Prelude {
            directory: Some(plan.directory.to_string_lossy().into_owned()),
            home: home.map(|home| home.to_string_lossy().into_owned()).filter(|home| home.starts_with('/')),
            definitions: definitions.unwrap_or_default(),
            persistent: plan.session.is_some(),
        };
        self.guard.judge(&script, &prelude)
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Judge").field("can_ask", &self.consent.is_some()).finish_non_exhaustive()
    }
}

/// Somebody who can let a command run that the guard would not.
pub trait Consent: Send + Sync {
    /// Whether this very command may run, this once. Only called if the guard refuses it; may take its time.
    fn is_given<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> Answering<'a>;
}

/// Somebody who makes up their mind.
pub type Answering<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Why a plan may not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refusal {
    /// Which rule, what would happen, and what to do instead.
    pub reason: String,
    /// What the guard found.
    pub verdict: Verdict,
    /// The script, as it was given: that is what somebody would have to allow.
    pub script: Script,
    /// Where it was to run, as it was given.
    pub directory: PathBuf,
}

/// Judges a plan. The caller is asked if the judge has nobody who says yes.
pub(crate) async fn check(plan: Plan, judge: Option<&Judge>, caller: Option<&dyn Consent>) -> Result<Checked, Refusal> {
    let verdict = judge.map(|judge| judge.verdict(&plan)).unwrap_or_default();
    if !verdict.refuses() {
        return Ok(Checked { plan, verdict });
    }
    let own = judge.and_then(|judge| judge.consent.as_deref());
    for consent in own.into_iter().chain(caller) {
        if consent.is_given(&plan, &verdict).await {
            return Ok(Checked { plan, verdict });
        }
    }
    let reason = reason(&verdict);
    let (script, directory) = (plan.given_script().clone(), plan.given_directory().to_path_buf());
    Err(Refusal { reason, verdict, script, directory })
}

fn reason(verdict: &Verdict) -> String {
    let mut parts: Vec<String> = verdict.refusals().map(bashful_guard::Finding::text).collect();
    if verdict.level() == Some(Level::Ask) {
        parts.push("it has to be allowed, and nobody has allowed it".to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Request, Script};

    /// Says always the same.
    struct Always(bool);

    impl Consent for Always {
        fn is_given<'a>(&'a self, _: &'a Plan, _: &'a Verdict) -> Answering<'a> {
            Box::pin(std::future::ready(self.0))
        }
    }

    fn plan(script: &str) -> Plan {
        let options = Options::new("/bin/bash".into(), "/".into());
        let request = Request::new(Script::new(script).expect("a script"));
        Plan::resolve(request, &options, &crate::Environment::default(), None).expect("a plan")
    }

    /// What comes out if these are asked: somebody that the judge knows, and the caller.
    fn check_with(script: &str, consent: Option<bool>, caller: Option<bool>) -> Result<Checked, Refusal> {
        let mut judge = Judge::new(Guard::default());
        judge.consent = consent.map(|answer| Arc::new(Always(answer)) as Arc<dyn Consent>);
        let caller = caller.map(Always);
        now(check(plan(script), Some(&judge), caller.as_ref().map(|caller| caller as &dyn Consent)))
    }

    /// What a future comes to that waits for nothing.
    fn now<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    #[test]
    fn what_the_guard_refuses_does_not_pass() {
        let refusal = check_with("git push --force", None, None).expect_err("refused");
        assert!(refusal.reason.starts_with("permission denied: git push --force is not allowed."), "{refusal}");
        assert!(refusal.reason.contains("instead: git push --force-with-lease"), "{refusal}");
        assert!(check_with("git push --force", Some(false), Some(false)).is_err());
    }

    #[test]
    fn somebody_can_let_it_pass() {
        for (consent, caller) in [(Some(true), None), (None, Some(true)), (Some(false), Some(true))] {
            let checked = check_with("git push --force", consent, caller).expect("it may run");
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
        assert!(now(check(plan("git push --force"), None, Some(&Always(false)))).is_ok());
    }
}
