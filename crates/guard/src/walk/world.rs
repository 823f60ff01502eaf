//! The world as bash would know it at this point of a script: its shell, the files that the script has written, its directories.
//!
//! The shell is copied for every subshell. The rest is shared by all shells of a script, as files are.

use std::collections::HashMap;
use std::rc::Rc;

use regex::Regex;

use crate::guard::Prelude;
use crate::marks::{self, HOME, REPO, START};
use crate::walk::certain::Certainty;
use crate::walk::files::ScriptFiles;
use crate::walk::state::{OutsideVariables, ShellState, ShellValue, ShellVariable};

/// Everything outside of the script that its commands read or change.
#[derive(Debug)]
pub(crate) struct World<'g> {
    pub(crate) prelude: &'g Prelude,
    spelled: SpelledDirectories,
    /// The shell whose commands the walk is at.
    pub(crate) shell: ShellState,
    pub(crate) certainty: Certainty,
    /// Text that commands have written and no reader has taken yet.
    pub(super) out: String,
    pub(crate) files: ScriptFiles,
    /// Settings that the script has put into git's configuration.
    pub(super) git_config: Vec<(String, String)>,
    /// Functions and aliases that have begun and not ended; see [`super::call`] for the names of aliases.
    pub(crate) calls: Vec<String>,
    /// Expressions that the script has used; none for one that is not understood.
    pub(super) expressions: HashMap<(String, bool), Option<Regex>>,
    /// The number of calls of each function so far.
    pub(super) called: HashMap<String, usize>,
    /// Variables that the local variables of those functions hide.
    pub(super) locals: Vec<LocalVariable>,
    /// Texts of the script that unknown output was made of; see [`super::unread`].
    pub(super) sources: Vec<Rc<str>>,
    /// The loops around the current command, in its function.
    pub(super) loops: usize,
    /// Nobody sees the errors of the current command.
    pub(super) hides_errors: bool,
    /// The commands around the current one whose errors nobody sees.
    pub(super) hidden: usize,
    /// Lines that the script has put into the shell's history.
    pub(super) history: Vec<String>,
    /// Counts lines of the script. An alias counts from the line after its own.
    pub(super) line: usize,
    /// The depth of substitutions, and of scripts in scripts, around the current command.
    pub(super) nested: usize,
}

/// A local variable of a function that has begun.
#[derive(Debug, Clone)]
pub(super) struct LocalVariable {
    pub(super) name: String,
    /// The number of calls around it.
    pub(super) level: usize,
    /// The variable that it hides.
    pub(super) hidden: Option<Rc<ShellVariable>>,
}

/// Directories as they are written out where text has to be cut: real ones, or stand-ins.
#[derive(Debug)]
struct SpelledDirectories {
    home: String,
    directory: String,
}

impl<'g> World<'g> {
    pub(super) fn new(prelude: &'g Prelude) -> Self {
        let spelled = SpelledDirectories {
            home: prelude.home.clone().unwrap_or_else(|| "/home/user".to_owned()),
            directory: prelude.directory.clone().unwrap_or_else(|| "/work/project".to_owned()),
        };
        let mut shell = ShellState::new();
        shell.outside = OutsideVariables::of(prelude.environment.as_ref());
        for (name, value) in &prelude.variables {
            let value = marks::without_marks(value).into_owned();
            let variable = shell.variable_mut(name);
            variable.value = ShellValue::Scalar(value);
            variable.exported = true;
        }
        if let Some(input) = &prelude.input {
            shell.input = marks::without_marks(input).into();
        }
        Self {
            prelude,
            spelled,
            shell,
            certainty: Certainty::default(),
            out: String::new(),
            files: ScriptFiles::default(),
            git_config: Vec::new(),
            calls: Vec::new(),
            called: HashMap::new(),
            expressions: HashMap::new(),
            locals: Vec::new(),
            sources: Vec::new(),
            loops: 0,
            hides_errors: false,
            hidden: 0,
            history: Vec::new(),
            line: 0,
            nested: 0,
        }
    }

    /// The text with its marked directories spelled out, for cutting pieces off.
    pub(crate) fn concrete(&self, text: &str) -> String {
        if !marks::has_mark(text) || !text.contains([HOME, START, REPO]) {
            return text.to_owned();
        }
        let spelled = &self.spelled;
        text.replace(HOME, &spelled.home).replace([START, REPO], &spelled.directory)
    }

    /// The text with the directory in which the script starts as it is behind symbolic links; none if that is no other.
    pub(crate) fn behind_links(&self, text: &str) -> Option<String> {
        let real = self.prelude.real_directory.as_ref()?;
        Some(text.replace(HOME, &self.spelled.home).replace([START, REPO], real))
    }

    /// The reverse of [`Self::concrete`].
    pub(crate) fn symbolic(&self, text: &str) -> String {
        let places = [(&self.spelled.directory, START), (&self.spelled.home, HOME)];
        for (path, mark) in places {
            if let Some(rest) = text.strip_prefix(path.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return format!("{mark}{rest}");
            }
        }
        // A directory above one of them, which is not the root.
        for (path, mark) in places {
            let rest = path.strip_prefix(text).filter(|rest| rest.starts_with('/') && text.starts_with('/'));
            if let Some(rest) = rest {
                let levels = rest.matches('/').count();
                return format!("{mark}{}", "/..".repeat(levels));
            }
        }
        text.to_owned()
    }

    /// A variable as it is now, for [`ShellState::restore`].
    pub(super) fn remember(&self, name: &str) -> (String, Option<Rc<ShellVariable>>) {
        (name.to_owned(), self.shell.variable(name).cloned())
    }
}
