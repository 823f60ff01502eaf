//! Decides which parts of a captured shell commands get.
//!
//! Commands get more words: functions, aliases, variables. They do not get anything that changes the meaning of words
//! that they would use anyway: a script means the same with anybody's rc files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::environment::{Environment, EnvironmentPolicy, Withheld, is_name};
use crate::mask::SHORTEST;

use super::parse::{Captured, Function};

/// Parts of a captured shell that commands get.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptDefinitions {
    pub(super) options: Vec<String>,
    pub(super) aliases: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) functions: Vec<Function>,
    pub(super) set: BTreeMap<OsString, OsString>,
    pub(super) removed: BTreeSet<OsString>,
    /// Variables that are withheld because of their names. Their values are not written anywhere.
    pub(super) withheld: Vec<Withheld>,
    /// Definitions that commands do not get, each with its kind before it.
    pub(super) left_out: Vec<String>,
}

/// Facts about the captured shell, beside its own answer.
#[derive(Debug, Default)]
pub(super) struct ShellFacts {
    /// Terminal of the shell, which is gone.
    pub(super) terminal: PathBuf,
    pub(super) took: Duration,
}

/// Options that commands get: those for patterns of file names, because users who turn them on write commands for them,
/// and `checkhash`, which only finds a program that has moved. All others change what scripts do that were written
/// without them (`noclobber`, `nounset`, `errexit`, `pipefail`, `noglob`, `failglob`, `posix`, `nocasematch`,
/// `lastpipe`, `xpg_echo`, `physical`, `allexport`, `keyword`, `compat…`), change their messages (`xtrace`, `verbose`,
/// `gnu_errfmt`, `shift_verbose`), keep them from running (`noexec`, `onecmd`, `restricted`), or mean nothing without a
/// user at a keyboard (`emacs`, `vi`, `history`, `histexpand`, `monitor`, `autocd`, `cdspell`, `checkwinsize` and so
/// on).
const OPTIONS: [&str; 6] = ["checkhash", "dotglob", "extglob", "globstar", "nocaseglob", "nullglob"];

/// Options that bash itself turns on for a user at a keyboard: nobody has asked for them.
const SET_BY_BASH: [&str; 7] =
    ["emacs", "expand_aliases", "histexpand", "history", "interactive-comments", "monitor", "checkwinsize"];

/// Functions that commands do not get: those that POSIX forbids because scripts rely on the builtins, `builtin` itself,
/// and the handler of unknown commands, which talks to people.
const FUNCTIONS: [&str; 17] = [
    "break",
    ":",
    "continue",
    ".",
    "eval",
    "exec",
    "exit",
    "export",
    "readonly",
    "return",
    "set",
    "shift",
    "times",
    "trap",
    "unset",
    "builtin",
    "command_not_found_handle",
];

/// Variables that describe the captured shell, the screen, or the way bash works.
const VARIABLES: [&str; 33] = [
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "COLUMNS",
    "LINES",
    "PPID",
    "OPTIND",
    "OPTERR",
    "OPTARG",
    "RANDOM",
    "SECONDS",
    "POSIXLY_CORRECT",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "GLOBSORT",
    "EXECIGNORE",
    "FUNCNEST",
    "TMOUT",
    "PROMPT_COMMAND",
    "PROMPT_DIRTRIM",
    "TIMEFORMAT",
    // Daemons that were stopped with the shell that had started them.
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_PID",
    "GPG_TTY",
];

/// The same, by the beginning of their names.
const FAMILIES: [&str; 4] = ["BASHFUL_", "HIST", "PS", "BASH_FUNC_"];

/// Largest variable, in bytes. With a larger one, no program can be started.
const LARGEST_VARIABLE: usize = 128 << 10;

/// Limit on all variables together, in bytes: a good part of what the system passes to a program.
const ALL_VARIABLES: usize = 512 << 10;

