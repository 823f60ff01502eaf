//! Output of git that the script itself has put there: messages, objects, names, settings, and formats with letters of their own.

use crate::marks::{FRESH, SOME, UNKNOWN, is_vague};
use crate::walk::ScriptWalk;
use crate::walk::files::normalized;
use crate::walk::git::lists::patch_of;
use crate::walk::git::memory::{EMPTY_TREE, KnownRef, short_name};

/// Options of subcommands with a message, whose value is the next word.
const MESSAGE_VALUED: &str = "mFCct";

/// The words of a subcommand that takes a message: the message, and the operands.
#[derive(Debug, Default)]
pub(super) struct MessageWords {
    pub(super) message: Option<String>,
    pub(super) operands: Vec<String>,
    pub(super) amends: bool,
}

impl ScriptWalk<'_> {
    /// Writes the output of a subcommand that reads texts. False if it is none of these.
    pub(super) fn print_git(&mut self, name: &str, arguments: &[String]) -> bool {
        let text = match name {
            "log" | "show" | "rev-list" | "whatchanged" | "stash" | "reflog" => self.git_log(name, arguments),
            "cat-file" => self.git_object(arguments),
            "hash-object" => Some(self.hash_object(arguments)),
            "mktree" | "write-tree" | "commit-tree" => Some(self.made_tree(name, arguments)),
            "notes" => self.git_notes(arguments),
            "stripspace" => Some(stripped(&self.world.shell.input)),
            "column" => Some(self.world.shell.input.to_string()),
            "interpret-trailers" => Some(
                self.input_of(arguments.iter().filter(|word| !word.starts_with('-') && !word.contains([':', '=']))),
            ),
            "check-ref-format" => {
                let reference = arguments.iter().rfind(|word| !word.starts_with('-'));
                reference.map(|reference| format!("{}\n", normalized(reference).trim_start_matches('/')))
            }
            "sh-i18n--envsubst" => None,
            "symbolic-ref" => {
                let is_short = arguments.iter().any(|word| word == "--short");
                let prefix = if is_short { "" } else { "refs/heads/" };
                self.world.files.git.branch.as_ref().map(|branch| format!("{prefix}{branch}\n"))
            }
            "var" => arguments.first().and_then(|name| self.scalar(name)).map(|value| format!("{value}\n")),
            _ => return false,
        };
        let text = text.unwrap_or_else(|| self.unknown_from_git(arguments));
        self.write_from_git(&text);
        true
    }

    /// Unknown output that may repeat any text which the script has put into git.
    pub(super) fn unknown_from_git(&mut self, arguments: &[String]) -> String {
        let mut known = self.world.files.git.all_texts();
        for word in arguments {
            known.push('\n');
            known.push_str(word);
        }
        self.unknown_made_of(&known)
    }

    /// `git log --format=…`: letters of the format are known, and messages of the script's own commits.
    fn git_log(&mut self, name: &str, arguments: &[String]) -> Option<String> {
        if name == "show"
            && let Some(text) = arguments.iter().find_map(|word| self.shown_file(word))
        {
            return Some(text);
        }
        if name == "show" && self.names_everything(arguments) {
            return Some(patch_of(&FRESH.to_string()));
        }
        let at = arguments.iter().position(|word| {
            ["--format", "--pretty"].iter().any(|option| {
                word.strip_prefix(option)
                    .is_some_and(|rest| rest.is_empty() && *option == "--format" || rest.starts_with('='))
            })
        })?;
        let format = match arguments.get(at)?.split_once('=') {
            Some((_, format)) => format.to_owned(),
            None => arguments.get(at + 1)?.clone(),
        };
        let (format, end) = match format.strip_prefix("format:") {
            Some(format) => (format.to_owned(), ""),
            None => (format.strip_prefix("tformat:").unwrap_or(&format).to_owned(), "\n"),
        };
        if !format.contains('%') {
            return None;
        }
        let is_single = arguments.iter().any(|word| matches!(word.as_str(), "-1" | "-n1" | "--max-count=1"))
            || name == "show"
            || arguments.windows(2).any(|pair| matches!(pair, [flag, count] if flag == "-n" && count == "1"));
        let git = &self.world.files.git;
        let notes = git.notes.last().cloned().unwrap_or_default();
        let stash = git.stashes.last().cloned().filter(|_| name == "stash");
        let mut messages: Vec<Option<String>> = git.messages.iter().rev().cloned().map(Some).collect();
        messages.truncate(if is_single { 1 } else { 8 });
        if messages.is_empty() || !is_single {
            messages.push(None);
        }
        let lines = messages
            .iter()
            .map(|message| format!("{}{end}", formatted(&format, message.as_deref(), &notes, stash.as_deref())));
        Some(lines.collect())
    }

    /// The file that `git show` is asked for, if the script has written it: `:path`, `HEAD:path`.
    fn shown_file(&mut self, word: &str) -> Option<String> {
        if word.starts_with('-') {
            return None;
        }
        let git = &self.world.files.git;
        if let Some(text) = git.object(git.resolved(word)) {
            return Some(text.clone());
        }
        let (_, path) = word.split_once(':')?;
        // `:0:path` is the same as `:path`.
        let path = path.strip_prefix(['0', '1', '2', '3']).and_then(|rest| rest.strip_prefix(':')).unwrap_or(path);
        self.known_file(path).map(|text| text.to_string())
    }

    /// `git cat-file -p NAME`, and names on standard input with `--batch`.
    fn git_object(&mut self, arguments: &[String]) -> Option<String> {
        if let Some(text) = arguments.iter().find_map(|word| self.shown_file(word)) {
            return Some(text);
        }
        if arguments.iter().any(|word| word.starts_with("--batch")) {
            let input = self.world.shell.input.to_string();
            let texts = input.lines().take(16).filter_map(|line| self.shown_file(line));
            let texts: Vec<String> = texts.map(|text| format!("{SOME} blob {SOME}\n{text}\n")).collect();
            return (!texts.is_empty()).then(|| texts.concat());
        }
        let is_commit = arguments.iter().any(|word| word == "HEAD" || word == "commit");
        let message = self.world.files.git.messages.last().filter(|_| is_commit)?;
        Some(format!("tree {SOME}\nauthor {SOME}\ncommitter {SOME}\n\n{message}\n"))
    }

    /// `git hash-object`: the text gets a name, by which it can be read again.
    fn hash_object(&mut self, arguments: &[String]) -> String {
        let is_tree = arguments.windows(2).any(|pair| matches!(pair, [flag, kind] if flag == "-t" && kind == "tree"));
        let files: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-') && !matches!(word.as_str(), "tree" | "blob" | "commit" | "tag"))
            .cloned()
            .collect();
        if is_tree && (files.is_empty() || files.iter().any(|file| file == "/dev/null")) {
            return format!("{EMPTY_TREE}\n");
        }
        let mut texts: Vec<String> = Vec::new();
        if arguments.iter().any(|word| word == "--stdin") {
            texts.push(self.world.shell.input.to_string());
        }
        let listed = arguments.iter().any(|word| word == "--stdin-paths");
        let input = if listed { self.world.shell.input.to_string() } else { String::new() };
        for file in files.iter().map(String::as_str).chain(input.lines()).take(16) {
            texts.push(self.read_file(file).to_string());
        }
        let names: Vec<String> = texts
            .iter()
            .map(|text| match text {
                text if is_vague(text) => SOME.to_string(),
                text => self.world.files.git.store(text),
            })
            .collect();
        format!("{}\n", names.join("\n"))
    }

    /// The name of a new tree or commit. It keeps saying whether that holds every new file, or none at all.
    fn made_tree(&mut self, name: &str, arguments: &[String]) -> String {
        let input = self.world.shell.input.to_string();
        let git = &self.world.files.git;
        let is_fresh = input.contains(FRESH) || arguments.iter().any(|word| git.holds_everything(word));
        let is_empty = match name {
            "mktree" => input.trim().is_empty(),
            "write-tree" => git.gone.index,
            _ => arguments.first().is_some_and(|word| git.is_empty_tree(word)),
        };
        if is_empty {
            let commit = if name == "commit-tree" { SOME.to_string() } else { String::new() };
            return format!("{commit}{EMPTY_TREE}\n");
        }
        if name == "commit-tree" {
            let words = self.message_words(arguments);
            if let Some(message) = words.message {
                self.world.files.git.note_message(message, false);
            }
        }
        if is_fresh { format!("{SOME}{FRESH}\n") } else { format!("{SOME}\n") }
    }

    /// `git notes add`, `show` and their like.
    fn git_notes(&mut self, arguments: &[String]) -> Option<String> {
        let words = self.message_words(arguments);
        match words.operands.first().map(String::as_str) {
            Some("add" | "append") => {
                self.world.files.git.notes.extend(words.message);
                Some(String::new())
            }
            Some("show") => self.world.files.git.notes.last().map(|note| format!("{note}\n")),
            _ => None,
        }
    }

    /// The message that options give, and the operands.
    pub(super) fn message_words(&mut self, arguments: &[String]) -> MessageWords {
        let mut found = MessageWords::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (given, from_file) = if let Some(long) = word.strip_prefix("--") {
                let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                found.amends |= name == "amend";
                if !matches!(name, "message" | "file") {
                    continue;
                }
                (attached.map(str::to_owned).or_else(|| words.next().cloned()), name == "file")
            } else if let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) {
                let Some(at) = flags.find(|letter| MESSAGE_VALUED.contains(letter)) else { continue };
                let attached = flags.get(at + 1..).filter(|rest| !rest.is_empty()).map(str::to_owned);
                let value = attached.or_else(|| words.next().cloned());
                match flags.get(at..=at) {
                    Some("m") => (value, false),
                    Some("F") => (value, true),
                    _ => continue,
                }
            } else {
                found.operands.push(word.clone());
                continue;
            };
            let Some(mut text) = given else { continue };
            if from_file {
                text = if text == "-" { self.world.shell.input.to_string() } else { self.read_file(&text).to_string() };
            }
            let text = text.trim_end_matches('\n').to_owned();
            found.message = Some(match found.message {
                Some(before) => format!("{before}\n\n{text}"),
                None => text,
            });
        }
        found
    }

    /// `git for-each-ref --format=…`, `git branch --format=…`, `git tag --format=…`: one line for each of the script's own refs
    /// that may be meant, and one for all others.
    pub(super) fn formatted_refs(&mut self, name: &str, format: &str, arguments: &[String]) -> String {
        let is_shell = arguments.iter().any(|word| matches!(word.as_str(), "--shell" | "-s" | "--perl" | "-p"));
        let patterns: Vec<String> = arguments
            .iter()
            .filter(|word| !word.starts_with('-') && *word != format)
            .map(|pattern| crate::marks::alive(pattern))
            .collect();
        let kind = match name {
            "branch" => "refs/heads/",
            "tag" => "refs/tags/",
            _ => "refs/",
        };
        let is_meant = |known: &&KnownRef| {
            let fits = |pattern: &String| {
                crate::pattern::matches(pattern, &known.name)
                    || crate::pattern::matches(pattern, short_name(&known.name))
                    || known
                        .name
                        .strip_prefix(pattern.as_str())
                        .is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
            };
            known.name.starts_with(kind) && (patterns.is_empty() || patterns.iter().any(fits))
        };
        let found: Vec<&KnownRef> = self.world.files.git.refs.iter().filter(is_meant).take(8).collect();
        let mut lines: Vec<String> = found.iter().map(|known| reference_line(format, Some(known), is_shell)).collect();
        if lines.is_empty() || patterns.is_empty() || patterns.iter().any(|pattern| pattern.ends_with("heads")) {
            lines.push(reference_line(format, None, is_shell));
        }
        lines.join("\n")
    }
}

