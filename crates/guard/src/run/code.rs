//! Code in other languages: literal calls that run commands or delete trees.
//!
//! This is no interpreter. Strings, lists of strings, their concatenation and variables that hold them are understood;
//! whatever else is in a call makes it unknown.

use std::collections::HashMap;

use crate::marks::{HOME, START, UNKNOWN};
use crate::rules;
use crate::run::Run;

/// Calls that run a script or a list of words.
const RUNS: [&str; 31] = [
    "system",
    "popen",
    "execSync",
    "exec",
    "spawnSync",
    "spawn",
    "execFileSync",
    "execFile",
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "execvpe",
    "capture2",
    "capture2e",
    "capture3",
    "qx",
    "popen2",
    "script",
    "sh",
];

/// Calls that delete a whole tree.
const DELETES: [&str; 14] = [
    "rmtree",
    "remove_tree",
    "rm_rf",
    "rm_r",
    "remove_entry_secure",
    "rmSync",
    "rmdirSync",
    "rimraf",
    "RemoveAll",
    "removeSync",
    "remove_dir_all",
    "remove_entry",
    "emptyDirSync",
    "remove_dir",
];

/// Calls that print.
const PRINTS: [&str; 5] = ["print", "puts", "log", "printf", "echo"];

/// Expressions that mean a directory.
const DIRECTORIES: [(&str, char); 13] = [
    ("Path.home()", HOME),
    ("os.homedir()", HOME),
    ("Dir.home", HOME),
    ("os.environ['HOME']", HOME),
    ("os.environ[\"HOME\"]", HOME),
    ("os.getenv('HOME')", HOME),
    ("os.getenv(\"HOME\")", HOME),
    ("process.env.HOME", HOME),
    ("ENV['HOME']", HOME),
    ("$ENV{HOME}", HOME),
    ("os.getcwd()", START),
    ("process.cwd()", START),
    ("Dir.pwd", START),
];

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Sign(char),
}

