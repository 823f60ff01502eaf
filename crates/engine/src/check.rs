//! The gate between a plan and its start.
//!
//! Nothing starts without a [`Checked`], and only [`check`] makes one. Judging scripts is not built yet: every plan
//! passes. Whoever adds a judge has this one place to put it.

use thiserror::Error;

use crate::plan::Plan;

/// A plan that may run.
///
/// Its field is private, so there is no way around the check:
///
/// ```compile_fail,E0451
/// # fn demo(plan: bashful_engine::Plan) {
/// let checked = bashful_engine::Checked { plan };
/// # }
/// ```
#[derive(Debug)]
pub struct Checked {
    plan: Plan,
}

impl Checked {
    /// What may run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// Why a plan may not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Refusal {
    /// Which rule, what would happen, and what to do instead.
    pub reason: String,
}

/// Judges a plan.
#[expect(clippy::unnecessary_wraps, reason = "no judge is built in yet; callers are ready for one")]
pub(crate) fn check(plan: Plan) -> Result<Checked, Refusal> {
    Ok(Checked { plan })
}