/// One line of a format for refs: `%(field)`, `%2d` for a letter by its code, `%%`.
fn reference_line(format: &str, known: Option<&KnownRef>, is_shell: bool) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some((field, tail)) = after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            let value = reference_field(field, known);
            let quote = if is_shell { "'" } else { "" };
            out.push_str(quote);
            out.push_str(&if is_shell { value.replace('\'', "'\\''") } else { value });
            out.push_str(quote);
            rest = tail;
        } else if let Some(tail) = after.strip_prefix('%') {
            out.push('%');
            rest = tail;
        } else if let Some(letter) = after.get(..2).and_then(letter_of) {
            out.push(letter);
            rest = after.get(2..).unwrap_or("");
        } else {
            out.push('%');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn reference_field(field: &str, known: Option<&KnownRef>) -> String {
    let Some(known) = known else {
        return if matches!(field, "if" | "then" | "else" | "end") { String::new() } else { SOME.to_string() };
    };
    let message = known.message.clone().unwrap_or_else(|| SOME.to_string());
    match field {
        "refname" => known.name.clone(),
        "refname:short" => short_name(&known.name).to_owned(),
        field if field.starts_with("refname:") => base(&known.name).to_owned(),
        "contents:subject" | "subject" => message.lines().next().unwrap_or("").to_owned(),
        "contents" | "contents:body" | "body" => message,
        "if" | "then" | "else" | "end" => String::new(),
        _ => SOME.to_string(),
    }
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A letter by its two hexadecimal digits.
fn letter_of(digits: &str) -> Option<char> {
    u8::from_str_radix(digits, 16).ok().map(char::from)
}

/// The format of a log for one commit, of which the message may be known.
fn formatted(format: &str, message: Option<&str>, notes: &str, stash: Option<&str>) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        // `%+b`, `%-b`, `% b`: a line end or a blank that depends on the value.
        let after = after.strip_prefix(['+', '-', ' ']).unwrap_or(after);
        let Some(letter) = after.chars().next() else { break };
        let tail = after.get(letter.len_utf8()..).unwrap_or("");
        rest = tail;
        match letter {
            'n' => out.push('\n'),
            '%' => out.push('%'),
            'x' => match tail.get(..2).and_then(letter_of) {
                Some(code) => {
                    out.push(code);
                    rest = tail.get(2..).unwrap_or("");
                }
                None => out.push_str("%x"),
            },
            's' | 'B' | 'b' | 'f' => {
                out.push_str(&message.map_or_else(|| SOME.to_string(), |text| part_of(letter, text)));
            }
            'N' if !notes.is_empty() => out.push_str(notes),
            'C' | 'w' | '<' | '>' | '|' => rest = behind_color(tail),
            '(' => {
                out.push(SOME);
                rest = tail.split_once(')').map_or("", |(_, rest)| rest);
            }
            'g' if tail.starts_with('s') && stash.is_some() => {
                out.push_str(stash.unwrap_or(""));
                rest = tail.get(1..).unwrap_or("");
            }
            'a' | 'c' | 'g' | 'G' => {
                out.push(SOME);
                rest = tail.get(1..).unwrap_or("");
            }
            'd' | 'D' | 'e' | 'N' => out.push(UNKNOWN),
            _ => out.push(SOME),
        }
    }
    out.push_str(rest);
    out
}

