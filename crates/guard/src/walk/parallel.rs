//! GNU `parallel`: a command for every item, or for every combination of items.

use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

/// The most items that are tried one by one.
const MOST_ITEMS: usize = 64;

/// The most lists that are combined.
const MOST_SOURCES: usize = 8;

/// Options that take another word.
const VALUED: [&str; 22] = [
    "-j",
    "-I",
    "-n",
    "-N",
    "-L",
    "-S",
    "-P",
    "-d",
    "--jobs",
    "--delay",
    "--joblog",
    "--timeout",
    "--workdir",
    "--wd",
    "--sshlogin",
    "--colsep",
    "--max-args",
    "--max-procs",
    "--retries",
    "--tagstring",
    "--results",
    "--block",
];

/// The words of `parallel` before its items.
#[derive(Debug, Default)]
struct ParallelWords<'w> {
    /// Files with items: `-a`.
    files: Vec<String>,
    /// The text that the item takes the place of: `-I`.
    mark: Option<String>,
    delimiter: char,
    /// `--pipe`: items are the command's input.
    pipes: bool,
    is_dry_run: bool,
    rest: &'w [String],
}

impl<'w> ParallelWords<'w> {
    fn of(arguments: &'w [String]) -> Self {
        let mut found = Self { rest: arguments, delimiter: '\n', ..Self::default() };
        while let Some((word, after)) = found.rest.split_first() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if word.len() < 2 || !word.starts_with('-') {
                break;
            }
            found.rest = after;
            let takes_word = attached.is_none() && (VALUED.contains(&name) || matches!(name, "-a" | "--arg-file"));
            let value = if takes_word { after.first().cloned() } else { attached };
            if takes_word {
                found.rest = after.get(1..).unwrap_or(&[]);
            }
            match name {
                "--" => break,
                "-a" | "--arg-file" => found.files.extend(value),
                "-I" => found.mark = value,
                "-0" | "--null" => found.delimiter = '\0',
                "--pipe" | "--pipepart" | "--spreadstdin" => found.pipes = true,
                "--dry-run" | "--dryrun" => found.is_dry_run = true,
                _ => {}
            }
        }
        found
    }
}

impl ScriptWalk<'_> {
    /// `parallel command ::: items`, or items on input; without a command the items are commands.
    pub(crate) fn run_parallel(&mut self, arguments: &[String]) {
        let words = ParallelWords::of(arguments);
        let at = words.rest.iter().position(|word| word.starts_with(":::")).unwrap_or(words.rest.len());
        let (command, given) = words.rest.split_at(at);
        if words.pipes {
            let script = command.join(" ");
            return self.run_item(&script);
        }
        let mut sources: Vec<Vec<String>> = Vec::new();
        for file in &words.files {
            let text = if file == "-" { self.world.shell.input.clone() } else { self.read_file(file) };
            sources.push(super::xargs::split_at(&text, words.delimiter));
        }
        let mut from_file = false;
        for word in given {
            if word.starts_with(":::") {
                from_file = word.starts_with("::::");
                sources.push(Vec::new());
                continue;
            }
            let items = if from_file {
                let text = self.read_file(word);
                super::xargs::split_at(&text, words.delimiter)
            } else {
                vec![word.clone()]
            };
            if let Some(source) = sources.last_mut() {
                source.extend(items);
            }
        }
        if sources.is_empty() {
            sources.push(super::xargs::split_at(&self.world.shell.input, words.delimiter));
        }
        self.world.shell.input = "".into();
        let line = command.join(" ");
        let line = words.mark.as_ref().map_or(line.clone(), |mark| line.replace(mark.as_str(), "{}"));
        if sources.len() > MOST_SOURCES {
            return self.budget.give_up("it combines too many lists");
        }
        for items in combinations(&sources) {
            let script = filled(&line, &items);
            if words.is_dry_run {
                self.write(&format!("{script}\n"));
            } else {
                self.run_item(&script);
            }
        }
    }

    fn run_item(&mut self, script: &str) {
        self.budget.spend(4);
        self.new_shell("bash".to_owned(), Vec::new(), |walk| {
            walk.run_derived(script);
        });
    }
}

/// Every combination of items, one of each source.
fn combinations(sources: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![Vec::new()];
    for source in sources {
        let longer = found.iter().flat_map(|items| {
            source.iter().map(move |item| items.iter().cloned().chain([item.clone()]).collect::<Vec<_>>())
        });
        found = longer.take(MOST_ITEMS).collect();
    }
    found
}

/// The command with the items in it: `{}`, `{1}`, and parts of a path. Without such a place they come last.
fn filled(command: &str, items: &[String]) -> String {
    let all = items.join(" ");
    if command.is_empty() {
        return all;
    }
    let mut out = command.to_owned();
    let mut has_place = false;
    let numbered = items.iter().enumerate().map(|(at, item)| ((at + 1).to_string(), item));
    for (number, item) in std::iter::once((String::new(), &all)).chain(numbered) {
        let stem = item.rsplit_once('.').map_or(item.as_str(), |(stem, _)| stem);
        let parts = [("", item.as_str()), (".", stem), ("/", base_name(item))];
        for (part, text) in parts {
            let place = format!("{{{number}{part}}}");
            if out.contains(&place) {
                has_place = true;
                out = out.replace(&place, text);
            }
        }
    }
    if has_place { out } else { format!("{out} {all}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Prelude};

    #[test]
    fn items_take_their_places() {
        let items = ["a/b.txt".to_owned(), "x".to_owned()];
        assert_eq!(filled("cp {1} {2}/{1/}", &items), "cp a/b.txt x/b.txt");
        assert_eq!(filled("echo", &items), "echo a/b.txt x");
        assert_eq!(combinations(&[items.to_vec(), items.to_vec()]).len(), 4);
    }

    #[test]
    fn a_command_is_found_in_any_form_of_parallel() {
        let refuses = |script: &str| Guard::default().judge(script, &Prelude::default()).refuses();
        for script in [
            "parallel git {1} {2} ::: add ::: -A",
            "echo 'rm -rf .git' | parallel --pipe bash",
            "echo .git > /tmp/l; parallel -a /tmp/l rm -rf ./{}",
            "parallel -I@ rm -rf ./@ ::: .git",
            "echo 'git add -A' | parallel",
        ] {
            assert!(refuses(script), "{script}");
        }
        assert!(!refuses("parallel gzip {} ::: *.log"));
    }
}