impl Run<'_> {
    /// Looks into the code that an interpreter is given, if this is one.
    pub(crate) fn interpreter(&mut self, name: &str, arguments: &[String]) -> bool {
        let language = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let flags: &[&str] = match language {
            "python" | "pypy" | "ipython" | "expect" | "tclsh" => &["-c"],
            "perl" | "ruby" | "lua" | "luajit" | "elixir" | "Rscript" | "julia" | "groovy" | "osascript" => {
                &["-e", "-E"]
            }
            "node" | "nodejs" | "bun" | "tsx" | "ts-node" => &["-e", "-p", "--eval", "--print", "-pe"],
            "deno" => &["eval"],
            "php" => &["-r"],
            "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "original-awk" => return self.awk(arguments),
            _ => return false,
        };
        let mut words = arguments.iter();
        let mut found = false;
        while let Some(word) = words.next() {
            let attached = flags.iter().find_map(|flag| word.strip_prefix(flag)).filter(|rest| !rest.is_empty());
            // Options without values may stand before it in one word; those with values are not among them.
            let letter = if language == "python" { 'c' } else { 'e' };
            let cluster =
                word.strip_prefix('-').filter(|letters| !letters.starts_with(['-', 'M', 'I', 'm', 'r', 'W', 'X']));
            let is_flag = flags.contains(&word.as_str())
                || cluster.is_some_and(|letters| letters.len() < 6 && letters.ends_with(letter));
            if is_flag {
                if let Some(code) = words.next() {
                    found = true;
                    self.code_text(language, code);
                }
            } else if let Some(code) = attached.filter(|_| !word.starts_with("--")) {
                found = true;
                self.code_text(language, code.trim_start_matches('='));
            } else if !word.starts_with('-') || word == "-" {
                // A script, or standard input.
                let text = if word == "-" { Some(self.state.input.clone()) } else { self.known_file(word) };
                if let Some(text) = text.filter(|_| !found) {
                    self.code_text(language, &text);
                }
                return true;
            }
        }
        if !found {
            let input = self.state.input.clone();
            self.code_text(language, &input);
        }
        true
    }

    fn awk(&mut self, arguments: &[String]) -> bool {
        let mut words = arguments.iter();
        let mut program = None;
        let mut separator = None;
        while let Some(word) = words.next() {
            match word.as_str() {
                "-F" => separator = words.next().cloned(),
                "-v" | "-f" | "-i" => {
                    words.next();
                }
                flag if flag.starts_with("-F") => separator = flag.strip_prefix("-F").map(str::to_owned),
                flag if flag.starts_with('-') && flag.len() > 1 => {}
                _ => {
                    program = Some(word.clone());
                    break;
                }
            }
        }
        let Some(program) = program else { return true };
        let code = program.trim();
        let inside = code.strip_prefix('{').and_then(|code| code.strip_suffix('}')).map(str::trim);
        let printed =
            inside.and_then(|code| code.strip_prefix("print")).filter(|code| !code.contains(['|', '>', ';', '(']));
        if let Some(expression) = printed {
            let parts = tokens("awk", expression);
            let input = self.state.input.to_string();
            for line in input.lines() {
                let line = awk_line(line, &parts, separator.as_deref());
                self.write(&format!("{line}\n"));
            }
            return true;
        }
        self.code_text("awk", code);
        // `print "rm" | "sh"`
        if let Some((before, after)) = code.rsplit_once("| \"").or_else(|| code.rsplit_once("|\""))
            && (after.starts_with("sh\"") || after.starts_with("bash\""))
        {
            let texts = tokens("awk", before).into_iter().filter_map(|token| match token {
                Token::Text(text) => Some(text),
                _ => None,
            });
            let script: String = texts.collect();
            self.script_in_code(&script);
        }
        true
    }

    /// Looks through code for calls that matter.
    pub(crate) fn code_text(&mut self, language: &str, code: &str) {
        self.spend(code.len() / 32);
        let mut code = code.to_owned();
        for (text, mark) in DIRECTORIES {
            if code.contains(text) {
                code = code.replace(text, &format!("\"{mark}\""));
            }
        }
        let tokens = tokens(language, &code);
        let mut values: HashMap<String, Vec<String>> = HashMap::new();
        let mut printed = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let Token::Name(name) = token else {
                if let Token::Sign('`') = token
                    && let Some(Token::Text(script)) = tokens.get(at)
                    && language != "node"
                {
                    let script = script.clone();
                    self.script_in_code(&script);
                }
                continue;
            };
            // `name = "text"`
            if tokens.get(at) == Some(&Token::Sign('=')) && !matches!(tokens.get(at + 1), Some(Token::Sign('=' | '~')))
            {
                let (value, _) = arguments(&tokens, at + 1, &values, false);
                if let Some(words) = value {
                    values.insert(name.trim_start_matches(['$', '@']).to_owned(), words);
                }
                continue;
            }
            let base = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
            let runs = RUNS.contains(&base);
            let deletes = DELETES.contains(&base);
            let prints = PRINTS.contains(&base);
            if !(runs || deletes || prints) {
                continue;
            }
            let parenthesized = tokens.get(at) == Some(&Token::Sign('('));
            let follows_text =
                matches!(tokens.get(at), Some(Token::Text(_))) || matches!(tokens.get(at), Some(Token::Name(_)));
            if !parenthesized && !follows_text {
                continue;
            }
            let (words, next) = arguments(&tokens, at + usize::from(parenthesized), &values, parenthesized);
            // The arguments of a call may be calls themselves: `print(os.system("…"))`.
            let Some(words) = words else { continue };
            at = if prints { at } else { next.max(at) };
            if prints {
                printed = true;
                let text = words.join(" ");
                self.write(&format!("{text}\n"));
            } else if deletes {
                for path in &words {
                    rules::deleted(self, path);
                }
            } else if let [script] = words.as_slice() {
                let script = script.clone();
                self.script_in_code(&script);
            } else if !words.is_empty() {
                // `execvp("rm", ["rm", …])` names the program twice.
                let twice = words.len() > 1
                    && base.starts_with("exec")
                    && words.first().map(|w| last(w)) == words.get(1).map(|w| last(w));
                let words: Vec<String> = words.into_iter().skip(usize::from(twice)).collect();
                self.nested += 1;
                self.call(words);
                self.nested -= 1;
            }
        }
        if !printed {
            self.write(&UNKNOWN.to_string());
        }
    }

    fn script_in_code(&mut self, script: &str) {
        self.nested += 1;
        self.new_shell("sh".to_owned(), Vec::new(), |run| {
            run.derived(script);
        });
        self.nested -= 1;
    }
}

