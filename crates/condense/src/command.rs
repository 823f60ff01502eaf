//! Commands as filters name them, and the words of a command as filters read them.

use crate::filter::Filter;

/// Options of every command with which its output is for programs, or is no output of its work.
const ELSEWHERE: [&str; 10] = [
    "--json",
    "-json",
    "--porcelain",
    "--format",
    "--message-format",
    "--output-format",
    "--formatter",
    "--null",
    "--version",
    "--help",
];

/// Variables with options of a command, which may give its output another form as well.
pub(crate) const WITH_OPTIONS: [&str; 6] =
    ["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "GOFLAGS", "PYTEST_ADDOPTS", "NINJA_STATUS"];

/// Fewer letters could be the beginning of many options.
const SHORTEST_BEGINNING: usize = 4;

/// Commands that write nothing if all goes well, or nothing that a filter could take for its own.
const QUIET: [&str; 30] = [
    "cd", "export", "declare", "typeset", "local", "readonly", "set", "unset", "shopt", "umask", "unalias", "mkdir",
    "rmdir", "rm", "cp", "mv", "touch", "ln", "chmod", "chown", "true", "false", ":", "test", "[", "sleep", "wait",
    "exit", "kill", "sync",
];

/// Interpreters whose first argument may be the program that is meant.
const INTERPRETERS: [&str; 5] = ["python", "node", "php", "ruby", "perl"];

/// `program subcommand --option`, as a filter names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    program: String,
    /// The first words that are no options. A `*` at the end of one stands for any end.
    subcommands: Vec<String>,
    options: Vec<String>,
}

impl CommandPattern {
    /// Reads a pattern; none if there is no program in it.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next().filter(|program| !program.starts_with('-') && !program.contains(['/', '*']))?;
        let (options, subcommands) = words.partition(|word| word.starts_with('-'));
        Some(Self { program, subcommands, options })
    }

    fn matches(&self, words: &[&str], valued: &[String]) -> bool {
        let Some((program, arguments)) = words.split_first() else { return false };
        if *program != self.program || !self.options.iter().all(|option| has_option(arguments, option)) {
            return false;
        }
        let mut expected = self.subcommands.iter();
        let mut next = expected.next();
        let mut arguments = arguments.iter();
        while let (Some(wanted), Some(argument)) = (next, arguments.next()) {
            if valued.iter().any(|option| option == argument) {
                arguments.next();
            } else if !argument.starts_with(['-', '+']) {
                let fits = match wanted.strip_suffix('*') {
                    Some(start) => argument.starts_with(start),
                    None => argument == wanted,
                };
                if !fits {
                    return false;
                }
                next = expected.next();
            }
        }
        next.is_none()
    }
}

/// True if the arguments have the option: as a word, with `=value`, or as a letter among others (`-laR`). One behind `--`
/// counts as well, because it is for the program that the command runs (`cargo test -- --format json`).
fn has_option(arguments: &[&str], option: &str) -> bool {
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    arguments.iter().any(|argument| {
        let is_cluster = |letter: &str| {
            let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(letter) && letters.chars().all(char::is_alphanumeric))
        };
        argument.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            || letter.is_some_and(is_cluster)
    })
}

/// True if the arguments have the option, or a beginning of it, which many programs take for the whole (`--dry`). An
/// option without a hyphen is one letter of a word of letters, as `ps` has them: `f` in `ps axuf`.
fn may_have_option(arguments: &[&str], option: &str) -> bool {
    let is_letter = option.len() == 1;
    arguments.iter().any(|argument| {
        let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
        (name.len() >= SHORTEST_BEGINNING && name.starts_with("--") && option.starts_with(name))
            || (is_letter && argument.contains(option) && argument.chars().all(|letter| letter.is_ascii_alphabetic()))
    }) || (!is_letter && has_option(arguments, option))
}

/// The ways to read the words of a command: as they are, and as the program that an interpreter or a version stands for.
#[derive(Debug)]
pub(crate) struct Readings<'w>(Vec<Vec<&'w str>>);

impl<'w> Readings<'w> {
    pub(crate) fn of(words: &'w [String]) -> Self {
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some(program) = plain.first().copied() else { return Self(Vec::new()) };
        let mut readings = Vec::new();
        // `pip3.11`, `clang-15`, `jest@30`
        let bare = program.split_once('@').map_or(program, |(name, _)| name);
        let bare = bare.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.').trim_end_matches('-');
        if INTERPRETERS.contains(&bare) {
            readings.extend(interpreted(&plain));
        }
        if bare != program && !bare.is_empty() {
            readings.push(std::iter::once(bare).chain(plain.iter().skip(1).copied()).collect());
        }
        readings.insert(0, plain);
        Self(readings)
    }

