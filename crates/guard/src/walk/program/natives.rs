//! Calls that the languages and their modules have: those that make values, and those that run or delete something.

use crate::marks::{HOME, NAME, STAR, START, TREE, UNKNOWN, alive};
use crate::rules;
use crate::walk::code_scan::{DELETES, DELETES_IF_RECURSIVE, EVALUATES, RUNS};
use crate::walk::decode;
use crate::walk::files::{FRESH_DIRECTORY, base_name};
use crate::walk::program::evaluate::{Given, Program};
use crate::walk::program::value::Value;
use crate::walk::program::{Language, parsed_value};

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

/// The most rounds of `range`.
const LONGEST_RANGE: i64 = 64;

/// True if a call of this name runs or deletes something in whatever module it is.
pub(super) fn is_effect(name: &str) -> bool {
    ALWAYS_RUNS.contains(&name) || DELETES.contains(&name)
}

/// The value of a name that the program has not set.
pub(super) fn unbound(name: &str) -> Value {
    match name {
        "__name__" => Value::text("__main__"),
        "__file__" | "__filename__" | "__filename" => Value::Unknown,
        "%ENV" => Value::Native("os.environ".to_owned()),
        name if name.starts_with(['$', '@', '%']) => Value::Unknown,
        name => Value::Native(name.to_owned()),
    }
}

impl Program<'_, '_> {
    /// A member of something that the language has.
    pub(super) fn native_member(&mut self, object: &str, name: &str) -> Value {
        let whole = format!("{object}.{name}");
        match whole.as_str() {
            "os.sep" | "path.sep" | "os.path.sep" => Value::text("/"),
            "os.curdir" | "os.path.curdir" => Value::text("."),
            "sys.executable" => Value::text("python3"),
            "process.execPath" => Value::text("node"),
            "sys.argv" | "process.argv" => self.lookup("sys.argv").cloned().unwrap_or(Value::Unknown),
            "sys.stdin" | "process.stdin" => Value::File("/dev/stdin".to_owned()),
            "os.environ.HOME" => Value::text(HOME.to_string()),
            _ if object == "process.env" || object == "Bun.env" => self.environment(name, None),
            _ => Value::Native(whole),
        }
    }

    /// A variable of the environment.
    pub(super) fn environment(&mut self, name: &str, default: Option<Value>) -> Value {
        match name {
            "HOME" => return Value::text(HOME.to_string()),
            "PWD" => return Value::text(self.walk.directory()),
            _ => {}
        }
        if let Some(text) = self.walk.scalar(name).filter(|text| !text.contains(UNKNOWN)) {
            return Value::text(text);
        }
        match default {
            Some(default) if self.walk.world.shell.outside.is_absent(name) => default,
            Some(default) => Value::one_of([default, Value::Unknown]),
            None => Value::Unknown,
        }
    }

    /// The text of a file that the script or the program has written.
    pub(super) fn file_text(&mut self, path: &str) -> Option<String> {
        self.walk.known_file(path).filter(|text| !text.is_empty()).map(|text| text.to_string())
    }

