//! `git push` by force, and other ways to overwrite a branch of a repository that others use.

use super::{DELETE_REMOTE, FORCE_PUSH};
use crate::marks::{HOME, REPO, SOME, START, UNKNOWN, is_vague};
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

/// The message for a branch that is deleted and pushed again: the remote does not see that it is another one.
const PUSHED_AGAIN: &str = "permission denied: deleting a branch on the remote and pushing it again overwrites it, as git push \
                            --force does. Use --force-with-lease";

/// The message for a branch that is moved inside of a bare repository.
const MOVED_THERE: &str = "permission denied: this moves a branch inside of a repository that others push to, as git push \
                           --force does. Push with --force-with-lease";

/// Branches that several people push to. They have commits that are not here.
const SHARED: [&str; 5] = ["main", "master", "develop", "trunk", "release"];

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    match name {
        "push" => match push_effect(walk, arguments, settings) {
            PushEffect::Plain => {}
            PushEffect::Forced => walk.find_rule(&FORCE_PUSH),
            PushEffect::Again => walk.report(FORCE_PUSH.name, FORCE_PUSH.level, PUSHED_AGAIN, FORCE_PUSH.alternative),
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
        "update-ref" | "branch" | "fetch" | "fast-import" if is_bare(walk) => moved_there(walk, name, arguments),
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

/// True if git works in a repository without files, which others push to: `/srv/git/widget.git`.
fn is_bare(walk: &mut ScriptWalk<'_>) -> bool {
    let place = walk.scalar("GIT_DIR").filter(|path| !path.is_empty()).unwrap_or_else(|| walk.directory());
    let place = walk.absolute(&place);
    let is_own = walk.world.files.is_in_own_repository(&place);
    let name = base_name(&place);
    name.strip_suffix(".git").is_some_and(|name| !name.is_empty()) && !is_own
}

/// Judges a subcommand that may move a branch of a bare repository.
fn moved_there(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.as_str()));
    let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
    let deletes = has(&["-d", "-D", "--delete"]);
    let is_moved = match name {
        "update-ref" if has(&["--stdin"]) => walk.world.shell.input.contains("refs/heads/"),
        "update-ref" => operands.next().is_some_and(|name| name == "HEAD" || name.starts_with("refs/heads/")),
        "branch" => deletes || has(&["-f", "--force", "-M", "-C"]),
        "fast-import" => has(&["--force"]),
        // A mirror is brought up to date like that, but not from somebody's own repository.
        _ => {
            let is_local = |word: &String| word.starts_with(['/', '.', START, REPO, HOME]);
            operands.next().is_some_and(is_local)
                && (has(&["-f", "--force"]) || operands.any(|word| word.starts_with('+') && word.contains(':')))
        }
    };
    if is_moved && deletes {
        walk.find_rule(&DELETE_REMOTE);
    } else if is_moved {
        walk.report(FORCE_PUSH.name, FORCE_PUSH.level, MOVED_THERE, FORCE_PUSH.alternative);
    }
}

/// The effect of a push on the other side.
enum PushEffect {
    Plain,
    Forced,
    /// A branch is pushed that the script has deleted there before.
    Again,
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

    /// Notes the refs in a file of the old kind: `.git/remotes/NAME`.
    fn note_remote_file(&mut self, walk: &mut ScriptWalk<'_>) {
        let Some(remote) = self.remote().filter(|_| self.refs().is_empty()).cloned() else { return };
        let text = [format!(".git/remotes/{remote}"), format!("{REPO}/.git/remotes/{remote}")]
            .iter()
            .find_map(|path| walk.known_file(path));
        let is_forced = |line: &str| line.strip_prefix("Push:").is_some_and(|line| line.trim().starts_with('+'));
        self.forced |= text.is_some_and(|text| text.lines().any(is_forced));
    }

    /// Notes the branches that this push deletes; true if it brings back one that was deleted before.
    fn note_branches(&self, walk: &mut ScriptWalk<'_>) -> bool {
        let git = &mut walk.world.files.git;
        let mut brings_back = false;
        for spec in self.refs() {
            let (from, to) = spec.split_once(':').unwrap_or((spec, spec));
            let name = to.strip_prefix("refs/heads/").unwrap_or(to);
            if is_vague(name) || name.starts_with("refs/") || is_version(name) {
                continue;
            }
            if self.deletes && (from.is_empty() || !spec.contains(':')) {
                git.deleted_branches.push(name.to_owned());
            } else {
                // The same commits once more are no loss.
                let is_another = SHARED.contains(&name) || git.has_rewritten || from != to;
                brings_back |= is_another && git.deleted_branches.iter().any(|deleted| deleted == name);
            }
        }
        brings_back
    }
}

/// True for the name of a tag as most projects have them. Moving a tag loses no commit.
fn is_version(name: &str) -> bool {
    let name = name.strip_prefix('v').unwrap_or(name);
    name.starts_with(|letter: char| letter.is_ascii_digit())
}

fn push_effect(walk: &mut ScriptWalk<'_>, arguments: &[String], settings: &[(String, String)]) -> PushEffect {
    let mut push = PushWords::of(arguments);
    push.note_settings(settings);
    push.note_remote_file(walk);
    if push.is_dry_run {
        return PushEffect::Plain;
    }
    let brings_back = push.note_branches(walk);
    if push.forced || push.mirrors {
        PushEffect::Forced
    } else if brings_back {
        PushEffect::Again
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
    fn a_branch_that_is_deleted_and_pushed_again_is_overwritten() {
        assert!(refuses("git push origin :main && git push origin main"));
        assert!(refuses("git rebase main; git push origin :topic && git push origin topic"));
        assert!(refuses("git push -d origin topic; git push -u origin HEAD:topic"));
        for script in [
            "git push origin :old && git push origin main",
            "git push origin :topic && git push origin topic",
            "git push origin :v1.2 && git push origin v1.2",
            "git push origin :refs/tags/x && git push origin refs/tags/x",
        ] {
            assert!(!refuses(script), "{script}");
        }
    }

    #[test]
    fn a_host_is_asked_to_overwrite_a_branch_without_git() {
        assert!(refuses("gh repo sync me/fork --force"));
        assert!(!refuses("gh repo sync"));
        assert!(!refuses("gh repo sync --force"));
    }

    #[test]
    fn a_branch_of_a_bare_repository_is_somebody_elses() {
        for script in [
            "git -C /srv/git/x.git update-ref refs/heads/main HEAD~1",
            "git --git-dir=/srv/git/x.git branch -f main HEAD~1",
            "cd /srv/git/x.git && git fetch /work/x +main:main",
            "git -C \"$(git remote get-url origin)\" update-ref refs/heads/main HEAD~1",
        ] {
            assert!(refuses(script), "{script}");
        }
        for script in [
            "git update-ref refs/heads/main HEAD~1",
            "git branch -f main HEAD~1",
            "git init --bare /tmp/x.git; git -C /tmp/x.git branch -f main HEAD~1",
            "git -C /srv/mirror/x.git fetch --prune origin '+refs/heads/*:refs/heads/*'",
            "git -C /srv/git/x.git log",
        ] {
            assert!(!refuses(script), "{script}");
        }
    }
}
