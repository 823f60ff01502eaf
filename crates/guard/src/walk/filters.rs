//! Programs whose output is known: those that scripts use to put text together.

use regex::RegexBuilder;

use crate::marks::{HOME, NAME, REPO, SOME, STAR, START, UNKNOWN};
use crate::walk::files::{base_name, normalized};
use crate::walk::{Walk, decode};

/// How big a compiled expression may be, in bytes. Larger ones leave the text unknown.
const LARGEST_EXPRESSION: usize = 1 << 18;

impl Walk<'_> {
    /// Writes what a program of this name would write, if that is known.
    pub(crate) fn filter(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        let operands = || arguments.iter().filter(|word| !word.starts_with('-') || word.len() == 1);
        let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.as_str()));
        let text = match name {
            "cat" | "pv" | "m4" | "bat" | "zcat" | "sort" | "shuf" | "column" | "nl" | "expand" | "unexpand"
            | "fold" | "fmt" | "strings" | "iconv" | "dos2unix" => self.input_of(operands()),
            "tee" => {
                let input = self.world.shell.input.to_string();
                let keeps = has(&["-a", "--append"]);
                for path in operands() {
                    self.write_file(path, &input, keeps);
                }
                input
            }
            "dd" => {
                let input = self.world.shell.input.to_string();
                if let Some(path) = arguments.iter().find_map(|word| word.strip_prefix("of=")) {
                    self.write_file(path, &input, false);
                    return true;
                }
                input
            }
            "sponge" => {
                let input = self.world.shell.input.to_string();
                for path in operands() {
                    self.write_file(path, &input, false);
                }
                return true;
            }
            "dirname" => joined(operands().map(|path| directory_of(path))),
            "basename" => joined(operands().take(1).map(|path| base_name(path).to_owned())),
            "realpath" | "readlink" => {
                let paths: Vec<String> = operands().cloned().collect();
                joined(paths.iter().map(|path| self.absolute(path)))
            }
            "base64" | "gbase64" | "openssl" | "base32" | "basenc" | "xxd" => return self.decoded(name, arguments),
            "rev" => {
                let text = self.input_of(operands());
                joined(text.lines().map(|line| line.chars().rev().collect()))
            }
            "tac" => {
                let text = self.input_of(operands());
                joined(text.lines().rev().map(str::to_owned))
            }
            "tr" => return self.translate(arguments),
            "head" | "tail" => return self.head_or_tail(name, arguments),
            "uniq" => {
                let text = self.input_of(operands());
                let mut lines: Vec<&str> = text.lines().collect();
                lines.dedup();
                joined(lines.into_iter().map(str::to_owned))
            }
            "paste" => {
                let text = self.world.shell.input.to_string();
                let separator =
                    arguments.iter().find_map(|word| word.strip_prefix("-sd")).filter(|word| !word.is_empty());
                format!("{}\n", text.lines().collect::<Vec<_>>().join(separator.unwrap_or(" ")))
            }
            "cut" => return self.cut(arguments),
            "grep" | "egrep" | "fgrep" | "rg" => return self.grep(arguments),
            "sed" | "gsed" => return self.sed(arguments),
            "ls" | "dir" | "exa" | "eza" => self.listing(operands()),
            "mktemp" => "/tmp/tmp.XXXXXXXXXX\n".to_owned(),
            "whoami" | "hostname" | "date" | "id" | "uname" | "nproc" | "uuidgen" | "wc" | "logname" | "tty" => {
                format!("{SOME}\n")
            }
            "seq" => {
                let numbers: Vec<i64> = operands().filter_map(|word| word.parse().ok()).collect();
                let (first, last) = match numbers.as_slice() {
                    [last] => (1, *last),
                    [first, last] => (*first, *last),
                    _ => (1, 0),
                };
                // Steps and long sequences are only some numbers.
                if (first..first.saturating_add(64)).contains(&last) && arguments.len() < 3 {
                    joined((first..=last).map(|number| number.to_string()))
                } else {
                    format!("{SOME}\n")
                }
            }
            "printenv" => {
                let name = operands().next().cloned().unwrap_or_default();
                format!("{}\n", self.scalar(&name).unwrap_or_else(|| UNKNOWN.to_string()))
            }
            "getent" => format!("{SOME}:x:{SOME}:{SOME}:{SOME}:{HOME}:/bin/bash\n"),
            "yes" => {
                let word = operands().cloned().collect::<Vec<_>>().join(" ");
                format!("{}\n", if word.is_empty() { "y".to_owned() } else { word })
            }
            "envsubst" => {
                let text = self.world.shell.input.to_string();
                let document = format!("cat <<BASHFUL\n{}\nBASHFUL", text.replace(['`', '\\'], ""));
                self.capturing(|walk| {
                    walk.derived(&document.replace("$(", "( "));
                })
            }
            _ => return false,
        };
        self.write(&text);
        true
    }

    /// What a program reads: its files, or standard input.
    fn input_of<'w>(&mut self, operands: impl Iterator<Item = &'w String>) -> String {
        let mut text = String::new();
        let mut any = false;
        for path in operands {
            any = true;
            if path == "-" {
                text.push_str(&self.world.shell.input);
            } else {
                text.push_str(&self.read_file(path));
            }
        }
        if any { text } else { self.world.shell.input.to_string() }
    }

    fn decoded(&mut self, name: &str, arguments: &[String]) -> bool {
        let decodes = arguments.iter().any(|word| {
            matches!(word.as_str(), "--decode" | "-di" | "-id" | "-D")
                || word.starts_with("-d") && word.len() <= 3
                || name == "xxd" && word.starts_with("-r")
                || word == "-d"
        });
        if !decodes {
            self.write(&SOME.to_string());
            return true;
        }
        let files =
            arguments.iter().filter(|word| !word.starts_with('-') && !matches!(word.as_str(), "enc" | "base64"));
        let text = self.input_of(files);
        let base32 = name == "base32" || arguments.iter().any(|word| word == "--base32");
        let hexadecimal = name == "xxd" || arguments.iter().any(|word| word == "--base16");
        let plain = if text.contains(UNKNOWN) {
            None
        } else if hexadecimal {
            decode::hexadecimal(&text)
        } else if base32 {
            decode::base32(&text)
        } else {
            decode::base64(&text)
        };
        self.write(&plain.unwrap_or_else(|| UNKNOWN.to_string()));
        true
    }

    fn translate(&mut self, arguments: &[String]) -> bool {
        let flags: String = arguments.iter().filter_map(|word| word.strip_prefix('-')).collect();
        let sets: Vec<Vec<char>> = arguments
            .iter()
            .filter(|word| !word.starts_with('-') || word.len() == 1)
            .map(|set| letters_of(set))
            .collect();
        let text = self.world.shell.input.to_string();
        let out: String = match sets.as_slice() {
            [gone, ..] if flags.contains('d') => {
                text.chars().filter(|letter| gone.contains(letter) == flags.contains(['c', 'C'])).collect()
            }
            [from, to] if !flags.contains(['c', 'C']) => text
                .chars()
                .map(|letter| match from.iter().position(|other| *other == letter) {
                    Some(at) => to.get(at).or(to.last()).copied().unwrap_or(letter),
                    None => letter,
                })
                .collect(),
            _ => text,
        };
        self.write(&out);
        true
    }

    fn head_or_tail(&mut self, name: &str, arguments: &[String]) -> bool {
        let mut count = "10".to_owned();
        let mut bytes = false;
        let mut files = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some(flag @ ("n" | "c")) => {
                    bytes = flag == "c";
                    count = words.next().cloned().unwrap_or_default();
                }
                Some(attached) if attached.starts_with(['n', 'c']) => {
                    bytes = attached.starts_with('c');
                    attached.trim_start_matches(['n', 'c']).clone_into(&mut count);
                }
                Some(long) if long.starts_with("-lines=") => long.trim_start_matches("-lines=").clone_into(&mut count),
                Some(number) if number.parse::<usize>().is_ok() => number.clone_into(&mut count),
                Some(_) => {}
                None => files.push(word.clone()),
            }
        }
        let text = self.input_of(files.iter());
        let number: usize = count.trim_start_matches(['+', '-']).parse().unwrap_or(10);
        let units: Vec<String> = if bytes {
            text.chars().map(String::from).collect()
        } else {
            text.lines().map(|line| format!("{line}\n")).collect()
        };
        let total = units.len();
        let kept = match (name, count.chars().next()) {
            ("head", Some('-')) => 0..total.saturating_sub(number),
            ("head", _) => 0..number.min(total),
            (_, Some('+')) => number.saturating_sub(1).min(total)..total,
            _ => total.saturating_sub(number)..total,
        };
        let out: String = units.get(kept).unwrap_or(&[]).concat();
        self.write(&out);
        true
    }

    fn cut(&mut self, arguments: &[String]) -> bool {
        let value = |flag: &str| {
            let at = arguments.iter().position(|word| word.starts_with(flag))?;
            let attached = arguments.get(at)?.strip_prefix(flag)?;
            if attached.is_empty() { arguments.get(at + 1).cloned() } else { Some(attached.to_owned()) }
        };
        let delimiter = value("-d").or_else(|| value("--delimiter=")).unwrap_or_else(|| "\t".to_owned());
        let fields = value("-f").or_else(|| value("--fields="));
        let letters = value("-c").or_else(|| value("-b"));
        let text = self.world.shell.input.to_string();
        let mut out = String::new();
        for line in text.lines() {
            let (units, ranges, joint): (Vec<String>, &String, &str) = match (&fields, &letters) {
                (Some(ranges), _) => (line.split(delimiter.as_str()).map(str::to_owned).collect(), ranges, &delimiter),
                (None, Some(ranges)) => (line.chars().map(String::from).collect(), ranges, ""),
                _ => break,
            };
            let kept: Vec<String> = units
                .iter()
                .enumerate()
                .filter(|(at, _)| in_ranges(ranges, at + 1))
                .map(|(_, unit)| unit.clone())
                .collect();
            out.push_str(&kept.join(joint));
            out.push('\n');
        }
        self.write(&out);
        true
    }

    fn grep(&mut self, arguments: &[String]) -> bool {
        let flags: String =
            arguments.iter().filter(|w| !w.starts_with("--")).filter_map(|w| w.strip_prefix('-')).collect();
        let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
        let Some(wanted) = operands.next() else { return false };
        let files: Vec<String> = operands.cloned().collect();
        let text = self.input_of(files.iter());
        if flags.contains(['c', 'l', 'q']) {
            self.write(&SOME.to_string());
            return true;
        }
        let Some(expression) = expression(wanted, flags.contains('i')) else {
            self.write(&UNKNOWN.to_string());
            return true;
        };
        self.budget.spend(text.len() / 64);
        let mut out = String::new();
        for line in text.lines() {
            // What a listing stands for may match or not.
            let found = expression.is_match(line) || line.contains([STAR, UNKNOWN, SOME, crate::marks::TREE]);
            if flags.contains('o') {
                for part in expression.find_iter(line) {
                    out.push_str(part.as_str());
                    out.push('\n');
                }
            } else if found != (flags.contains('v') && !line.contains([STAR, UNKNOWN, SOME, crate::marks::TREE])) {
                // A listing with a filter is no longer everything.
                out.push_str(&line.replace([STAR, crate::marks::TREE], &SOME.to_string()));
                out.push('\n');
            }
        }
        self.write(&out);
        true
    }

    fn sed(&mut self, arguments: &[String]) -> bool {
        let mut scripts = Vec::new();
        let mut files = Vec::new();
        let mut quiet = false;
        let mut in_place = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-e" | "--expression" => scripts.extend(words.next().cloned()),
                "-f" => {
                    words.next();
                }
                flags if flags.starts_with('-') && flags.len() > 1 => {
                    quiet |= !flags.starts_with("--") && flags.contains('n');
                    in_place |= flags.starts_with("-i") || flags.starts_with("--in-place");
                }
                _ if scripts.is_empty() => scripts.push(word.clone()),
                _ => files.push(word.clone()),
            }
        }
        let mut text = self.input_of(files.iter());
        let mut printed = String::new();
        for command in scripts.iter().flat_map(|script| commands_of(script)) {
            match substitution(&command) {
                Some((wanted, by, flags)) => {
                    self.budget.spend(text.len() / 64);
                    text = substituted(&text, &wanted, &by, &flags);
                    if flags.contains('e') {
                        let lines = text.clone();
                        self.derived(&lines);
                    }
                }
                None => {
                    if let Some(lines) = selected(&text, &command) {
                        printed.push_str(&lines);
                    } else if command.trim_start().starts_with("e ") {
                        let script = command.trim_start().trim_start_matches("e ").to_owned();
                        self.derived(&script);
                    }
                }
            }
        }
        let out = if quiet { printed } else { text };
        if in_place {
            for path in &files {
                if self.known_file(path).is_some() {
                    self.write_file(path, &out, false);
                }
            }
        } else {
            self.write(&out);
        }
        true
    }

    /// What `ls` prints: the names in a directory.
    fn listing<'w>(&mut self, operands: impl Iterator<Item = &'w String>) -> String {
        let mut out = String::new();
        for path in operands {
            if path.contains(crate::marks::is_wild) {
                out.push_str(path);
            } else {
                let own = self.directory();
                let same = self.absolute(path) == normalized(&own);
                out.push(if same { STAR } else { NAME });
            }
            out.push('\n');
        }
        if out.is_empty() { format!("{STAR}\n") } else { out }
    }
}

