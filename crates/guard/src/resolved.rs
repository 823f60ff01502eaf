//! The commands of a script with the words that they would be given, for a crate that has rules of its own.

use bashful_bash::ast::SourceExtent;

use crate::guard::{Guard, LONGEST_SCRIPT, Prelude};
use crate::marks::{readable, without_marks};
use crate::walk::ScriptWalk;
use crate::walk::trail::CommandWatch;

/// A command that the script would run by itself, outside of substitutions.
#[derive(Debug, Clone, Default)]
pub struct ResolvedCommand {
    /// The program's name without its directory, and its arguments.
    pub words: Vec<String>,
    /// The command as the script spells it; for a command inside of another one, the outer command.
    pub extent: SourceExtent,
    /// True if it reads the output of another command.
    pub reads_pipe: bool,
    /// True if it has a here-document or a here-string.
    pub has_here_text: bool,
    /// The files that its output goes to.
    pub files: Vec<String>,
}

/// Resolves the commands of a script, in the order in which they would run; none for a script beyond [`LONGEST_SCRIPT`].
///
/// A program that runs another one is listed, and then the other one.
///
/// ```
/// let commands = bashful_guard::resolved_commands("cd src; sudo \"cat\" main.rs");
/// assert_eq!(commands.last().expect("three commands").words, ["cat", "main.rs"]);
/// ```
pub fn resolved_commands(script: &str) -> Vec<ResolvedCommand> {
    if script.len() > LONGEST_SCRIPT {
        return Vec::new();
    }
    let (guard, prelude, text) = (Guard::default(), Prelude::default(), without_marks(script));
    let mut walk = ScriptWalk::new(&guard, (&text, 0), &prelude);
    walk.trail.watch = Some(CommandWatch::default());
    walk.walk_script();
    let mut commands = walk.trail.watch.unwrap_or_default().commands;
    for word in commands.iter_mut().flat_map(|command| &mut command.words) {
        *word = readable(word);
    }
    commands
}
