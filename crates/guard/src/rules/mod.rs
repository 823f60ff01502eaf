//! The rules: their names and their messages. `tests/rules.rs` has examples that hold each of them to its word.
//!
//! A rule sees resolved words only. Quotes, aliases, encodings and wrappers are gone by then.

mod git;
mod host;
mod own;
mod push;
mod rm;
mod target;

pub(crate) use host::written;
pub use own::RuleError;
pub(crate) use own::{OwnRule, check_examples, own_rules};
pub(crate) use rm::{deleted, deleted_one_by_one};
pub(crate) use target::{is_home_or_system, is_system_directory};

use crate::finding::Level;
use crate::walk::ScriptWalk;

/// A rule that the guard comes with.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name, for settings and findings.
    pub name: &'static str,
    /// The level unless settings give another.
    pub level: Level,
    /// False for a rule that finds nothing until settings turn it on.
    pub is_on: bool,
    /// The message of its findings.
    pub message: &'static str,
    /// A script that probably does what the author meant, and passes.
    pub alternative: &'static str,
}

/// `git add` of everything.
pub(crate) const BLIND_ADD: Rule = Rule {
    name: "git/blind-add",
    level: Level::Deny,
    is_on: true,
    message: "permission denied: blind git add commands (git add -A, git add ., git add --all, git add *) are not allowed, \
              specify files explicitly",
    alternative: "git add src/main.rs README.md",
};

/// `git push` that overwrites commits of others.
pub(crate) const FORCE_PUSH: Rule = Rule {
    name: "git/force-push",
    level: Level::Deny,
    is_on: true,
    message: "permission denied: git push --force is not allowed. Use --force-with-lease for safer force pushes, or push \
              without force",
    alternative: "git push --force-with-lease",
};

/// `rm -r` of places that nobody means to lose.
pub(crate) const CRITICAL_RM: Rule = Rule {
    name: "rm/critical",
    level: Level::Deny,
    is_on: true,
    message: "permission denied: this rm command could delete critical data (.git, home directory, or root). Specify the \
              full path explicitly (no wildcards, ~, or $HOME)",
    alternative: "rm -rf ./build",
};

/// `rm -r` of something below the home directory, spelled by it.
pub(crate) const BELOW_HOME: Rule = Rule {
    name: "rm/below-home",
    message: CRITICAL_RM.message,
    alternative: CRITICAL_RM.alternative,
    level: Level::Deny,
    is_on: true,
};

/// The same with two or more names behind it: somebody means just that, and a slip costs a part.
pub(crate) const NAMED_BELOW_HOME: Rule = Rule {
    name: "rm/named-below-home",
    level: Level::Warn,
    is_on: true,
    message: "this deletes a directory below the home directory; a slip behind ~ would cost everything, so the full path is safer",
    alternative: "rm -rf ./build",
};

/// `rm -rf "$UNKNOWN"/*`: fine, unless the variable is empty.
pub(crate) const UNKNOWN_DIRECTORY: Rule = Rule {
    name: "rm/unknown-directory",
    level: Level::Warn,
    is_on: true,
    message: "if the variable in this path is empty, rm deletes everything from the root on",
    alternative: "rm -rf \"${DIR:?}\"/build",
};

/// `cd build; rm -rf *`: fine, unless there is no `build`.
pub(crate) const FAILED_MOVE: Rule = Rule {
    name: "rm/failed-cd",
    level: Level::Warn,
    is_on: true,
    message: "if the cd before it fails, this deletes everything in the directory that the script was in; let rm run only after \
              a cd that worked",
    alternative: "cd build && rm -rf ./*",
};

/// `git push` that deletes refs of the remote.
pub(crate) const DELETE_REMOTE: Rule = Rule {
    name: "git/delete-remote",
    level: Level::Warn,
    is_on: true,
    message: "this push deletes branches or tags on the remote",
    alternative: "git push origin main",
};

/// A command that would let another one pass: that is for the user alone.
pub(crate) const SELF_ALLOW: Rule = Rule {
    name: "guard/allow",
    level: Level::Deny,
    is_on: true,
    message: "permission denied: only the user can allow what the guard refuses",
    alternative: "bashful check 'make test'",
};

/// A script that is too much to be followed.
pub(crate) const TOO_COMPLEX: Rule = Rule {
    name: "guard/too-complex",
    level: Level::Ask,
    is_on: true,
    message: "this script is too complex to be judged",
    alternative: "bash build.sh",
};

/// Code that runs text which nobody can read before it runs.
pub(crate) const HIDDEN_CODE: Rule = Rule {
    name: "guard/hidden-code",
    level: Level::Ask,
    is_on: true,
    message: "this runs text that is decoded or changed on its way, and the guard cannot read the result",
    alternative: "python3 script.py",
};

/// A kill of the session, the agent or everything.
pub(crate) const KILL_HOST: Rule = Rule {
    name: "process/kill-host",
    level: Level::Ask,
    is_on: true,
    message: "this kill hits processes that the script did not start: the session, the agent that runs it, or everything \
              of this user. End a job with the tool's own `job kill`, or a process by its id",
    alternative: "kill 12345",
};

/// A kill by a name that others may have, too.
pub(crate) const KILL_BY_NAME: Rule = Rule {
    name: "process/kill-by-name",
    level: Level::Warn,
    is_on: true,
    message: "this kills every process of that name, whoever has started it. End a job with the tool's own `job kill`, or \
              a process by its id",
    alternative: "kill 12345",
};

/// An image is written to a disk that is not the first one: a stick or a card.
const DISK_IMAGE: Rule = Rule {
    name: "disk/write-image",
    level: Level::Warn,
    is_on: true,
    message: "this overwrites a disk, and nothing brings its contents back",
    alternative: "lsblk -o NAME,SIZE,MODEL,MOUNTPOINTS",
};