/// The text behind a color or a width: `%Cred`, `%C(red)`, `%<(20)`.
fn behind_color(text: &str) -> &str {
    let inside = text.trim_start_matches(['<', '>', '|']);
    if let Some(inside) = inside.strip_prefix('(') {
        return inside.split_once(')').map_or("", |(_, rest)| rest);
    }
    ["red", "green", "blue", "reset"].iter().find_map(|color| text.strip_prefix(color)).unwrap_or(text)
}

/// A part of a message by the letter of its placeholder.
fn part_of(letter: char, message: &str) -> String {
    let (subject, body) = message.split_once("\n\n").unwrap_or((message, ""));
    match letter {
        's' => subject.replace('\n', " "),
        'b' => body.to_owned(),
        'f' => subject.replace(|letter: char| !letter.is_alphanumeric() && letter != '.' && letter != '_', "-"),
        _ => message.to_owned(),
    }
}

/// Text as `git stripspace` leaves it: without blanks at the ends of lines, and without empty lines at both ends.
fn stripped(text: &str) -> String {
    let mut out = String::new();
    let mut is_blank = true;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            is_blank = true;
            continue;
        }
        if is_blank && !out.is_empty() {
            out.push('\n');
        }
        is_blank = false;
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_format_are_known() {
        assert_eq!(formatted("git push %x2df%n%%", None, "", None), "git push -f\n%");
        assert_eq!(formatted("%C(red)%s|%b", Some("a\n\nb"), "", None), "a|b");
        assert_eq!(formatted("%an %h", None, "", None), format!("{SOME} {SOME}"));
        assert_eq!(reference_line("a%20b %(refname) %%", None, false), format!("a b {SOME} %"));
    }

    #[test]
    fn blank_lines_around_a_text_are_stripped() {
        assert_eq!(stripped("\n\n  a  \n\n\nb\n\n"), "  a\n\nb\n");
    }
}
