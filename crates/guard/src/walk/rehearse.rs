//! A rehearsal: one way through the script, followed exactly.
//!
//! A walk follows every way at once and joins the values afterwards. It therefore loses values that a script computes: the word that a
//! loop puts together letter by letter, the arm of a `case` that a table leads to. A rehearsal goes one way, as bash would. Loops go on while
//! their condition holds, one arm of a `case` is taken, `break` breaks. A question whose answer is not known is answered the same way each time.
//!
//! It comes after a walk that refuses nothing and adds refusals to it. Whatever a rehearsal does not see, the walk has judged.

use crate::marks::{HOME, START, has_mark, is_mark};
use crate::syntax::ast::{AndOrList, CaseArm, Joint, List, Pipeline, ShellCommand, ShellWord};
use crate::walk::compound::usually_succeeds;
use crate::walk::narrow::Comparison;
use crate::walk::state::ShellValue;
use crate::walk::{Flow, ScriptWalk};

/// The most rounds of a loop whose condition is not known.
const UNKNOWN_ROUNDS: usize = 1;

/// The most rounds of a loop in which a question is answered by chance.
const MOST_GUESSED: usize = 8;

/// The deepest recursion of one function in a rehearsal.
pub(super) const MOST_RECURSION: usize = 12;

/// The answers of a rehearsal to questions that nothing in the script answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rehearsal {
    /// The answer to every such question.
    pub(super) answer: bool,
    /// The number of questions so far.
    pub(super) asked: usize,
    /// Something was left out, or the end of the script was not reached.
    pub(super) is_cut: bool,
}

impl Rehearsal {
    pub(super) fn new(answer: bool) -> Self {
        Self { answer, asked: 0, is_cut: false }
    }
}

