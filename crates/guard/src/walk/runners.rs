//! Programs that take scripts in formats of their own: crontabs, keys for a terminal, editors.

use crate::marks::{HOME, SOME, STAR, TREE};
use crate::walk::ScriptWalk;

/// The most lines of such a script that are judged.
const MOST_LINES: usize = 256;

/// Names of keys that end a line which was typed into a terminal.
const ENTER: [&str; 5] = ["Enter", "C-m", "C-j", "KPEnter", "^M"];

impl ScriptWalk<'_> {
    /// Runs the commands in the words or the input of a program with a format of its own. False if this is no such program.
    pub(super) fn run_scripted(&mut self, name: &str, arguments: &[String]) -> bool {
        match name {
            "crontab" => self.run_crontab(arguments),
            "tmux" => return self.run_tmux_keys(arguments),
            "ed" | "red" | "ex" => self.run_editor_lines(),
            "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "original-awk" => self.run_awk(arguments),
            "du" | "gdu" => self.list_usage(arguments),
            "tree" => self.list_tree(arguments),
            "nix" => return self.run_nix(arguments),
            "compgen" => return self.run_completion(arguments),
            _ => return false,
        }
        true
    }

    /// `compgen -C command` and `compgen -F function`.
    fn run_completion(&mut self, arguments: &[String]) -> bool {
        let command = arguments.iter().position(|word| matches!(word.as_str(), "-C" | "-F"));
        let Some(command) = command.and_then(|at| arguments.get(at + 1)) else {
            let lists = |pair: &[String]| matches!(pair, [flag, kind] if flag == "-A" && matches!(kind.as_str(), "file" | "directory"));
            let lists_files = arguments.windows(2).any(lists);
            if lists_files {
                self.write(&format!("{STAR}\n"));
            }
            return lists_files;
        };
        self.subshell(|walk| walk.run_derived(command));
        self.write(&crate::marks::UNKNOWN.to_string());
        true
    }

    /// The listing of `du`: a size and a path a line. With `-a` it has every file, and the directory itself comes last.
    fn list_usage(&mut self, arguments: &[String]) {
        let has = |letter: char, long: &str| {
            let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
            arguments.iter().any(|word| is_short(word) || word == long)
        };
        let paths = places(arguments, &["-d", "--max-depth", "-t", "--threshold", "-X", "-B", "--exclude"]);
        let line_end = if has('0', "--null") { '\0' } else { '\n' };
        for path in paths {
            let below = path.trim_end_matches('/');
            if has('a', "--all") {
                self.write(&format!("{SOME}\t{below}/{TREE}{line_end}{SOME}\t{path}{line_end}"));
            } else if has('s', "--summarize") {
                self.write(&format!("{SOME}\t{path}{line_end}"));
            } else {
                self.write(&format!("{SOME}\t{below}/{STAR}{line_end}"));
            }
        }
    }

    /// `tree -fi`: a path a line. Without these, lines are drawn, and nobody takes them for paths.
    fn list_tree(&mut self, arguments: &[String]) {
        let has = |letter: char| {
            arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
        };
        let narrows = arguments.iter().any(|word| word == "-P" || word == "-L");
        for path in places(arguments, &["-P", "-I", "-L", "-o", "--filelimit", "--charset"]) {
            let is_plain = has('i') && has('f') && !narrows;
            let mark = if is_plain { TREE } else { SOME };
            self.write(&format!("{}/{mark}\n", path.trim_end_matches('/')));
        }
    }

    /// `crontab -` and `crontab file`: five fields or a word with `@`, and a script behind them.
    fn run_crontab(&mut self, arguments: &[String]) {
        if arguments.iter().any(|word| matches!(word.as_str(), "-l" | "-r" | "-e")) {
            return self.write(&crate::marks::UNKNOWN.to_string());
        }
        let file = arguments.iter().rev().find(|word| !word.starts_with('-') || *word == "-");
        let Some(text) = self.code_in_file(file.map_or("-", String::as_str)) else { return };
        for line in text.lines().map(str::trim).take(MOST_LINES) {
            let fields = if line.starts_with('@') { 1 } else { 5 };
            let mut rest = line;
            for _ in 0..fields {
                rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
            }
            if !line.starts_with('#') && !rest.is_empty() {
                // Jobs start in the home directory.
                self.subshell(|walk| {
                    walk.world.shell.set_directory(HOME.to_string());
                    walk.script_in_code(rest, None);
                });
            }
        }
    }

    /// `tmux send-keys`: the keys are typed into the shell of a window.
    fn run_tmux_keys(&mut self, arguments: &[String]) -> bool {
        let Some(at) = arguments.iter().position(|word| matches!(word.as_str(), "send-keys" | "send")) else {
            return false;
        };
        let keys = super::builtins::after_options(arguments.get(at + 1..).unwrap_or(&[]), "tN");
        let mut typed = String::new();
        for key in keys {
            match key.as_str() {
                key if ENTER.contains(&key) => typed.push('\n'),
                "Space" => typed.push(' '),
                key => typed.push_str(key),
            }
        }
        self.script_in_code(&typed, None);
        true
    }

    /// `screen -X stuff text`. False for every other use of screen.
    pub(super) fn run_screen_keys(&mut self, arguments: &[String]) -> bool {
        let Some(at) = arguments.iter().position(|word| word == "stuff") else { return false };
        let typed = arguments.get(at + 1).map(|keys| keys.replace("^M", "\n").replace("\\n", "\n"));
        self.script_in_code(&typed.unwrap_or_default(), None);
        true
    }

    /// Lines of `ed` and `ex` that a shell runs: `!script`, `r !script`, `w !script`.
    fn run_editor_lines(&mut self) {
        let text = self.world.shell.input.to_string();
        for line in text.lines().take(MOST_LINES) {
            if let Some((before, script)) = line.split_once('!')
                && before.trim().chars().all(|letter| letter.is_ascii_digit() || "%,$.rwe:".contains(letter))
            {
                self.script_in_code(script, None);
            }
        }
    }

    /// `nix develop -c command`, `nix shell packages --command command`.
    fn run_nix(&mut self, arguments: &[String]) -> bool {
        let Some(at) = arguments.iter().position(|word| matches!(word.as_str(), "-c" | "--command")) else {
            return false;
        };
        self.call(arguments.get(at + 1..).unwrap_or(&[]).to_vec());
        true
    }

    /// Runs a script that another program would judge by itself.
    pub(crate) fn run_nested(&mut self, script: &str) {
        self.script_in_code(script, None);
    }

    /// Runs substitutions in a text that bash expands although nothing in the script says so: the index of an array in
    /// arithmetic, a prompt, the name of a variable.
    pub(crate) fn run_hidden(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            self.capturing(|walk| {
                walk.run_derived(&format!(": <<BASHFUL_HIDDEN\n{text}\nBASHFUL_HIDDEN\n"));
            });
        }
    }
}

