//! Code in other languages: literal calls that run commands or delete trees.
//!
//! This is no interpreter. Strings, lists of strings, their concatenation and variables that hold them are understood;
//! whatever else is in a call makes it unknown.

use crate::marks::{HOME, START, UNKNOWN};
use crate::rules;
use crate::walk::Walk;
use crate::walk::tokens::{CodeToken, tokens};
use crate::walk::values::{Values, arguments, fill};

/// Calls that run a script or a list of words.
const RUNS: &[&str] = &[
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
    "spawnlp",
    "spawnvp",
    "spawnl",
    "spawnv",
    "posix_spawn",
    "pcntl_exec",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "cmd",
    "Command",
];

/// Calls that run code of the same language.
const EVALUATES: [&str; 4] = ["exec", "eval", "instance_eval", "Function"];

/// Calls that delete a whole tree.
const DELETES: &[&str] = &[
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
    "deltree",
];

/// Calls that delete a tree if they are told so by an option.
const DELETES_IF_RECURSIVE: [&str; 5] = ["rm", "rmdir", "unlink", "removeSync", "remove"];

/// How many lines of known input awk is followed through.
const MOST_LINES: usize = 64;

/// Calls that print.
const PRINTS: [&str; 5] = ["print", "puts", "log", "printf", "echo"];

/// Expressions that mean a directory.
const DIRECTORIES: [(&str, &str); 19] = [
    ("Path.home()", "~"),
    ("os.homedir()", "~"),
    ("require(\"os\").homedir()", "~"),
    ("require('os').homedir()", "~"),
    ("Dir.home", "~"),
    ("os.environ['HOME']", "~"),
    ("os.environ[\"HOME\"]", "~"),
    ("os.getenv('HOME')", "~"),
    ("os.getenv(\"HOME\")", "~"),
    ("process.env.HOME", "~"),
    ("ENV['HOME']", "~"),
    ("ENV[\"HOME\"]", "~"),
    ("ENVIRON[\"HOME\"]", "~"),
    ("$ENV{HOME}", "~"),
    ("os.getcwd()", "."),
    ("process.cwd()", "."),
    ("Dir.pwd", "."),
    ("os.sep", "/"),
    ("path.sep", "/"),
];

