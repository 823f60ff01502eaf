//! The memory of a shell while the script runs: variables, functions, directories, input.
//!
//! A copy costs next to nothing, because subshells and pipelines need one each: the maps are shared until one of the
//! copies writes to them.
//!
//! A variable may have one of several values after two ways through the script meet. [`ShellState::join`] keeps the few that stand
//! out; the others become unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::marks::{HOME, PARENT, SOME, START, UNKNOWN};
use crate::walk::interest::interest_of;
use crate::walk::traps::Trap;
use bashful_bash::ast::ShellCommand;

/// The most other values that a variable keeps after branches meet.
const MOST_VALUES: usize = 6;

/// The name under which the working directory is kept. No variable is called that.
pub(crate) const DIRECTORY: &str = ".";

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellValue {
    /// Taken away by the script.
    Unset,
    Scalar(String),
    Array(BTreeMap<i64, String>),
    Table(BTreeMap<String, String>),
}

impl ShellValue {
    /// The value of the name without an index.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Unset => None,
            Self::Scalar(text) => Some(text),
            Self::Array(items) => items.get(&0).map(String::as_str),
            Self::Table(items) => items.get("0").map(String::as_str),
        }
    }

    /// All values, in order.
    pub(crate) fn all(&self) -> Vec<String> {
        match self {
            Self::Unset => Vec::new(),
            Self::Scalar(text) => vec![text.clone()],
            Self::Array(items) => items.values().cloned().collect(),
            Self::Table(items) => in_order_of_bash(items).map(|(_, item)| item.clone()).collect(),
        }
    }

    /// A list as an array.
    pub(crate) fn list(items: Vec<String>) -> Self {
        Self::Array((0..).zip(items).collect())
    }
}

/// The entries of a table in the order in which bash lists them: by a hash of their keys.
pub(crate) fn in_order_of_bash(items: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    const BUCKETS: u32 = 1024;
    let bucket = |key: &str| {
        let hash = key.bytes().fold(2_166_136_261_u32, |hash, byte| hash.wrapping_mul(16_777_619) ^ u32::from(byte));
        hash % BUCKETS
    };
    let mut entries: Vec<_> = items.iter().collect();
    entries.sort_by_key(|(key, _)| bucket(key));
    entries.into_iter()
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellVariable {
    pub(crate) value: ShellValue,
    /// Other values that it may have, after branches have met.
    pub(crate) others: Vec<ShellValue>,
    pub(crate) exported: bool,
    /// `readonly`: later assignments fail.
    pub(crate) is_readonly: bool,
    /// `declare -i`: a value is an expression.
    pub(crate) is_integer: bool,
    /// `declare -n`: another name for this one.
    pub(crate) refers_to: Option<String>,
    /// `declare -u` and `-l` change case on assignment.
    pub(crate) case: Option<char>,
    /// The assignment as it stands in the script.
    pub(crate) origin: Option<Rc<str>>,
}

impl ShellVariable {
    pub(crate) fn new(value: ShellValue) -> Self {
        Self {
            value,
            others: Vec::new(),
            exported: false,
            is_readonly: false,
            is_integer: false,
            refers_to: None,
            case: None,
            origin: None,
        }
    }
}

/// The shell's memory.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the shell's own, and they do not depend on each other"
)]
pub(crate) struct ShellState {
    variables: Rc<HashMap<Rc<str>, Rc<ShellVariable>>>,
    pub(crate) functions: Rc<HashMap<String, Rc<ShellCommand>>>,
    /// Aliases, and the line on which each was made: they count on later lines only.
    pub(crate) aliases: Rc<HashMap<String, (String, usize)>>,
    /// Names that `hash -p` or `BASH_CMDS` point elsewhere.
    pub(crate) hashed: Rc<HashMap<String, String>>,
    /// Another shell of the script has started this one.
    pub(crate) is_child: bool,
    pub(crate) expand_aliases: bool,
    pub(crate) no_glob: bool,
    /// `shopt -s lastpipe`: the last stage of a pipeline runs in this shell.
    pub(crate) last_pipe: bool,
    /// `shopt -s cdable_vars`: `cd name` goes to the directory in a variable of that name.
    pub(crate) cd_reads_variables: bool,
    /// `shopt -s nullglob`: a pattern that matches nothing is gone.
    pub(crate) stars_may_vanish: bool,
    /// `shopt -s globstar`: `**` matches files at any depth.
    pub(crate) stars_go_deep: bool,
    /// `set -a`: every variable is exported.
    pub(crate) exports_all: bool,
    /// `$1` and so on.
    pub(crate) arguments: Rc<Vec<String>>,
    pub(crate) zero: String,
    /// `$_`
    pub(crate) last_word: String,
    /// The text that can still be read from standard input.
    pub(crate) input: Rc<str>,
    /// The texts that can be read from other descriptors.
    pub(crate) descriptors: Rc<HashMap<u32, Rc<str>>>,
    /// The files that other descriptors write to.
    pub(crate) writers: Rc<HashMap<u32, String>>,
    /// `set -u`: the shell ends where a variable is unset.
    pub(crate) stops_at_unset: bool,
    /// The letters of the options that are set, as `$-` has them.
    pub(crate) options: String,
    /// Standard input is the one that the script was started with.
    pub(crate) has_own_input: bool,
    /// `set -e`: the shell ends where a command fails.
    pub(crate) stops_at_failure: bool,
    /// The directory that the shell is still in if its last `cd` has failed, unless the script makes sure that it has not.
    pub(crate) left: Option<LeftDirectory>,
    /// `pushd` and `popd`.
    pub(crate) directories: Vec<String>,
    /// Actions for the end of the shell and for signals.
    pub(crate) traps: Vec<Trap>,
    /// The number of variables that have more than one value. A command is followed once if it is zero.
    pub(crate) doubtful: usize,
    /// Standard input is the output of another command.
    pub(crate) reads_pipe: bool,
    /// `read` has found nothing more.
    pub(crate) read_failed: bool,
    /// The variables that this shell may have from outside of the script.
    pub(crate) outside: OutsideVariables,
}