/// Lines, each with its end.
fn joined(lines: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn directory_of(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((directory, _)) => directory.to_owned(),
        None if trimmed.starts_with([HOME, START, REPO]) => format!("{trimmed}/.."),
        None if path.starts_with('/') => "/".to_owned(),
        None => ".".to_owned(),
    }
}

/// The letters of a set of `tr`: ranges, classes and escapes.
fn letters_of(set: &str) -> Vec<char> {
    let set = set.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9");
    let set = set.replace("[:space:]", " \t\n\r").replace("[:alpha:]", "A-Za-z").replace("[:alnum:]", "A-Za-z0-9");
    let letters: Vec<char> = crate::expand::unescape_all(&set, true).chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(end)) if *end >= letter && u32::from(*end) - u32::from(letter) < 256 => {
                out.extend(letter..=*end);
                at += 3;
            }
            _ => {
                out.push(letter);
                at += 1;
            }
        }
    }
    out
}

fn in_ranges(ranges: &str, at: usize) -> bool {
    ranges.split(',').any(|range| match range.split_once('-') {
        Some((from, to)) => (from.parse().unwrap_or(1)..=to.parse().unwrap_or(usize::MAX)).contains(&at),
        None => range.parse() == Ok(at),
    })
}

/// A basic or extended expression, taken for what both agree on.
fn expression(text: &str, ignore_case: bool) -> Option<regex::Regex> {
    let text = text.replace("\\(", "(").replace("\\)", ")").replace("\\|", "|").replace("\\+", "+");
    RegexBuilder::new(&text).case_insensitive(ignore_case).size_limit(LARGEST_EXPRESSION).build().ok()
}