impl Walk<'_> {
    /// Looks into the code that an interpreter is given, if this is one.
    pub(crate) fn interpreter(&mut self, name: &str, arguments: &[String]) -> bool {
        let language = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        // Flags before code, the letter that may end a cluster, and options that take another word.
        let (flags, letter, valued): (&[&str], char, &[&str]) = match language {
            "python" | "pypy" | "ipython" => (&["-c"], 'c', &["-W", "-X", "--check-hash-based-pycs"]),
            "expect" | "tclsh" | "guile" => (&["-c"], 'c', &[]),
            "perl" | "ruby" => (&["-e", "-E"], 'e', &["-I", "-r", "-C"]),
            "lua" | "luajit" | "elixir" | "Rscript" | "R" | "julia" | "groovy" | "osascript" | "ghc" | "racket"
            | "scala" => (&["-e", "-E"], 'e', &["-l"]),
            "erl" => (&["-eval"], '\0', &[]),
            "emacs" => (&["--eval", "-eval"], '\0', &["-l", "-L"]),
            "node" | "nodejs" | "bun" | "tsx" | "ts-node" => {
                (&["-e", "-p", "--eval", "--print", "-pe"], 'e', &["-r", "--require", "--import", "-C"])
            }
            "deno" => (&["eval"], '\0', &[]),
            "php" => (&["-r"], 'r', &["-d", "-c"]),
            "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "original-awk" => return self.awk(arguments),
            _ => return false,
        };
        let mut codes: Vec<String> = Vec::new();
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            let attached = flags.iter().find_map(|flag| word.strip_prefix(flag)).filter(|rest| !rest.is_empty());
            // Options without values may stand before it in one word; those with values are not among them.
            let apart: &[char] = if language == "python" { &['-', 'm', 'W', 'X'] } else { &['-', 'M', 'I', 'm', 'r'] };
            let cluster = word.strip_prefix('-').filter(|letters| !letters.starts_with(apart));
            let is_flag = flags.contains(&word.as_str())
                || cluster.is_some_and(|letters| letters.len() < 6 && letters.ends_with(letter));
            if is_flag {
                if let Some((code, after)) = rest.split_first() {
                    codes.push(code.clone());
                    rest = after;
                }
                // What follows is the program's, but Perl and Ruby may be given more code.
                if language == "python" {
                    break;
                }
            } else if valued.contains(&word.as_str()) {
                rest = rest.get(1..).unwrap_or(&[]);
            } else if let Some(code) = attached.filter(|_| !word.starts_with("--") || word.contains('=')) {
                codes.push(code.trim_start_matches('=').to_owned());
            } else if !word.starts_with('-') || word == "-" {
                if codes.is_empty() {
                    // A script, or standard input.
                    let text = if word == "-" { Some(self.world.shell.input.clone()) } else { self.known_file(word) };
                    codes.extend(text.map(|text| text.to_string()));
                    if codes.is_empty() {
                        self.write(&UNKNOWN.to_string());
                        return true;
                    }
                } else if word != "--" {
                    rest = arguments.get(arguments.len() - after.len() - 1..).unwrap_or(&[]);
                }
                break;
            }
        }
        if codes.is_empty() {
            codes.push(self.world.shell.input.to_string());
        }
        let known = self.values_of(language, rest);
        for code in codes {
            self.code_with(language, &code, known.clone());
        }
        true
    }

    /// What a program finds when it starts: its arguments and its input.
    fn values_of(&self, language: &str, arguments: &[String]) -> Values {
        let with_program = || std::iter::once(String::new()).chain(arguments.iter().cloned()).collect();
        let input = self.world.shell.input.trim_end_matches('\n');
        let mut values = Values::new();
        match language {
            "python" | "pypy" => values.insert("sys.argv".to_owned(), with_program()),
            "php" => values.insert("argv".to_owned(), with_program()),
            "perl" | "ruby" => values.insert("ARGV".to_owned(), arguments.to_vec()),
            _ => values.insert("process.argv".to_owned(), with_program()),
        };
        if !input.is_empty() {
            for name in ["sys.stdin.read", "input", "STDIN.read", "gets", "_", "<STDIN>"] {
                values.insert(name.to_owned(), vec![input.to_owned()]);
            }
        }
        values
    }

    fn awk(&mut self, arguments: &[String]) -> bool {
        let mut words = arguments.iter();
        let mut program = None;
        let mut separator = None;
        let mut values = Values::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-F" => separator = words.next().cloned(),
                "-v" => {
                    if let Some((name, value)) = words.next().and_then(|word| word.split_once('=')) {
                        values.insert(name.to_owned(), vec![value.to_owned()]);
                    }
                }
                "-f" => {
                    let file = words.next().map_or("-", String::as_str);
                    let text = if file == "-" { Some(self.world.shell.input.clone()) } else { self.known_file(file) };
                    program = text.map(|text| text.to_string());
                    break;
                }
                "-i" => {
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
            inside.and_then(|code| code.strip_prefix("print ")).filter(|code| !code.contains(['|', '>', ';', '(']));
        let printed = printed.or(inside.filter(|code| *code == "print").map(|_| ""));
        let input = self.world.shell.input.to_string();
        if let Some(expression) = printed {
            let parts = tokens("awk", expression);
            for line in input.lines() {
                let line = awk_line(line, &parts, separator.as_deref());
                self.write(&format!("{line}\n"));
            }
            return true;
        }
        values.insert("ARGV".to_owned(), std::iter::once(String::new()).chain(words.cloned()).collect());
        let mut lines: Vec<&str> = input.lines().take(MOST_LINES).collect();
        if lines.is_empty() || code.starts_with("BEGIN") {
            lines = vec![""];
        }
        for line in lines {
            let mut values = values.clone();
            if !line.is_empty() {
                values.insert("0".to_owned(), vec![line.to_owned()]);
                let columns: Vec<&str> = match &separator {
                    Some(separator) => line.split(separator.as_str()).collect(),
                    None => line.split_whitespace().collect(),
                };
                for (at, column) in columns.into_iter().enumerate() {
                    values.insert((at + 1).to_string(), vec![column.to_owned()]);
                }
            }
            self.code_with("awk", code, values);
        }
        true
    }

    /// Looks through code for calls that matter.
    pub(crate) fn code_text(&mut self, language: &str, code: &str) {
        self.code_with(language, code, Values::new());
    }

    /// Looks through code for calls that matter, with what its names stand for at first.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of call")]
    fn code_with(&mut self, language: &str, code: &str, mut values: Values) {
        self.budget.spend(1 + code.len() / 32);
        if self.budget.is_exhausted() {
            return;
        }
        let code = with_directories(code);
        let tokens = tokens(language, &code);
        let directory = self.directory();
        // `system as s`: other names for calls.
        let mut renamed: Vec<(&str, &str)> = Vec::new();
        let mut printed: Option<String> = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let name = match token {
                CodeToken::Name(name) => name,
                CodeToken::Sign('`') => {
                    if language != "node" && matches!(tokens.get(at), Some(CodeToken::Text(_) | CodeToken::Template(_)))
                    {
                        let script = arguments(&tokens, at, &values, false).words.into_iter().next();
                        self.script_in_code(&script.unwrap_or_default(), None);
                    }
                    continue;
                }
                // `print "…" | "sh"`, and `"…" | getline`.
                CodeToken::Sign('|') if language == "awk" => {
                    self.awk_pipe(&tokens, at, printed.as_deref());
                    continue;
                }
                _ => continue,
            };
            let sign = |at: usize, sign: char| tokens.get(at) == Some(&CodeToken::Sign(sign));
            // `name = "text"`
            if sign(at, '=') && !matches!(tokens.get(at + 1), Some(CodeToken::Sign('=' | '~'))) {
                let found = arguments(&tokens, at + 1, &values, false);
                // A call on the right side is looked at for itself.
                if !found.words.is_empty() {
                    values.insert(name.trim_start_matches(['$', '@']).to_owned(), found.words);
                }
                continue;
            }
            // `for name in […]`
            if matches!(name.as_str(), "for" | "foreach")
                && let (Some(CodeToken::Name(variable)), Some(CodeToken::Name(word))) =
                    (tokens.get(at), tokens.get(at + 1))
                && matches!(word.as_str(), "in" | "of")
            {
                let found = arguments(&tokens, at + 2, &values, false);
                values.insert(variable.clone(), found.words);
                at += 2;
                continue;
            }
            if name == "as"
                && let (Some(CodeToken::Name(from)), Some(CodeToken::Name(to))) =
                    (at.checked_sub(2).and_then(|before| tokens.get(before)), tokens.get(at))
            {
                renamed.push((to, from));
                continue;
            }
            let base = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
            let base = renamed.iter().find(|(to, _)| *to == base).map_or(base, |(_, from)| from);
            let prints = PRINTS.contains(&base);
            let opens = base == "open" && language == "perl";
            let runs = RUNS.contains(&base) || opens;
            let deletes = DELETES.contains(&base);
            let may_delete = DELETES_IF_RECURSIVE.contains(&base);
            let moves = base == "chdir" || name == "Dir.chdir";
            let evaluates = EVALUATES.contains(&base) && *name == base && language != "perl" && language != "awk";
            if !(runs || deletes || prints || may_delete || moves || evaluates) {
                continue;
            }
            // `rm_rf!(…)`
            let at_arguments = at + usize::from(sign(at, '!'));
            let parenthesized = sign(at_arguments, '(');
            let follows = matches!(
                tokens.get(at_arguments),
                Some(CodeToken::Text(_) | CodeToken::Template(_) | CodeToken::Name(_) | CodeToken::Sign('*'))
            );
            if !parenthesized && !follows {
                continue;
            }
            let found = arguments(&tokens, at_arguments + usize::from(parenthesized), &values, parenthesized);
            let mut words = found.words;
            // `"…".execute()`
            if words.is_empty()
                && runs
                && let Some(CodeToken::Text(text)) = at.checked_sub(3).and_then(|before| tokens.get(before))
            {
                words.push(text.clone());
            }
            if words.is_empty() {
                continue;
            }
            // The arguments of a call may be calls themselves: `print(os.system("…"))`.
            at = if prints { at } else { found.next.max(at).saturating_sub(usize::from(!parenthesized)) };
            if let Some(directory) = found.directory {
                let path = self.absolute(&directory);
                self.world.shell.set_directory(path);
            }
            if prints {
                let text = printed_text(base, language, words);
                self.write(&text);
                printed = Some(text);
            } else if moves {
                let path = self.absolute(words.first().map_or("", String::as_str));
                self.world.shell.set_directory(path);
            } else if evaluates && (language == "python" || base != "exec") {
                if self.budget.enter() {
                    self.code_with(language, &words.join(""), values.clone());
                    self.budget.leave();
                }
            } else if deletes || may_delete && found.recursive {
                // Options and callbacks follow the path.
                let count = if deletes { words.len() } else { 1 };
                words.iter().take(count).for_each(|path| rules::deleted(self, path));
            } else if runs {
                self.run_in_code(base, words, opens);
            } else if name.ends_with("sh.rm") {
                words.insert(0, "rm".to_owned());
                self.run_in_code(base, words, false);
            }
        }
        self.world.shell.set_directory(directory);
        if printed.is_none() {
            self.write(&UNKNOWN.to_string());
        }
    }

    /// A pipe in awk: to a command, which reads what was printed last, or from one.
    fn awk_pipe(&mut self, tokens: &[CodeToken], at: usize, printed: Option<&str>) {
        let before = at.checked_sub(2).and_then(|before| tokens.get(before));
        match (before, tokens.get(at)) {
            (_, Some(CodeToken::Text(command))) => self.script_in_code(command, printed.map(str::to_owned)),
            (Some(CodeToken::Text(command)), Some(CodeToken::Name(name))) if name == "getline" => {
                self.script_in_code(command, None);
            }
            _ => {}
        }
    }

    /// Runs what a call is given: a script, or the words of a command.
    fn run_in_code(&mut self, base: &str, mut words: Vec<String>, opens: bool) {
        if opens {
            // `open(F, "script |")` and `open(F, "-|", words…)`; anything else is a file.
            match words.iter().position(|word| word.contains('|')) {
                Some(at) if matches!(words.get(at).map(String::as_str), Some("-|" | "|-")) => {
                    words.drain(..=at);
                }
                Some(at) => {
                    let script = words.get(at).map_or("", |word| word.trim_matches(['|', ' '])).to_owned();
                    words = vec![script];
                }
                None => return,
            }
        }
        match words.as_slice() {
            [] => {}
            [script] => self.script_in_code(script, None),
            // No program has a blank in its name: what follows is about something else.
            [script, ..] if script.contains(' ') => self.script_in_code(script, None),
            [first, second, ..] => {
                // `execvp("rm", ["rm", …])` names the program twice.
                let twice = (base.starts_with("exec") || base.contains("spawn")) && last(first) == last(second);
                self.world.nested += 1;
                self.call(words.get(usize::from(twice)..).unwrap_or(&[]).to_vec());
                self.world.nested -= 1;
            }
        }
    }

    fn script_in_code(&mut self, script: &str, input: Option<String>) {
        self.world.nested += 1;
        self.new_shell("sh".to_owned(), Vec::new(), |walk| {
            if let Some(input) = input {
                walk.world.shell.input = input.into();
            }
            walk.derived(script);
        });
        self.world.nested -= 1;
    }
}

