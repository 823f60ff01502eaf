//! The commands of a script whose output is the script's output, for a crate that has to know which command wrote it.
//!
//! The answer is none wherever a command's output goes elsewhere or another command changes it: pipes, redirections,
//! background commands, loops, groups and functions.

use crate::guard::{Guard, LONGEST_SCRIPT, Prelude};
use crate::marks::{NAME, SOME, UNKNOWN, is_vague, readable, without_marks};
use crate::resolved::ResolvedCommand;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;
use crate::walk::trail::CommandWatch;
use bashful_bash::Parser;
use bashful_bash::ast::{Pipeline, Redirect, RedirectKind, ShellCommand, ShellWord, SimpleCommand};

/// Builtins that the walk takes for declarations before they are commands. None of them writes anything.
const DECLARATIONS: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// Commands one after another, joined by `&&`, `||`, `;` or newlines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The commands in the order of the script. Assignments without a command are missing.
    pub commands: Vec<SequencedCommand>,
    /// Names that the script assigns to: before a command (`A=1 make`), with `export` or `env`, or as an argument (`make A=1`).
    pub assigned: Vec<String>,
}

/// One command of a [`Sequence`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequencedCommand {
    /// The program's name without its directory, and its arguments. Programs that only run another one (`env`, `timeout`,
    /// `npx`) and their own arguments are left out.
    pub words: Vec<String>,
    /// True if the beginning of a word is not known, so that the word may be any option.
    pub is_vague: bool,
}

impl Sequence {
    /// Resolves a script; none if a command's output is not simply a part of the script's output.
    ///
    /// ```
    /// use bashful_guard::Sequence;
    ///
    /// let sequence = Sequence::of("cd app && CI=1 timeout 60 npx jest --ci 2>&1").expect("two commands");
    /// assert_eq!(sequence.commands[1].words, ["jest", "--ci"]);
    /// assert_eq!(Sequence::of("npx jest | tail -5"), None);
    /// ```
    pub fn of(script: &str) -> Option<Self> {
        // A carriage return is a letter to bash, and a blank to the parser.
        if script.len() > LONGEST_SCRIPT || script.contains('\r') {
            return None;
        }
        let cleaned = without_marks(script);
        let simples = simple_commands(&cleaned)?;
        let guard = Guard::default();
        let prelude = Prelude::default();
        let mut walk = ScriptWalk::new(&guard, (&cleaned, 0), &prelude);
        walk.trail.watch = Some(CommandWatch::default());
        walk.walk_script();
        if walk.budget.is_exhausted() || walk.trail.is_incomplete {
            return None;
        }
        let resolved = walk.trail.watch.unwrap_or_default().commands;
        let assigned = simples.iter().flat_map(assigned_names).collect();
        let with_words = simples.iter().filter(|simple| !simple.words.is_empty());
        let commands = with_words.map(|simple| command(simple, &resolved)).collect::<Option<_>>()?;
        Some(Self { commands, assigned })
    }
}

/// The names before each `=` of a command.
fn assigned_names(simple: &SimpleCommand) -> Vec<String> {
    let is_name = |name: &String| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let in_words = simple
        .words
        .iter()
        .filter_map(ShellWord::literal)
        .filter_map(|word| word.split_once('=').map(|(name, _)| name.to_owned()).filter(is_name));
    simple.assigns.iter().map(|assign| assign.name.clone()).chain(in_words).collect()
}

/// The simple commands of a script that consists of nothing else.
fn simple_commands(script: &str) -> Option<Vec<SimpleCommand>> {
    let mut parser = Parser::new(script);
    let mut simples = Vec::new();
    while let Some((line, fault)) = parser.line_or_fault().ok()? {
        if fault.is_some() {
            return None;
        }
        for item in line.items {
            if item.background {
                return None;
            }
            for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
                simples.push(only_command(script, pipeline)?);
            }
        }
    }
    Some(simples)
}

fn only_command(script: &str, pipeline: &Pipeline) -> Option<SimpleCommand> {
    let spelled = script.get(pipeline.extent.start..)?;
    // `!` turns the status around, and a coprocess is told apart from its command only by its word.
    if spelled.starts_with('!') || spelled.starts_with("coproc") {
        return None;
    }
    let [ShellCommand::Simple(simple)] = pipeline.stages.as_slice() else { return None };
    simple.redirects.iter().all(leaves_output).then(|| simple.clone())
}

/// True for a redirection of input, for `2>&1` and for `2>/dev/null`: the rest of the output stays where it was.
fn leaves_output(redirect: &Redirect) -> bool {
    let target = || redirect.target.literal();
    match redirect.kind {
        _ if redirect.variable.is_some() => false,
        RedirectKind::In | RedirectKind::HereString | RedirectKind::HereDoc(_) => {
            matches!(redirect.descriptor, None | Some(0))
        }
        RedirectKind::CopyOut => redirect.descriptor == Some(2) && target().as_deref() == Some("1"),
        RedirectKind::Out | RedirectKind::Append => {
            redirect.descriptor == Some(2) && target().as_deref() == Some("/dev/null")
        }
        RedirectKind::Both | RedirectKind::InOut | RedirectKind::CopyIn => false,
    }
}

/// The command that runs in the end, by the words of all commands that the walk met at this place.
fn command(simple: &SimpleCommand, resolved: &[ResolvedCommand]) -> Option<SequencedCommand> {
    let mut here = resolved.iter().filter(|command| command.extent == simple.extent).map(|command| &command.words);
    let Some(mut words) = here.next() else {
        let name = simple.words.first().and_then(ShellWord::literal)?;
        return DECLARATIONS.contains(&name.as_str()).then(|| SequencedCommand { words: vec![name], is_vague: false });
    };
    for inner in here {
        // A program that runs another one carries its words behind its own. Anything else that the walk met is run by the
        // command in its own way, as `find -exec` does.
        let (Some(at), Some((name, arguments))) = (words.len().checked_sub(inner.len()), inner.split_first()) else {
            continue;
        };
        let is_named = words.get(at).is_some_and(|word| base_name(word) == name);
        let is_carried = at > 0 && is_named && words.ends_with(arguments);
        if is_carried {
            words = inner;
        }
    }
    let is_open = |word: &String| is_vague(word) && word.starts_with([UNKNOWN, SOME, NAME]);
    Some(SequencedCommand {
        words: words.iter().map(|word| readable(word)).collect(),
        is_vague: words.iter().any(is_open),
    })
}