/// A directory that a `cd` has left, if it has not failed.
#[derive(Debug, Clone)]
pub(crate) struct LeftDirectory {
    pub(crate) path: String,
    /// The script expects that the `cd` may fail, and goes on: `cd x 2>/dev/null`, `cd x || true`.
    pub(crate) is_expected: bool,
}

/// The variables that a shell may have without the script.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutsideVariables {
    /// The names of all of them; none if any variable may be set.
    names: Option<Rc<BTreeSet<String>>>,
    /// Variables that the script has tested. It knows then that they may be empty, so the walk takes them for unknown.
    tested: Rc<BTreeSet<String>>,
    /// Text that is not known has run in this shell. It may have changed anything, so no value is certain.
    pub(crate) is_altered: bool,
}

impl OutsideVariables {
    pub(crate) fn of(names: Option<&BTreeSet<String>>) -> Self {
        Self { names: names.cloned().map(Rc::new), tested: Rc::default(), is_altered: false }
    }

    /// Notes that from here on any variable may be set: by a file that is not known, or by a shell elsewhere.
    pub(crate) fn open(&mut self) {
        self.names = None;
    }

    /// Notes that any variable may be another one from here on, also those that the script has set.
    pub(crate) fn alter(&mut self) {
        self.open();
        self.is_altered = true;
    }

    /// True if the caller gives the script no variable of this name.
    pub(crate) fn is_absent(&self, name: &str) -> bool {
        let is_of_bash = name.starts_with("BASH") || SET_BY_BASH.contains(&name);
        !is_of_bash && self.names.as_ref().is_some_and(|names| !names.contains(name))
    }

    /// Notes that the script tests a variable.
    pub(crate) fn note_test(&mut self, name: &str) {
        if self.names.is_some() && !self.tested.contains(name) {
            Rc::make_mut(&mut self.tested).insert(name.to_owned());
        }
    }