impl ScriptWalk<'_> {
    /// True if this walk goes one way.
    pub(crate) fn is_rehearsal(&self) -> bool {
        self.rehearsal.is_some()
    }

    /// Answers a question that nothing in the script answers.
    fn answered(&mut self) -> bool {
        match &mut self.rehearsal {
            Some(rehearsal) => {
                rehearsal.asked += 1;
                rehearsal.answer
            }
            None => true,
        }
    }

    /// Notes that the rehearsal is not all that bash would do.
    pub(super) fn cut_short(&mut self) {
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.is_cut = true;
        }
    }

    /// Notes that text which is not known has run in the present shell.
    pub(super) fn note_altered(&mut self) {
        if self.world.shell.outside.is_altered {
            self.cut_short();
        }
    }

    /// True if bash would do exactly what the rehearsal has done.
    ///
    /// The walk has to be certain of everything (see [`super::certain`]), and no question may have been answered by chance.
    pub(crate) fn is_exact(&self) -> bool {
        let shell = &self.world.shell;
        self.rehearsal.is_some_and(|rehearsal| rehearsal.asked == 0 && !rehearsal.is_cut)
            && !self.budget.is_exhausted()
            && !self.world.certainty.is_lost()
            && !shell.outside.is_altered
            && shell.left.is_none()
            && !self.world.prelude.persistent
            && self.world.prelude.environment.is_some()
    }

    fn questions(&self) -> usize {
        self.rehearsal.map_or(0, |rehearsal| rehearsal.asked)
    }

    /// True if the last command has succeeded, as far as the rehearsal goes. Commands that nobody tests succeed.
    fn has_succeeded(&mut self, pipeline: &Pipeline) -> bool {
        match self.world.certainty.status {
            Some(status) => status,
            None if usually_succeeds(pipeline) => {
                self.answered();
                true
            }
            None => self.answered(),
        }
    }

    /// `a && b || c`
    pub(super) fn rehearse_joined(&mut self, item: &AndOrList) -> Flow {
        let mut flow = self.run_pipeline(&item.first);
        let mut last = &item.first;
        for (joint, pipeline) in &item.rest {
            if flow.is_end() {
                return flow;
            }
            // Whoever only says something, or ends, where a command has failed, does no more than is gone through here.
            let is_plain = *joint == Joint::Or && usually_succeeds(last) && is_trivial(pipeline);
            let succeeded = match self.world.certainty.status {
                None if is_plain => true,
                _ => self.has_succeeded(last),
            };
            self.world.certainty.status = Some(succeeded);
            // Nothing makes a line of its own invisible, so that a script in front of another one never hides it.
            if item.spans_lines {
                self.cut_short();
            }
            if succeeded == (*joint == Joint::And) {
                self.narrow_by(Comparison::of(last).as_ref(), succeeded);
                flow = self.run_pipeline(pipeline);
                last = pipeline;
            }
        }
        flow
    }

    /// Keeps the values of a variable that fit the answer to a test of it.
    fn narrow_by(&mut self, comparison: Option<&Comparison>, succeeded: bool) {
        self.rule_out(comparison, !succeeded);
        self.narrow_to(comparison, succeeded);
    }

    /// The answer of a list that a branch or a loop depends on.
    fn rehearse_condition(&mut self, condition: &List) -> Result<bool, Flow> {
        let flow = self.run_list(condition);
        if flow.is_end() {
            return Err(flow);
        }
        Ok(match self.world.certainty.status {
            Some(status) => status,
            None => self.answered(),
        })
    }

    pub(super) fn rehearse_branches(&mut self, arms: &[(List, List)], otherwise: Option<&List>) -> Flow {
        for (condition, body) in arms {
            let comparison = Comparison::of_list(condition);
            match self.rehearse_condition(condition) {
                Ok(true) => {
                    self.narrow_by(comparison.as_ref(), true);
                    return self.run_list(body);
                }
                Ok(false) => self.narrow_by(comparison.as_ref(), false),
                Err(flow) => return flow,
            }
        }
        self.world.certainty.status = Some(true);
        otherwise.map_or(Flow::Next, |body| self.run_list(body))
    }

    /// `case`: the first arm that fits, and those that it falls through to.
    pub(super) fn rehearse_case(&mut self, subject: &ShellWord, arms: &[CaseArm]) -> Flow {
        self.note_tested(std::slice::from_ref(subject));
        let text = self.expand_text(subject);
        let mut falls = false;
        for CaseArm { patterns, body, falls_through, tests_on } in arms {
            if !falls {
                let mut fits = false;
                for pattern in patterns {
                    fits = match self.fits(&text, pattern) {
                        Some(fits) => fits,
                        None => self.answered(),
                    };
                    if fits {
                        break;
                    }
                }
                if !fits {
                    continue;
                }
            }
            let flow = self.run_list(body);
            if flow.is_end() || !*falls_through {
                return flow;
            }
            falls = !*tests_on;
        }
        Flow::Next
    }

    pub(super) fn rehearse_loop(&mut self, condition: &List, body: &List, is_until: bool) -> Flow {
        let (mut unknown, mut rounds, mut guessed) = (0, 0, 0);
        for _ in 0..self.budget.detail().rounds {
            let asked = self.questions();
            match self.rehearse_condition(condition) {
                Ok(holds) if holds == is_until => break,
                Ok(_) => {}
                Err(flow) => return flow.out_of_loop().unwrap_or(Flow::Next),
            }
            unknown += usize::from(self.questions() > asked);
            if unknown > UNKNOWN_ROUNDS || self.budget.is_exhausted() {
                break;
            }
            self.budget.spend(1);
            let asked = self.questions();
            let flow = self.run_round(body);
            if let Some(flow) = flow.out_of_loop() {
                return flow;
            }
            rounds += 1;
            // The same answer in every round leads round and round.
            guessed += usize::from(self.questions() > asked);
            if guessed >= MOST_GUESSED {
                break;
            }
        }
        if rounds == self.budget.detail().rounds {
            self.cut_short();
        }
        self.world.certainty.status = Some(true);
        Flow::Next
    }

    fn run_round(&mut self, body: &List) -> Flow {
        self.world.loops += 1;
        let flow = self.run_list(body);
        self.world.loops = self.world.loops.saturating_sub(1);
        flow
    }

    /// `for ((first; condition; step))`
    pub(super) fn rehearse_arithmetic(&mut self, head: &str, body: &List) -> Flow {
        let mut parts = head.split(';');
        let (first, condition, step) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        self.number(first.unwrap_or(""));
        let (mut unknown, mut rounds) = (0, 0);
        for _ in 0..self.budget.detail().rounds {
            let goes_on = if condition.trim().is_empty() { Some(1) } else { self.number(condition) };
            if goes_on.is_none() {
                unknown += 1;
                self.cut_short();
            }
            if goes_on == Some(0) || unknown > UNKNOWN_ROUNDS || self.budget.is_exhausted() {
                break;
            }
            self.budget.spend(1);
            if let Some(flow) = self.run_round(body).out_of_loop() {
                return flow;
            }
            self.number(step);
            rounds += 1;
        }
        if rounds == self.budget.detail().rounds {
            self.cut_short();
        }
        self.world.certainty.status = Some(true);
        Flow::Next
    }

    pub(super) fn rehearse_each(&mut self, name: &str, values: Vec<String>, body: &List) -> Flow {
        // Names that a pattern or something unknown stands for are not known one by one.
        let is_known = |value: &String| !value.contains(|letter| is_mark(letter) && !matches!(letter, HOME | START));
        if !values.iter().all(is_known) {
            self.cut_short();
        }
        for value in values.into_iter().take(self.budget.detail().rounds) {
            if self.budget.is_exhausted() {
                break;
            }
            self.budget.spend(1);
            self.assign(name, ShellValue::Scalar(value), None);
            if let Some(flow) = self.run_round(body).out_of_loop() {
                return flow;
            }
        }
        Flow::Next
    }

    /// `select`: every line of the input chooses a word by its number.
    pub(super) fn rehearse_select(&mut self, name: &str, words: Option<&[ShellWord]>, body: &List) -> Flow {
        let values = match words {
            Some(words) => self.expand_fields(words),
            None => self.world.shell.arguments.to_vec(),
        };
        let input = std::mem::take(&mut self.world.shell.input);
        if input.contains(is_mark) || self.world.shell.has_own_input {
            self.cut_short();
        }
        for line in input.lines() {
            let chosen = line.trim().parse::<usize>().ok().and_then(|at| values.get(at.checked_sub(1)?));
            self.assign("REPLY", ShellValue::Scalar(line.to_owned()), None);
            self.assign(name, ShellValue::Scalar(chosen.cloned().unwrap_or_default()), None);
            self.budget.spend(1);
            if let Some(flow) = self.run_round(body).out_of_loop() {
                return flow;
            }
        }
        Flow::Next
    }

    /// The outcome of a pipeline with its `!`.
    pub(super) fn rehearse_outcome(&mut self, pipeline: &Pipeline) {
        if !pipeline.negated {
            return;
        }
        let asks = |command: &ShellCommand| !matches!(command, ShellCommand::Function { .. });
        let succeeded = match self.world.certainty.status {
            Some(status) => status,
            None if pipeline.stages.last().is_some_and(asks) => self.answered(),
            None => true,
        };
        self.world.certainty.status = Some(!succeeded);
    }

    /// Notes the outcome of a builtin, for a rehearsal.
    pub(super) fn tell_outcome(&mut self, outcome: Option<bool>) {
        if self.is_rehearsal() {
            self.world.certainty.status = outcome;
        }
    }

    /// The status of a command in a rehearsal, as `$?` has it.
    pub(crate) fn rehearsed_status(&self) -> Option<String> {
        let certainty = &self.world.certainty;
        self.rehearsal?;
        certainty.status.map(|status| if status { "0".to_owned() } else { certainty.code.max(1).to_string() })
    }

    /// The effect of `exit`, `return`, `break` and `continue`, where it is certain.
    pub(super) fn rehearse_leaving(&mut self, name: &str, operand: Option<&String>) -> Flow {
        let number = operand.filter(|text| !has_mark(text)).and_then(|text| text.parse::<u8>().ok());
        match name {
            // Outside of a loop it is an error, and the script goes on.
            "break" | "continue" if self.world.loops == 0 => return Flow::Next,
            "break" => return Flow::Breaks(number.unwrap_or(1).max(1)),
            "continue" => return Flow::Continues(number.unwrap_or(1).max(1)),
            _ => {}
        }
        if let Some(number) = number {
            self.world.certainty.status = Some(number == 0);
            self.world.certainty.code = number;
        }
        match name {
            "exit" => Flow::Exits,
            _ if self.is_in_function() => Flow::Returns,
            // Elsewhere it may end a file that is read, or be an error.
            _ => {
                self.cut_short();
                Flow::Returns
            }
        }
    }
}

/// True if a pipeline changes nothing but the way through the script.
fn is_trivial(pipeline: &Pipeline) -> bool {
    let [ShellCommand::Simple(simple)] = pipeline.stages.as_slice() else { return false };
    let name = simple.words.first().and_then(ShellWord::plain);
    simple.assigns.is_empty()
        && !simple.has_substitution()
        && matches!(name, Some("true" | ":" | "echo" | "printf" | "exit" | "return"))
}

impl Flow {
    /// The flow behind a loop, if a round of it with this flow was the last one.
    pub(super) fn out_of_loop(self) -> Option<Self> {
        match self {
            Self::Breaks(levels) if levels > 1 => Some(Self::Breaks(levels - 1)),
            Self::Continues(levels) if levels > 1 => Some(Self::Continues(levels - 1)),
            Self::Breaks(_) => Some(Self::Next),
            Self::Returns | Self::Exits => Some(self),
            Self::Next | Self::Leaves | Self::Continues(_) => None,
        }
    }
}
