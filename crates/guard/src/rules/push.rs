//! `git push` by force.

use super::{DELETE_REMOTE, FORCE_PUSH};
use crate::marks::{SOME, UNKNOWN, is_vague};
use crate::walk::ScriptWalk;

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    match name {
        "push" => match push_effect(arguments, settings) {
            PushEffect::Plain => {}
            PushEffect::Forced => walk.find_rule(&FORCE_PUSH),
            PushEffect::Deleting => walk.find_rule(&DELETE_REMOTE),
        },
        "send-pack" | "http-push" => {
            let input = walk.world.shell.input.clone();
            let listed = input.lines().filter(|_| arguments.iter().any(|word| word == "--stdin"));
            let is_forced = |word: &str| matches!(word, "--force" | "-f" | "--mirror") || word.starts_with('+');
            let is_dry = arguments.iter().any(|word| word == "--dry-run" || word == "-n");
            if !is_dry && arguments.iter().map(String::as_str).chain(listed).any(is_forced) {
                walk.find_rule(&FORCE_PUSH);
            }
        }
        "subtree"
            if arguments.first().is_some_and(|verb| verb == "push")
                && arguments.iter().any(|word| word.starts_with('+')) =>
        {
            walk.find_rule(&FORCE_PUSH);
        }
        _ => {}
    }
}

/// Looks at a call of `gh`, which changes branches on the host without git.
pub(super) fn judge_hosted(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Without a name, it is the repository here that is brought up to date.
    let is_forced = matches!(words.as_slice(), ["repo", "sync", name, rest @ ..]
        if !name.starts_with('-') && rest.contains(&"--force"));
    if is_forced {
        walk.find_rule(&FORCE_PUSH);
    }
}

/// The effect of a push on the other side.
enum PushEffect {
    Plain,
    Forced,
    Deleting,
}

/// The words of a push, read so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of `git push`")]
struct PushWords {
    forced: bool,
    mirrors: bool,
    deletes: bool,
    is_dry_run: bool,
    /// `--repo`: the first operand is a ref already.
    has_repository: bool,
    operands: Vec<String>,
}

impl PushWords {
    fn of(arguments: &[String]) -> Self {
        let mut push = Self::default();
        let mut options = true;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let flag = word.replace([UNKNOWN, SOME], "");
            if options && word == "--" {
                options = false;
            } else if options && flag.len() > 1 && flag.starts_with('-') {
                let takes_word = match flag.strip_prefix("--") {
                    Some(long) => push.note_long(long),
                    None => push.note_short(&flag),
                };
                if takes_word {
                    words.next();
                }
            } else {
                push.note_operand(word);
            }
        }
        push
    }

    /// Notes short options; true if the last one takes the next word.
    fn note_short(&mut self, flag: &str) -> bool {
        // `-o` takes the rest of the word, or the next one.
        let (flags, value) = flag.split_once('o').map_or((flag, None), |(flags, rest)| (flags, Some(rest)));
        self.forced |= flags.contains('f');
        self.deletes |= flags.contains('d');
        self.is_dry_run |= flags.contains('n');
        value == Some("")
    }

    /// Notes a long option, which may be shortened; true if it takes the next word.
    fn note_long(&mut self, long: &str) -> bool {
        let (name, is_attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        match name {
            "no-force" => self.forced = false,
            "no-mirror" => self.mirrors = false,
            "dry-run" => self.is_dry_run = true,
            "no-dry-run" => self.is_dry_run = false,
            "delete" | "prune" => self.deletes = true,
            "repo" => {
                self.has_repository = true;
                return !is_attached;
            }
            "push-option" | "receive-pack" | "exec" | "recurse-submodules" => return !is_attached,
            name if name.len() >= 3 && "force".starts_with(name) => self.forced = true,
            name if name.len() >= 2 && "mirror".starts_with(name) => self.mirrors = true,
            name if name.len() >= 2 && "delete".starts_with(name) => self.deletes = true,
            _ => {}
        }
        false
    }

    fn note_operand(&mut self, word: &str) {
        self.operands.push(word.to_owned());
        // No repository begins like that, so the repository before it is one that nothing is known about.
        self.forced |= word.starts_with('+');
        // The first is the repository.
        if self.operands.len() > 1 || self.has_repository {
            self.deletes |= word.starts_with(':') && word.len() > 1;
        }
    }

    /// The repository that is pushed to, if the command names one.
    fn remote(&self) -> Option<&String> {
        self.operands.first().filter(|_| !self.has_repository)
    }

    /// The refs that the command names.
    fn refs(&self) -> &[String] {
        self.operands.get(usize::from(!self.has_repository)..).unwrap_or(&[])
    }

    /// Notes the refs that the configuration pushes. They count if the command names none.
    fn note_settings(&mut self, settings: &[(String, String)]) {
        if !self.refs().is_empty() {
            return;
        }
        let wanted = self.remote().filter(|remote| !is_vague(remote)).map(|remote| remote.to_lowercase());
        for (key, value) in settings {
            let Some((remote, name)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) else {
                continue;
            };
            if wanted.as_ref().is_some_and(|wanted| wanted != remote) {
                continue;
            }
            self.forced |= name == "push" && value.starts_with('+');
            self.mirrors |= name == "mirror" && matches!(value.as_str(), "true" | "1" | "yes" | "on");
        }
    }
}

fn push_effect(arguments: &[String], settings: &[(String, String)]) -> PushEffect {
    let mut push = PushWords::of(arguments);
    push.note_settings(settings);
    if push.is_dry_run {
        return PushEffect::Plain;
    }
    if push.forced || push.mirrors {
        PushEffect::Forced
    } else if push.deletes {
        PushEffect::Deleting
    } else {
        PushEffect::Plain
    }
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Prelude};

    fn refuses(script: &str) -> bool {
        Guard::default().judge(script, &Prelude::default()).refuses()
    }

    #[test]
    fn a_host_is_asked_to_overwrite_a_branch_without_git() {
        assert!(refuses("gh repo sync me/fork --force"));
        assert!(!refuses("gh repo sync"));
        assert!(!refuses("gh repo sync --force"));
    }
}
