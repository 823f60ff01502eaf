//! Code in other languages: the one place that looks at them, and it does not follow them.
//!
//! Strings, lists of strings, names and brackets are told apart. The literal argument of a call that runs a command is judged
//! as a script or as words, and that of a call that deletes a tree as a deletion. A call whose argument is no literal makes the
//! strings of the code suspicious: each that is a command of its own is judged, and if the words of a dangerous command all
//! stand there, somebody is asked. There are no values, no loops and no functions.
//!
//! Invariant: one pass over at most [`LONGEST_CODE`] bytes. Only calls count: `session.run("MATCH …")` is no shell.

use std::collections::HashMap;

use crate::marks::{HOME, START, UNKNOWN};
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;
use crate::walk::lexer::{CodeToken, Literals, base_of, tokens};

/// The longest code that is looked at, in bytes. Longer code is unknown.
const LONGEST_CODE: usize = 64 << 10;

/// A language: its programs, and how they are given code. Lists are words of one text.
struct Language {
    programs: &'static str,
    /// Options before code.
    flags: &'static str,
    /// The letter of such an option at the end of a cluster; NUL if there is none.
    letter: char,
    /// Options that take another word.
    valued: &'static str,
    /// Calls without an owner that run a command, beside those that do so in every language.
    runs: &'static str,
}

const LANGUAGES: [Language; 7] = [
    Language { programs: "python pypy ipython", flags: "-c", letter: 'c', valued: "-W -X", runs: "" },
    Language {
        programs: "node nodejs bun tsx ts-node",
        flags: "-e -p --eval --print -pe",
        letter: 'e',
        valued: "-r --require --import -C",
        runs: "",
    },
    Language { programs: "perl ruby", flags: "-e -E", letter: 'e', valued: "-I -r -C", runs: "exec spawn sh" },
    Language { programs: "php", flags: "-r", letter: 'r', valued: "-d -c", runs: "exec" },
    Language { programs: "deno", flags: "eval", letter: '\0', valued: "", runs: "" },
    Language {
        programs: "lua luajit elixir Rscript R julia groovy osascript ghc racket scala guile",
        flags: "-e -E -c",
        letter: 'e',
        valued: "-l",
        runs: "execute run script",
    },
    Language { programs: "erl emacs", flags: "-eval --eval", letter: '\0', valued: "-l -L", runs: "cmd shell-command" },
];

/// Calls that run a command, whatever they belong to.
const RUNS: &str = "system popen execSync spawnSync execFileSync execFile check_call check_output Popen getoutput \
                    getstatusoutput shell_exec passthru proc_open execl execlp execv execvp execvpe capture2 capture2e \
                    capture3 popen2 spawnlp spawnvp spawnl spawnv posix_spawn pcntl_exec create_subprocess_shell \
                    create_subprocess_exec qx";

/// Calls that run a command if they belong to one of [`OWNERS`], or to nothing while the code names a module of commands.
const RUNS_OF_OWNER: &str = "run call exec execute spawn sh script cmd Command";

/// Modules and objects whose calls run commands.
const OWNERS: &str =
    "subprocess sp child_process cp os Kernel Process Open3 Deno Bun System pty shell asyncio shelljs zx";

/// Calls that delete a whole tree.
const DELETES: &str = "rmtree remove_tree rm_rf rm_r remove_entry_secure rmSync rmdirSync rimraf RemoveAll removeSync \
                       remove_dir_all remove_entry emptyDirSync remove_dir deltree";

/// Calls that delete a tree if an option says so.
const DELETES_IF_RECURSIVE: &str = "rm rmdir unlink remove";

/// Calls that turn something unreadable into text.
const DECODES: &str = "chr fromCharCode decompress inflate inflateSync gunzipSync gzinflate gzuncompress b64decode \
                       base64_decode decode64 atob fromhex unhexlify pack";

/// Calls that list a directory.
const LISTS: &str = "iterdir listdir scandir readdirSync readdir children glob rglob";

/// Expressions that mean the home directory, and those that mean the present one.
const HOMES: [&str; 18] = [
    "Path.home()",
    "os.path.expanduser(\"~\")",
    "os.path.expanduser('~')",
    "os.environ.get('HOME')",
    "os.environ.get(\"HOME\")",
    "require(\"os\").homedir()",
    "require('os').homedir()",
    "os.homedir()",
    "Dir.home",
    "os.environ['HOME']",
    "os.environ[\"HOME\"]",
    "os.getenv('HOME')",
    "os.getenv(\"HOME\")",
    "process.env.HOME",
    "ENV['HOME']",
    "ENV[\"HOME\"]",
    "ENVIRON[\"HOME\"]",
    "$ENV{HOME}",
];
const HERE: [&str; 4] = ["Path.cwd()", "os.getcwd()", "process.cwd()", "Dir.pwd"];

