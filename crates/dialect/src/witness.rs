//! Who is told of every command that was run, for a log.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{ByteSize, Engine, Eyes, InBackground, JobRecord, Outcome, Plan, RunError, Script, Written};
use bashful_sys::boot_time;
use serde_json::Value;

use crate::facts;

/// So much of a command is told. A script of megabytes is no reading matter.
const TOLD: ByteSize = ByteSize::kib(8);

/// Is told of every command, when it has ended or has become a job. It must not take long.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// A command was run, or refused.
    fn saw(&self, ran: &Ran);
}

/// A command, without withheld values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its text, or the beginning of it.
    pub command: String,
    /// Where.
    pub directory: String,
}

impl Told {
    /// The text as it was given, redacted. Control characters stay: a carriage return that hides a part of the command from
    /// a reader must not hide it from the log.
    pub fn new(eyes: &Eyes, script: &[u8], directory: &Path) -> Self {
        let directory = eyes.mask(directory.to_string_lossy());
        // Redacted before it is cut, so that no value is cut in two.
        let mut command = eyes.mask(String::from_utf8_lossy(script));
        if command.len() > TOLD.in_memory() {
            command.truncate(command.floor_char_boundary(TOLD.in_memory()));
            command.push('…');
        }
        Self { command, directory }
    }
}

/// A command that was run, or was not.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// What was given, and where.
    pub given: Told,
    /// What it was made into before it ran, if it was.
    pub rewritten: Option<Told>,
    /// Whether it was allowed.
    pub allowed: bool,
    /// How it ended: the word that its facts have.
    pub status: Value,
    /// What the system said, if it ended by itself.
    pub exit_code: Option<u64>,
    /// The signal that ended it.
    pub signal: Option<u64>,
    /// How long it took.
    pub elapsed: Duration,
    /// How much it wrote.
    pub output_bytes: u64,
    /// The job that it became.
    pub job: Option<u64>,
    /// How the user could allow it, if the guard has refused it.
    pub how_to_allow: Option<String>,
    /// Counts what it writes while it runs.
    pub written: Option<Written>,
}

impl Ran {
    /// A command of which nothing is known but what it is. Unless more becomes known, it was cancelled.
    pub fn new(engine: &Engine, plan: &Plan) -> Self {
        let eyes = engine.eyes_for(plan);
        let told = |script: &Script, directory| Told::new(&eyes, script.as_bytes(), directory);
        Self {
            given: told(plan.given_script(), plan.given_directory()),
            rewritten: plan.given.as_ref().map(|_| told(&plan.script, &plan.directory)),
            allowed: true,
            status: "cancelled".into(),
            exit_code: None,
            signal: None,
            elapsed: Duration::ZERO,
            output_bytes: 0,
            job: None,
            how_to_allow: None,
            written: None,
        }
    }

    /// It has ended.
    pub fn ended(&mut self, outcome: &Outcome) {
        let mut exit = Value::Null;
        facts::exit_facts(&mut exit, outcome.end);
        self.status = serde_json::to_value(facts::status(outcome.end)).unwrap_or_default();
        self.exit_code = exit["exit_code"].as_u64();
        self.signal = exit["signal"]["number"].as_u64();
        self.elapsed = outcome.elapsed;
        self.output_bytes = outcome.output.bytes + outcome.stderr.as_ref().map_or(0, |stderr| stderr.bytes);
        self.job = outcome.leftover.as_ref().and_then(|left| left.job);
    }

    /// It was not allowed.
    pub fn refused(&mut self) {
        self.allowed = false;
        self.status = "refused".into();
    }

    /// It was not run, because it has to be asked about first.
    pub fn asked(&mut self) {
        self.allowed = false;
        self.status = "asked".into();
    }

    /// It did not start.
    pub fn not_started(&mut self) {
        self.status = "failed".into();
    }

    /// It did not start, because of this.
    pub fn failed(&mut self, error: &RunError) {
        match error {
            RunError::Refused(_) => self.refused(),
            _ => self.not_started(),
        }
    }

    /// It goes on as a job.
    pub fn became(&mut self, job: &JobRecord) {
        self.status = "running".into();
        self.elapsed = job.elapsed;
        self.job = Some(job.id);
    }

    /// It goes on as a job, and had written something by then.
    pub fn outlasted(&mut self, sent: &InBackground) {
        self.became(&sent.job);
        self.output_bytes = sent.output.bytes + sent.stderr.as_ref().map_or(0, |stderr| stderr.bytes);
    }
}

/// Tells of a command when it is dropped, whatever has become of it: a call that is cancelled is just dropped.
#[derive(Debug)]
pub(crate) struct Telling {
    pub(crate) ran: Ran,
    /// Since the machine was started.
    began: Duration,
    witness: Arc<dyn Witness>,
}

impl Telling {
    pub(crate) fn new(witness: &Arc<dyn Witness>, engine: &Engine, plan: &Plan) -> Self {
        Self { ran: Ran::new(engine, plan), began: boot_time(), witness: Arc::clone(witness) }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if self.ran.status == "cancelled" && self.ran.elapsed.is_zero() {
            self.ran.elapsed = boot_time().saturating_sub(self.began);
            self.ran.output_bytes = self.ran.written.as_ref().map_or(0, Written::bytes);
        }
        self.witness.saw(&self.ran);
    }
}