    /// True if a variable that the script has not set is sure to be unset.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.is_absent(name) && !self.tested.contains(name)
    }

    fn join(&mut self, other: &Self) {
        if other.names.is_none() {
            self.names = None;
        }
        self.is_altered |= other.is_altered;
        if !Rc::ptr_eq(&self.tested, &other.tested) {
            Rc::make_mut(&mut self.tested).extend(other.tested.iter().cloned());
        }
    }
}

/// Variables that bash sets by itself, beyond those of [`ShellState::inherited`].
const SET_BY_BASH: [&str; 22] = [
    "COLUMNS",
    "COMP_WORDS",
    "COPROC",
    "COPROC_PID",
    "DIRSTACK",
    "EPOCHREALTIME",
    "GROUPS",
    "HISTCMD",
    "LINES",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "PS4",
    "PWD",
    "READLINE_LINE",
    "REPLY",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
];

impl ShellState {
    pub(crate) fn new() -> Self {
        let mut state = Self {
            variables: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            hashed: Rc::default(),
            is_child: false,
            expand_aliases: false,
            no_glob: false,
            last_pipe: false,
            cd_reads_variables: false,
            stars_go_deep: false,
            stars_may_vanish: false,
            exports_all: false,
            stops_at_unset: false,
            options: String::new(),
            has_own_input: true,
            stops_at_failure: false,
            left: None,
            arguments: Rc::default(),
            zero: "bash".to_owned(),
            last_word: String::new(),
            input: "".into(),
            descriptors: Rc::default(),
            writers: Rc::default(),
            directories: Vec::new(),
            traps: Vec::new(),
            doubtful: 0,
            reads_pipe: false,
            read_failed: false,
            outside: OutsideVariables::default(),
        };
        state.set_directory(START.to_string());
        state
    }

    /// A new shell, started by this one: it gets the exported variables, the directory and the descriptors.
    pub(crate) fn child(&self) -> Self {
        let variables: HashMap<_, _> = self
            .variables
            .iter()
            .filter(|(name, variable)| variable.exported || name.as_ref() == DIRECTORY)
            .map(|(name, variable)| (Rc::clone(name), Rc::clone(variable)))
            .collect();
        let exported_functions = self.functions.iter().filter(|(name, _)| {
            // `export -f` is kept as a variable of the same name.
            self.variables.contains_key(function_key(name).as_str())
        });
        let mut child = Self {
            functions: Rc::new(exported_functions.map(|(name, body)| (name.clone(), Rc::clone(body))).collect()),
            input: Rc::clone(&self.input),
            descriptors: Rc::clone(&self.descriptors),
            writers: Rc::clone(&self.writers),
            has_own_input: self.has_own_input,
            outside: self.outside.clone(),
            ..Self::new()
        };
        child.is_child = true;
        child.doubtful = variables.values().filter(|variable| !variable.others.is_empty()).count();
        child.variables = Rc::new(variables);
        child
    }

    /// Notes that an option of `set` is on or off.
    pub(crate) fn note_option(&mut self, letter: Option<char>, is_on: bool) {
        let Some(letter) = letter else { return };
        self.options.retain(|known| known != letter);
        if is_on {
            self.options.push(letter);
        }
    }

    /// `$-`: the letters of all options, in the order of bash's own table.
    pub(crate) fn option_letters(&self) -> String {
        const ORDER: &str = "abefhkmnptuvxBCEHITP";
        let is_on = |letter: &char| self.options.contains(*letter) || matches!(letter, 'h' | 'B');
        ORDER.chars().filter(is_on).chain(['c']).collect()
    }

    /// The name under which it is noted that a function is exported.
    pub(crate) fn export_function(&mut self, name: &str) {
        let key = function_key(name);
        let mut variable = ShellVariable::new(ShellValue::Unset);
        variable.exported = true;
        Rc::make_mut(&mut self.variables).insert(key.into(), Rc::new(variable));
    }

    pub(crate) fn size(&self) -> usize {
        self.variables.len()
    }

