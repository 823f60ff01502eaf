//! The modules of Python that make values.

use std::rc::Rc;

use crate::marks::HOME;
use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, Dict, ObjectData, Value, is_doubtful, unknown_like};
use crate::walk::program::{Run, Trial};

/// True if a module has a part of this name.
pub(super) fn has(module: &str, name: &str) -> bool {
    let names: &[&str] = match module {
        "os" => &[
            "system", "popen", "path", "environ", "getcwd", "listdir", "walk", "remove", "unlink", "rmdir", "sep",
            "getenv", "chdir", "execvp",
        ],
        "subprocess" => &["run", "call", "check_call", "check_output", "Popen", "PIPE"],
        "shutil" => &["rmtree", "copy", "move"],
        "pathlib" => &["Path"],
        "functools" => &["partial", "reduce"],
        "itertools" => &["chain"],
        "base64" => &["b64decode"],
        "glob" => &["glob"],
        "time" => &["sleep"],
        _ => &[],
    };
    names.contains(&name)
}

/// True if every Python has a module of this name.
pub(super) fn is_standard(name: &str) -> bool {
    const STANDARD: [&str; 62] = [
        "os",
        "sys",
        "subprocess",
        "shutil",
        "pathlib",
        "json",
        "re",
        "time",
        "datetime",
        "functools",
        "itertools",
        "operator",
        "collections",
        "typing",
        "dataclasses",
        "enum",
        "string",
        "textwrap",
        "shlex",
        "base64",
        "binascii",
        "codecs",
        "zlib",
        "gzip",
        "bz2",
        "lzma",
        "struct",
        "glob",
        "tempfile",
        "asyncio",
        "pty",
        "multiprocessing",
        "threading",
        "concurrent",
        "importlib",
        "runpy",
        "argparse",
        "optparse",
        "getopt",
        "configparser",
        "csv",
        "io",
        "random",
        "secrets",
        "math",
        "hashlib",
        "logging",
        "contextlib",
        "abc",
        "types",
        "copy",
        "signal",
        "socket",
        "urllib",
        "http",
        "platform",
        "stat",
        "fnmatch",
        "unittest",
        "traceback",
        "inspect",
        "builtins",
    ];
    STANDARD.contains(&name)
}

/// True if texts of Python have a method of this name.
pub(super) fn is_text_method(name: &str) -> bool {
    matches!(
        name,
        "strip"
            | "lstrip"
            | "rstrip"
            | "split"
            | "rsplit"
            | "splitlines"
            | "join"
            | "format"
            | "replace"
            | "lower"
            | "upper"
            | "startswith"
            | "endswith"
            | "encode"
            | "find"
            | "index"
            | "count"
            | "title"
            | "zfill"
            | "partition"
            | "rpartition"
            | "removeprefix"
            | "removesuffix"
            | "translate"
            | "isdigit"
            | "capitalize"
    )
}

