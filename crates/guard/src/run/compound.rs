//! Lists, pipelines, branches and loops.

use crate::marks::{STAR, UNKNOWN};
use crate::run::{Flow, Run};
use crate::state::{State, Value};
use crate::syntax::ast::{Command, Compound, Item, Joint, List, Pipeline, Word};

/// How many rounds a loop is followed through.
const MOST_ROUNDS: usize = 64;

/// How many rounds a loop is followed through whose condition says nothing: the second one sees what the first has left.
const UNKNOWN_ROUNDS: usize = 3;

impl Run<'_> {
    pub(crate) fn list(&mut self, list: &List) -> Flow {
        let mut flow = Flow::Next;
        for item in &list.items {
            if self.over.is_some() {
                break;
            }
            let leaves = if item.background {
                self.subshell(|run| run.item(item));
                Flow::Next
            } else {
                self.item(item)
            };
            if leaves == Flow::Leaves {
                flow = Flow::Leaves;
            }
        }
        flow
    }

    fn item(&mut self, item: &Item) -> Flow {
        let start = self.out.len();
        let mut flow = self.pipeline(&item.first);
        let mut sure = usually_succeeds(&item.first);
        for (joint, pipeline) in &item.rest {
            let before = self.state.clone();
            // What has written something known has worked, and then `||` writes nothing more.
            let written = self.out.get(start..).unwrap_or("");
            let worked = *joint == Joint::Or && !written.is_empty() && !written.contains(UNKNOWN);
            let before_it = self.out.len();
            let leaves = self.pipeline(pipeline);
            if worked {
                self.out.truncate(before_it);
            }
            match (joint, leaves) {
                // `cd x || exit` goes on only where it succeeded.
                (_, Flow::Leaves) => {
                    if *joint == Joint::Or || !sure {
                        self.state = before;
                    } else {
                        flow = Flow::Leaves;
                    }
                }
                (Joint::And, Flow::Next) if sure => {}
                (_, Flow::Next) => {
                    let after = std::mem::replace(&mut self.state, before);
                    self.state = after.join(&self.state);
                }
            }
            sure = sure && *joint == Joint::And && usually_succeeds(pipeline);
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Flow {
        if let [stage] = pipeline.stages.as_slice() {
            return self.command(stage);
        }
        let mut piped: Option<String> = None;
        let last = pipeline.stages.len().saturating_sub(1);
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let reads_pipe = piped.is_some();
            let input = piped.take();
            let written = self.capturing(|run| {
                run.subshell(|run| {
                    if let Some(text) = input {
                        run.state.input = text.into();
                    }
                    run.state.reads_pipe = reads_pipe;
                    run.command(stage)
                });
            });
            if at < last {
                piped = Some(written);
            } else {
                self.write(&written);
            }
        }
        Flow::Next
    }

    pub(crate) fn command(&mut self, command: &Command) -> Flow {
        if !self.enter() {
            return Flow::Next;
        }
        let flow = match command {
            Command::Simple(simple) => self.choosing(&mut |run| run.simple(simple)),
            Command::Compound { body, redirects, extent } => {
                self.extent = *extent;
                self.redirected(redirects, |run| run.compound(body))
            }
            Command::Function { name, body } => {
                std::rc::Rc::make_mut(&mut self.state.functions).insert(name.clone(), std::rc::Rc::clone(body));
                Flow::Next
            }
        };
        self.depth -= 1;
        flow
    }

    fn compound(&mut self, compound: &Compound) -> Flow {
        match compound {
            Compound::Group(list) => self.list(list),
            Compound::Subshell(list) => {
                self.subshell(|run| run.list(list));
                Flow::Next
            }
            Compound::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            Compound::While { condition, body } => self.repeat(condition, body),
            Compound::For { name, words, body } => self.for_each(name, words.as_deref(), body),
            Compound::ForArith { head, body } => {
                let head = self.text(&Word { pieces: head.clone(), ..Word::default() });
                let mut parts = head.split(';');
                let (first, condition, step) = (parts.next(), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                self.number(first.unwrap_or(""));
                for round in 0..MOST_ROUNDS {
                    let goes_on = self.number(condition);
                    if self.over.is_some() || goes_on == Some(0) || goes_on.is_none() && round >= UNKNOWN_ROUNDS {
                        break;
                    }
                    self.spend(1);
                    self.list(body);
                    self.number(step);
                }
                Flow::Next
            }
            Compound::Case { subject, arms } => {
                self.choosing(&mut |run| {
                    run.text(subject);
                    Flow::Next
                });
                let before = self.state.clone();
                let mut joined: Option<State> = None;
                let mut catches_all = false;
                for (patterns, body) in arms {
                    self.state = before.clone();
                    for pattern in patterns {
                        let pattern = self.pattern(pattern);
                        catches_all |= pattern.chars().eq([STAR]);
                    }
                    if self.list(body) == Flow::Next {
                        joined = Some(self.join_with(joined));
                    }
                }
                self.state = before;
                if !catches_all || joined.is_none() {
                    joined = Some(self.join_with(joined));
                }
                self.state = joined.unwrap_or_else(State::new);
                Flow::Next
            }
            Compound::Test(words) => self.choosing(&mut |run| {
                for word in words {
                    run.text(word);
                }
                Flow::Next
            }),
            Compound::Arith(pieces) => self.choosing(&mut |run| {
                run.arithmetic(pieces);
                Flow::Next
            }),
        }
    }

    /// What has been joined so far, and the present state.
    fn join_with(&self, joined: Option<State>) -> State {
        match joined {
            Some(joined) => joined.join(&self.state),
            None => self.state.clone(),
        }
    }

    fn branches(&mut self, arms: &[(List, List)], otherwise: Option<&List>) -> Flow {
        let mut joined: Option<State> = None;
        for (condition, body) in arms {
            self.list(condition);
            let before = self.state.clone();
            if self.list(body) == Flow::Next {
                joined = Some(self.join_with(joined));
            }
            self.state = before;
        }
        let flow = otherwise.map_or(Flow::Next, |body| self.list(body));
        if flow == Flow::Next {
            joined = Some(self.join_with(joined));
        }
        match joined {
            Some(joined) => {
                self.state = joined;
                Flow::Next
            }
            None => Flow::Leaves,
        }
    }

    fn repeat(&mut self, condition: &List, body: &List) -> Flow {
        let before = self.state.clone();
        let mut rounds = 0;
        while rounds < MOST_ROUNDS && self.over.is_none() {
            let could_read = self.state.input.len();
            self.state.read_failed = false;
            self.list(condition);
            let reads = self.state.input.len() < could_read;
            // The loop's last look at its input finds nothing more.
            if self.state.read_failed && rounds > 0 {
                break;
            }
            rounds += 1;
            self.list(body);
            if !reads && rounds >= UNKNOWN_ROUNDS {
                break;
            }
        }
        self.state.read_failed = false;
        let after = std::mem::replace(&mut self.state, before);
        self.state = after.join(&self.state);
        Flow::Next
    }

    fn for_each(&mut self, name: &str, words: Option<&[Word]>, body: &List) -> Flow {
        let mut values = Vec::new();
        match words {
            None => values = self.state.arguments.to_vec(),
            Some(words) => {
                self.choosing(&mut |run| {
                    let fields = run.fields(words);
                    for field in fields {
                        if !values.contains(&field) || values.len() < MOST_ROUNDS {
                            values.push(field);
                        }
                    }
                    Flow::Next
                });
            }
        }
        let total = values.len();
        for (round, value) in values.into_iter().enumerate() {
            if self.over.is_some() {
                break;
            }
            // Of very long lists, those with something in them that could matter.
            if round >= MOST_ROUNDS && round + 1 < total && value.chars().all(|letter| letter.is_ascii_alphanumeric()) {
                continue;
            }
            self.spend(1);
            self.assign(name, Value::Scalar(value), None);
            self.list(body);
        }
        if total == 0 {
            // Nothing would run, unless the list comes from outside.
            self.assign(name, Value::Scalar(UNKNOWN.to_string()), None);
            let before = self.state.clone();
            self.list(body);
            self.state = before;
        }
        Flow::Next
    }
}

/// Whether a pipeline is one of those that are expected to work, so that what follows `&&` counts as having run.
fn usually_succeeds(pipeline: &Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.stages.as_slice() else { return false };
    match simple.words.first() {
        None => true,
        Some(word) => {
            !matches!(word.plain(), Some("[" | "test" | "grep" | "false" | "diff" | "cmp" | "which" | "type"))
        }
    }
}
