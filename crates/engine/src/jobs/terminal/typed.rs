//! The lines that were typed at a shell's prompt, so that the guard can judge them as the script that they are.

use std::path::{Path, PathBuf};

use bashful_screen::{Code, Keys, Modes};

use crate::terminal::{CommandTerminal, ProgramAt};

/// The names of shells that run each line that is typed.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "rbash"];

/// Lines that are remembered: a variable that was set long ago is judged as unknown.
const REMEMBERED: usize = 2000;

/// The last characters of prompts. A line whose row begins otherwise was begun by somebody else, or is a continuation.
const PROMPT_ENDS: &[char] = &['$', '#', '%', '>', '❯', '»', 'λ', ':', ')', ']'];

/// The lines that were typed at one terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypedLines {
    done: Vec<String>,
    /// The directory of the shell when the first line was typed.
    begun_in: Option<PathBuf>,
    /// The line that was begun, and not ended.
    open: String,
    /// Only the shell knows the text of the open line: a key has changed it, or somebody else has begun it.
    is_unknown: bool,
}

/// Lines that an input would let a shell run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunLines {
    /// The lines that this input ends.
    pub new: String,
    /// The same behind the lines before them.
    pub all: String,
    /// The directory of the shell before the first of all lines.
    pub first_directory: PathBuf,
    /// False if only the shell knows the text of one of the new lines.
    pub is_known: bool,
}

impl TypedLines {
    /// The lines after this input is typed at a shell in this directory, and those that it would run; none if it ends no line.
    ///
    /// `row` is the row of the cursor: the text before the cursor, and the text behind it.
    pub(crate) fn after(
        &self,
        text: &str,
        keys: &Keys,
        row: (&str, &str),
        directory: &Path,
    ) -> (Self, Option<RunLines>) {
        let mut next = self.clone();
        let directory = next.begun_in.get_or_insert_with(|| directory.to_path_buf()).clone();
        if next.open.is_empty() && !begins_line(row) {
            next.is_unknown = true;
        }
        let before = next.done.len();
        let mut is_known = true;
        let mut add = |character| is_known &= next.add(character);
        text.chars().for_each(&mut add);
        for key in &keys.0 {
            // The bytes decide: Ctrl-M is Enter, whatever it is called.
            let bytes = Keys(vec![*key]).encode(Modes::default());
            match (key.code, std::str::from_utf8(&bytes)) {
                (Code::Enter | Code::Keypad('\r'), _) => add('\r'),
                (_, Ok(text)) if !text.starts_with('\x1b') => text.chars().for_each(&mut add),
                _ => add('\x1b'),
            }
        }
        let ended = next.done.split_off(before);
        if ended.is_empty() {
            return (next, None);
        }
        let new = ended.join("\n");
        next.done.extend(ended.into_iter().filter(|line| !line.trim().is_empty()));
        let too_many = next.done.len().saturating_sub(REMEMBERED);
        next.done.drain(..too_many);
        let run = RunLines { new, all: next.done.join("\n"), first_directory: directory, is_known };
        (next, Some(run))
    }

    /// Adds a character. False if it ends a line whose text only the shell knows.
    fn add(&mut self, character: char) -> bool {
        match character {
            // Enter, and the keys that end a line in readline (Ctrl-O) and in line mode (Ctrl-D).
            '\n' | '\r' | '\x0f' | '\x04' => {
                let line = std::mem::take(&mut self.open);
                let is_known = !std::mem::take(&mut self.is_unknown) && !has_history(&line);
                self.done.push(line);
                return is_known;
            }
            // Interrupt, and erase the line.
            '\x03' | '\x15' => (self.open, self.is_unknown) = (String::new(), false),
            '\x7f' | '\x08' if self.open.pop().is_some() => {}
            character if character.is_control() => self.is_unknown = true,
            character => self.open.push(character),
        }
        true
    }
}

/// True if a line begins at the cursor: behind a prompt or on a blank row, with nothing behind the cursor.
fn begins_line((before, behind): (&str, &str)) -> bool {
    behind.trim().is_empty() && before.trim_end().chars().last().is_none_or(|last| PROMPT_ENDS.contains(&last))
}

/// True if an interactive shell may replace a part of the line by a line of its history, as in `!rm` and `fc -s`.
fn has_history(line: &str) -> bool {
    let characters: Vec<char> = line.chars().collect();
    let recalls = |at: usize| {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let is_plain = !matches!(before, Some('\\' | '$' | '[' | '{'));
        let is_followed = characters.get(at + 1).is_some_and(|next| !next.is_whitespace() && !"=(\"'".contains(*next));
        characters[at] == '!' && is_plain && is_followed
    };
    (0..characters.len()).any(recalls) || line.split_whitespace().any(|word| word == "fc")
}

/// The shell that would run a line which is typed at this terminal; none if no interactive shell is there. A line that is typed
/// while another program runs is read by the shell later.
pub fn shell_at(terminal: &CommandTerminal) -> Option<ProgramAt> {
    let mut shells: Vec<ProgramAt> = terminal.programs().into_iter().filter(is_interactive_shell).collect();
    let foreground = shells.iter().rposition(|shell| shell.is_foreground);
    let at = foreground.or(shells.len().checked_sub(1))?;
    Some(shells.swap_remove(at))
}

