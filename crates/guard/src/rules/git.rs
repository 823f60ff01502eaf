//! `git add` of everything, and `git push` by force.

use super::{BLIND_ADD, DELETE_REMOTE, FORCE_PUSH};
use crate::marks::{FRESH, HOME, ONE, REPO, SET, SOME, STAR, START, UNKNOWN, is_mark};
use crate::pattern::is_wide;
use crate::walk::ScriptWalk;
use crate::walk::files::normalized;

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    match name {
        "add" | "stage" if adds_blindly(walk, arguments) => walk.find_rule(&BLIND_ADD),
        "update-index" if updates_blindly(walk, arguments) => walk.find_rule(&BLIND_ADD),
        "push" => match push_effect(arguments, settings) {
            PushEffect::Plain => {}
            PushEffect::Forced => walk.find_rule(&FORCE_PUSH),
            PushEffect::Deleting => walk.find_rule(&DELETE_REMOTE),
        },
        "send-pack" | "http-push"
            if arguments
                .iter()
                .any(|word| matches!(word.as_str(), "--force" | "-f" | "--mirror") || word.starts_with('+')) =>
        {
            walk.find_rule(&FORCE_PUSH);
        }
        _ => {}
    }
}

/// The words of `git add`, read so far. A later option takes an earlier one back: `--no-dry-run`.
#[derive(Debug, Default)]
struct AddWords {
    adds_all: bool,
    /// Options in force by which git adds nothing, or tracked files alone, or asks about each part.
    held_back: Vec<&'static str>,
    paths: Vec<String>,
}

/// The long options of [`AddWords::held_back`], with the letter of each.
const HOLDING_BACK: [(&str, char); 7] = [
    ("dry-run", 'n'),
    ("patch", 'p'),
    ("interactive", 'i'),
    ("edit", 'e'),
    ("update", 'u'),
    ("refresh", '\0'),
    ("renormalize", '\0'),
];

impl AddWords {
    fn of(walk: &mut ScriptWalk<'_>, arguments: &[String]) -> Self {
        let mut add = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let flag = word.replace([UNKNOWN, SOME], "");
            if word == "--" {
                add.paths.extend(words.by_ref().cloned());
            } else if let Some(long) = flag.strip_prefix("--") {
                let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                if name == "pathspec-from-file" {
                    let file = attached.map(str::to_owned).or_else(|| words.next().cloned()).unwrap_or_default();
                    let text = if file == "-" { walk.world.shell.input.clone() } else { walk.read_file(&file) };
                    add.paths.extend(text.split(['\n', '\0']).filter(|path| !path.is_empty()).map(str::to_owned));
                } else {
                    add.note_long(name);
                }
            } else if flag.len() > 1 && flag.starts_with('-') {
                add.adds_all |= flag.contains('A');
                let is_given = |(_, letter): &&(&str, char)| flag.contains(*letter);
                add.held_back.extend(HOLDING_BACK.iter().filter(is_given).map(|(name, _)| *name));
            } else {
                add.paths.push(word.clone());
            }
        }
        add
    }

    /// Notes a long option, which may be shortened.
    fn note_long(&mut self, name: &str) {
        let short_for = |full: &str, least: usize| name.len() >= least && full.starts_with(name);
        if short_for("all", 1) || short_for("no-ignore-removal", 5) {
            self.adds_all = true;
        } else if short_for("no-all", 4) || short_for("ignore-removal", 8) {
            self.adds_all = false;
        } else if let Some((full, _)) = HOLDING_BACK.iter().find(|(full, _)| short_for(full, 2)) {
            self.held_back.push(full);
        } else if let Some(taken_back) = name.strip_prefix("no-") {
            self.held_back.retain(|full| taken_back.len() < 2 || !full.starts_with(taken_back));
        }
    }
}

fn adds_blindly(walk: &mut ScriptWalk<'_>, arguments: &[String]) -> bool {
    let AddWords { adds_all, held_back, paths } = AddWords::of(walk, arguments);
    let directory = walk.directory();
    let is_answered = held_back == ["interactive"] && paths.is_empty() && answers_for_all(&walk.world.shell.input);
    if is_answered && !walk.world.files.is_in_own_repository(&directory) {
        return true;
    }
    if !held_back.is_empty() || walk.world.files.is_in_own_repository(&directory) {
        return false;
    }
    if adds_all && paths.is_empty() {
        return true;
    }
    let narrows = |path: &String| !(path.starts_with(":!") || path.starts_with(":^") || path.starts_with(":(exclude"));
    if !paths.is_empty() && !paths.iter().any(narrows) {
        return true;
    }
    paths.iter().filter(|path| narrows(path)).any(|path| is_everything(walk, path))
}