/// What `print` makes of one line: texts and columns, joined, with a blank for each comma.
fn awk_line(line: &str, parts: &[Token], separator: Option<&str>) -> String {
    let columns: Vec<&str> = match separator {
        Some(separator) => line.split(separator).collect(),
        None => line.split_whitespace().collect(),
    };
    if parts.is_empty() {
        return line.to_owned();
    }
    let mut out = String::new();
    for part in parts {
        match part {
            Token::Text(text) => out.push_str(text),
            Token::Sign(',') => out.push(' '),
            Token::Name(name) => match name.strip_prefix('$') {
                Some("0") => out.push_str(line),
                Some("NF") => out.push_str(columns.last().copied().unwrap_or("")),
                Some(number) => {
                    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    out.push_str(at.and_then(|at| columns.get(at)).copied().unwrap_or(""));
                }
                None => out.push(UNKNOWN),
            },
            Token::Sign(_) => out.push(UNKNOWN),
        }
    }
    out
}

fn last(path: &str) -> &str {
    crate::run::files::base_name(path)
}

/// The strings among the arguments of a call, up to its closing parenthesis (or the end of the statement), and where
/// that is. Options by name (`shell=True`) are left out.
fn arguments(
    tokens: &[Token],
    start: usize,
    values: &HashMap<String, Vec<String>>,
    parenthesized: bool,
) -> (Option<Vec<String>>, usize) {
    let mut words: Vec<String> = Vec::new();
    let mut open = usize::from(parenthesized);
    let mut joins = false;
    let mut at = start;
    let mut skipping = false;
    let mut expands = false;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Sign('(' | '[' | '{') => open += 1,
            Token::Sign(')' | ']' | '}') => {
                open = open.saturating_sub(1);
                if open == 0 && (parenthesized || !matches!(tokens.get(at), Some(Token::Sign('+' | ',')))) {
                    break;
                }
            }
            Token::Sign(';' | '\n') if !parenthesized || open == 0 => break,
            Token::Sign('+') => joins = true,
            // Perl and PHP join with a dot.
            Token::Sign('.') => joins = !words.is_empty(),
            Token::Sign(',') => {
                joins = false;
                skipping = false;
            }
            Token::Text(text) if !skipping => {
                let text = match text.strip_prefix('~') {
                    Some(rest) if expands && (rest.is_empty() || rest.starts_with('/')) => format!("{HOME}{rest}"),
                    _ => text.clone(),
                };
                match words.last_mut() {
                    Some(last) if joins => last.push_str(&text),
                    _ => words.push(text),
                }
                joins = false;
            }
            Token::Name(name) => {
                if tokens.get(at) == Some(&Token::Sign('=')) || tokens.get(at) == Some(&Token::Sign(':')) {
                    skipping = true;
                } else if name.ends_with("expanduser") || name.ends_with("expand_path") {
                    expands = true;
                } else if let Some(value) = values.get(name.trim_start_matches(['$', '@'])) {
                    match (words.last_mut(), value.as_slice()) {
                        (Some(last), [text]) if joins => last.push_str(text),
                        _ => words.extend(value.iter().cloned()),
                    }
                    joins = false;
                }
            }
            Token::Sign(_) | Token::Text(_) => {}
        }
    }
    (if words.is_empty() { None } else { Some(words) }, at)
}

