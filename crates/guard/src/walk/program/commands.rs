//! Calls that run commands, delete files, print or write.

use crate::marks::{TREE, UNKNOWN};
use crate::rules;
use crate::walk::code_scan::{DELETES, DELETES_IF_RECURSIVE, EVALUATES, RUNS};
use crate::walk::program::calls::Given;
use crate::walk::program::evaluate::Program;
use crate::walk::program::operators::combined;
use crate::walk::program::value::Value;

/// Modules that run commands. Elsewhere a name such as `run` means something else.
const RUNNING: [&str; 14] = [
    "subprocess",
    "os",
    "child_process",
    "asyncio.subprocess",
    "commands",
    "pty",
    "sh",
    "execa",
    "shelljs",
    "Deno",
    "Bun",
    "plumbum",
    "cross-spawn",
    "zx",
];

/// Names that run commands in whatever module they are.
const ALWAYS_RUNS: [&str; 16] = [
    "system",
    "popen",
    "execSync",
    "spawnSync",
    "execFileSync",
    "execFile",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "execvp",
    "execlp",
    "posix_spawn",
];

/// True if a call of this name runs or deletes something in whatever module it is.
pub(super) fn is_effect(name: &str) -> bool {
    ALWAYS_RUNS.contains(&name) || DELETES.contains(&name)
}

impl Program<'_, '_> {
    /// Calls that run, delete, print, write or evaluate something. None if this is no such call.
    pub(super) fn effect_call(&mut self, module: &str, base: &str, given: &Given) -> Option<Value> {
        let root = module.split('.').next().unwrap_or(module);
        let runs = RUNS.contains(&base) || base == "spawnlp" || base == "$";
        if runs && (ALWAYS_RUNS.contains(&base) || RUNNING.contains(&root) || base == "$" && module.is_empty()) {
            return Some(self.run_command(base, given));
        }
        // `sh.rm("-rf", path)`
        if module == "sh" && !given.values.is_empty() {
            let words: Vec<String> =
                std::iter::once(base.to_owned()).chain(given.values.iter().flat_map(Value::words)).collect();
            return Some(self.run_words("run", &words, None, None));
        }
        if EVALUATES.contains(&base) && (module.is_empty() || module == "vm") || base.starts_with("runIn") {
            // `Function("a", "b", code)`
            let code = if base == "Function" { given.values.last().cloned() } else { given.values.first().cloned() };
            let code = code.unwrap_or(Value::Nothing).to_text();
            return Some(self.evaluate_text(&code));
        }
        if DELETES.contains(&base) || DELETES_IF_RECURSIVE.contains(&base) && !module.is_empty() {
            self.delete(base, &given.first(), given);
            return Some(Value::Nothing);
        }
        match base {
            "print" | "log" if module != "math" => {
                let words: Vec<String> = given.values.iter().map(Value::to_text).collect();
                let text = format!("{}\n", words.join(" "));
                if given.option("file").is_none() {
                    self.has_printed |= !text.contains(UNKNOWN);
                    if !text.contains(UNKNOWN) {
                        self.walk.write(&text);
                    }
                }
            }
            "write" if matches!(module, "sys.stdout" | "process.stdout") => {
                let text = given.first().to_text();
                self.has_printed |= !text.contains(UNKNOWN);
                self.walk.write(&text);
            }
            "writeFileSync" | "writeFile" | "appendFileSync" => {
                let text = given.values.get(1).map_or_else(|| UNKNOWN.to_string(), Value::to_text);
                self.walk.write_file(&given.first().to_text(), &text, base.starts_with("append"));
            }
            "symlink" | "symlinkSync" => {
                let link = given.values.get(1).map(Value::to_text).unwrap_or_default();
                self.walk.link_file(&given.first().to_text(), &link);
            }
            "copy" | "copyfile" | "copy2" | "copyFileSync" => {
                let to = given.values.get(1).map(Value::to_text).unwrap_or_default();
                self.walk.copy_file(&given.first().to_text(), &to);
            }
            "move" | "rename" | "renameSync" | "replace" if matches!(root, "shutil" | "os" | "fs") => {
                let to = given.values.get(1).map(Value::to_text).unwrap_or_default();
                self.walk.move_file(&given.first().to_text(), &to);
            }
            "chdir" => {
                let path = self.walk.absolute(&given.first().to_text());
                self.walk.world.shell.set_directory(path);
            }
            _ => return None,
        }
        Some(Value::Nothing)
    }

