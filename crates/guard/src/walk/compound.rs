//! Lists, pipelines and branches.

use crate::marks::{STAR, UNKNOWN};
use crate::walk::narrow::Comparison;
use crate::walk::state::{LeftDirectory, ShellState, ShellValue};
use crate::walk::{Flow, ScriptWalk};
use bashful_bash::ast::{
    AndOrList, CaseArm, Compound, Joint, List, Pipeline, Redirect, RedirectKind, ShellCommand, ShellWord,
};

impl ScriptWalk<'_> {
    pub(crate) fn run_list(&mut self, list: &List) -> Flow {
        let mut flow = Flow::Next;
        for item in &list.items {
            if self.budget.is_exhausted() {
                break;
            }
            let leaves = if item.background {
                self.world.files.pipes_read.clear();
                self.subshell(|walk| walk.run_and_or(item));
                self.wait_at_pipes(item);
                self.world.certainty.status = None;
                Flow::Next
            } else {
                self.run_and_or(item)
            };
            if leaves.is_end() {
                return leaves;
            }
            if leaves == Flow::Leaves {
                flow = Flow::Leaves;
            }
        }
        flow
    }

    /// Notes that a command in the background waits for text from the pipes that it has opened.
    fn wait_at_pipes(&mut self, item: &AndOrList) {
        for path in std::mem::take(&mut self.world.files.pipes_read) {
            let list = List { items: vec![AndOrList { background: false, ..item.clone() }] };
            self.world.files.readers.insert(path, std::rc::Rc::new(list));
        }
    }

    fn run_and_or(&mut self, item: &AndOrList) -> Flow {
        let Some(is_expected) = unchecked_move(item) else { return self.run_joined(item) };
        let path = self.directory();
        let flow = self.run_joined(item);
        let now = self.directory();
        if !self.world.shell.stops_at_failure && now != path && !self.world.files.is_sure(&now) {
            let is_expected = is_expected || self.world.hidden > 0;
            self.world.shell.left = Some(LeftDirectory { path, is_expected });
        }
        flow
    }

    fn run_joined(&mut self, item: &AndOrList) -> Flow {
        let start = self.world.out.len();
        let mut flow = self.run_pipeline(&item.first);
        let mut sure = usually_succeeds(&item.first);
        let is_test = !sure;
        let comparison = Comparison::of(&item.first);
        // The outcome so far, while it is certain. Nothing makes a line of its own invisible, so that a script in front of
        // another one never hides it.
        let mut status = self.certain_status().filter(|_| !item.spans_lines);
        if flow.is_end() {
            return flow;
        }
        for (at, (joint, pipeline)) in item.rest.iter().enumerate() {
            if let Some(succeeded) = status {
                if succeeded == (*joint == Joint::And) {
                    flow = self.run_pipeline(pipeline);
                    status = self.certain_status();
                    if flow.is_end() {
                        return flow;
                    }
                }
                sure = status == Some(true);
                continue;
            }
            let mut before = self.world.shell.clone();
            // `[ "$d" != / ] && …` and `[ "$d" = / ] || …` come only this far with another value; if what follows leaves,
            // it is the other way round for everything behind it.
            self.rule_out(comparison.as_ref(), *joint == Joint::Or);
            if at == 0 {
                self.narrow_to(comparison.as_ref(), *joint == Joint::And);
            }
            // A command that has written something known has succeeded, so the one behind `||` writes nothing.
            let written = self.world.out.get(start..).unwrap_or("");
            let worked = *joint == Joint::Or && !written.is_empty() && !written.contains(UNKNOWN);
            let before_it = self.world.out.len();
            let leaves = self.run_pipeline(pipeline);
            if worked && is_test && at == 1 {
                // `[ … ] && echo a || echo b` writes one or the other.
                self.keep_one_output(start, &[before_it, self.world.out.len()]);
            } else if worked {
                self.world.out.truncate(before_it);
            }
            match (joint, leaves) {
                // `cd x || exit` goes on only where it succeeded.
                (_, Flow::Leaves | Flow::Returns | Flow::Breaks(_) | Flow::Continues(_)) => {
                    if *joint == Joint::Or || !sure {
                        std::mem::swap(&mut self.world.shell, &mut before);
                        self.rule_out(comparison.as_ref(), *joint == Joint::And);
                    } else {
                        flow = Flow::Leaves;
                    }
                }
                (Joint::And, Flow::Next) if sure => {}
                (_, Flow::Next) => {
                    let after = std::mem::replace(&mut self.world.shell, before);
                    // The way around the command is the test's other answer: `[ "$d" = / ] && d=/tmp/x`.
                    if at == 0 {
                        self.rule_out(comparison.as_ref(), *joint == Joint::And);
                    }
                    self.world.shell = after.join(&self.world.shell);
                }
            }
            sure = sure && *joint == Joint::And && usually_succeeds(pipeline);
            self.world.certainty.status = None;
        }
        self.world.certainty.status = status.or(self.world.certainty.status.filter(|_| item.rest.is_empty()));
        flow
    }

    pub(super) fn run_pipeline(&mut self, pipeline: &Pipeline) -> Flow {
        if let [stage] = pipeline.stages.as_slice() {
            let flow = self.run_command(stage);
            if pipeline.prefixed {
                self.world.certainty.status = None;
            }
            return flow;
        }
        let mut piped: Option<String> = None;
        let last = pipeline.stages.len().saturating_sub(1);
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let reads_pipe = piped.is_some();
            let input = piped.take();
            if at == last && self.world.shell.last_pipe {
                let before = std::mem::replace(&mut self.world.shell.input, input.unwrap_or_default().into());
                let flow = self.run_command(stage);
                self.world.shell.input = before;
                self.world.certainty.status = None;
                return flow;
            }
            let written = self.capturing(|walk| {
                walk.subshell(|walk| {
                    if let Some(text) = input {
                        walk.world.shell.input = text.into();
                        walk.world.shell.has_own_input = false;
                    }
                    walk.world.shell.reads_pipe = reads_pipe;
                    walk.run_command(stage)
                });
            });
            if at < last {
                piped = Some(written);
            } else {
                self.write(&written);
            }
        }
        self.world.certainty.status = None;
        Flow::Next
    }

    pub(crate) fn run_command(&mut self, command: &ShellCommand) -> Flow {
        if !self.budget.enter() {
            return Flow::Next;
        }
        let flow = match command {
            ShellCommand::Simple(simple) if simple.has_substitution() => {
                self.run_with_branches(&mut |walk| walk.run_simple(simple))
            }
            ShellCommand::Simple(simple) => self.run_with_choices(&mut |walk| walk.run_simple(simple)),
            ShellCommand::Compound { body, redirects, extent } => {
                self.trail.extent = *extent;
                let flow = self.run_redirected(redirects, |walk| walk.run_compound(body));
                // A command whose file cannot be opened does not run.
                if redirects.is_empty() {
                    flow
                } else {
                    self.world.certainty.status = None;
                    flow.or_others()
                }
            }
            ShellCommand::Function { name, body } => {
                std::rc::Rc::make_mut(&mut self.world.shell.functions).insert(name.clone(), std::rc::Rc::clone(body));
                // bash calls it by itself, for any name that is no command.
                if name == "command_not_found_handle" {
                    self.subshell(|walk| walk.call(vec![name.clone(), UNKNOWN.to_string()]));
                }
                self.world.certainty.status = None;
                Flow::Next
            }
        };
        self.budget.leave();
        flow
    }

    fn run_compound(&mut self, compound: &Compound) -> Flow {
        match compound {
            Compound::Group(list) => self.run_list(list),
            Compound::Subshell(list) => {
                self.subshell(|walk| walk.run_list(list));
                Flow::Next
            }
            Compound::If { arms, otherwise } => self.run_branches(arms, otherwise.as_ref()),
            Compound::While { condition, body, is_until } => self.run_loop(condition, body, *is_until),
            Compound::For { name, is_select, words, body } => {
                let flow = if *is_select {
                    self.run_inexactly(|walk| walk.for_each(name, words.as_deref(), body))
                } else {
                    self.for_each(name, words.as_deref(), body)
                };
                self.world.certainty.status = None;
                flow
            }
            Compound::ForArith { head, body } => self.run_inexactly(|walk| walk.for_arithmetic(head, body)),
            Compound::Case { subject, arms } => {
                let flow = self.run_case(subject, arms);
                self.world.certainty.status = None;
                flow
            }
            Compound::Test(words) => self.run_with_choices(&mut |walk| {
                walk.note_tested(words);
                let mut names = false;
                let mut texts = Vec::with_capacity(words.len());
                for word in words {
                    let text = walk.expand_text(word);
                    texts.push(text.clone());
                    if std::mem::replace(&mut names, text == "-v") {
                        walk.run_hidden(&text);
                    }
                }
                // The operands of these are expressions, whose subscripts may hold commands.
                if texts.iter().any(|text| matches!(text.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")) {
                    for text in &texts {
                        walk.run_hidden(text);
                    }
                }
                walk.note_match(&texts);
                walk.world.certainty.status = walk.outcome_of_words(words);
                Flow::Next
            }),
            Compound::Coprocess { name, body } => {
                self.start_coprocess(name, body);
                self.world.certainty.status = None;
                Flow::Next
            }
            Compound::Arith(pieces) => self.run_with_choices(&mut |walk| {
                walk.arithmetic(pieces);
                walk.world.certainty.status = None;
                Flow::Next
            }),
        }
    }

    /// Runs a list that only asks: `set -e` does not end the shell in it.
    pub(super) fn run_condition(&mut self, condition: &List) -> Flow {
        let stops = std::mem::take(&mut self.world.shell.stops_at_failure);
        let flow = self.run_list(condition);
        self.world.shell.stops_at_failure |= stops;
        flow
    }

    /// `[[ text =~ pattern ]]` leaves its groups in an array.
    fn note_match(&mut self, texts: &[String]) {
        let Some(at) = texts.iter().position(|text| text == "=~") else { return };
        let (Some(text), Some(pattern)) = (at.checked_sub(1).and_then(|at| texts.get(at)), texts.get(at + 1)) else {
            return;
        };
        let Some(expression) = self.expression(pattern, false) else { return };
        if let Some(groups) = expression.captures(text) {
            let items = groups.iter().map(|group| group.map_or("", |group| group.as_str()).to_owned()).collect();
            self.assign("BASH_REMATCH", ShellValue::list(items), None);
        }
    }

    /// `case`: every arm is taken, and none of them unless one catches all.
    fn run_case(&mut self, subject: &ShellWord, arms: &[CaseArm]) -> Flow {
        self.world.certainty.take_doubtful();
        let mut texts = Vec::new();
        self.run_with_choices(&mut |walk| {
            walk.note_tested(std::slice::from_ref(subject));
            texts.push(walk.expand_text(subject));
            Flow::Next
        });
        let is_doubtful = self.world.certainty.take_doubtful();
        if let ([text], false) = (texts.as_slice(), is_doubtful)
            && let Some(taken) = self.certain_arm(text, arms)
        {
            return taken.first().map_or(Flow::Next, |arm| self.run_list(&arm.body));
        }
        let before = self.world.shell.clone();
        let mut joined: Option<ShellState> = None;
        let mut catches_all = false;
        // The state of arms that fall through. `;;&` tests every later arm, so the state outlives the next one.
        let mut fallen: Option<ShellState> = None;
        let start = self.world.out.len();
        let mut ends = Vec::with_capacity(arms.len());
        for CaseArm { patterns, body, falls_through, .. } in arms {
            self.world.shell = match &fallen {
                Some(fallen) => fallen.clone().join(&before),
                None => before.clone(),
            };
            for pattern in patterns {
                let pattern = self.expand_pattern(pattern);
                catches_all |= pattern.chars().eq([STAR]);
            }
            if self.run_list(body) == Flow::Next {
                if *falls_through {
                    fallen = Some(self.join_with(fallen));
                }
                joined = Some(self.join_with(joined));
            }
            ends.push(self.world.out.len());
        }
        self.keep_one_output(start, &ends);
        self.world.shell = before;
        if !catches_all || joined.is_none() {
            joined = Some(self.join_with(joined));
        }
        self.world.shell = joined.unwrap_or_else(ShellState::new);
        Flow::Next
    }

    /// Joins the present state with the states of other branches.
    fn join_with(&self, joined: Option<ShellState>) -> ShellState {
        match joined {
            Some(joined) => joined.join(&self.world.shell),
            None => self.world.shell.clone(),
        }
    }

    fn run_branches(&mut self, arms: &[(List, List)], otherwise: Option<&List>) -> Flow {
        let mut joined: Option<ShellState> = None;
        let start = self.world.out.len();
        let mut ends = Vec::with_capacity(arms.len() + 1);
        let mut otherwise = otherwise;
        for (condition, body) in arms {
            let flow = self.run_condition(condition);
            if flow.is_end() && joined.is_none() {
                return flow;
            }
            match self.certain_status() {
                Some(true) => {
                    otherwise = Some(body);
                    break;
                }
                Some(false) => continue,
                None => {}
            }
            let before = self.world.shell.clone();
            let comparison = Comparison::of_list(condition);
            self.rule_out(comparison.as_ref(), false);
            self.narrow_to(comparison.as_ref(), true);
            if self.run_list(body) == Flow::Next {
                joined = Some(self.join_with(joined));
            }
            self.world.shell = before;
            self.rule_out(comparison.as_ref(), true);
            ends.push(self.world.out.len());
        }
        self.world.certainty.status = None;
        let flow = otherwise.map_or(Flow::Next, |body| self.run_list(body));
        if ends.is_empty() {
            // One way is certain, and there is nothing to join.
            return flow;
        }
        self.world.certainty.status = None;
        ends.push(self.world.out.len());
        self.keep_one_output(start, &ends);
        if flow == Flow::Next {
            joined = Some(self.join_with(joined));
        }
        match joined {
            Some(joined) => {
                self.world.shell = joined;
                Flow::Next
            }
            None => Flow::Leaves,
        }
    }
}

