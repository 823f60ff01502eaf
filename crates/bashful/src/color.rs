//! Colors on terminals, unless they are turned off.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::OnceLock;

use clap::ValueEnum;

/// The value of `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets the choice for this run.
pub(crate) fn choose(choice: ColorChoice) {
    // The arguments are parsed once, so nothing is overwritten.
    let _ = CHOICE.set(choice);
}

/// The choice in these arguments. Help and error messages need it before the arguments are understood.
pub(crate) fn choice_in(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let words: Vec<String> = arguments
        // Words after `--` belong to the command.
        .take_while(|argument| argument != "--")
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let separate = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    separate.chain(joined).find_map(|word| ColorChoice::from_str(word, false).ok()).unwrap_or_default()
}

/// True if text on standard output may have colors.
pub(crate) fn on_stdout() -> bool {
    are_wanted(stdout().is_terminal())
}

/// True if text on standard error may have colors.
pub(crate) fn on_stderr() -> bool {
    are_wanted(stderr().is_terminal())
}

fn are_wanted(is_terminal: bool) -> bool {
    match CHOICE.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
        }
    }
}

/// The meaning of a color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Red: a failure.
    Failed,
    /// Green: a success.
    Done,
}

impl Paint {
    /// Colors a text. The caller guarantees that the text has no escape sequences.
    pub(crate) fn on(self, text: &str) -> String {
        let code = match self {
            Self::Failed => 31,
            Self::Done => 32,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Help with bold headings and names, where standard output has colors.
pub(crate) fn help(text: &str) -> String {
    if on_stdout() { emphasized(text) } else { text.to_owned() }
}

/// Headings begin at the margin and end in a colon. Names of commands and options are indented, and end where two spaces follow.
fn emphasized(text: &str) -> String {
    let bold = |words: &str| format!("\x1b[1m{words}\x1b[0m");
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let (margin, rest) = line.split_at(indent);
        match (indent, rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))) {
            (0, Some((heading, rest))) if !heading.contains(' ') || heading == "Exit code" => {
                format!("{} {rest}", bold(&format!("{heading}:"))).trim_end().to_owned()
            }
            (2..=6, _) if rest.contains("  ") || rest.starts_with('-') => {
                let end = rest.find("  ").unwrap_or(rest.len());
                format!("{margin}{}{}", bold(&rest[..end]), &rest[end..])
            }
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_names_are_bold_in_help() {
        let help = "About it\n\nUsage: bashful run [OPTIONS]\n\nOptions:\n  -t, --timeout <TIME>  Time limit\n      --json            Print JSON\n";
        assert_eq!(
            emphasized(help),
            "About it\n\n\x1b[1mUsage:\x1b[0m bashful run [OPTIONS]\n\n\x1b[1mOptions:\x1b[0m\n  \x1b[1m-t, --timeout <TIME>\x1b[0m  Time limit\n      \x1b[1m--json\x1b[0m            Print JSON\n"
        );
    }

    #[test]
    fn the_choice_is_found_before_the_arguments_are_understood() {
        let choice = |words: &[&str]| choice_in(words.iter().map(OsString::from));
        assert_eq!(choice(&["run", "--color", "never", "x"]), ColorChoice::Never);
        assert_eq!(choice(&["--color=always", "rnu"]), ColorChoice::Always);
        assert_eq!(choice(&["run", "--", "--color=always"]), ColorChoice::Auto);
        assert_eq!(choice(&["--color", "purple"]), ColorChoice::Auto);
    }
}
