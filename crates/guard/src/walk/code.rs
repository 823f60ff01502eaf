//! Code in other languages: literal calls that run commands or delete trees.
//!
//! This is no interpreter. Strings, lists of strings, their concatenation and variables that hold them are understood;
//! anything else makes a call unknown.

use crate::marks::{HOME, START, TREE, UNKNOWN};
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::code_functions::{CodeFunction, functions};
use crate::walk::code_scan::{CodeCall, CodeScan};
use crate::walk::program::Language;
use crate::walk::tokens::{CodeToken, tokens};
use crate::walk::values::{Values, fill};

/// Expressions that mean a directory.
const DIRECTORIES: [(&str, &str); 22] = [
    ("Path.home()", "~"),
    ("Path.cwd()", "."),
    ("os.environ.get('HOME')", "~"),
    ("os.environ.get(\"HOME\")", "~"),
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

/// The options by which an interpreter is given code.
struct Interpreter {
    /// Options before code.
    flags: &'static [&'static str],
    /// The letter of such an option at the end of a cluster; NUL if there is none.
    letter: char,
    /// Options that take another word.
    valued: &'static [&'static str],
}

/// The interpreter of a language, by the name of its program without a version.
fn interpreter_named(language: &str) -> Option<Interpreter> {
    let (flags, letter, valued): (&[&str], char, &[&str]) = match language {
        "python" | "pypy" | "ipython" => (&["-c"], 'c', &["-W", "-X", "--check-hash-based-pycs"]),
        "guile" => (&["-c"], 'c', &[]),
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
        _ => return None,
    };
    Some(Interpreter { flags, letter, valued })
}

impl Interpreter {
    /// True if the next word is code.
    fn is_flag(&self, language: &str, word: &str) -> bool {
        // Options without values may stand before it in one word; those with values are not among them.
        let apart: &[char] = if language == "python" { &['-', 'm', 'W', 'X'] } else { &['-', 'M', 'I', 'm', 'r'] };
        let cluster = word.strip_prefix('-').filter(|letters| !letters.starts_with(apart));
        self.flags.contains(&word) || cluster.is_some_and(|letters| letters.len() < 6 && letters.ends_with(self.letter))
    }

    /// The code that is attached to an option.
    fn attached<'w>(&self, word: &'w str) -> Option<&'w str> {
        let code = self.flags.iter().find_map(|flag| word.strip_prefix(flag)).filter(|code| !code.is_empty())?;
        (!word.starts_with("--") || word.contains('=')).then(|| code.trim_start_matches('='))
    }
}