/// Decides which parts commands get. `base` is the environment that the shell was given.
pub(super) fn select(
    captured: Captured,
    facts: &ShellFacts,
    base: &Environment,
    policy: &EnvironmentPolicy,
) -> KeptDefinitions {
    let mut kept = KeptDefinitions::default();
    let secrets = secrets(&captured, base, policy);
    let is_secret = |text: &[u8]| secrets.iter().any(|secret| memchr::memmem::find(text, secret).is_some());
    for option in captured.options {
        if OPTIONS.contains(&option.as_str()) {
            kept.options.push(option);
        } else if !SET_BY_BASH.contains(&option.as_str()) {
            // Options that every shell turns on are removed once they are known.
            kept.left_out.push(format!("option {option}"));
        }
    }
    for (name, value) in captured.aliases {
        if is_secret(&value) { kept.leave_out("alias", &name) } else { drop(kept.aliases.insert(name, value)) }
    }
    for function in captured.functions {
        let takes_a_place = FUNCTIONS.iter().any(|name| name.as_bytes() == function.name);
        if takes_a_place || is_secret(&function.text) {
            kept.leave_out("function", &function.name);
        } else {
            kept.functions.push(function);
        }
    }
    for name in base.variables.keys().filter(|name| is_for_programs(name)) {
        if !captured.variables.contains_key(name) {
            kept.removed.insert(name.clone());
        }
    }
    let mut room = ALL_VARIABLES;
    let changed = captured.variables.into_iter().filter(|(name, value)| base.variables.get(name) != Some(value));
    for (name, value) in changed.filter(|(name, _)| is_for_programs(name)) {
        let size = name.len() + value.len() + 2;
        let is_too_much = size > LARGEST_VARIABLE.min(room);
        let is_withheld = policy.withholds(&name, &value) || is_secret(value.as_bytes());
        if policy.withholds(&name, &value) && value.len() >= SHORTEST {
            kept.withheld.push(Withheld::new(name.clone(), value.clone()));
        }
        if is_withheld || is_too_much || is_stale(&name, &value, facts) {
            kept.leave_out("variable", name.as_bytes());
        } else {
            room -= size;
            kept.set.insert(name, value);
        }
    }
    kept
}

impl KeptDefinitions {
    fn leave_out(&mut self, kind: &str, name: &[u8]) {
        self.left_out.push(format!("{kind} {}", String::from_utf8_lossy(name)));
    }
}

/// Removes definitions that another shell did not get by sourcing them, and returns their number. A function that
/// aborts the sourcing hides all later ones, so then only the first missing one is removed.
pub(super) fn remove_failed(kept: &mut KeptDefinitions, tried: &Captured) -> usize {
    let there: BTreeMap<&[u8], &Function> =
        tried.functions.iter().map(|function| (function.name.as_slice(), function)).collect();
    let is_missing = |function: &&Function| !there.contains_key(function.name.as_slice());
    let name = |function: &Function| function.name.clone();
    let functions: Vec<_> = if kept.functions.last().as_ref().is_some_and(is_missing) {
        kept.functions.iter().find(is_missing).map(name).into_iter().collect()
    } else {
        kept.functions.iter().filter(|ours| there.get(ours.name.as_slice()) != Some(ours)).map(name).collect()
    };
    for name in &functions {
        kept.functions.retain(|function| function.name != *name);
        kept.leave_out("function", name);
    }
    let mut count = functions.len();
    if count == 0 {
        // Aliases come after the functions.
        let differs =
            |(name, value): (&Vec<u8>, &Vec<u8>)| (tried.aliases.get(name) != Some(value)).then(|| name.clone());
        let aliases: Vec<_> = kept.aliases.iter().filter_map(differs).collect();
        for name in &aliases {
            kept.aliases.remove(name);
            kept.leave_out("alias", name);
        }
        count = aliases.len();
    }
    // Options that every shell turns on anyway were not left out.
    kept.left_out.retain(|what| !tried.options.iter().any(|option| what.strip_prefix("option ") == Some(option)));
    count
}

/// Values that must not be written to the file: those that commands do not get, and those that the rc files export
/// under secret names. Short ones are words, as for redaction.
fn secrets(captured: &Captured, base: &Environment, policy: &EnvironmentPolicy) -> Vec<Vec<u8>> {
    let withheld = base.withheld.iter().filter(|withheld| !withheld.is_passed());
    let withheld = withheld.map(|withheld| withheld.value().as_bytes().to_vec());
    let own = captured.variables.iter().filter(|(name, value)| policy.withholds(name, value));
    withheld.chain(own.map(|(_, value)| value.clone().into_vec())).filter(|value| value.len() >= SHORTEST).collect()
}

/// True if a variable is one that rc files set for other programs.
fn is_for_programs(name: &OsStr) -> bool {
    let Some(text) = name.to_str() else { return false };
    let is_prompt =
        |family: &str| family != "PS" || text.len() == 3 && text.ends_with(|last: char| last.is_ascii_digit());
    is_name(text)
        && !VARIABLES.contains(&text)
        && !FAMILIES.iter().any(|family| text.starts_with(family) && is_prompt(family))
}

/// True if a value names something that ended with the shell: its terminal, or an agent that does not answer.
fn is_stale(name: &OsStr, value: &OsStr, facts: &ShellFacts) -> bool {
    let terminal = facts.terminal.as_os_str().as_bytes();
    if !terminal.is_empty() && value.as_bytes() == terminal {
        return true;
    }
    name == "SSH_AUTH_SOCK" && !agent_answers(value)
}

fn agent_answers(path: &OsStr) -> bool {
    let Ok(address) = SocketAddrUnix::new(path) else { return false };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None) else { return false };
    // A busy agent is still there.
    matches!(connect(&socket, &address), Ok(()) | Err(Errno::AGAIN))
}
