//! Calls that the languages and their modules have, and that make values.

use crate::marks::{HOME, NAME, STAR, START, TREE, UNKNOWN, alive};
use crate::walk::decode;
use crate::walk::files::{FRESH_DIRECTORY, base_name};
use crate::walk::program::calls::Given;
use crate::walk::program::evaluate::Program;
use crate::walk::program::value::Value;
use crate::walk::program::{Language, parsed_value};

/// The most rounds of `range`.
const LONGEST_RANGE: i64 = 64;

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
    let is_known = given.values.iter().all(Value::is_plain);
    Some(plain.filter(|_| is_known).map_or(Value::Unknown, Value::text))
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
