//! `git add` of everything.

use super::BLIND_ADD;
use crate::marks::{FRESH, HOME, ONE, REPO, SET, SOME, STAR, START, UNKNOWN, is_mark};
use crate::pattern::is_wide;
use crate::walk::ScriptWalk;
use crate::walk::files::normalized;

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    let stages = match name {
        "add" | "stage" => adds_blindly(walk, arguments),
        "update-index" => updates_blindly(walk, arguments),
        _ => false,
    };
    if stages {
        walk.find_rule(&BLIND_ADD);
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
                    let lines = text.split(['\n', '\0']).map(|line| line.trim_start_matches('\t'));
                    add.paths.extend(lines.filter(|path| !path.is_empty()).map(str::to_owned));
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
    if !held_back.is_empty() || walk.world.files.is_in_own_repository(&directory) {
        return false;
    }
    // A list that is empty adds everything.
    let may_be_nothing = |path: &String| path.chars().eq([UNKNOWN]);
    if adds_all && paths.iter().all(may_be_nothing) {
        return true;
    }
    if !paths.is_empty() && paths.iter().all(|path| excludes(path)) {
        return true;
    }
    paths.iter().filter(|path| !excludes(path)).any(|path| is_everything(walk, path))
}

/// True if a path given to git leaves something out: `:!x`, `:^x`, `:(top,exclude)x`.
fn excludes(path: &str) -> bool {
    let Some(magic) = path.strip_prefix(':') else { return false };
    match magic.strip_prefix('(').and_then(|words| words.split_once(')')) {
        Some((words, _)) => words.split(',').any(|word| word.trim() == "exclude"),
        None => magic.trim_start_matches('/').starts_with(['!', '^']),
    }
}

/// True if `git update-index --add` is given the whole tree, in words or on its input.
fn updates_blindly(walk: &mut ScriptWalk<'_>, arguments: &[String]) -> bool {
    let has = |flag: &str| arguments.iter().any(|word| word == flag);
    let directory = walk.directory();
    if !(has("--add") || has("--index-info")) || walk.world.files.is_in_own_repository(&directory) {
        return false;
    }
    // `--cacheinfo mode,object,path` has the path at its end.
    let names = arguments.iter().filter(|word| !word.starts_with('-'));
    let mut paths: Vec<String> = names.map(|word| word.rsplit(',').next().unwrap_or(word).to_owned()).collect();
    if has("--stdin") || has("--index-info") {
        let input = walk.world.shell.input.clone();
        // `mode object stage<tab>path`
        let path_of = |line: &str| line.rsplit('\t').next().unwrap_or(line).to_owned();
        paths.extend(input.split(['\n', '\0']).filter(|path| !path.is_empty()).map(path_of));
    }
    paths.iter().any(|path| is_everything(walk, path))
}

/// True if a path given to `git add` means the whole tree.
pub(super) fn is_everything(walk: &mut ScriptWalk<'_>, path: &str) -> bool {
    let (path, from_top) = match path.strip_prefix(':') {
        Some("") => return true,
        Some(magic) => match magic.strip_prefix('(') {
            // Files by an attribute are a choice.
            Some(words) if words.contains("attr:") => return false,
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
    // A sign of `git status` may still stand before it.
    if path.trim_start_matches("?? ").trim_matches(['"', '\'']).trim_start_matches("./").chars().eq([FRESH]) {
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
