//! Programs whose output is known: those that scripts use to put text together.

use crate::marks::{FRESH, HOME, NAME, REPO, SOME, STAR, START, TREE, UNKNOWN};
use crate::walk::files::{FRESH_DIRECTORY, base_name, normalized};
use crate::walk::{ScriptWalk, decode};

/// Gives the text that a program writes; none if that is not known. The name comes along because some share a function.
type Filter = fn(&mut ScriptWalk<'_>, &str, &[String]) -> Option<String>;

/// The programs whose output the walk knows.
fn filter_named(name: &str) -> Option<Filter> {
    Some(match name {
        "cat" | "pv" | "m4" | "bat" | "zcat" | "sort" | "shuf" | "column" | "nl" | "expand" | "unexpand" | "fold"
        | "fmt" | "strings" | "iconv" | "dos2unix" | "gzip" | "gunzip" | "xz" | "unxz" | "bzip2" | "bunzip2"
        | "zstd" => |walk, _, arguments| Some(walk.input_of(operands(arguments))),
        "tee" => |walk, _, arguments| Some(walk.tee(arguments)),
        "dd" => |walk, _, arguments| Some(walk.dd(arguments)),
        "sponge" => |walk, _, arguments| Some(walk.sponge(arguments)),
        "dirname" => |_, _, arguments| Some(joined(operands(arguments).map(|path| directory_of(path)))),
        "basename" => |walk, _, arguments| {
            Some(joined(operands(arguments).take(1).map(|path| base_name(&walk.world.concrete(path)).to_owned())))
        },
        "realpath" => |walk, _, arguments| Some(joined(operands(arguments).map(|path| walk.real_path(path)))),
        // Without an option it prints where a link points to, which is something else than the link.
        "readlink" => |walk, _, arguments| {
            let follows = arguments.iter().any(|word| {
                word.starts_with("--canon")
                    || word.starts_with('-') && !word.starts_with("--") && word.contains(['f', 'e', 'm'])
            });
            let is_link = |walk: &mut ScriptWalk<'_>, path: &&String| walk.real_path(path) != walk.absolute(path);
            let is_known = operands(arguments).all(|path| is_link(walk, &path));
            (follows || is_known).then(|| joined(operands(arguments).map(|path| walk.real_path(path))))
        },
        "base64" | "gbase64" | "openssl" | "base32" | "basenc" | "xxd" => {
            |walk, name, arguments| Some(walk.decode_input(name, arguments))
        }
        "rev" => |walk, _, arguments| {
            let text = walk.input_of(operands(arguments));
            Some(joined(text.lines().map(|line| line.chars().rev().collect())))
        },
        "tac" => |walk, _, arguments| {
            let text = walk.input_of(operands(arguments));
            Some(joined(text.lines().rev().map(str::to_owned)))
        },
        "tr" => |walk, _, arguments| Some(walk.translate(arguments)),
        "head" | "tail" => |walk, name, arguments| Some(walk.head_or_tail(name, arguments)),
        "uniq" => |walk, _, arguments| Some(walk.uniq(arguments)),
        "paste" => |walk, _, arguments| Some(walk.paste(arguments)),
        "cut" => |walk, _, arguments| Some(walk.cut_columns(arguments)),
        "grep" | "egrep" | "fgrep" | "rg" => |walk, _, arguments| walk.grep(arguments),
        "sed" | "gsed" => |walk, _, arguments| walk.sed(arguments),
        "ls" | "dir" | "exa" | "eza" => |walk, _, arguments| Some(walk.list_directories(arguments)),
        "mktemp" => |_, _, _| Some(format!("{FRESH_DIRECTORY}\n")),
        "whoami" | "hostname" | "date" | "id" | "uname" | "nproc" | "uuidgen" | "wc" | "logname" | "tty" => {
            |_, _, _| Some(format!("{SOME}\n"))
        }
        "seq" => |_, _, arguments| Some(number_sequence(arguments)),
        "printenv" => |walk, _, arguments| Some(walk.printenv(arguments)),
        "getent" => |_, _, _| Some(format!("{SOME}:x:{SOME}:{SOME}:{SOME}:{HOME}:/bin/bash\n")),
        "yes" => |_, _, arguments| {
            let word = operands(arguments).cloned().collect::<Vec<_>>().join(" ");
            Some(format!("{}\n", if word.is_empty() { "y".to_owned() } else { word }))
        },
        "compgen" => |_, _, arguments| {
            let lists = arguments.first().is_some_and(|flag| matches!(flag.as_str(), "-f" | "-d"));
            let pattern = arguments.iter().position(|word| word == "-G").and_then(|at| arguments.get(at + 1));
            match pattern {
                Some(pattern) => Some(format!("{}\n", crate::marks::alive(pattern))),
                None => lists.then(|| format!("{STAR}\n")),
            }
        },
        "jq" => |walk, _, arguments| walk.jq(arguments),
        "envsubst" => |walk, _, _| Some(walk.envsubst()),
        _ => return None,
    })
}

/// The words that are no options.
fn operands(arguments: &[String]) -> impl Iterator<Item = &String> {
    arguments.iter().filter(|word| !word.starts_with('-') || word.len() == 1)
}

impl ScriptWalk<'_> {
    /// The text that a program of this name writes; none if that is not known.
    pub(crate) fn filter(&mut self, name: &str, words: &[String]) -> Option<String> {
        filter_named(name)?(self, name, words.get(1..).unwrap_or(&[]))
    }

    fn tee(&mut self, arguments: &[String]) -> String {
        let input = self.world.shell.input.to_string();
        let keeps = arguments.iter().any(|word| word == "-a" || word == "--append");
        for path in operands(arguments) {
            self.write_file(path, &input, keeps);
        }
        input
    }

    fn dd(&mut self, arguments: &[String]) -> String {
        let input = self.world.shell.input.to_string();
        match arguments.iter().find_map(|word| word.strip_prefix("of=")) {
            Some(path) => {
                self.write_file(path, &input, false);
                String::new()
            }
            None => input,
        }
    }

    fn sponge(&mut self, arguments: &[String]) -> String {
        let input = self.world.shell.input.to_string();
        for path in operands(arguments) {
            self.write_file(path, &input, false);
        }
        String::new()
    }

    fn uniq(&mut self, arguments: &[String]) -> String {
        let text = self.input_of(operands(arguments));
        let mut lines: Vec<&str> = text.lines().collect();
        lines.dedup();
        joined(lines.into_iter().map(str::to_owned))
    }

    fn paste(&mut self, arguments: &[String]) -> String {
        let text = &self.world.shell.input;
        let separator = arguments.iter().find_map(|word| word.strip_prefix("-sd")).filter(|word| !word.is_empty());
        format!("{}\n", text.lines().collect::<Vec<_>>().join(separator.unwrap_or(" ")))
    }

    /// `jq -r .key` of known text: the first string that goes by the last name of the path.
    fn jq(&mut self, arguments: &[String]) -> Option<String> {
        let is_raw = arguments.iter().any(|word| word.starts_with('-') && word.contains('r'));
        let mut words = operands(arguments);
        let path = words.next()?;
        // A text is its own output.
        if let Some(text) = path.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return Some(format!("{text}\n"));
        }
        let key = path.rsplit('.').next()?.trim_matches(['"', '?']);
        let is_path =
            path.starts_with('.') && path.chars().all(|letter| letter.is_alphanumeric() || "._-\"?".contains(letter));
        let text = self.input_of(words);
        let (_, after) = text.split_once(&format!("\"{key}\"")).filter(|_| is_raw && is_path && !key.is_empty())?;
        let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        Some(format!("{}\n", value.split('"').next()?))
    }

    fn printenv(&mut self, arguments: &[String]) -> String {
        let name = operands(arguments).next().cloned().unwrap_or_default();
        format!("{}\n", self.scalar(&name).unwrap_or_else(|| UNKNOWN.to_string()))
    }

    /// `envsubst` expands variables as a here-document does, and runs nothing.
    fn envsubst(&mut self) -> String {
        let text = self.world.shell.input.to_string();
        let document = format!("cat <<BASHFUL\n{}\nBASHFUL", text.replace(['`', '\\'], ""));
        self.capturing(|walk| {
            walk.run_derived(&document.replace("$(", "( "));
        })
    }

    /// The text that a program reads: its files, or standard input.
    pub(super) fn input_of<'w>(&mut self, operands: impl Iterator<Item = &'w String>) -> String {
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

    fn decode_input(&mut self, name: &str, arguments: &[String]) -> String {
        let decodes = arguments.iter().any(|word| {
            matches!(word.as_str(), "--decode" | "-di" | "-id" | "-D")
                || word.starts_with("-d") && word.len() <= 3
                || name == "xxd" && word.starts_with("-r")
                || word == "-d"
        });
        if !decodes {
            return SOME.to_string();
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
        plain.unwrap_or_else(|| UNKNOWN.to_string())
    }

    fn translate(&mut self, arguments: &[String]) -> String {
        let flags: String = arguments.iter().filter_map(|word| word.strip_prefix('-')).collect();
        let sets: Vec<Vec<char>> = operands(arguments).map(|set| letters_of(set)).collect();
        let text = self.world.shell.input.to_string();
        match sets.as_slice() {
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
        }
    }

    fn head_or_tail(&mut self, name: &str, arguments: &[String]) -> String {
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
        // A listing is one line here, and many where it is real.
        if name == "tail" && count.starts_with('+') && text.contains([STAR, TREE]) {
            return text;
        }
        let total = units.len();
        let kept = match (name, count.chars().next()) {
            ("head", Some('-')) => 0..total.saturating_sub(number),
            ("head", _) => 0..number.min(total),
            (_, Some('+')) => number.saturating_sub(1).min(total)..total,
            _ => total.saturating_sub(number)..total,
        };
        units.get(kept).unwrap_or(&[]).concat()
    }

    fn cut_columns(&mut self, arguments: &[String]) -> String {
        let value = |flag: &str| {
            let at = arguments.iter().position(|word| word.starts_with(flag))?;
            let attached = arguments.get(at)?.strip_prefix(flag)?;
            if attached.is_empty() { arguments.get(at + 1).cloned() } else { Some(attached.to_owned()) }
        };
        let delimiter = value("-d").or_else(|| value("--delimiter=")).unwrap_or_else(|| "\t".to_owned());
        let fields = value("-f").or_else(|| value("--fields="));
        let letters = value("-c").or_else(|| value("-b"));
        let values = [&delimiter, fields.as_ref().or(letters.as_ref()).unwrap_or(&delimiter)];
        let text = self.input_of(operands(arguments).filter(|word| !values.contains(word)));
        let ranges = fields.as_ref().or(letters.as_ref()).map_or(0, String::len);
        // Each letter is looked up in each range.
        self.budget.spend(text.len() * (1 + ranges / 4) / 64);
        if self.budget.is_exhausted() {
            return UNKNOWN.to_string();
        }
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
        out
    }

    fn grep(&mut self, arguments: &[String]) -> Option<String> {
        let flags: String =
            arguments.iter().filter(|w| !w.starts_with("--")).filter_map(|w| w.strip_prefix('-')).collect();
        let mut operands = arguments.iter().filter(|word| !word.starts_with('-'));
        let wanted = operands.next()?;
        let files: Vec<String> = operands.cloned().collect();
        let text = self.input_of(files.iter());
        if flags.contains(['c', 'l', 'q']) {
            return Some(SOME.to_string());
        }
        let expression = self.expression(wanted, flags.contains('i'))?;
        self.budget.spend(text.len() / 64);
        let mut out = String::new();
        for line in text.lines() {
            // The names behind a listing may match or not.
            let found = expression.is_match(line) || line.contains([STAR, UNKNOWN, SOME, TREE, FRESH]);
            // Of hidden names, an expression may choose the one that matters.
            if !flags.contains('v') && crate::pattern::may_be(line, ".git") && expression.is_match(".git") {
                out.push_str(".git\n");
            }
            if flags.contains('o') {
                for part in expression.find_iter(line) {
                    out.push_str(part.as_str());
                    out.push('\n');
                }
            } else if found != (flags.contains('v') && !line.contains([STAR, UNKNOWN, SOME, TREE, FRESH])) {
                // A listing with a filter is no longer everything.
                // Leaving out some names is not choosing names, and new files are chosen by their sign.
                let is_new = line.starts_with("?? ") && wanted.starts_with('^') && wanted.contains('?');
                let is_all = is_new || flags.contains('v') && !line.contains(TREE);
                if is_all {
                    out.push_str(line);
                } else {
                    out.push_str(&line.replace([STAR, TREE, FRESH], &SOME.to_string()));
                }
                out.push('\n');
            }
        }
        Some(out)
    }

    /// The output of `ls`: the names in a directory.
    fn list_directories(&mut self, arguments: &[String]) -> String {
        let mut out = String::new();
        // `-d` lists the directory, not its files.
        let lists_itself = arguments.iter().any(|word| {
            word == "--directory" || word.starts_with('-') && !word.starts_with("--") && word.contains('d')
        });
        for path in operands(arguments) {
            if lists_itself || path.contains(crate::marks::is_wild) {
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
pub(super) fn joined(lines: impl Iterator<Item = String>) -> String {
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

/// `seq`: the numbers of a short sequence without a step, otherwise only some number.
fn number_sequence(arguments: &[String]) -> String {
    let numbers: Vec<i64> = operands(arguments).filter_map(|word| word.parse().ok()).collect();
    let (first, last) = match numbers.as_slice() {
        [last] => (1, *last),
        [first, last] => (*first, *last),
        _ => (1, 0),
    };
    if (first..first.saturating_add(64)).contains(&last) && arguments.len() < 3 {
        joined((first..=last).map(|number| number.to_string()))
    } else {
        format!("{SOME}\n")
    }
}