/// Code while it is looked at.
struct Code<'c> {
    program: &'c str,
    runs: &'c str,
    text: &'c str,
    tokens: &'c [CodeToken],
    /// Other names, each with the one behind it: `import subprocess as s`, `{execSync: x}`.
    renamed: HashMap<&'c str, &'c str>,
}

/// The effect of a call that matters.
#[derive(Clone, Copy, PartialEq)]
enum CallEffect {
    Runs,
    Deletes,
    DeletesIfRecursive,
    Evaluates,
}

fn is_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|other| other == word)
}

impl Language {
    fn named(name: &str) -> Option<(&'static Self, &str)> {
        let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        LANGUAGES.iter().find(|language| is_in(name, language.programs)).map(|language| (language, name))
    }

    /// True if the next word is code.
    fn is_flag(&self, program: &str, word: &str) -> bool {
        // Options without values may stand before it in one word; those with values are not among them.
        let apart: &[char] = if program == "python" { &['-', 'm', 'W', 'X'] } else { &['-', 'M', 'I', 'm', 'r'] };
        let cluster = word.strip_prefix('-').filter(|letters| !letters.starts_with(apart));
        is_in(word, self.flags) || cluster.is_some_and(|letters| letters.len() < 6 && letters.ends_with(self.letter))
    }

    /// The code that is attached to an option.
    fn attached<'w>(&self, word: &'w str) -> Option<&'w str> {
        let code = self.flags.split(' ').find_map(|flag| word.strip_prefix(flag)).filter(|code| !code.is_empty())?;
        (!word.starts_with("--") || word.contains('=')).then(|| code.trim_start_matches('='))
    }
}

impl Code<'_> {
    /// The effect of the call at this token; none if it has none that matters.
    fn effect(&self, name: &str, at: usize) -> Option<CallEffect> {
        let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        // A definition is no call.
        if matches!(before, Some(CodeToken::Name(word)) if is_in(word, "def function sub import as")) {
            return None;
        }
        let name = self.real_name(name);
        let base = base_of(name);
        let owner = name.strip_suffix(base).map_or("", |owner| owner.trim_end_matches(['.', ':', '>', '-']));
        let is_owned = match owner {
            "" if before == Some(&CodeToken::Sign('.')) => self.text.contains("child_process"),
            "" => ["subprocess", "child_process", "shelljs", "zx"].iter().any(|module| self.text.contains(module)),
            owner => is_in(base_of(self.real_name(owner)), OWNERS),
        };
        let runs_code =
            matches!(name, "eval" | "instance_eval" | "Function") || name == "exec" && self.program == "python";
        if runs_code {
            Some(CallEffect::Evaluates)
        } else if is_in(base, RUNS) || is_in(name, self.runs) || is_owned && is_in(base, RUNS_OF_OWNER) {
            Some(CallEffect::Runs)
        } else if is_in(base, DELETES) {
            Some(CallEffect::Deletes)
        } else {
            is_in(base, DELETES_IF_RECURSIVE).then_some(CallEffect::DeletesIfRecursive)
        }
    }

    fn real_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.renamed.get(name).copied().unwrap_or(name)
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        self.tokens.iter().filter_map(|token| match token {
            CodeToken::Text(text) => Some(text),
            _ => None,
        })
    }

    fn calls_one_of(&self, list: &str) -> bool {
        self.tokens.iter().any(|token| matches!(token, CodeToken::Name(name) if is_in(base_of(name), list)))
    }

    /// True if the words of a dangerous command all stand in the strings.
    fn may_be_dangerous(&self) -> bool {
        let words: Vec<&str> = self.texts().flat_map(|text| text.split_whitespace()).collect();
        let has = |wanted: &str| words.iter().any(|word| is_in(word, wanted));
        has("git") && (has("add") && has("-A --all .") || has("push") && has("-f --force"))
            || has("rm") && has("-rf -fr -r -R") && has("/ ~ /* * .git $HOME . /etc")
    }
}