/// The words of a command line. Quotes keep them together.
pub(super) fn split_words(text: &str, comments: bool) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (Some(_), '\\') => {
                let next = letters.next()?;
                if !matches!(next, '"' | '\\') {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().push(next);
            }
            (None, '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if comments && word.is_none() => break,
            (None, ' ' | '\t' | '\n' | '\r') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A word in quotes, if it needs them.
fn quoted(word: &str) -> String {
    let is_safe =
        |letter: char| letter.is_alphanumeric() || "@%_-+=:,./".contains(letter) || crate::marks::is_mark(letter);
    if !word.is_empty() && word.chars().all(is_safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

impl Trial<'_, '_> {
    /// Calls of modules. None if this is no such call.
    pub(super) fn python_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let module = name.split('.').next().unwrap_or(name);
        match module {
            "functools" => self.functools_call(base, given),
            "itertools" => self.itertools_call(name, base, given),
            "operator" => self.operator_call(base, given),
            "collections" | "types" | "typing" | "enum" | "dataclasses" | "contextlib" | "copy" | "abc" => {
                self.class_module_call(name, base, given)
            }
            "random" | "secrets" => self.random_call(base, given),
            "struct" => self.struct_call(base, given),
            "configparser" | "csv" => self.table_module_call(name, given),
            _ => self.other_module_call(name, base, given),
        }
    }

    fn other_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "shlex.split" => {
                let text = self.text_of(&first)?;
                if text.chars().all(crate::marks::is_mark) && is_doubtful(&text) {
                    let value = unknown_like(&text);
                    return Ok(Some(self.heap.new_list(vec![value])));
                }
                match split_words(&text, false) {
                    Some(words) => self.heap.new_texts(words),
                    None => return Err(self.exception("ValueError", "no closing quotation")),
                }
            }
            "shlex.join" => {
                let words = self.words_of(&first)?;
                Value::text(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
            }
            "shlex.quote" | "pipes.quote" => Value::text(quoted(&self.text_of(&first)?)),
            "json.loads" | "json.load" | "ast.literal_eval" | "yaml.safe_load" | "tomllib.loads" | "pickle.loads" => {
                self.loaded_value(name, &first)?
            }
            "json.dumps" => Value::text(self.json_text(&first, 6)?),
            "json.dump" => {
                let text = self.json_text(&first, 6)?;
                self.call_method(given.at(1), "write", vec![Value::text(text)])?
            }
            "pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath" | "pathlib.PurePosixPath" => {
                self.new_path(given)?
            }
            "pathlib.Path.home" => Value::Path(HOME.to_string().into()),
            "pathlib.Path.cwd" => Value::Path(self.walk.directory().into()),
            "sys.stdin.read" | "sys.stdin.buffer.read" => {
                let input = std::mem::replace(&mut self.input, Rc::from(""));
                if input.is_empty() { Value::Unknown } else { Value::Text(input) }
            }
            "sys.stdin.readline" => self.input_line().map_or(Value::Unknown, |line| Value::text(format!("{line}\n"))),
            "sys.stdin.readlines" => {
                let lines = self.input_lines()?;
                self.heap.new_list(lines)
            }
            "sys.stdin.isatty" | "sys.stdout.isatty" => Value::Bool(false),
            "sys.stdout.write" | "sys.stdout.buffer.write" => {
                let text = self.content_of(&first)?;
                self.print(&text)?;
                Value::number(text.len())
            }
            "sys.stdout.flush" | "time.sleep" | "random.seed" | "warnings.filterwarnings" | "gc.collect" => Value::None,
            "tempfile.gettempdir" => Value::text("/tmp"),
            "tempfile.NamedTemporaryFile" | "tempfile.TemporaryFile" => {
                let name = format!("{}/file", crate::walk::files::FRESH_DIRECTORY);
                self.open_file(&Given::of(vec![Value::text(name), Value::text("w")]))?
            }
            "tempfile.mkstemp" => Value::Tuple(
                [Value::Int(9), Value::text(format!("{}/file", crate::walk::files::FRESH_DIRECTORY))].into(),
            ),
            "runpy.run_path" | "importlib.machinery.SourceFileLoader" => {
                let path = self.text_of(if base == "run_path" { &first } else { given.get(1).unwrap_or(&first) })?;
                match self.file_text(&path) {
                    Some(text) => self.evaluate(&text, false)?,
                    None => Value::Unknown,
                }
            }
            "bytes.fromhex" | "bytearray.fromhex" => return self.codec_call("binascii.unhexlify", given),
            "math.ceil" | "math.floor" | "math.sqrt" | "math.prod" | "math.gcd" | "math.isqrt" => {
                self.math(base, given)
            }
            "signal.signal" => {
                self.call_back(&Given::of(vec![given.at(1)]))?;
                Value::None
            }
            "typing.cast" => given.at(1),
            "itemgetter" => Value::Lost,
            "fnmatch.fnmatch" | "fnmatch.filter" => self.unknown_of(&given.values),
            "lock.acquire" | "lock.release" | "lock.set" | "lock.wait" => Value::Bool(true),
            "unittest.mock.patch" => Value::Unknown,
            _ => return self.text_module_call(name, base, given),
        }))
    }

    /// Calls that read or change the environment, and others of `os`.
    fn environment_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "os.environ.get" | "os.getenv" | "os.environ.setdefault" | "os.environ.pop" => {
                let key = self.text_of(&first)?;
                let default = given.named_or("default", 1).cloned().unwrap_or(Value::None);
                match self.environment(&key) {
                    // It may be missing as well.
                    Some(Value::Unknown) if self.walk.scalar(&key).is_none() => {
                        let place = self.place;
                        if self.answer(place, false) { Value::Unknown } else { default }
                    }
                    Some(value) => value,
                    None => {
                        if base == "setdefault" {
                            self.set_environment(&key, &default)?;
                        }
                        default
                    }
                }
            }
            "os.environ.update" => {
                let mut pairs = self.entries_of(&first)?;
                pairs.extend(given.named.iter().map(|(name, value)| (Value::Text(Rc::clone(name)), value.clone())));
                for (key, value) in pairs {
                    let key = self.text_of(&key)?;
                    self.set_environment(&key, &value)?;
                }
                Value::None
            }
            "os.putenv" => {
                let key = self.text_of(&first)?;
                self.set_environment(&key, &given.at(1))?;
                Value::None
            }
            "os.environ.copy" | "os.environ.items" => self.heap.new_dict(Dict::default()),
            "os.fspath" | "os.fsdecode" | "os.fsencode" | "os.path.realpath" => Value::Text(self.text_of(&first)?),
            "os.getpid" | "os.getuid" | "os.stat" | "os.lstat" | "os.access" | "os.cpu_count" => Value::Unknown,
            "os.fork" => {
                let place = self.place;
                Value::Int(i128::from(self.answer(place, false)))
            }
            _ => return Ok(None),
        }))
    }

    /// Calls that make texts, and methods that are called by the name of their class.
    fn text_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "string.Template" => {
                let text = self.text_of(&first)?;
                self.holder("string.Template", Value::Text(text))
            }
            "string.capwords" => self.call_method(first, "title", Vec::new())?,
            "str.maketrans" | "bytes.maketrans" | "bytearray.maketrans" => self.translation(given)?,
            "str.join"
            | "str.format"
            | "str.upper"
            | "str.lower"
            | "str.strip"
            | "str.split"
            | "str.replace"
            | "str.splitlines"
            | "str.encode"
            | "list.append"
            | "dict.get"
            | "str.startswith"
            | "str.endswith"
            | "str.title"
            | "list.pop"
            | "dict.update"
            | "bytes.decode"
            | "dict.items"
            | "str.swapcase"
            | "pathlib.Path.unlink"
            | "pathlib.Path.read_text"
            | "pathlib.Path.write_text"
            | "pathlib.Path.iterdir"
            | "pathlib.Path.rglob"
            | "pathlib.Path.resolve"
            | "str.rstrip"
            | "str.lstrip"
            | "str.removeprefix"
            | "str.__add__"
            | "str.capitalize" => self.call_method(first, base, given.rest(1))?,
            "dict.fromkeys" => {
                let keys = self.items(&first)?;
                let value = given.get(1).cloned().unwrap_or(Value::None);
                self.dict_of_pairs(keys.into_iter().map(|key| (key, value.clone())).collect())
            }
            "textwrap.dedent" => Value::text(dedented(&self.text_of(&first)?)),
            "textwrap.indent"
            | "textwrap.fill"
            | "textwrap.shorten"
            | "inspect.cleandoc"
            | "html.unescape"
            | "unicodedata.normalize"
            | "sys.intern" => {
                if base == "normalize" {
                    given.at(1)
                } else {
                    first
                }
            }
            "textwrap.wrap" => {
                let text = self.text_of(&first)?;
                self.heap.new_texts([text])
            }
            _ => return self.environment_call(name, base, given),
        }))
    }

    fn math(&self, base: &str, given: &Given) -> Value {
        let first = given.at(0);
        let float = super::numbers::as_float(&first);
        match base {
            "ceil" if !float.is_nan() => super::numbers::float(float.ceil(), false),
            "floor" if !float.is_nan() => super::numbers::float(float.floor(), false),
            "sqrt" if !float.is_nan() => Value::Float(float.sqrt()),
            "isqrt" if !float.is_nan() => super::numbers::float(float.sqrt().floor(), false),
            _ => self.unknown_of(&given.values),
        }
    }

    /// The value that a text in JSON, or of another notation, says.
    fn loaded_value(&mut self, name: &str, value: &Value) -> Run<Value> {
        let value = match value {
            Value::File(id) => self.file_method(*id, "read", &Given::default())?,
            Value::Native(name) if name.starts_with("sys.stdin") => {
                self.call_native("sys.stdin.read", Given::default())?
            }
            value => value.clone(),
        };
        if name == "ast.literal_eval" {
            let text = self.text_of(&value)?;
            return self.evaluate(&text, true);
        }
        if !name.starts_with("json") {
            return Ok(self.unknown_of([&value]));
        }
        self.parsed_json(&value)
    }

    /// An object of a class of the language that holds a value.
    pub(super) fn holder(&mut self, class: &str, value: Value) -> Value {
        let mut fields = Dict::default();
        fields.set("template", value);
        let data = ObjectData { class: Value::native(class), fields, inner: None };
        Value::Object(self.heap.add(Cell::Object(Box::new(data))))
    }

    /// `str.maketrans`
    fn translation(&mut self, given: &Given) -> Run<Value> {
        let mut pairs = Vec::new();
        let code = |letter: char| Value::Int(i128::from(u32::from(letter)));
        match (given.at(0), given.at(1)) {
            (table @ Value::Dict(_), _) => {
                for (key, value) in self.entries_of(&table)? {
                    let key = match key.known_text().and_then(|text| text.chars().next()) {
                        Some(letter) => code(letter),
                        None => key,
                    };
                    pairs.push((key, value));
                }
            }
            (from, to) => {
                let (from, to) = (self.content_of(&from)?, self.content_of(&to)?);
                pairs.extend(from.chars().zip(to.chars()).map(|(from, to)| (code(from), Value::text(to.to_string()))));
                if let Some(gone) = given.get(2).cloned() {
                    let gone = self.text_of(&gone)?;
                    pairs.extend(gone.chars().map(|letter| (code(letter), Value::None)));
                }
            }
        }
        Ok(self.dict_of_pairs(pairs))
    }
}

/// A text without the blanks that all of its lines begin with.
fn dedented(text: &str) -> String {
    let lines = || text.split('\n');
    let blanks = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines().filter(|line| !line.trim().is_empty()).map(blanks).min().unwrap_or(0);
    lines().map(|line| line.get(least..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}
