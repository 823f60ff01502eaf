//! Hooks: scripts in `.git/hooks` that git runs beside its own work.

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

/// Hooks that a subcommand runs, beyond the two below.
const HOOKS: [(&str, &[&str]); 20] = [
    ("commit", &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite", "pre-auto-gc"]),
    ("push", &["pre-push", "pre-receive", "update", "post-receive", "post-update", "proc-receive", "push-to-checkout"]),
    ("send-pack", &["pre-receive", "update", "post-receive", "post-update"]),
    ("checkout", &["post-checkout"]),
    ("switch", &["post-checkout"]),
    ("restore", &["post-checkout"]),
    ("clone", &["post-checkout"]),
    ("worktree", &["post-checkout"]),
    ("merge", &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "pre-auto-gc"]),
    ("pull", &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "pre-rebase", "post-rewrite"]),
    ("rebase", &["pre-rebase", "post-checkout", "post-rewrite", "post-commit", "prepare-commit-msg", "commit-msg"]),
    ("cherry-pick", &["prepare-commit-msg", "commit-msg", "post-commit"]),
    ("revert", &["prepare-commit-msg", "commit-msg", "post-commit"]),
    ("am", &["applypatch-msg", "pre-applypatch", "post-applypatch", "post-rewrite"]),
    ("gc", &["pre-auto-gc"]),
    ("maintenance", &["pre-auto-gc"]),
    ("send-email", &["sendemail-validate"]),
    ("stash", &["post-checkout"]),
    ("subtree", &["pre-push", "post-merge", "post-commit"]),
    ("p4", &["p4-pre-submit", "p4-changelist", "p4-post-changelist"]),
];

/// Subcommands that write refs, and run `reference-transaction`.
const MOVES_REFS: [&str; 22] = [
    "commit",
    "merge",
    "rebase",
    "am",
    "checkout",
    "switch",
    "branch",
    "tag",
    "fetch",
    "pull",
    "push",
    "reset",
    "stash",
    "cherry-pick",
    "revert",
    "update-ref",
    "notes",
    "worktree",
    "symbolic-ref",
    "pack-refs",
    "replace",
    "fast-import",
];

/// Subcommands that write the index, and run `post-index-change`.
const WRITES_INDEX: [&str; 19] = [
    "add",
    "stage",
    "rm",
    "mv",
    "commit",
    "checkout",
    "switch",
    "restore",
    "reset",
    "read-tree",
    "update-index",
    "stash",
    "merge",
    "rebase",
    "pull",
    "cherry-pick",
    "apply",
    "am",
    "status",
];

/// Hooks that `--no-verify` leaves out.
const VERIFIES: [&str; 5] = ["pre-commit", "commit-msg", "pre-push", "pre-merge-commit", "pre-rebase"];

/// The most runs of one hook that are followed.
const MOST_RUNS: usize = 8;

/// The file that hooks and editors get with the message of a commit.
pub(super) const MESSAGE_FILE: &str = ".git/COMMIT_EDITMSG";