    /// Runs code of the same language.
    pub(super) fn evaluate_text(&mut self, code: &str) -> Value {
        if !code.contains(UNKNOWN) && self.walk.budget.enter() {
            if let Some(program) = super::parsed(self.language, code) {
                self.run(&program);
            }
            self.walk.budget.leave();
        } else {
            self.is_blind = true;
        }
        Value::Unknown
    }

    /// Runs a command: the words of a list, or a script.
    fn run_command(&mut self, base: &str, given: &Given) -> Value {
        let command = match given.option("args") {
            // `Deno.Command("git", { args: ["add"] })`
            Some(words) if base == "Command" => combined(&Value::List(vec![given.first()]), "+", words),
            Some(words) => words.clone(),
            None => given.first(),
        };
        let mut output = Value::Unknown;
        for command in command.alternatives() {
            let mut words = command.words();
            // `spawn("git", ["add"])`, `execvp("git", ["git", "add"])`, `create_subprocess_exec("git", "add")`
            for more in given.values.iter().skip(1) {
                match more {
                    Value::List(_) | Value::Several(_) => words.extend(more.words()),
                    Value::Text(_) | Value::Unknown if !base.ends_with("Sync") => words.extend(more.words()),
                    _ => {}
                }
            }
            let is_shell = given.option("shell").is_some_and(|shell| shell.truth() == Some(true));
            if is_shell && !matches!(command, Value::List(_)) {
                words = vec![words.join(" ")];
            }
            self.note_unknown(&words);
            let input = given.option("input").map(Value::to_text);
            output = self.run_words(base, &words, given.option("cwd").map(Value::to_text), input);
        }
        match (base, output) {
            ("check_output" | "getoutput" | "execSync" | "execFileSync", Value::Process(_, text)) => Value::text(text),
            (_, output) => output,
        }
    }

    /// Notes that a command is run whose program is not known.
    pub(super) fn note_unknown(&mut self, words: &[String]) {
        let is_unknown = words.first().is_none_or(|word| word.starts_with(UNKNOWN));
        self.is_blind |= is_unknown;
        self.runs_unknown |= is_unknown;
    }

    /// Runs words, in a directory and with input if these are given.
    pub(super) fn run_words(
        &mut self,
        base: &str,
        words: &[String],
        directory: Option<String>,
        input: Option<String>,
    ) -> Value {
        let before = self.walk.directory();
        if let Some(directory) = directory {
            let path = self.walk.absolute(&directory);
            self.walk.world.shell.set_directory(path);
        }
        let output = self.walk.capturing(|walk| {
            walk.subshell(|walk| {
                walk.world.shell.input = input.unwrap_or_default().into();
                walk.run_in_code(base, words.to_vec(), false);
            });
        });
        self.walk.world.shell.set_directory(before);
        Value::Process(words.to_vec(), output)
    }

    /// Deletes a path: with everything below it, or as one file of many.
    pub(super) fn delete(&mut self, base: &str, path: &Value, given: &Given) {
        let is_tree = DELETES.contains(&base);
        let path = if *path == Value::Nothing {
            given.option("path").cloned().unwrap_or(Value::Unknown)
        } else {
            path.clone()
        };
        let recursive = is_tree || given.option("recursive").is_some_and(|flag| flag.truth() != Some(false));
        for path in path.alternatives() {
            for path in path.words() {
                self.is_blind |= path.chars().all(|letter| letter == UNKNOWN);
                if recursive {
                    rules::deleted(self.walk, &path);
                } else if path.contains(TREE) {
                    rules::deleted_one_by_one(self.walk, &path);
                }
            }
        }
    }
}