/// A write to a whole disk, or to a part of one.
pub(crate) const DISK: Rule = Rule {
    name: "disk/overwrite",
    level: Level::Ask,
    is_on: true,
    message: "this overwrites a disk or a partition, and everything on it is lost",
    alternative: "dd if=disk.img of=copy.img bs=4M",
};

/// Permissions of a whole directory of the system.
pub(crate) const PERMISSIONS: Rule = Rule {
    name: "permissions/system",
    level: Level::Ask,
    is_on: true,
    message: "this changes owner or permissions of everything in a directory of the system, and nothing puts them back",
    alternative: "chmod -R u+rwX ./build",
};

/// A part of a script that the guard could not parse: bash may run it all the same.
pub(crate) const NOT_UNDERSTOOD: Rule = Rule {
    name: "guard/not-understood",
    level: Level::Warn,
    is_on: true,
    message: "not all of this script was understood; the rest was judged",
    alternative: "bash -n script.sh",
};

/// A shell that reads its commands from standard input, where somebody may write them who asks no guard.
///
/// Off by default: most tools close standard input, and then such a shell ends at once.
pub(crate) const INTERACTIVE_SHELL: Rule = Rule {
    name: "shell/interactive",
    level: Level::Ask,
    is_on: false,
    message: "commands that are typed into an interactive shell are not judged",
    alternative: "bash -c 'make test'",
};

/// All rules that the guard comes with.
pub const BUILT_IN: [Rule; 18] = [
    BLIND_ADD,
    FORCE_PUSH,
    CRITICAL_RM,
    BELOW_HOME,
    NAMED_BELOW_HOME,
    UNKNOWN_DIRECTORY,
    FAILED_MOVE,
    DELETE_REMOTE,
    KILL_HOST,
    KILL_BY_NAME,
    DISK_IMAGE,
    DISK,
    PERMISSIONS,
    SELF_ALLOW,
    HIDDEN_CODE,
    TOO_COMPLEX,
    NOT_UNDERSTOOD,
    INTERACTIVE_SHELL,
];

/// Looks at a command of this name. `git` is looked at when its own options are out of the way: [`judge_git`].
pub(crate) fn judge(walk: &mut ScriptWalk<'_>, name: &str, words: &[String]) {
    let arguments = words.get(1..).unwrap_or(&[]);
    if matches!(name, "git" | "hub") {
        return;
    }
    rm::judge(walk, name, arguments);
    host::judge(walk, name, arguments);
    if name == "gh" {
        push::judge_hosted(walk, arguments);
    }
    if name == "bashful" {
        own_program(walk, arguments);
    }
    if is_interpreter(name) && arguments.iter().all(|word| STAYS_INTERACTIVE.contains(&word.as_str())) {
        walk.find_interactive();
    }
    own::judge(walk, name, arguments);
}

/// Options with which an interpreter still waits for typed commands.
const STAYS_INTERACTIVE: [&str; 8] = ["-i", "-q", "-u", "-B", "-s", "-a", "-", "--interactive"];

/// Programs of other languages that take commands from a terminal if they are given nothing else.
fn is_interpreter(name: &str) -> bool {
    let python = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    let is_version = |rest: &str| rest.chars().all(|char| char.is_ascii_digit() || char == '.');
    python.is_some_and(is_version)
        || matches!(
            name,
            "ipython" | "ipython3" | "node" | "nodejs" | "deno" | "irb" | "perl" | "php" | "lua" | "tclsh"
        )
}

/// Looks at a subcommand of git.
pub(crate) fn judge_git(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    git::judge(walk, name, arguments);
    push::judge(walk, name, arguments, settings);
    let words: Vec<String> = std::iter::once(name.to_owned()).chain(arguments.iter().cloned()).collect();
    own::judge(walk, "git", &words);
}

/// Looks at a call of our own program: nobody but the user allows what the guard refuses or says how it judges.
fn own_program(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let mut has_settings = false;
    let mut words = arguments.iter();
    let subcommand = loop {
        match words.next().map(String::as_str) {
            Some("--config") => {
                has_settings = true;
                words.next();
            }
            Some(option) if option.starts_with('-') => has_settings |= option.starts_with("--config="),
            other => break other.unwrap_or(""),
        }
    };
    let runs = matches!(subcommand, "run" | "mcp" | "hook" | "jobs");
    has_settings |= words.as_slice().iter().any(|word| word == "--config" || word.starts_with("--config="));
    has_settings |= walk.world.shell.names().any(|name| name.starts_with("BASHFUL_GUARD_"));
    if subcommand == "allow" || runs && has_settings {
        walk.find_rule(&SELF_ALLOW);
    }
    if subcommand == "run" {
        // Every word is judged as a script: values of options are no commands.
        let scripts: Vec<String> = words.filter(|word| !word.starts_with('-')).cloned().collect();
        for script in scripts {
            walk.run_nested(&script);
        }
    }
}

impl ScriptWalk<'_> {
    /// Adds a finding of a rule.
    pub(crate) fn find_rule(&mut self, rule: &Rule) {
        self.report(rule.name, rule.level, rule.message, rule.alternative);
    }

    /// Adds a finding for a shell or interpreter, if nothing is known to be on its standard input.
    pub(crate) fn find_interactive(&mut self) {
        if self.world.shell.input.is_empty() {
            self.find_rule(&INTERACTIVE_SHELL);
        }
    }

    /// Adds a finding at the level that the settings have for the rule, unless they turn it off.
    pub(crate) fn report(&mut self, rule: &str, level: Level, message: &str, alternative: &str) {
        if let Some(level) = self.guard.level(rule, level) {
            self.trail.report(rule, level, message, alternative);
        }
    }
}
