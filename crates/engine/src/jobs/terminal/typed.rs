//! The lines that were typed at a shell's prompt, so that the guard can judge them as the script that they are.

use bashful_screen::{Code, Keys, Modifiers};

use crate::terminal::{CommandTerminal, ProgramAt};

/// The names of shells that run each line that is typed.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "rbash"];

/// Lines that are remembered: a variable that was set long ago is judged as unknown.
const REMEMBERED: usize = 200;

/// The lines that were typed at one terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedLines {
    done: Vec<String>,
    /// The line that was begun, and not ended with Enter.
    open: String,
    /// A key has changed the open line in a way that only the shell knows, as the arrow to the line before does.
    is_edited: bool,
}

impl TypedLines {
    /// The lines after this input is typed, and all text that a shell would run then, the lines before it included. None if the
    /// input ends no line.
    ///
    /// `shown` is the row of the cursor. It stands in for a line that keys have edited.
    pub fn after(&self, text: &str, keys: &Keys, shown: &str) -> (Self, Option<String>) {
        let mut next = self.clone();
        let mut runs = false;
        for character in text.chars() {
            runs |= next.add(character, shown);
        }
        for key in &keys.0 {
            runs |= match key.code {
                Code::Char(character) if key.modifiers == Modifiers::default() => next.add(character, shown),
                Code::Enter => next.add('\n', shown),
                // Interrupt, and erase the line.
                Code::Char('c' | 'u') if key.modifiers.ctrl => {
                    (next.open, next.is_edited) = (String::new(), false);
                    false
                }
                _ => {
                    next.is_edited = true;
                    false
                }
            };
        }
        let script = runs.then(|| next.done.join("\n"));
        (next, script)
    }

    /// Adds a character; true if it ends a line.
    fn add(&mut self, character: char, shown: &str) -> bool {
        match character {
            '\n' | '\r' => {
                let open = std::mem::take(&mut self.open);
                let line =
                    if std::mem::take(&mut self.is_edited) { format!("{}{open}", behind_prompt(shown)) } else { open };
                self.done.push(line);
                let too_many = self.done.len().saturating_sub(REMEMBERED);
                self.done.drain(..too_many);
                true
            }
            '\x03' | '\x15' => {
                (self.open, self.is_edited) = (String::new(), false);
                false
            }
            '\x7f' | '\x08' => {
                self.open.pop();
                false
            }
            character if character.is_control() => {
                self.is_edited = true;
                false
            }
            character => {
                self.open.push(character);
                false
            }
        }
    }
}

/// The part of a row behind the shell's prompt, by the usual ends of prompts.
fn behind_prompt(row: &str) -> &str {
    ["$ ", "# ", "% ", "> ", "❯ "]
        .iter()
        .filter_map(|end| Some(row.split_once(end)?.1))
        .max_by_key(|rest| rest.len())
        .unwrap_or(row)
}

/// The shell that would run a line which is typed at this terminal; none if no interactive shell is there. A line that is typed
/// while another program runs is read by the shell later.
pub fn shell_at(terminal: &CommandTerminal) -> Option<ProgramAt> {
    terminal.programs().into_iter().find(is_interactive_shell)
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
    use std::path::PathBuf;

    #[track_caller]
    fn check(input: &[(&str, &[&str])], row: &str, script: Option<&str>) {
        let mut lines = TypedLines::default();
        let mut runs = None;
        for (text, keys) in input {
            let keys = Keys::parse(keys.iter().copied()).expect("known keys");
            (lines, runs) = lines.after(text, &keys, row);
        }
        assert_eq!(runs.as_deref(), script);
    }

    #[test]
    fn a_line_runs_when_it_is_ended_however_it_was_typed() {
        check(&[("ls", &[])], "", None);
        check(&[("ls", &["Enter"])], "", Some("ls"));
        check(&[("ls\n", &[])], "", Some("ls"));
        check(&[("rm -rf ", &[]), ("/", &[]), ("", &["Enter"])], "", Some("rm -rf /"));
        check(&[("", &["l", "s", "Enter"])], "", Some("ls"));
    }

    #[test]
    fn lines_before_it_belong_to_the_script() {
        check(&[("X=/\n", &[]), ("rm -rf $X", &["Enter"])], "", Some("X=/\nrm -rf $X"));
        check(&[("rm -rf \\\n", &[]), ("/\n", &[])], "", Some("rm -rf \\\n/"));
    }

    #[test]
    fn a_line_that_was_given_up_does_not_run() {
        check(&[("rm -rf /", &["C-c"]), ("ls\n", &[])], "", Some("ls"));
        check(&[("rm -rf /", &["C-u"]), ("ls\n", &[])], "", Some("ls"));
        check(&[("rm -rf /\u{3}", &[]), ("ls\n", &[])], "", Some("ls"));
    }

    #[test]
    fn a_line_from_the_history_is_read_from_the_screen() {
        check(&[("", &["Up"]), ("", &["Enter"])], "me@host:~$ git push -f", Some("git push -f"));
        check(&[("git pu", &["Tab"]), ("-f", &["Enter"])], "$ git push ", Some("git push -f"));
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