    /// Calls something that the language has.
    pub(super) fn call_native(&mut self, name: &str, given: &Given) -> Value {
        let (module, base) = name.rsplit_once('.').unwrap_or(("", name));
        if self.language == Language::Perl
            && let Some(value) = self.perl_call(base, given)
        {
            return value;
        }
        if let Some(value) = self.effect_call(module, base, given) {
            return value;
        }
        if let Some(value) = self.path_call(name, module, base, given) {
            return value;
        }
        if let Some(value) = self.list_call(name, base, given) {
            return value;
        }
        if let Some(value) = decoded(name, base, given) {
            return value;
        }
        match name {
            "require" | "import" | "__import__" | "importlib.import_module" => {
                let module = given.first().to_text();
                // A table in a file.
                if module.starts_with(['.', '/'])
                    && let Some(text) = self.file_text(&module)
                {
                    return self.parsed(&Value::text(text));
                }
                let module = module.trim_start_matches("node:").trim_end_matches("/promises");
                Value::Native(module.to_owned())
            }
            "os.environ.get" | "os.getenv" | "os.environ.setdefault" | "Deno.env.get" => {
                let default = given.values.get(1).cloned().unwrap_or(Value::Nothing);
                self.environment(&given.first().to_text(), Some(default))
            }
            "os.path.expandvars" => {
                given.first().map(|value| Value::text(value.to_text().replace("$HOME", &HOME.to_string())))
            }
            "json.load" | "json.loads" | "JSON.parse" | "ast.literal_eval" => self.parsed(&given.first()),
            _ if base == "then" => {
                let passed = Given { values: vec![Value::Native(module.to_owned())], named: Vec::new() };
                self.call_each(given.first(), &passed)
            }
            "getattr" => {
                let member = given.values.get(1).map(Value::to_text).unwrap_or_default();
                self.member(given.first(), &member)
            }
            "functools.partial" | "partial" => match given.values.split_first() {
                Some((function, rest)) => Value::Partial(Box::new(function.clone()), rest.to_vec()),
                None => Value::Unknown,
            },
            "util.promisify" | "promisify" | "functools.lru_cache" => given.first(),
            "sys.exit" | "exit" | "quit" | "os._exit" | "process.exit" => {
                self.has_exited = true;
                Value::Nothing
            }
            "input" | "sys.stdin.read" => {
                let input = self.walk.world.shell.input.to_string();
                if input.is_empty() { Value::Unknown } else { Value::text(input.trim_end()) }
            }
            "shlex.split" => given.first().map(|value| match value {
                Value::Text(text) => Value::list(split_words(&text).into_iter().map(Value::text).collect()),
                _ => Value::Unknown,
            }),
            "shlex.join" => Value::text(given.first().words().join(" ")),
            _ => self.call_with_callbacks(given),
        }
    }