    pub(crate) fn is_shared(&self) -> bool {
        Rc::strong_count(&self.variables) > 1
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Rc<ShellVariable>> {
        self.variables.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(AsRef::as_ref)
    }

    /// The variable to change, made if there is none.
    pub(crate) fn variable_mut(&mut self, name: &str) -> &mut ShellVariable {
        let variables = Rc::make_mut(&mut self.variables);
        let variable = variables.entry(name.into());
        Rc::make_mut(variable.or_insert_with(|| Rc::new(ShellVariable::new(ShellValue::Unset))))
    }

    /// Gives a variable its only value.
    pub(crate) fn set(&mut self, name: &str, value: ShellValue, origin: Option<Rc<str>>) {
        let variable = self.variable_mut(name);
        let was_doubtful = !variable.others.is_empty();
        variable.others.clear();
        variable.value = match (variable.case, value) {
            (Some('u'), ShellValue::Scalar(text)) => ShellValue::Scalar(text.to_uppercase()),
            (Some('l'), ShellValue::Scalar(text)) => ShellValue::Scalar(text.to_lowercase()),
            (_, value) => value,
        };
        variable.origin = origin;
        if was_doubtful {
            self.doubtful = self.doubtful.saturating_sub(1);
        }
    }

    /// Takes a value of a variable away. If it was the only one, the variable has some other.
    pub(crate) fn rule_out(&mut self, name: &str, text: &str) {
        let is_ruled_out = |value: &ShellValue| value.scalar() == Some(text);
        let may_be =
            |variable: &Rc<ShellVariable>| is_ruled_out(&variable.value) || variable.others.iter().any(is_ruled_out);
        if !self.variables.get(name).is_some_and(may_be) {
            return;
        }
        let variable = self.variable_mut(name);
        let was_doubtful = !variable.others.is_empty();
        variable.others.retain(|value| !is_ruled_out(value));
        if is_ruled_out(&variable.value) {
            variable.value = variable.others.pop().unwrap_or_else(|| ShellValue::Scalar(SOME.to_string()));
        }
        if was_doubtful && variable.others.is_empty() {
            self.doubtful = self.doubtful.saturating_sub(1);
        }
    }

    /// Puts a variable back as it was.
    pub(crate) fn restore(&mut self, name: &str, before: Option<Rc<ShellVariable>>) {
        let variables = Rc::make_mut(&mut self.variables);
        match before {
            Some(variable) => variables.insert(name.into(), variable),
            None => variables.remove(name),
        };
        self.doubtful = variables.values().filter(|variable| !variable.others.is_empty()).count();
    }

    pub(crate) fn set_directory(&mut self, path: String) {
        self.set(DIRECTORY, ShellValue::Scalar(path), None);
    }

    /// The value that an environment gives a variable which the script did not set. None if it may well be unset.
    pub(crate) fn inherited(name: &str) -> Option<String> {
        Some(match name {
            "HOME" => HOME.to_string(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "IFS" => " \t\n".to_owned(),
            "PPID" => PARENT.to_string(),
            "USER" | "LOGNAME" | "PATH" | "RANDOM" | "SECONDS" | "EPOCHSECONDS" | "UID" | "EUID" | "HOSTNAME"
            | "BASHPID" | "LINENO" | "BASH_VERSION" | "BASH_SOURCE" | "FUNCNAME" | "OSTYPE" | "MACHTYPE"
            | "HOSTTYPE" | "$" | "!" | "?" | "-" => SOME.to_string(),
            _ => return None,
        })
    }

    /// The state after one of two ways.
    pub(crate) fn join(self, other: &Self) -> Self {
        let mut joined = self;
        if !Rc::ptr_eq(&joined.variables, &other.variables) {
            let mine = Rc::make_mut(&mut joined.variables);
            for (name, theirs) in other.variables.iter() {
                match mine.get_mut(name) {
                    Some(variable) if Rc::ptr_eq(variable, theirs) => {}
                    Some(variable) => merge(Rc::make_mut(variable), theirs),
                    None => {
                        mine.insert(Rc::clone(name), Rc::new(doubtful(theirs)));
                    }
                }
            }
            // Mostly both have the same variables. Every variable of the other is in mine by now, so a count tells.
            if mine.len() > other.variables.len() {
                for (name, variable) in mine.iter_mut() {
                    if !may_be_outside(variable) && !other.variables.contains_key(name) {
                        *variable = Rc::new(doubtful(variable));
                    }
                }
            }
            joined.doubtful = mine.values().filter(|variable| !variable.others.is_empty()).count();
        }
        if !Rc::ptr_eq(&joined.functions, &other.functions) {
            Rc::make_mut(&mut joined.functions)
                .extend(other.functions.iter().map(|(name, body)| (name.clone(), Rc::clone(body))));
        }
        if !Rc::ptr_eq(&joined.aliases, &other.aliases) {
            Rc::make_mut(&mut joined.aliases)
                .extend(other.aliases.iter().map(|(name, alias)| (name.clone(), alias.clone())));
        }
        joined.outside.join(&other.outside);
        joined.stops_at_failure &= other.stops_at_failure;
        joined.stops_at_unset &= other.stops_at_unset;
        if joined.left.is_none() {
            joined.left.clone_from(&other.left);
        }
        joined.expand_aliases |= other.expand_aliases;
        joined.no_glob &= other.no_glob;
        if joined.arguments != other.arguments && joined.arguments.is_empty() {
            joined.arguments = Rc::clone(&other.arguments);
        }
        joined
    }
}

fn function_key(name: &str) -> String {
    format!("{name}()")
}

/// A variable that one of the ways did not set. On that way it has the value of the environment, which is unknown.
fn doubtful(variable: &ShellVariable) -> ShellVariable {
    let mut variable = variable.clone();
    if !may_be_outside(&variable) && variable.others.len() < MOST_VALUES {
        variable.others.push(ShellValue::Scalar(UNKNOWN.to_string()));
    }
    variable
}

/// True if one of the values is that of the environment.
fn may_be_outside(variable: &ShellVariable) -> bool {
    let is_unknown = |value: &ShellValue| value.scalar().is_some_and(|text| text.chars().eq([UNKNOWN]));
    is_unknown(&variable.value) || variable.others.iter().any(is_unknown)
}

fn merge(mine: &mut ShellVariable, theirs: &ShellVariable) {
    let count_before = mine.others.len();
    // Beyond that, a value that does not stand out is as good as unknown, which the variable may be already.
    let is_full = mine.others.len() >= MOST_VALUES && may_be_outside(mine);
    for value in std::iter::once(&theirs.value).chain(&theirs.others) {
        if *value != mine.value && !mine.others.contains(value) && !(is_full && interest_of(value) < 2) {
            mine.others.push(value.clone());
        }
    }
    mine.exported |= theirs.exported;
    if mine.origin.is_none() {
        mine.origin.clone_from(&theirs.origin);
    }
    let Some(added) = mine.others.get_mut(count_before..).filter(|added| !added.is_empty()) else { return };
    // A walk that is long already looks at the first value alone.
    let standing_out = interest_of(&mine.value);
    if let Some(other) = added.iter_mut().find(|other| interest_of(other) > standing_out) {
        std::mem::swap(&mut mine.value, other);
    }
    if mine.others.len() > MOST_VALUES {
        // Those that stand out are kept; the others are as good as unknown.
        let all = std::iter::once(mine.value.clone()).chain(mine.others.drain(..));
        let mut by_interest: Vec<(u8, ShellValue)> = all.map(|value| (interest_of(&value), value)).collect();
        by_interest.retain(|(interest, _)| *interest > 1);
        by_interest.sort_by_key(|(interest, _)| std::cmp::Reverse(*interest));
        by_interest.truncate(MOST_VALUES);
        let mut values: Vec<ShellValue> = by_interest.into_iter().map(|(_, value)| value).collect();
        let unknown = ShellValue::Scalar(UNKNOWN.to_string());
        if !values.contains(&unknown) {
            values.push(unknown);
        }
        mine.value = values.remove(0);
        mine.others = values;
    }
}