    /// The programs that may be meant.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &'w str> {
        self.0.iter().filter_map(|words| words.first().copied())
    }

    /// True if the filter is for this command, and for the form of its output.
    pub(crate) fn are_for(&self, filter: &Filter) -> bool {
        self.0.iter().any(|words| {
            filter.commands.iter().any(|pattern| pattern.matches(words, &filter.valued))
                && !ELSEWHERE
                    .iter()
                    .copied()
                    .chain(filter.except.iter().map(String::as_str))
                    .any(|option| words.split_first().is_some_and(|(_, arguments)| may_have_option(arguments, option)))
        })
    }
}

/// `python -m NAME …` and `php path/NAME …`, as `NAME …`.
fn interpreted<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let at = words.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    let word = *words.get(at)?;
    let before = *words.get(at - 1)?;
    if matches!(before, "-c" | "-e" | "-r") {
        return None;
    }
    let is_module = before == "-m";
    // A module of a package is another program.
    let name = if is_module { word } else { word.rsplit('/').next().unwrap_or(word) };
    let name =
        [".js", ".cjs", ".mjs", ".phar", ".php", ".rb"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Some(std::iter::once(name).chain(words.get(at + 1..).unwrap_or(&[]).iter().copied()).collect())
}

/// True if a command of this name writes nothing that a filter could take for its own.
pub(crate) fn is_quiet(words: &[String]) -> bool {
    match words.first().map(String::as_str) {
        Some("source" | ".") => words.get(1).is_some_and(|file| file.ends_with("/activate")),
        Some(name) => QUIET.contains(&name),
        None => true,
    }
}

/// The text that `echo` or `printf` writes, as far as it is known. None for a format that puts its arguments together.
pub(crate) fn echoed(words: &[String]) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    let text = match (name.as_str(), arguments) {
        ("echo", arguments) => arguments.join(" "),
        ("printf", [format, arguments @ ..]) if format == "%s\\n" || format == "%s\n" => arguments.join("\n"),
        ("printf", [format, ..]) if !format.replace("%%", "").contains('%') => format.replace("%%", "%"),
        _ => return None,
    };
    // With `-e`, `echo` reads these as well. Any other sign may be part of a line that a filter names.
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    (!text.contains('\\')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, command: &str, expected: bool) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let pattern = CommandPattern::of(pattern).expect("a program");
        let valued = ["-C".to_owned()];
        let matched = Readings::of(&words).0.iter().any(|words| pattern.matches(words, &valued));
        assert_eq!(matched, expected, "{command}");
    }

    #[test]
    fn a_command_is_known_by_program_subcommands_and_options() {
        check("cargo test", "cargo test", true);
        check("cargo test", "cargo +nightly --locked test --lib", true);
        check("cargo test", "cargo build test", false);
        check("cargo test", "cargo", false);
        check("git clone", "git -C x clone y", true);
        check("git clone", "git -C clone log", false);
        check("npm run test*", "npm run test:unit", true);
        check("npm run test*", "npm run lint", false);
        check("ls -R", "ls -laR src", true);
        check("ls -R", "ls -la R", false);
        check("ls -R", "ls --color=autoR", false);
        check("node --test", "node --test a.js", true);
    }

    #[test]
    fn an_option_counts_in_every_spelling() {
        let has = |option: &str, command: &str| may_have_option(&command.split(' ').collect::<Vec<_>>(), option);
        assert!(has("--dry-run", "--dry-run") && has("--dry-run", "--dry") && has("--format", "--form=x"));
        assert!(has("-n", "-kn") && has("f", "axuf") && has("f", "aux f") && has("--forest", "--fo"));
        assert!(!has("--dry-run", "--d") && !has("f", "-ef") && !has("f", "aux") && !has("--format", "--force"));
    }

    #[test]
    fn the_lines_of_an_echo_are_known() {
        let text = |words: &[&str]| echoed(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(text(&["echo", "a", "b"]).as_deref(), Some("a b"));
        assert_eq!(text(&["echo", "-e", "a\\nb"]).as_deref(), Some("-e a\nb"));
        assert_eq!(text(&["printf", "a\\nb\\n"]).as_deref(), Some("a\nb\n"));
        assert_eq!(text(&["printf", "%s\\n", "a", "b"]).as_deref(), Some("a\nb"));
        assert_eq!(text(&["printf", "test %s ... ok", "a"]), None);
        assert_eq!(text(&["printf", "\\x41"]), None);
    }

    #[test]
    fn an_interpreter_stands_for_its_program() {
        check("pytest", "python3 -m pytest -q", true);
        check("pytest", "python3.11 -m pytest", true);
        check("pip install", "pip3.11 install x", true);
        check("jest", "jest@30 --ci", true);
        check("phpunit", "php vendor/bin/phpunit", true);
        check("jest", "node node_modules/.bin/jest.js", true);
        check("pytest", "python3 -c pytest", false);
        check("manage.py test", "python manage.py test", true);
    }
}