impl ScriptWalk<'_> {
    /// Looks into the code that an interpreter is given, if this is one.
    pub(crate) fn run_interpreter(&mut self, name: &str, arguments: &[String]) -> bool {
        let language = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if matches!(language, "awk" | "gawk" | "mawk" | "nawk" | "goawk" | "original-awk") {
            self.run_awk(arguments);
            return true;
        }
        let Some(interpreter) = interpreter_named(language) else { return false };
        // Only the syntax is looked at, and blocks that Perl and Ruby run meanwhile.
        let checks = |word: &String| matches!(word.as_str(), "-c" | "-wc" | "-cw");
        if matches!(language, "perl" | "ruby")
            && arguments.iter().take_while(|word| word.starts_with('-')).any(checks)
            && !arguments.iter().any(|word| word.contains("BEGIN"))
        {
            return true;
        }
        self.run_preloads(language, arguments);
        if language == "perl" && self.run_perl(arguments) {
            return true;
        }
        // `python3 -m timeit -s setup code`
        if language == "python"
            && let Some(at) = arguments
                .windows(2)
                .position(|pair| matches!(pair, [flag, module] if flag == "-m" && module == "timeit"))
        {
            let code = arguments.iter().skip(at + 2).filter(|word| !word.starts_with('-'));
            let code = code.cloned().collect::<Vec<_>>().join("\n");
            self.scan_code(language, &code, Values::new());
            return true;
        }
        let Some((mut codes, rest)) = self.given_code(language, &interpreter, arguments) else {
            self.write(&UNKNOWN.to_string());
            return true;
        };
        if codes.is_empty() {
            codes.push(self.world.shell.input.to_string());
        }
        // A program that is read from standard input finds nothing more there.
        let reads_itself = codes.iter().any(|code| **code == *self.world.shell.input);
        let known = self.values_of(language, rest, reads_itself);
        // With `-n` and `-p` Perl runs the code for every line of its input.
        let has_loop = |word: &String| {
            word.starts_with('-')
                && !word.starts_with("--")
                && word.contains(['n', 'p', 'i'])
                && !word.starts_with("-M")
                && !word.starts_with("-I")
        };
        let loops = language == "perl" && arguments.iter().take_while(|word| word.starts_with('-')).any(has_loop);
        let program = Language::named(language).filter(|_| !loops);
        let is_file = !arguments.iter().any(|word| interpreter.is_flag(language, word));
        let prints = |word: &String| matches!(word.as_str(), "-p" | "--print" | "-pe");
        let prints =
            program == Some(Language::Script) && arguments.iter().take_while(|word| word.starts_with('-')).any(prints);
        for mut code in codes {
            // The value of the last expression is printed.
            if prints {
                code = format!("console.log(eval({}))", in_quotes(&code));
            }
            if program.is_none_or(|program| !self.try_program(program, &code, rest, is_file)) {
                self.scan_code(language, &code, known.clone());
            }
        }
        true
    }

    /// The code among the arguments of an interpreter, and the arguments of the code; none if it is in an unknown file.
    fn given_code<'w>(
        &mut self,
        language: &str,
        interpreter: &Interpreter,
        arguments: &'w [String],
    ) -> Option<(Vec<String>, &'w [String])> {
        let mut codes: Vec<String> = Vec::new();
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            if interpreter.is_flag(language, word) {
                rest = after;
                if let Some((code, after)) = after.split_first() {
                    codes.push(code.clone());
                    rest = after;
                }
                // The rest are arguments of the program, but Perl and Ruby may be given more code.
                if language == "python" {
                    break;
                }
            } else if interpreter.valued.contains(&word.as_str()) {
                rest = after.get(1..).unwrap_or(&[]);
            } else if let Some(code) = interpreter.attached(word) {
                codes.push(code.to_owned());
                rest = after;
            } else if word.starts_with('-') && word != "-" {
                rest = after;
            } else {
                if codes.is_empty() {
                    // A script, or standard input.
                    codes.push(self.code_in_file(word)?);
                    rest = after;
                }
                break;
            }
        }
        Some((codes, rest))
    }

    /// The text of a file that the script has written; `-` is standard input.
    pub(super) fn code_in_file(&mut self, file: &str) -> Option<String> {
        let text = if file == "-" { Some(self.world.shell.input.clone()) } else { self.known_file(file) };
        text.map(|text| text.to_string())
    }

    /// The names that a program finds when it starts: its arguments and its input.
    fn values_of(&self, language: &str, arguments: &[String], reads_itself: bool) -> Values {
        let with_program = || std::iter::once(String::new()).chain(arguments.iter().cloned()).collect();
        let input = self.world.shell.input.trim_end_matches('\n');
        let mut values = Values::new();
        match language {
            "python" | "pypy" => values.insert("sys.argv".to_owned(), with_program()),
            "php" => values.insert("argv".to_owned(), with_program()),
            "perl" | "ruby" => values.insert("ARGV".to_owned(), arguments.to_vec()),
            _ => values.insert("process.argv".to_owned(), with_program()),
        };
        if !input.is_empty() && !reads_itself {
            for name in ["sys.stdin.read", "input", "STDIN.read", "gets", "_", "<STDIN>"] {
                values.insert(name.to_owned(), vec![input.to_owned()]);
            }
        }
        values
    }

    /// Looks through code for calls that matter.
    pub(crate) fn scan_code_text(&mut self, language: &str, code: &str) {
        self.scan_code(language, code, Values::new());
    }

    /// Looks through code for calls that matter. `values` are the values of names at its beginning.
    ///
    /// Returns the values at its end.
    pub(super) fn scan_code(&mut self, language: &str, code: &str, values: Values) -> Values {
        self.budget.spend(1 + code.len() / 32);
        if self.budget.is_exhausted() {
            return values;
        }
        let code = with_directories(code);
        let tokens = tokens(language, &code);
        let directory = self.directory();
        let functions = functions(language, &code);
        // A comprehension names its variable behind the call that uses it.
        let loops = CodeScan::new(language, &tokens, values.clone()).into_loops();
        let mut scan = CodeScan::new(language, &tokens, values);
        scan.values.extend(loops);
        while let Some(token) = scan.next() {
            match token {
                CodeToken::Name(name) => {
                    if scan.note_name(name) {
                        continue;
                    }
                    if let Some(function) = functions.iter().find(|function| function.is_called(name)) {
                        self.call_code_function(&mut scan, function);
                    }
                    let runs_decoded = scan.runs_decoded(name);
                    let call = scan.call(name);
                    if runs_decoded && call.as_ref().is_none_or(|call| call.words.iter().all(String::is_empty)) {
                        self.find_rule(&rules::HIDDEN_CODE);
                    }
                    if let Some(call) = call {
                        self.run_code_call(&mut scan, call);
                    }
                }
                CodeToken::Sign('`') => {
                    if let Some(script) = scan.backquoted() {
                        self.script_in_code(&script, None);
                    }
                }
                // `print "…" | "sh"`, and `"…" | getline`.
                CodeToken::Sign('|') if language == "awk" => {
                    self.awk_pipe(&scan);
                }
                _ => {}
            }
        }
        self.world.shell.set_directory(directory);
        if scan.printed.is_none() {
            self.write_unknown_of_code(&code);
        }
        scan.values
    }

    /// Writes unknown output of some code.
    pub(super) fn write_unknown_of_code(&mut self, code: &str) {
        let mut given = format!("{code}\n{}", self.world.shell.input);
        given.extend(self.files_named_in(code));
        let unknown = self.unknown_made_of(&given);
        let unknown = self.marked_as_made_by_code(code, unknown);
        self.write(&unknown);
    }

    /// Follows the call of a function that the code defines, with the arguments of this call. Deeper calls of the same function
    /// show nothing new.
    fn call_code_function(&mut self, scan: &mut CodeScan<'_>, function: &CodeFunction<'_>) {
        let key = format!("code {}", function.name);
        let Some(words) = scan.call_words() else { return };
        if self.world.calls.contains(&key) || !self.budget.enter() {
            return;
        }
        self.budget.spend(1 + scan.values.len() / 8);
        self.world.calls.push(key);
        let mut values = scan.values.clone();
        function.bind(words, &mut values);
        let printed = self.world.out.len();
        let values = self.scan_code(scan.language, function.body, values);
        // `self.name = value`: the object outlives the call.
        scan.values.extend(values.into_iter().filter(|(name, _)| name.starts_with("self.")));
        self.world.out.truncate(printed);
        self.world.calls.pop();
        self.budget.leave();
    }

    /// Applies the effects of a call.
    fn run_code_call(&mut self, scan: &mut CodeScan<'_>, call: CodeCall<'_>) {
        let CodeCall { name, base, effects, mut words, directory, recursive } = call;
        let language = scan.language;
        if let Some(directory) = directory {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        if effects.prints {
            let text = printed_text(base, language, words);
            if let Some(command) = &scan.piped_to {
                self.script_in_code(command, Some(text.clone()));
            }
            self.write(&text);
            scan.printed = Some(text);
        } else if effects.moves {
            let path = self.absolute(words.first().map_or("", String::as_str));
            self.world.shell.set_directory(path);
        } else if effects.evaluates && (language == "python" || base != "exec") {
            if self.budget.enter() {
                self.scan_code(language, &words.join(""), scan.values.clone());
                self.budget.leave();
            }
        } else if effects.deletes || effects.may_delete && recursive {
            // Options and callbacks follow the path.
            let count = if effects.deletes { words.len() } else { 1 };
            words.iter().take(count).for_each(|path| rules::deleted(self, path));
        } else if effects.may_delete && words.iter().any(|path| path.contains(TREE)) {
            // One file after the other, of all that a walk through a directory finds.
            for path in &words {
                rules::deleted_one_by_one(self, path);
            }
        } else if let Some(at) = words.iter().position(|word| effects.opens && word.starts_with('|')) {
            // `open(P, "|sh")` and `open(P, "|-", "sh")`: the text that is printed later is its input.
            let command = words.split_off(at).join(" ");
            let command = command.trim_start_matches(['|', '-', ' ']).to_owned();
            self.script_in_code(&command, None);
            scan.piped_to = Some(command);
        } else if effects.runs {
            self.run_in_code(base, words, effects.opens);
        } else if name.ends_with("sh.rm") {
            words.insert(0, "rm".to_owned());
            self.run_in_code(base, words, false);
        }
    }

    /// Runs the arguments of a call: a script, or the words of a command.
    pub(super) fn run_in_code(&mut self, base: &str, mut words: Vec<String>, opens: bool) {
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
            // No program has a blank in its name, so this is a script, and the rest are options.
            [script, ..] if script.contains(' ') => {
                // A variable of a loop holds all of its values.
                for script in words.iter().filter(|word| word.contains(' ')) {
                    self.script_in_code(script, None);
                }
            }
            [first, second, ..] => {
                // `execvp("rm", ["rm", …])` names the program twice.
                let twice = (base.starts_with("exec") || base.contains("spawn")) && last(first) == last(second);
                self.world.nested += 1;
                self.call(words.get(usize::from(twice)..).unwrap_or(&[]).to_vec());
                self.world.nested -= 1;
            }
        }
    }

    pub(super) fn script_in_code(&mut self, script: &str, input: Option<String>) {
        self.world.nested += 1;
        self.new_shell("sh".to_owned(), Vec::new(), |walk| {
            // The program may have set any variable.
            walk.world.shell.outside.alter();
            if let Some(input) = input {
                walk.world.shell.input = input.into();
            }
            walk.run_derived(script);
        });
        self.world.nested -= 1;
    }
}

/// A text as a string of JavaScript.
fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
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

/// The text that a call prints for these words.
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

fn last(path: &str) -> &str {
    crate::walk::files::base_name(path)
}