    /// Calls that run, delete, print, write or evaluate something. None if this is no such call.
    fn effect_call(&mut self, module: &str, base: &str, given: &Given) -> Option<Value> {
        let root = module.split('.').next().unwrap_or(module);
        let runs = RUNS.contains(&base) || base == "spawnlp" || base == "$";
        if runs && (ALWAYS_RUNS.contains(&base) || RUNNING.contains(&root) || base == "$" && module.is_empty()) {
            return Some(self.run_command(base, given));
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
        let command = given.option("args").cloned().unwrap_or_else(|| given.first());
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

    /// Calls that make paths or list them. None if this is no such call.
    fn path_call(&mut self, name: &str, module: &str, base: &str, given: &Given) -> Option<Value> {
        let is_path_module = matches!(module, "os.path" | "path" | "posixpath" | "path.posix" | "p");
        Some(match base {
            "Path" | "PurePath" | "PosixPath" if given.values.is_empty() => Value::text("."),
            "Path" | "PurePath" | "PosixPath" => joined(&given.values),
            "join" | "resolve" if is_path_module => joined(&given.values),
            "expanduser" => given.first().map(|value| Value::text(with_home(&value.to_text()))),
            "abspath" | "realpath" | "normpath" | "fspath" | "resolve" | "normalize" | "realpathSync"
                if !given.values.is_empty() =>
            {
                given.first()
            }
            "dirname" => given.first().map(|value| parent(&value.to_text())),
            "basename" => given.first().map(|value| Value::text(name_of(&value.to_text()))),
            "getcwd" | "cwd" => Value::text(self.walk.directory()),
            "homedir" | "home" => Value::text(HOME.to_string()),
            "gettempdir" | "tmpdir" => Value::text("/tmp"),
            "mkdtemp" | "mkdtempSync" | "TemporaryDirectory" => Value::text(FRESH_DIRECTORY),
            "listdir" | "readdirSync" | "readdir" => {
                let directory = given.values.first().map_or_else(|| ".".to_owned(), Value::to_text);
                let is_here = self.walk.absolute(&directory) == self.walk.directory();
                let names = Value::list(vec![Value::text(if is_here { STAR } else { NAME })]);
                // The callback gets an error and the names.
                for callback in given.values.iter().filter(|value| matches!(value, Value::Function(_))) {
                    let given = Given { values: vec![Value::Nothing, names.clone()], named: Vec::new() };
                    self.call_each(callback.clone(), &given);
                }
                names
            }
            "scandir" => {
                let directory = given.values.first().map_or_else(|| ".".to_owned(), Value::to_text);
                Value::list(vec![Value::text(below(&directory, STAR))])
            }
            "glob" | "iglob" | "globSync" => {
                let patterns =
                    given.first().map(|value| Value::text(alive(&value.to_text()).replace("**", &TREE.to_string())));
                Value::list(patterns.alternatives())
            }
            "walk" if name == "os.walk" => {
                let below = || Value::list(vec![Value::text(TREE)]);
                let top = given.first();
                Value::list(vec![Value::list(vec![top, below(), below()])])
            }
            "open" | "openSync" if matches!(module, "" | "io" | "fs" | "codecs") => {
                let path = given.first().to_text();
                let mode = given.values.get(1).or(given.option("mode")).map(Value::to_text).unwrap_or_default();
                if mode.contains(['w', 'x']) {
                    self.walk.write_file(&path, "", false);
                }
                Value::File(path)
            }
            "readFileSync" | "readFile" | "readTextFileSync" | "readFileText" => {
                let path =
                    if given.first() == Value::Number(0) { "/dev/stdin".to_owned() } else { given.first().to_text() };
                self.file_text(&path).map_or(Value::Unknown, Value::text)
            }
            _ => return None,
        })
    }

    /// Calls that make lists and texts. None if this is no such call.
    fn list_call(&mut self, name: &str, base: &str, given: &Given) -> Option<Value> {
        let first = given.first();
        Some(match name {
            "list" | "tuple" | "set" | "sorted" | "frozenset" | "iter" | "Array.from" | "Set" | "dict"
            | "Promise.all" => match first {
                Value::Text(text) => Value::list(text.chars().map(|letter| Value::text(letter.to_string())).collect()),
                Value::Table(entries) if name != "dict" => Value::Table(entries),
                Value::Nothing if name == "dict" => Value::Table(given.named.clone()),
                Value::Nothing => Value::list(Vec::new()),
                value => value,
            },
            "str" | "String" | "repr" | "bytes" if !matches!(first, Value::List(_)) => {
                first.map(|value| Value::text(value.to_text()))
            }
            "reversed" => first.map(|value| super::operators::slice(value, None, None, true)),
            "len" => match &first {
                Value::List(items) if items.iter().all(Value::is_plain) => {
                    i64::try_from(items.len()).map_or(Value::Unknown, Value::Number)
                }
                _ => Value::Unknown,
            },
            "range" => match given.values.as_slice() {
                [Value::Number(to)] => Value::list((0..(*to).min(LONGEST_RANGE)).map(Value::Number).collect()),
                [Value::Number(from), Value::Number(to), ..] => {
                    Value::list((*from..(*to).min(from.saturating_add(LONGEST_RANGE))).map(Value::Number).collect())
                }
                _ => Value::Unknown,
            },
            "enumerate" => {
                let items = first.items().into_iter().zip(0..);
                Value::list(items.map(|(item, at)| Value::list(vec![Value::Number(at), item])).collect())
            }
            "zip" => {
                let lists: Vec<Vec<Value>> = given.values.iter().map(|value| value.clone().items()).collect();
                let length = lists.iter().map(Vec::len).min().unwrap_or(0);
                let row =
                    |at: usize| lists.iter().map(|list| list.get(at).cloned().unwrap_or(Value::Unknown)).collect();
                Value::list((0..length).map(|at| Value::list(row(at))).collect())
            }
            "map" | "filter" => {
                let items = given.values.get(1).cloned().unwrap_or(Value::Unknown);
                self.call_method(items, base, &Given { values: vec![first], named: Vec::new() })
            }
            "Object.entries" | "Object.values" | "Object.keys" | "Object.fromEntries" => {
                let method = if base == "entries" { "items" } else { base };
                self.call_method(first, method, &Given::default())
            }
            "itertools.chain" => Value::list(given.values.iter().flat_map(|value| value.clone().items()).collect()),
            _ => return None,
        })
    }

    /// The value that a text in JSON says.
    fn parsed(&mut self, value: &Value) -> Value {
        let text = match value {
            Value::File(path) => self.file_text(path),
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let Some(expression) = text.and_then(|text| parsed_value(Language::Script, &text)) else {
            return Value::Unknown;
        };
        self.value(&expression)
    }
}

/// The parts of a path, put together in every way that they may be.
fn joined(parts: &[Value]) -> Value {
    let mut path = Value::text("");
    for part in parts {
        let mut ways = Vec::new();
        for before in path.clone().alternatives() {
            ways.extend(part.clone().alternatives().into_iter().map(|part| match part {
                Value::List(items) => {
                    Value::text(items.iter().fold(before.to_text(), |path, item| joined_path(&path, &item.to_text())))
                }
                part => Value::text(joined_path(&before.to_text(), &part.to_text())),
            }));
        }
        path = Value::one_of(ways);
    }
    path
}

/// Text that a call decodes. None if this is no such call.
fn decoded(name: &str, base: &str, given: &Given) -> Option<Value> {
    let text = given.first().to_text();
    let code = given.values.get(1).map(Value::to_text).unwrap_or_default();
    let plain = match base {
        "b64decode" | "atob" | "urlsafe_b64decode" | "standard_b64decode" => decode::base64(&text),
        "fromhex" | "unhexlify" => decode::hexadecimal(&text),
        "b32decode" => decode::base32(&text),
        "from" if name == "Buffer.from" => match code.as_str() {
            "base64" => decode::base64(&text),
            "hex" => decode::hexadecimal(&text),
            _ => Some(text),
        },
        "decode" if name == "codecs.decode" => match code.replace(['_', '-'], "").as_str() {
            "rot13" => Some(decode::rot13(&text)),
            code if code.starts_with("hex") => decode::hexadecimal(&text),
            code if code.starts_with("base64") => decode::base64(&text),
            _ => None,
        },
        "chr" | "fromCharCode" | "bytes" | "bytearray" => {
            let numbers = given.values.iter().flat_map(|value| value.clone().items_or_self());
            let letters = numbers.map(|value| match value {
                Value::Number(number) => u32::try_from(number).ok().and_then(char::from_u32).filter(char::is_ascii),
                _ => None,
            });
            letters.collect::<Option<String>>()
        }
        _ => return None,
    };
    Some(plain.map_or(Value::Unknown, Value::text))
}

impl Value {
    fn items_or_self(self) -> Vec<Self> {
        match self {
            Self::List(items) => items,
            value => vec![value],
        }
    }
}

/// A path below another one, unless it begins at a root itself.
pub(super) fn joined_path(path: &str, part: &str) -> String {
    let is_whole = path.is_empty() || part.starts_with(['/', HOME, START]);
    if is_whole { part.to_owned() } else { format!("{}/{part}", path.trim_end_matches('/')) }
}

/// Everything in a directory.
pub(super) fn below(directory: &str, pattern: impl std::fmt::Display) -> String {
    let directory = directory.trim_end_matches("/.");
    if matches!(directory, "." | "" | "./") {
        pattern.to_string()
    } else {
        format!("{}/{pattern}", directory.trim_end_matches('/'))
    }
}

/// The directory above a path.
pub(super) fn parent(path: &str) -> Value {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => Value::text("/"),
        Some((directory, _)) => Value::text(directory),
        None if path.starts_with([HOME, START]) => Value::text(format!("{path}/..")),
        None if path.contains(UNKNOWN) => Value::Unknown,
        None => Value::text("."),
    }
}

/// The last part of a path. Of a listing elsewhere, it is a name from there.
pub(super) fn name_of(path: &str) -> String {
    match base_name(path) {
        last if path.contains('/') && last.chars().eq([STAR]) => NAME.to_string(),
        last => last.to_owned(),
    }
}

/// A path whose tilde is the home directory.
pub(super) fn with_home(path: &str) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    }
}

/// The words of a command line. Quotes keep them together.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