impl ScriptWalk<'_> {
    /// Runs the hooks that the script has written and that this subcommand runs.
    pub(super) fn run_hooks(&mut self, subcommand: &str, arguments: &[String], settings: &[(String, String)]) {
        let unverified = arguments.iter().any(|word| word == "--no-verify" || word == "-n" && subcommand == "commit");
        let own = HOOKS.iter().find(|(name, _)| *name == subcommand).map_or(&[][..], |(_, hooks)| hooks);
        for hook in own.iter().filter(|hook| !unverified || !VERIFIES.contains(hook)) {
            self.run_hook(hook, &[], settings);
        }
        if MOVES_REFS.contains(&subcommand) {
            self.run_hook("reference-transaction", &[], settings);
        }
        if WRITES_INDEX.contains(&subcommand) {
            self.run_hook("post-index-change", &[], settings);
        }
    }

    /// Runs one hook, if the script has written it.
    pub(super) fn run_hook(&mut self, hook: &str, arguments: &[String], settings: &[(String, String)]) {
        if self.world.files.git.open_hooks.iter().any(|open| open == hook) {
            return;
        }
        let elsewhere = settings.iter().rev().find(|(key, _)| key == "core.hookspath").map(|(_, path)| path.clone());
        let templates = self.scalar("GIT_TEMPLATE_DIR").unwrap_or_default();
        self.budget.spend(self.world.files.texts.len() / 8);
        let is_hooks = |directory: &str| match &elsewhere {
            Some(path) => {
                let path = path.trim_start_matches("./").trim_end_matches('/');
                directory == path || directory.ends_with(&format!("/{}", path.trim_start_matches('/')))
            }
            None => directory.ends_with("/hooks") && (directory.contains(".git/") || !templates.is_empty()),
        };
        let is_meant =
            |path: &&String| path.rsplit_once('/').is_some_and(|(directory, name)| name == hook && is_hooks(directory));
        let mut paths: Vec<String> = self.world.files.texts.keys().filter(is_meant).cloned().collect();
        // The home directory and others may stand in the setting as a mark, and in the path spelled out.
        if let Some(path) = &elsewhere {
            let path = self.absolute(&format!("{path}/{hook}"));
            paths.extend(self.world.files.texts.contains_key(&path).then_some(path));
        }
        paths.sort_unstable();
        paths.dedup();
        for path in paths.into_iter().take(2) {
            let Some(text) = self.world.files.texts.get(&path).cloned() else { continue };
            // Once more shows nothing new.
            let runs = self.world.files.git.hook_runs.entry(text.clone()).or_default();
            *runs += 1;
            if *runs > MOST_RUNS {
                continue;
            }
            let given = if arguments.is_empty() { hook_arguments(hook) } else { arguments.to_vec() };
            self.world.files.git.open_hooks.push(hook.to_owned());
            let written = self.capturing(|walk| walk.run_file(&text, std::iter::once(path).chain(given).collect()));
            drop(written);
            self.world.files.git.open_hooks.pop();
        }
    }

    /// `git hook run NAME -- arguments`
    pub(super) fn run_named_hook(&mut self, arguments: &[String], settings: &[(String, String)]) {
        let Some((_, rest)) = arguments.split_first().filter(|(verb, _)| *verb == "run") else { return };
        let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
        let (before, after) = rest.split_at(end);
        let Some(name) = before.iter().find(|word| !word.starts_with('-')) else { return };
        self.run_hook(base_name(name), after.get(1..).unwrap_or(&[]), settings);
    }
}

/// The arguments of a hook. The message of a commit is in a file.
fn hook_arguments(hook: &str) -> Vec<String> {
    match hook {
        "commit-msg" | "prepare-commit-msg" | "applypatch-msg" => vec![MESSAGE_FILE.to_owned()],
        _ => vec![UNKNOWN.to_string(); 3],
    }
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Prelude};

    fn refuses(script: &str) -> bool {
        Guard::default().judge(script, &Prelude::default()).refuses()
    }

    #[test]
    fn a_hook_is_judged_by_the_commands_that_run_it() {
        let hook = |name: &str| format!("printf '#!/bin/sh\\ngit add -A\\n' > .git/hooks/{name}; ");
        for (name, command) in [
            ("pre-commit", "git commit -m x"),
            ("reference-transaction", "git tag x"),
            ("post-index-change", "git reset"),
            ("post-checkout", "git switch x"),
            ("pre-commit", "git hook run pre-commit"),
            ("post-merge", "git pull"),
        ] {
            assert!(refuses(&format!("{}{command}", hook(name))), "{name} by {command}");
        }
        for (name, command) in [
            ("pre-commit", "git status"),
            ("pre-commit", "git commit --no-verify -m x"),
            ("post-merge", "git commit -m x"),
            ("pre-commit", "git -c core.hooksPath=/dev/null commit -m x"),
        ] {
            assert!(!refuses(&format!("{}{command}", hook(name))), "{name} by {command}");
        }
    }

    #[test]
    fn a_hook_that_runs_itself_again_ends() {
        assert!(!refuses("printf 'git commit -m x\\n' > .git/hooks/post-commit; git commit -m x"));
    }
}