/// The code with paths for the expressions that mean them.
fn with_directories(code: &str) -> String {
    let mut code = code.to_owned();
    for (text, path) in DIRECTORIES {
        if code.contains(text) {
            let path = match path {
                "~" => HOME.to_string(),
                "." => START.to_string(),
                path => path.to_owned(),
            };
            code = code.replace(text, &format!("\"{path}\""));
        }
    }
    code
}

/// What a call that prints makes of its words.
fn printed_text(base: &str, language: &str, words: Vec<String>) -> String {
    let mut words = words;
    match (base, words.split_first_mut()) {
        ("printf", Some((format, with))) => {
            fill(Some(format), with);
            format.clone()
        }
        _ if language == "perl" || language == "php" => words.concat(),
        _ => format!("{}\n", words.join(" ")),
    }
}

/// What `print` makes of one line: texts and columns, joined, with a blank for each comma.
fn awk_line(line: &str, parts: &[CodeToken], separator: Option<&str>) -> String {
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
            CodeToken::Text(text) => out.push_str(text),
            CodeToken::Sign(',') => out.push(' '),
            CodeToken::Name(name) => match name.strip_prefix('$') {
                Some("0") => out.push_str(line),
                Some("NF") => out.push_str(columns.last().copied().unwrap_or("")),
                Some(number) => {
                    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    out.push_str(at.and_then(|at| columns.get(at)).copied().unwrap_or(""));
                }
                None => out.push(UNKNOWN),
            },
            CodeToken::Sign(_) | CodeToken::Template(_) => out.push(UNKNOWN),
        }
    }
    out
}

fn last(path: &str) -> &str {
    crate::walk::files::base_name(path)
}