/// The commands of a script of `sed`, split at semicolons and line ends outside of `s///`.
fn commands_of(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut rest = script.trim_start();
    while !rest.is_empty() {
        let length = match substitution_length(rest) {
            Some(length) => length + rest.get(length..).unwrap_or("").find([';', '\n']).unwrap_or(rest.len() - length),
            None => rest.find([';', '\n']).unwrap_or(rest.len()),
        };
        commands.push(rest.get(..length).unwrap_or("").to_owned());
        rest = rest.get(length + 1..).unwrap_or("").trim_start();
    }
    commands
}

/// Where the last separator of `s///` stands.
fn substitution_length(command: &str) -> Option<usize> {
    let rest = command.strip_prefix('s')?;
    let separator = rest.chars().next().filter(|letter| !letter.is_alphanumeric() && !letter.is_whitespace())?;
    let mut seen = 0;
    let mut escaped = false;
    for (at, letter) in command.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == separator {
            seen += 1;
            if seen == 3 {
                return Some(at + letter.len_utf8());
            }
        }
    }
    None
}

/// What `s/wanted/by/flags` says.
fn substitution(command: &str) -> Option<(String, String, String)> {
    let length = substitution_length(command)?;
    let separator = command.chars().nth(1)?;
    let inside = command.get(1 + separator.len_utf8()..length - separator.len_utf8())?;
    let mut parts: Vec<String> = vec![String::new()];
    let mut escaped = false;
    for letter in inside.chars() {
        if escaped {
            if letter != separator {
                parts.last_mut()?.push('\\');
            }
            parts.last_mut()?.push(letter);
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == separator {
            parts.push(String::new());
        } else {
            parts.last_mut()?.push(letter);
        }
    }
    let [wanted, by] = parts.as_slice() else { return None };
    Some((wanted.clone(), by.clone(), command.get(length..)?.to_owned()))
}

fn substituted(text: &str, wanted: &str, by: &str, flags: &str) -> String {
    let Some(expression) = expression(wanted, flags.contains(['i', 'I'])) else { return UNKNOWN.to_string() };
    let mut replacement = by.replace('$', "$$").replace("\\&", "\u{1}").replace('&', "${0}").replace('\u{1}', "&");
    for group in 1..=9 {
        replacement = replacement.replace(&format!("\\{group}"), &format!("${{{group}}}"));
    }
    let replacement = replacement.replace("\\n", "\n");
    let mut out = String::new();
    for line in text.lines() {
        let changed = if flags.contains('g') {
            expression.replace_all(line, replacement.as_str())
        } else {
            expression.replace(line, replacement.as_str())
        };
        out.push_str(&changed);
        out.push('\n');
    }
    out
}

/// The lines that `Np`, `$p` or `/x/p` print.
fn selected(text: &str, command: &str) -> Option<String> {
    let address = command.trim().strip_suffix('p')?;
    let lines: Vec<&str> = text.lines().collect();
    let line = if address == "$" {
        lines.last().copied()
    } else if let Ok(number) = address.parse::<usize>() {
        lines.get(number.checked_sub(1)?).copied()
    } else if let Some(wanted) = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        let expression = expression(wanted, false)?;
        let lines = lines.into_iter().filter(|line| expression.is_match(line));
        return Some(joined(lines.map(str::to_owned)));
    } else {
        return Some(text.to_owned());
    };
    line.map(|line| format!("{line}\n"))
}