/// The words that are neither options nor their values; the working directory if there are none.
fn places(arguments: &[String], valued: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if valued.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            found.push(word.clone());
        }
    }
    if found.is_empty() {
        found.push(".".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Prelude};

    fn refuses(script: &str) -> bool {
        Guard::default().judge(script, &Prelude::default()).refuses()
    }

    #[test]
    fn listings_of_everything_are_everything() {
        assert!(refuses("du -a ~ | cut -f2 | xargs rm -fd"));
        assert!(refuses("tree -fia --noreport | xargs rm -rf"));
        assert!(refuses("compgen -A file | xargs rm -rf"));
        assert!(!refuses("du -sh build dist | cut -f2 | xargs rm -rf"));
        assert!(!refuses("du -a build | cut -f2 | xargs rm -rf"));
    }

    #[test]
    fn a_copy_of_nothing_leaves_nothing() {
        assert!(refuses("mkdir /tmp/e; rsync -a --delete /tmp/e/ ./"));
        assert!(refuses("rsync -a --delete \"$(mktemp -d)/\" ~/"));
        assert!(!refuses("mkdir /tmp/e; rsync -a --delete /tmp/e/ build/"));
        assert!(!refuses("rsync -a --delete src/ ./"));
        assert!(!refuses("mkdir /tmp/e; rsync -an --delete /tmp/e/ ./"));
    }

    #[test]
    fn the_data_of_a_copy_can_go() {
        assert!(!refuses("cp -r . /tmp/export; rm -rf /tmp/export/.git"));
        assert!(refuses("cp -r src /tmp/export; rm -rf .git"));
        assert!(refuses("mv -t /tmp/x * .git; rm -rf /tmp/x"));
    }
}