/// The tokens of some code: names, strings and signs. Comments are left out.
fn tokens(language: &str, code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let letters: Vec<char> = code.chars().collect();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        match letter {
            '#' if !matches!(language, "node" | "nodejs" | "bun" | "deno" | "lua") => {
                while letters.get(at).is_some_and(|letter| *letter != '\n') {
                    at += 1;
                }
            }
            '/' if letters.get(at + 1) == Some(&'/')
                && matches!(language, "node" | "nodejs" | "bun" | "deno" | "php") =>
            {
                while letters.get(at).is_some_and(|letter| *letter != '\n') {
                    at += 1;
                }
            }
            '"' | '\'' | '`' => {
                let (text, next) = string(&letters, at);
                if letter == '`' && !matches!(language, "node" | "nodejs" | "bun" | "deno") {
                    tokens.push(Token::Sign('`'));
                }
                tokens.push(Token::Text(text));
                at = next;
            }
            _ if letter.is_alphabetic() || letter == '_' || letter == '$' || letter == '@' => {
                let start = at;
                while letters.get(at).is_some_and(|l| l.is_alphanumeric() || matches!(l, '_' | '.' | '$' | '@'))
                    || at > start && letters.get(at) == Some(&':') && letters.get(at + 1) == Some(&':')
                    || at > start && letters.get(at) == Some(&':') && letters.get(at - 1) == Some(&':')
                {
                    at += 1;
                }
                let name: String = letters.get(start..at).unwrap_or(&[]).iter().collect();
                // Perl and Ruby have more ways to quote.
                let opener = letters.get(at).copied();
                if matches!(name.as_str(), "q" | "qq" | "qx") && opener.is_some_and(|o| "{([<|/!".contains(o)) {
                    let (text, next) = enclosed(&letters, at);
                    if name == "qx" {
                        tokens.push(Token::Sign('`'));
                    }
                    tokens.push(Token::Text(text));
                    at = next;
                } else if name == "qw" && opener.is_some_and(|o| "{([<|/!".contains(o)) {
                    let (text, next) = enclosed(&letters, at);
                    for word in text.split_whitespace() {
                        tokens.push(Token::Text(word.to_owned()));
                        tokens.push(Token::Sign(','));
                    }
                    at = next;
                } else {
                    tokens.push(Token::Name(name));
                }
            }
            '%' if letters.get(at + 1) == Some(&'x') && letters.get(at + 2).is_some_and(|o| "{([<|/!".contains(*o)) => {
                let (text, next) = enclosed(&letters, at + 2);
                tokens.push(Token::Sign('`'));
                tokens.push(Token::Text(text));
                at = next;
            }
            ' ' | '\t' | '\r' => at += 1,
            _ => {
                tokens.push(Token::Sign(letter));
                at += 1;
            }
        }
    }
    tokens
}

/// A quoted string, and where the code goes on.
fn string(letters: &[char], start: usize) -> (String, usize) {
    let quote = letters.get(start).copied().unwrap_or('"');
    let triple = letters.get(start + 1) == Some(&quote) && letters.get(start + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let mut text = String::new();
    let mut at = start + width;
    while let Some(letter) = letters.get(at).copied() {
        let closes = if triple {
            letters.get(at..at + 3).is_some_and(|three| three.iter().all(|letter| *letter == quote))
        } else {
            letter == quote
        };
        if closes {
            return (text, at + width);
        }
        if letter == '\\' {
            let rest: String = letters.iter().skip(at + 1).take(9).collect();
            let (taken, decoded) = crate::syntax::unescape(&rest, true);
            if taken > 0 {
                text.extend(decoded);
                at += 1 + rest.get(..taken).unwrap_or("").chars().count();
            } else {
                text.extend(letters.get(at + 1));
                at += 2;
            }
            continue;
        }
        text.push(letter);
        at += 1;
    }
    (text, at)
}

/// Text between brackets, and where the code goes on.
fn enclosed(letters: &[char], start: usize) -> (String, usize) {
    let opener = letters.get(start).copied().unwrap_or('(');
    let closer = match opener {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let mut text = String::new();
    let mut open = 0_usize;
    for (at, letter) in letters.iter().enumerate().skip(start) {
        if *letter == closer && (opener == closer && open > 0 || open == 1) {
            return (text, at + 1);
        }
        if *letter == opener {
            open += 1;
            if open == 1 {
                continue;
            }
        }
        if *letter == closer {
            open = open.saturating_sub(1);
        }
        text.push(*letter);
    }
    (text, letters.len())
}