fn is_interactive_shell(program: &ProgramAt) -> bool {
    let name = program.name.trim_start_matches('-');
    let is_shell = SHELLS.contains(&name);
    // With `-c` or the name of a file a shell reads its commands from there.
    let is_option = |word: &String| word.starts_with(['-', '+']) && !word.starts_with("-c");
    is_shell
        && program
            .arguments
            .iter()
            .all(|word| is_option(word) || (name == "busybox" && SHELLS.contains(&word.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: (&str, &str) = ("me@host:~$ ", "");

    /// Types each input in turn at a shell that is in `/usr`, and compares all lines that the last one runs.
    #[track_caller]
    fn check(input: &[(&str, &[&str])], all: Option<&str>) {
        let run = run(input, PROMPT);
        assert_eq!(run.as_ref().map(|run| run.all.as_str()), all);
        assert!(run.is_none_or(|run| run.is_known && run.first_directory == Path::new("/usr")));
    }

    #[track_caller]
    fn check_unknown(input: &[(&str, &[&str])], row: (&str, &str)) {
        assert!(!run(input, row).expect("a line is ended").is_known, "{input:?}");
    }

    fn run(input: &[(&str, &[&str])], row: (&str, &str)) -> Option<RunLines> {
        let mut lines = TypedLines::default();
        let mut runs = None;
        for (text, keys) in input {
            let keys = Keys::parse(keys.iter().copied()).expect("known keys");
            (lines, runs) = lines.after(text, &keys, row, Path::new("/usr"));
        }
        runs
    }

    #[test]
    fn a_line_runs_when_it_is_ended_however_it_was_typed() {
        check(&[("ls", &[])], None);
        for key in ["Enter", "C-m", "C-j", "^M", "KPEnter", "C-o", "C-d"] {
            check(&[("ls", &[key])], Some("ls"));
        }
        check(&[("ls\n", &[])], Some("ls"));
        check(&[("ls\u{f}", &[])], Some("ls"));
        check(&[("rm -rf ", &[]), ("/", &[]), ("", &["Enter"])], Some("rm -rf /"));
        check(&[("", &["l", "s", "Enter"])], Some("ls"));
    }

    #[test]
    fn lines_before_it_belong_to_the_script_and_blank_ones_do_not_push_them_out() {
        check(&[("X=/\n", &[]), ("rm -rf $X", &["Enter"])], Some("X=/\nrm -rf $X"));
        check(&[("rm -rf \\\n", &[]), ("/\n", &[])], Some("rm -rf \\\n/"));
        let blank = "\n".repeat(3000);
        check(&[("X=/\n", &[]), (&blank, &[]), ("rm -rf $X", &["Enter"])], Some("X=/\nrm -rf $X"));
    }

    #[test]
    fn a_line_that_was_given_up_does_not_run() {
        check(&[("rm -rf /", &["C-c"]), ("ls\n", &[])], Some("ls"));
        check(&[("rm -rf /", &["C-u"]), ("ls\n", &[])], Some("ls"));
        check(&[("rm -rf /\u{3}", &[]), ("ls\n", &[])], Some("ls"));
        check(&[("", &["Up"]), ("", &["C-c"]), ("ls\n", &[])], Some("ls"));
    }

    #[test]
    fn a_line_that_only_the_shell_knows_is_called_unknown() {
        check_unknown(&[("", &["Up"]), ("", &["Enter"])], PROMPT);
        check_unknown(&[("git pu", &["Tab"]), ("-f", &["Enter"])], PROMPT);
        check_unknown(&[("m -rf .git", &["Home", "r", "Enter"])], PROMPT);
        check_unknown(&[("rm -rf .gi\t\n", &[])], PROMPT);
        check_unknown(&[("rm -rf .gi/x\u{17}.git\n", &[])], PROMPT);
        check_unknown(&[("rm", &["C-u"]), ("", &["C-y", "Enter"])], PROMPT);
        check_unknown(&[("!rm\n", &[])], PROMPT);
        check_unknown(&[("fc -s rm\n", &[])], PROMPT);
        // Somebody else has begun it.
        check_unknown(&[(".git\n", &[])], ("$ rm -rf ", ""));
        check_unknown(&[("r", &["Enter"])], ("$ ", "m -rf .git"));
        check(&[("echo hi! && [ 1 != 2 ] && echo $! [!a]\n", &[])], Some("echo hi! && [ 1 != 2 ] && echo $! [!a]"));
    }

    #[test]
    fn an_interactive_shell_is_told_from_one_that_runs_a_script() {
        let program = |name: &str, words: &[&str]| ProgramAt {
            name: name.to_owned(),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            directory: PathBuf::from("/"),
            is_foreground: true,
        };
        let yes = [("bash", &["--norc", "-i"][..]), ("dash", &[]), ("zsh", &["-l"]), ("busybox", &["sh"])];
        let no = [("bash", &["-c", "read x"][..]), ("bash", &["script.sh"]), ("vim", &[]), ("python3", &["-i"])];
        for (name, words) in yes {
            assert!(is_interactive_shell(&program(name, words)), "{name} {words:?}");
        }
        for (name, words) in no {
            assert!(!is_interactive_shell(&program(name, words)), "{name} {words:?}");
        }
    }
}