impl ScriptWalk<'_> {
    /// Looks into the code that an interpreter is given, if this is one.
    pub(crate) fn run_interpreter(&mut self, name: &str, arguments: &[String]) -> bool {
        if matches!(name, "tclsh" | "expect" | "wish") {
            self.run_tcl(arguments);
            return true;
        }
        let Some((language, program)) = Language::named(name) else { return false };
        // Only the syntax is looked at, and blocks that Perl and Ruby run meanwhile.
        let checks = |word: &String| matches!(word.as_str(), "-c" | "-wc" | "-cw");
        if matches!(program, "perl" | "ruby")
            && arguments.iter().take_while(|word| word.starts_with('-')).any(checks)
            && !arguments.iter().any(|word| word.contains("BEGIN"))
        {
            return true;
        }
        let Some((mut codes, rest)) = self.given_code(language, program, arguments) else {
            self.write(&UNKNOWN.to_string());
            return true;
        };
        if codes.is_empty() {
            codes.push(self.world.shell.input.to_string());
        }
        for code in codes {
            self.look_at_code((program, language.runs), &code, rest);
        }
        true
    }

    /// Tcl has no brackets around the words of `exec` and `spawn`.
    fn run_tcl(&mut self, arguments: &[String]) {
        let file = arguments.iter().find(|word| !word.starts_with('-')).map_or("-", String::as_str);
        let code = match arguments.iter().position(|word| word == "-c") {
            Some(at) => arguments.get(at + 1).cloned(),
            None => self.code_in_file(file),
        };
        for line in code.as_deref().unwrap_or("").lines() {
            for call in line.split("exec ").skip(1).chain(line.split("spawn ").skip(1)) {
                let script = call.split([']', '}', ';']).next().unwrap_or(call);
                self.script_in_code(script, None);
            }
        }
        self.write(&UNKNOWN.to_string());
    }

    /// The code among the arguments of an interpreter, and the arguments of the code; none if it is in an unknown file.
    fn given_code<'w>(
        &mut self,
        language: &Language,
        program: &str,
        arguments: &'w [String],
    ) -> Option<(Vec<String>, &'w [String])> {
        let mut codes: Vec<String> = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.as_slice().first() {
            let is_option = word.starts_with('-') && word != "-";
            let is_code = language.is_flag(program, word);
            if !is_option && !is_code && !codes.is_empty() {
                break;
            }
            words.next();
            if is_code {
                codes.extend(words.next().cloned());
                // The rest are arguments of the program, but Perl and Ruby may be given more code.
                if program == "python" {
                    break;
                }
            } else if is_in(word, language.valued) {
                words.next();
            } else if let Some(code) = language.attached(word) {
                codes.push(code.to_owned());
            } else if !is_option {
                // A script, or standard input.
                codes.push(self.code_in_file(word)?);
                break;
            }
        }
        Some((codes, words.as_slice()))
    }

    /// The text of a file that the script has written; `-` is standard input.
    pub(super) fn code_in_file(&mut self, file: &str) -> Option<String> {
        let text = if file == "-" { Some(self.world.shell.input.clone()) } else { self.known_file(file) };
        text.map(|text| text.to_string())
    }

    /// Looks through code for calls that matter. Its arguments count as strings of it, and its output is unknown.
    pub(super) fn look_at_code(&mut self, (program, runs): (&str, &str), text: &str, arguments: &[String]) {
        self.budget.spend(1 + text.len() / 32);
        if text.len() > LONGEST_CODE || self.budget.is_exhausted() {
            return self.write(&UNKNOWN.to_string());
        }
        let mut tokens = tokens(program, &with_directories(text));
        tokens.extend(arguments.iter().flat_map(|word| [CodeToken::Sign('\n'), CodeToken::Text(word.clone())]));
        let code = Code { program, runs, text, tokens: &tokens, renamed: renamed(&tokens) };
        let mut runs_unknown = false;
        for (at, token) in tokens.iter().enumerate() {
            runs_unknown |= match token {
                CodeToken::Name(name) => {
                    code.effect(name, at).is_some_and(|effect| self.look_at_call(&code, effect, name, at))
                }
                CodeToken::Script(script) => {
                    self.script_in_code(script, None);
                    false
                }
                CodeToken::Text(text) if program == "awk" => self.look_at_pipe(text, &tokens, at),
                _ => false,
            };
        }
        if runs_unknown {
            let texts: String = code.texts().map(|text| text.replace('\n', " ") + "\n").collect();
            self.judge_pieces(&texts);
            self.judge_data_of(text);
            if code.calls_one_of(DECODES) || code.may_be_dangerous() {
                self.find_rule(&rules::HIDDEN_CODE);
            }
        }
        self.write_unknown_of_code(text);
    }

    /// Judges a call; true if it runs something that is no literal.
    fn look_at_call(&mut self, code: &Code<'_>, effect: CallEffect, name: &str, at: usize) -> bool {
        let Some(literals) = Literals::of(code.tokens, at + 1) else { return false };
        let before = self.directory();
        if let Some(directory) = &literals.directory {
            let path = self.absolute(directory);
            self.world.shell.set_directory(path);
        }
        let is_unknown = literals.is_unknown();
        match effect {
            CallEffect::Evaluates => {
                for text in &literals.words {
                    if self.budget.enter() {
                        self.look_at_code((code.program, code.runs), text, &[]);
                        self.budget.leave();
                    }
                }
            }
            CallEffect::Runs => self.run_in_code(base_of(name), &literals.words, literals.input),
            CallEffect::DeletesIfRecursive if !literals.is_recursive => {}
            CallEffect::Deletes | CallEffect::DeletesIfRecursive => {
                literals.words.iter().for_each(|path| rules::deleted(self, path));
                let is_literal = literals.words.first().is_some_and(|path| !path.contains(UNKNOWN));
                if !is_literal && self.names_everything(code) {
                    self.find_rule(&rules::HIDDEN_CODE);
                }
            }
        }
        self.world.shell.set_directory(before);
        is_unknown && matches!(effect, CallEffect::Runs | CallEffect::Evaluates)
    }

    /// True if code that deletes something unknown names the home, the project, its history or a system directory, or lists the
    /// directory that it is in.
    fn names_everything(&mut self, code: &Code<'_>) -> bool {
        let lists = code.calls_one_of(LISTS);
        code.texts().any(|text| match text.as_str() {
            "." | "./" | "*" => lists,
            text if text.chars().eq([START]) => lists,
            ".git" => true,
            text => rules::is_home_or_system(self, text) || self.world.symbolic(text).chars().eq([START]),
        })
    }

    /// `print … | "sh"` and `"script" | getline` in awk; true if a shell reads something unknown.
    fn look_at_pipe(&mut self, text: &str, tokens: &[CodeToken], at: usize) -> bool {
        let is_pipe = |at: Option<usize>| at.and_then(|at| tokens.get(at)) == Some(&CodeToken::Sign('|'));
        if is_pipe(at.checked_sub(1)) {
            let printed = tokens.get(..at).unwrap_or(&[]).iter().rev().find_map(|token| match token {
                CodeToken::Text(text) => Some(text.clone()),
                _ => None,
            });
            self.script_in_code(text, printed);
            return is_in(base_name(text.split_whitespace().next().unwrap_or("")), "sh bash dash zsh");
        }
        if is_pipe(Some(at + 1)) && matches!(tokens.get(at + 2), Some(CodeToken::Name(name)) if name == "getline") {
            self.script_in_code(text, None);
        }
        false
    }

    /// Writes unknown output of some code.
    fn write_unknown_of_code(&mut self, code: &str) {
        let mut given = format!("{code}\n{}", self.world.shell.input);
        given.extend(self.files_named_in(code));
        let unknown = self.unknown_made_of(&given);
        let unknown = self.marked_as_made_by_code(code, unknown);
        self.write(&unknown);
    }

    /// Runs the literal arguments of a call: a script, or the words of a command.
    fn run_in_code(&mut self, base: &str, words: &[String], input: Option<String>) {
        match words {
            [] => {}
            [script] => self.script_in_code(script, input),
            // No program has a blank in its name, so this is a script, and the rest are options.
            [script, ..] if script.contains(' ') => self.script_in_code(script, input),
            [first, second, ..] => {
                // `execvp("rm", ["rm", …])` names the program twice.
                let twice =
                    (base.starts_with("exec") || base.contains("spawn")) && base_name(first) == base_name(second);
                self.world.nested += 1;
                let before = self.world.shell.input.clone();
                self.world.shell.input = input.map_or_else(|| before.clone(), Into::into);
                self.call(words.get(usize::from(twice)..).unwrap_or(&[]).to_vec());
                self.world.shell.input = before;
                self.world.nested -= 1;
            }
        }
    }

    /// Runs a script that another program starts.
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

fn renamed(tokens: &[CodeToken]) -> HashMap<&str, &str> {
    let pairs = tokens.windows(3).filter_map(|three| match three {
        [CodeToken::Name(real), CodeToken::Name(word), CodeToken::Name(other)] if word == "as" => Some((other, real)),
        [CodeToken::Name(real), CodeToken::Sign(':'), CodeToken::Name(other)] => Some((other, real)),
        _ => None,
    });
    pairs.map(|(other, real)| (other.as_str(), real.as_str())).collect()
}

/// The code with paths for the expressions that mean them.
fn with_directories(code: &str) -> String {
    let mut code = code.to_owned();
    for (texts, path) in [(&HOMES[..], HOME), (&HERE[..], START)] {
        for text in texts.iter().filter(|text| code.contains(**text)).copied().collect::<Vec<_>>() {
            code = code.replace(text, &format!("\"{path}\""));
        }
    }
    code
}