/// True if text that is piped into `git add -i` picks every untracked file from its menu.
fn answers_for_all(input: &str) -> bool {
    let mut lines = input.lines().map(str::trim);
    lines.any(|line| matches!(line, "a" | "4" | "add untracked")) && lines.any(|line| line == "*")
}

/// True if `git update-index --add` is given the whole tree, in words or on its input.
fn updates_blindly(walk: &mut ScriptWalk<'_>, arguments: &[String]) -> bool {
    let has = |flag: &str| arguments.iter().any(|word| word == flag);
    if !has("--add") {
        return false;
    }
    let mut paths: Vec<String> = arguments.iter().filter(|word| !word.starts_with('-')).cloned().collect();
    if has("--stdin") {
        let input = walk.world.shell.input.clone();
        paths.extend(input.split(['\n', '\0']).filter(|path| !path.is_empty()).map(str::to_owned));
    }
    paths.iter().any(|path| is_everything(walk, path))
}

/// True if a path given to `git add` means the whole tree.
fn is_everything(walk: &mut ScriptWalk<'_>, path: &str) -> bool {
    let (path, from_top) = match path.strip_prefix(':') {
        Some("") => return true,
        Some(magic) => match magic.strip_prefix('(') {
            Some(words) => words.split_once(')').map_or(("", true), |(words, rest)| (rest, words.contains("top"))),
            // A colon before a letter or a dot is followed by no magic.
            None if magic.starts_with(|letter: char| letter.is_alphanumeric() || letter == '.') => (magic, false),
            None => (magic.strip_prefix('/').unwrap_or(path), magic.starts_with('/')),
        },
        None => (path, false),
    };
    if path.is_empty() {
        return from_top;
    }
    if path.chars().eq([FRESH]) {
        return true;
    }
    // git matches patterns by itself, also quoted ones.
    let live: String = path
        .chars()
        .map(|letter| match letter {
            '*' => STAR,
            '?' => ONE,
            '[' if path.contains(']') => SET,
            other => other,
        })
        .collect();
    let own = normalized(&live);
    let directory = walk.directory();
    let below = if own.starts_with(['/', START, REPO, HOME]) {
        let spelled = walk.world.concrete(&own);
        let here = walk.world.concrete(&directory);
        let top = walk.world.concrete(&REPO.to_string());
        // The directory itself, or one above it.
        let is_above = |place: &str| {
            !spelled.contains(is_mark)
                && place
                    .strip_prefix(spelled.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_above(&here) || is_above(&top) {
            return true;
        }
        let inside = [&here, &top].into_iter().find_map(|place| spelled.strip_prefix(place.as_str()));
        match inside {
            Some(rest) => rest.trim_start_matches('/').to_owned(),
            None => return false,
        }
    } else {
        own
    };
    below.split('/').all(|part| part == "." || part == ".." || is_wide(part))
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
    operands: usize,
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
        self.operands += 1;
        // No repository begins like that, so the repository before it is one that nothing is known about.
        self.forced |= word.starts_with('+');
        // The first is the repository.
        if self.operands > 1 || self.has_repository {
            self.deletes |= word.starts_with(':') && word.len() > 1;
        }
    }

    /// Notes the refs that the configuration pushes. They count if the command names none.
    fn note_settings(&mut self, settings: &[(String, String)]) {
        if self.operands >= 2 {
            return;
        }
        for (key, value) in settings {
            let Some((_, name)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) else { continue };
            self.forced |= name == "push" && value.starts_with('+');
            self.mirrors |= name == "mirror" && matches!(value.as_str(), "true" | "1" | "yes" | "on");
        }
    }
}

fn push_effect(arguments: &[String], settings: &[(String, String)]) -> PushEffect {
    let mut push = PushWords::of(arguments);
    push.note_settings(settings);
    if push.is_dry_run {
        PushEffect::Plain
    } else if push.forced || push.mirrors {
        PushEffect::Forced
    } else if push.deletes {
        PushEffect::Deleting
    } else {
        PushEffect::Plain
    }
}