/// Tells a `cd` whose failure does not keep the script from going on; true if the script expects that it may fail.
fn unchecked_move(item: &AndOrList) -> Option<bool> {
    let first = |pipeline: &Pipeline| match pipeline.stages.as_slice() {
        [ShellCommand::Simple(simple)] => simple.words.first()?.plain().map(str::to_owned),
        _ => None,
    };
    let [ShellCommand::Simple(simple)] = item.first.stages.as_slice() else { return None };
    if !matches!(first(&item.first)?.as_str(), "cd" | "pushd") {
        return None;
    }
    let hides =
        |redirect: &Redirect| matches!(redirect.descriptor, Some(2)) || matches!(redirect.kind, RedirectKind::Both);
    let goes_on =
        |pipeline: &Pipeline| first(pipeline).is_some_and(|word| matches!(word.as_str(), "true" | ":" | "echo"));
    match item.rest.as_slice() {
        [] => Some(simple.redirects.iter().any(hides)),
        [(Joint::Or, pipeline)] if goes_on(pipeline) => Some(true),
        _ => None,
    }
}

/// True if a pipeline is expected to work, so that the command behind `&&` counts as run.
pub(super) fn usually_succeeds(pipeline: &Pipeline) -> bool {
    let [ShellCommand::Simple(simple)] = pipeline.stages.as_slice() else { return false };
    match simple.words.first() {
        None => true,
        Some(word) => {
            !matches!(word.plain(), Some("[" | "test" | "grep" | "false" | "diff" | "cmp" | "which" | "type"))
        }
    }
}
