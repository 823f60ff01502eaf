//! The modules of Python that make values.

use std::rc::Rc;

use crate::marks::HOME;
use crate::walk::program::trial::call::Given;
use crate::walk::program::trial::value::{
    Cell, ClassData, Dict, ObjectData, Partial, Value, is_doubtful, unknown_like,
};
use crate::walk::program::trial::{Run, Trial};

/// The most items of a product or of an endless iterator.
const MOST_ITEMS: usize = 600;

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
            "os.environ.get" | "os.getenv" | "os.environ.setdefault" | "os.environ.pop" => {
                let key = self.text_of(&first)?;
                let default = given.named_or("default", 1).cloned().unwrap_or(Value::None);
                match self.environment(&key)? {
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
            "pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath" | "pathlib.PurePosixPath" => {
                self.new_path(given)?
            }
            "pathlib.Path.home" => Value::Path(HOME.to_string().into()),
            "pathlib.Path.cwd" => Value::Path(self.walk.directory().into()),
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
                self.math(base, given)?
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
            _ => return Ok(None),
        }))
    }

    fn math(&mut self, base: &str, given: &Given) -> Run<Value> {
        let first = given.at(0);
        let float = super::numbers::as_float(&first);
        Ok(match base {
            "ceil" | "Math.ceil" if !float.is_nan() => super::numbers::float(float.ceil(), false),
            "floor" if !float.is_nan() => super::numbers::float(float.floor(), false),
            "sqrt" if !float.is_nan() => Value::Float(float.sqrt()),
            "isqrt" if !float.is_nan() => super::numbers::float(float.sqrt().floor(), false),
            _ => self.unknown_of(&given.values),
        })
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

    fn functools_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match base {
            "partial" | "partialmethod" => {
                Value::Partial(Rc::new(Partial { function: first, values: given.rest(1), named: given.named.clone() }))
            }
            "reduce" => {
                let mut items = self.items(&given.at(1))?.into_iter();
                let mut sum = match given.named_or("initial", 2) {
                    Some(start) => start.clone(),
                    None => items.next().unwrap_or(Value::Unknown),
                };
                for item in items {
                    sum = self.call(first.clone(), vec![sum, item])?;
                }
                sum
            }
            "lru_cache" | "cache" | "singledispatch" | "total_ordering" | "singledispatchmethod"
                if first.is_callable() =>
            {
                first
            }
            "lru_cache" | "cache" => Value::native("functools.cache"),
            "wraps" | "update_wrapper" => Value::native("identity"),
            "cached_property" => Value::Accessor(Rc::new((first, Value::None))),
            "cmp_to_key" => Value::native("identity"),
            _ => return Ok(None),
        }))
    }

    fn itertools_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let found = match base {
            "chain" => {
                let mut items = Vec::new();
                for value in &given.values {
                    items.extend(self.items(value)?);
                }
                items
            }
            "from_iterable" => {
                let mut items = Vec::new();
                for value in self.items(&first)? {
                    items.extend(self.items(&value)?);
                }
                items
            }
            "zip_longest" => return self.builtin_call(name, given),
            "starmap" => {
                let mut items = Vec::new();
                for row in self.items(&given.at(1))? {
                    let values = self.items(&row)?;
                    items.push(self.call(first.clone(), values)?);
                }
                items
            }
            "repeat" => {
                let times =
                    given.named_or("times", 1).and_then(Value::as_int).and_then(|times| usize::try_from(times).ok());
                vec![first; times.unwrap_or(64).min(MOST_ITEMS)]
            }
            "cycle" => {
                let items = self.items(&first)?;
                if items.is_empty() { items } else { items.into_iter().cycle().take(MOST_ITEMS).collect() }
            }
            "count" => {
                let start = given.named_or("start", 0).and_then(Value::as_int).unwrap_or(0);
                let step = given.named_or("step", 1).and_then(Value::as_int).unwrap_or(1);
                (0..256).map(|at| Value::Int(start + at * step)).collect()
            }
            "islice" => {
                let items = self.items(&first)?;
                let list = self.heap.new_list(items);
                let parts = if given.values.len() == 2 {
                    [None, given.get(1).cloned(), None]
                } else {
                    [given.get(1).cloned(), given.get(2).cloned(), given.get(3).cloned()]
                };
                let parts = parts.map(|part| part.filter(|part| !part.is_nothing()));
                let sliced = self.slice(&list, &parts)?;
                self.items(&sliced)?
            }
            "accumulate" => {
                let mut sums: Vec<Value> = Vec::new();
                for item in self.items(&first)? {
                    let sum = match (sums.last().cloned(), given.named_or("func", 1).cloned()) {
                        (None, _) => item,
                        (Some(sum), Some(function)) if !function.is_nothing() => {
                            self.call(function, vec![sum, item])?
                        }
                        (Some(sum), _) => self.binary(&sum, "+", &item)?,
                    };
                    sums.push(sum);
                }
                sums
            }
            "product" => self.product(given)?,
            "permutations" | "combinations" => return self.arrangements(base, given).map(Some),
            "compress" => {
                let selectors = self.items(&given.at(1))?;
                let mut kept = Vec::new();
                for (item, selector) in self.items(&first)?.into_iter().zip(selectors) {
                    if self.truth(&selector) != Some(false) {
                        kept.push(item);
                    }
                }
                kept
            }
            "filterfalse" => self.filtered(&first, &given.at(1), false)?,
            "takewhile" | "dropwhile" => {
                let mut kept = Vec::new();
                let mut is_over = false;
                for item in self.items(&given.at(1))? {
                    if !is_over {
                        let answer = self.call(first.clone(), vec![item.clone()])?;
                        is_over = self.truth(&answer) == Some(false);
                    }
                    if is_over != (base == "takewhile") {
                        kept.push(item);
                    }
                }
                kept
            }
            "pairwise" => {
                let items = self.items(&first)?;
                items.windows(2).map(|pair| Value::Tuple(pair.into())).collect()
            }
            "groupby" => self.groups(&first, given.named_or("key", 1))?,
            "tee" => {
                let items = self.items(&first)?;
                let copies = (0..2).map(|_| self.heap.new_iterator(items.clone())).collect::<Vec<_>>();
                return Ok(Some(Value::Tuple(copies.into())));
            }
            "batched" => {
                let size = given.at(1).as_int().and_then(|size| usize::try_from(size).ok()).unwrap_or(1).max(1);
                self.items(&first)?.chunks(size).map(|chunk| Value::Tuple(chunk.into())).collect()
            }
            _ => return Ok(None),
        };
        self.spend(found.len() / 4)?;
        Ok(Some(self.heap.new_iterator(found)))
    }

    fn product(&mut self, given: &Given) -> Run<Vec<Value>> {
        let repeat = given
            .named("repeat")
            .and_then(Value::as_int)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(1)
            .min(8);
        let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
        for value in std::iter::repeat_n(&given.values, repeat).flatten() {
            let items = self.items(value)?;
            let longer = rows.iter().flat_map(|row| {
                items.iter().map(|item| {
                    let mut row = row.clone();
                    row.push(item.clone());
                    row
                })
            });
            rows = longer.take(MOST_ITEMS).collect();
            self.spend(rows.len())?;
        }
        Ok(rows.into_iter().map(|row| Value::Tuple(row.into())).collect())
    }

    fn arrangements(&mut self, base: &str, given: &Given) -> Run<Value> {
        let items = self.items(&given.at(0))?;
        let size = given.at(1).as_int().and_then(|size| usize::try_from(size).ok()).unwrap_or(items.len());
        let mut rows: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..size.min(8) {
            let longer = rows.iter().flat_map(|row| {
                let least = if base == "combinations" { row.last().map_or(0, |last| last + 1) } else { 0 };
                (least..items.len())
                    .filter(|at| !row.contains(at))
                    .map(|at| row.iter().copied().chain([at]).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            });
            rows = longer.take(MOST_ITEMS).collect();
            self.spend(rows.len())?;
        }
        let rows = rows
            .into_iter()
            .map(|row| Value::Tuple(row.iter().filter_map(|at| items.get(*at).cloned()).collect()))
            .collect();
        Ok(self.heap.new_iterator(rows))
    }

    fn groups(&mut self, list: &Value, key: Option<&Value>) -> Run<Vec<Value>> {
        let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
        for item in self.items(list)? {
            let own = match key {
                Some(key) if !key.is_nothing() => self.call(key.clone(), vec![item.clone()])?,
                _ => item.clone(),
            };
            let same = match groups.last() {
                Some((last, _)) => {
                    let last = last.clone();
                    self.equals(&last, &own) == Some(true)
                }
                None => false,
            };
            match groups.last_mut() {
                Some((_, items)) if same => items.push(item),
                _ => groups.push((own, vec![item])),
            }
        }
        Ok(groups.into_iter().map(|(key, items)| Value::Tuple([key, self.heap.new_list(items)].into())).collect())
    }

    fn operator_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        let operator = match base {
            "add" | "concat" | "iadd" | "iconcat" => "+",
            "sub" => "-",
            "mul" => "*",
            "truediv" => "/",
            "floordiv" => "//",
            "mod" => "%",
            "or_" | "ior" => "|",
            "and_" => "&",
            "xor" => "^",
            "lshift" => "<<",
            "rshift" => ">>",
            _ => "",
        };
        if !operator.is_empty() {
            return self.binary(&given.at(0), operator, &given.at(1)).map(Some);
        }
        let compared = match base {
            "eq" => "==",
            "ne" => "!=",
            "lt" => "<",
            "gt" => ">",
            "le" => "<=",
            "ge" => ">=",
            "contains" => {
                return Ok(Some(self.contains(&given.at(0), &given.at(1)).map_or(Value::Unknown, Value::Bool)));
            }
            _ => "",
        };
        if !compared.is_empty() {
            return self.compare(&given.at(0), compared, &given.at(1)).map(Some);
        }
        Ok(Some(match base {
            "itemgetter" | "attrgetter" | "methodcaller" => Value::Partial(Rc::new(Partial {
                function: Value::native(format!("operator.{base}()")),
                values: vec![Value::Tuple(given.values.clone().into())],
                named: given.named.clone(),
            })),
            "itemgetter()" | "attrgetter()" => {
                let mut found = Vec::new();
                for key in self.items(&given.at(0))? {
                    let mut value = given.at(1);
                    if base == "itemgetter()" {
                        value = self.item(&value, &key)?;
                    } else {
                        for part in self.text_of(&key)?.split('.') {
                            value = self.member(&value, part)?;
                        }
                    }
                    found.push(value);
                }
                if found.len() == 1 { found.pop().unwrap_or(Value::None) } else { Value::Tuple(found.into()) }
            }
            "methodcaller()" => {
                let mut parts = self.items(&given.at(0))?.into_iter();
                let name = self.text_of(&parts.next().unwrap_or(Value::Unknown))?;
                let object = given.at(1);
                let function = self.member(&object, &name)?;
                self.call_as(Some(object), &function, Given { values: parts.collect(), named: given.named.clone() })?
            }
            "getitem" => self.item(&given.at(0), &given.at(1))?,
            "setitem" => {
                self.set_item(&given.at(0), &given.at(1), given.at(2))?;
                Value::None
            }
            "call" => self.call_as(None, &given.at(0), Given { values: given.rest(1), named: given.named.clone() })?,
            "not_" => self.truth(&given.at(0)).map_or(Value::Unknown, |truth| Value::Bool(!truth)),
            "neg" => self.binary(&Value::Int(0), "-", &given.at(0))?,
            _ => return Ok(None),
        }))
    }

    fn class_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match base {
            "namedtuple" | "NamedTuple" => self.named_tuple(given)?,
            "Counter" => {
                let mut pairs: Vec<(Value, Value)> = Vec::new();
                let counts = self.heap.new_dict(Dict::default());
                if !first.is_nothing() {
                    pairs.extend(self.items(&first)?.into_iter().map(|item| (item, Value::Int(1))));
                }
                for (item, one) in pairs {
                    let before = self.call_method(counts.clone(), "get", vec![item.clone(), Value::Int(0)])?;
                    let sum = self.binary(&before, "+", &one)?;
                    self.set_item(&counts, &item, sum)?;
                }
                counts
            }
            "ChainMap" => {
                let merged = self.heap.new_dict(Dict::default());
                for table in given.values.iter().rev() {
                    self.call_method(merged.clone(), "update", vec![table.clone()])?;
                }
                merged
            }
            "SimpleNamespace" => {
                let mut fields = Dict::default();
                for (name, value) in &given.named {
                    fields.set(name, value.clone());
                }
                let data = ObjectData { class: Value::native("types.SimpleNamespace"), fields, inner: None };
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "MethodType" => Value::Method(Rc::new((given.at(1), first))),
            "FunctionType" => first,
            "auto" => Value::native("enum.auto()"),
            "dataclass" => match &first {
                Value::Class(id) => {
                    if let Some(data) = self.heap.class_mut(*id) {
                        data.is_data = true;
                    }
                    first
                }
                _ => Value::native("dataclasses.dataclass"),
            },
            "field" => Value::Partial(Rc::new(Partial {
                function: Value::native("dataclasses.field"),
                values: Vec::new(),
                named: given.named.clone(),
            })),
            "asdict" | "astuple" => {
                let entries = self.entries_of(&first)?;
                if base == "asdict" {
                    self.dict_of_pairs(entries)
                } else {
                    Value::Tuple(entries.into_iter().map(|(_, value)| value).collect())
                }
            }
            "replace" if name.starts_with("dataclasses") => {
                let Value::Object(id) = first else { return Ok(Some(Value::Unknown)) };
                let Some(mut data) = self.heap.object(id).cloned() else { return Ok(Some(Value::Unknown)) };
                for (name, value) in &given.named {
                    data.fields.set(name, value.clone());
                }
                Value::Object(self.heap.add(Cell::Object(Box::new(data))))
            }
            "contextmanager"
            | "asynccontextmanager"
            | "abstractmethod"
            | "runtime_checkable"
            | "final"
            | "overload" => first,
            "suppress" => Value::native("contextlib.suppress()"),
            "nullcontext" | "closing" => {
                if first.is_nothing() {
                    Value::native("nullcontext")
                } else {
                    first
                }
            }
            "redirect_stdout" => first,
            "ExitStack" | "AsyncExitStack" => Value::native("exitstack"),
            "enter_context" => self.enter_manager(&first)?,
            "callback" => {
                self.at_exit.push((first, given.rest(1)));
                Value::None
            }
            "copy" | "deepcopy" => match &first {
                Value::List(_) => {
                    let items = self.items(&first)?;
                    self.heap.new_list(items)
                }
                Value::Dict(_) => {
                    let copy = self.dict_of(&first);
                    self.heap.new_dict(copy)
                }
                _ => first,
            },
            "cast" => given.at(1),
            _ => return Ok(None),
        }))
    }

    fn named_tuple(&mut self, given: &Given) -> Run<Value> {
        let name = self.text_of(&given.at(0))?.to_string();
        let fields = given.at(1);
        let mut names = Vec::new();
        match &fields {
            Value::Text(text) => names.extend(text.replace(',', " ").split_whitespace().map(str::to_owned)),
            fields => {
                for field in self.items(fields)? {
                    let field = if let Value::Tuple(parts) = &field {
                        parts.first().cloned().unwrap_or(Value::None)
                    } else {
                        field
                    };
                    names.push(self.text_of(&field)?.to_string());
                }
            }
        }
        let defaults = match given.named("defaults").cloned() {
            Some(defaults) if !defaults.is_nothing() => self.items(&defaults)?,
            _ => Vec::new(),
        };
        let mut members = Dict::default();
        let without = names.len().saturating_sub(defaults.len());
        for (at, field) in names.iter().enumerate() {
            let default = at.checked_sub(without).and_then(|at| defaults.get(at)).cloned();
            members.set(field, default.unwrap_or(Value::Undefined));
        }
        let bases = vec![Value::native("typing.NamedTuple")];
        let data = ClassData { name, bases, members, is_data: true, ..ClassData::default() };
        Ok(Value::Class(self.heap.add(Cell::Class(Box::new(data)))))
    }

    fn random_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        Ok(Some(match base {
            // Any of them may be the one.
            "choice" => self.any_of(&given.at(0))?,
            "sample" | "choices" => {
                let items = self.items(&given.at(0))?;
                self.heap.new_list(items)
            }
            "shuffle" => Value::None,
            _ => Value::Unknown,
        }))
    }

    fn struct_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        let format = self.content_of(&given.at(0))?;
        let width = |letter: char| match letter {
            'b' | 'B' | 'c' | 's' | 'x' | '?' => 1,
            'h' | 'H' => 2,
            'i' | 'I' | 'l' | 'L' => 4,
            'q' | 'Q' => 8,
            _ => 0,
        };
        let is_little = !format.starts_with(['>', '!']);
        let mut codes = Vec::new();
        let mut count = String::new();
        for letter in format.chars() {
            match letter {
                '<' | '>' | '!' | '=' | '@' | ' ' => {}
                digit if digit.is_ascii_digit() => count.push(digit),
                's' => {
                    codes.push(('s', count.parse().unwrap_or(1_usize)));
                    count.clear();
                }
                letter => {
                    codes.extend(std::iter::repeat_n(
                        (letter, width(letter)),
                        count.parse().unwrap_or(1_usize).min(256),
                    ));
                    count.clear();
                }
            }
        }
        let mut values = given.rest(1).into_iter();
        match base {
            "pack" => {
                let mut bytes: Vec<u8> = Vec::new();
                for (letter, size) in codes {
                    let value = values.next().unwrap_or(Value::Int(0));
                    match (letter, value.as_int(), self.bytes_of(&value)?) {
                        ('s' | 'c', _, Some(text)) => {
                            bytes.extend(text.into_iter().chain(std::iter::repeat(0)).take(size.min(4096)))
                        }
                        (_, Some(number), _) => {
                            let whole = number.to_le_bytes();
                            let part: Vec<u8> = whole.iter().take(size).copied().collect();
                            bytes.extend(if is_little { part } else { part.into_iter().rev().collect() });
                        }
                        _ => return Ok(Some(self.unknown_of([&value]))),
                    }
                }
                Ok(Some(Value::Bytes(bytes.into())))
            }
            "unpack" => {
                let Some(bytes) = self.bytes_of(&given.at(1))? else { return Ok(Some(self.unknown_of(&given.values))) };
                let mut at = 0;
                let mut found = Vec::new();
                for (letter, size) in codes {
                    let part = bytes.get(at..at + size).unwrap_or(&[]).to_vec();
                    at += size;
                    if matches!(letter, 's' | 'c') {
                        found.push(Value::Bytes(part.into()));
                    } else {
                        let ordered: Vec<u8> = if is_little { part.into_iter().rev().collect() } else { part };
                        found.push(Value::Int(ordered.iter().fold(0, |number, byte| number << 8 | i128::from(*byte))));
                    }
                }
                Ok(Some(Value::Tuple(found.into())))
            }
            _ => Ok(None),
        }
    }
}

/// A text without the blanks that all of its lines begin with.
fn dedented(text: &str) -> String {
    let lines = || text.split('\n');
    let blanks = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines().filter(|line| !line.trim().is_empty()).map(blanks).min().unwrap_or(0);
    lines().map(|line| line.get(least..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}
