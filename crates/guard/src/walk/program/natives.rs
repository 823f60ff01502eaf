//! Everything that the languages and their modules have: which part of it a name means, and who answers a call.

use std::rc::Rc;

use crate::marks::{SOME, START};
use crate::walk::program::call::Given;
use crate::walk::program::member::bound;
use crate::walk::program::objects::is_exception;
use crate::walk::program::value::{Settled, Value};
use crate::walk::program::{Run, Stop, Trial};

/// Modules whose calls make values of their arguments and of nothing else.
const PURE: [&str; 24] = [
    "zlib",
    "gzip",
    "bz2",
    "lzma",
    "codecs",
    "base64",
    "binascii",
    "hashlib",
    "math",
    "struct",
    "re",
    "string",
    "textwrap",
    "operator",
    "functools",
    "itertools",
    "Buffer",
    "crypto",
    "Math",
    "JSON",
    "Object",
    "Array",
    "String",
    "html",
];

/// The depth of a call of the language, in nested expressions.
pub(super) const NATIVE_DEPTH: usize = 4;

impl Trial<'_, '_> {
    /// The value of a name that the program has not set.
    pub(super) fn unbound(&mut self, name: &str) -> Run<Value> {
        if let Some(value) = self.patched.get(name) {
            return Ok(value.clone());
        }
        if is_exception(name) {
            return Ok(self.builtin_class(name));
        }
        Ok(match name {
            "__name__" => Value::text("__main__"),
            "__file__" | "__filename" => Value::Unknown,
            "__dirname" => Value::text(START.to_string()),
            "NaN" => Value::Float(f64::NAN),
            "Infinity" => Value::Float(f64::INFINITY),
            "super" if !self.is_python() => self.super_value(),
            "IOError" | "EnvironmentError" if self.is_python() => self.builtin_class("OSError"),
            _ if self.is_python() || super::script_calls::is_global(name) => Value::native(name),
            _ => return Err(self.exception("ReferenceError", name)),
        })
    }

    pub(super) fn super_value(&mut self) -> Value {
        let Some(frame) = self.frames.last() else { return Value::Unknown };
        let this = frame.this.clone();
        let this =
            this.or_else(|| self.lookup("self").or_else(|| self.lookup("cls")).cloned()).unwrap_or(Value::Unknown);
        let home = frame.home.map_or(Value::Unknown, Value::Class);
        Value::Bound(Rc::new((Value::Tuple([this, home].into()), Rc::from("super"))))
    }

    /// A module, or a part of one.
    pub(super) fn imported(&mut self, module: &str, part: Option<&str>) -> Run<Value> {
        let value = self.module(module)?;
        if let Value::Native(own) = &value
            && self.is_python()
            && !super::python_modules::is_standard(own.split('.').next().unwrap_or(own))
        {
            let own = Rc::clone(own);
            let place = own.bytes().fold(7_usize, |place, byte| place.wrapping_mul(31).wrapping_add(usize::from(byte)));
            if self.fails_here(place) {
                return Err(self.exception("ModuleNotFoundError", &own));
            }
        }
        match part {
            Some(part) => match self.member(&value, part) {
                Err(Stop::Raise(_)) => Ok(Value::Unknown),
                value => value,
            },
            None => Ok(value),
        }
    }

    pub(super) fn module(&mut self, name: &str) -> Run<Value> {
        let name = name.trim_start_matches("node:");
        // A module that the script has written.
        let paths = if self.is_python() {
            let path = name.trim_start_matches('.').replace('.', "/");
            vec![format!("{path}.py"), format!("/tmp/{path}.py"), format!("{path}/__init__.py")]
        } else if name.starts_with(['.', '/']) {
            vec![
                name.to_owned(),
                format!("{name}.js"),
                format!("{name}.mjs"),
                format!("{name}.json"),
                format!("{name}.cjs"),
                format!("/tmp/{}", name.trim_start_matches("./")),
            ]
        } else {
            Vec::new()
        };
        for path in paths {
            if let Some(text) = self.file_text(&path) {
                return self.load_file(&path, &text);
            }
        }
        Ok(match name {
            "fs/promises" => Value::native("fs.promises"),
            "timers/promises" => Value::native("timers"),
            "readline/promises" => Value::native("readline"),
            "path/posix" => Value::native("path"),
            "posixpath" | "ntpath" => Value::native("os.path"),
            "posix" | "nt" => Value::native("os"),
            "builtins" | "__builtin__" => Value::native("builtins"),
            "os" if !self.is_python() => Value::native("node-os"),
            name => Value::native(name),
        })
    }

    pub(super) fn import_all(&mut self, module: &str) -> Run<()> {
        let value = self.module(module)?;
        if let Value::Native(module) = &value {
            const NAMES: [&str; 30] = [
                "run",
                "call",
                "check_call",
                "check_output",
                "Popen",
                "PIPE",
                "system",
                "popen",
                "path",
                "environ",
                "getcwd",
                "listdir",
                "walk",
                "remove",
                "unlink",
                "rmdir",
                "Path",
                "rmtree",
                "sep",
                "getenv",
                "chdir",
                "execvp",
                "partial",
                "reduce",
                "chain",
                "copy",
                "move",
                "sleep",
                "b64decode",
                "glob",
            ];
            for name in NAMES {
                if super::python_modules::has(module, name) {
                    let part = self.native_member(module, name)?;
                    self.declare(&Rc::from(name), part);
                }
            }
            return Ok(());
        }
        for (name, value) in self.entries_of(&value)? {
            let name = self.text_of(&name)?;
            self.declare(&name, value);
        }
        Ok(())
    }

    /// True if a call of this name is followed as a decorator.
    pub(super) fn is_decorator(name: &str) -> bool {
        let base = name.rsplit('.').next().unwrap_or(name);
        matches!(
            base,
            "staticmethod"
                | "classmethod"
                | "property"
                | "cached_property"
                | "dataclass"
                | "register"
                | "abstractproperty"
                | "contextmanager"
                | "asynccontextmanager"
                | "partial"
                | "total_ordering"
                | "singledispatch"
                | "cache"
                | "lru_cache"
        )
    }

    /// True if arguments of a call that is not known look like a command or a path that matters.
    pub(super) fn could_matter(&mut self, given: &Given) -> bool {
        let values: Vec<Value> =
            given.values.iter().chain(given.named.iter().map(|(_, value)| value)).cloned().collect();
        let mut text = String::new();
        for value in values {
            if matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Path(_)) {
                text.push(' ');
                text.push_str(&self.written(&value, 3).unwrap_or_default());
            }
        }
        ["git", "rm ", "rm'", "-rf", "push", "sudo"].iter().any(|word| text.contains(word))
    }

    /// A member of something that the language has.
    pub(super) fn native_member(&mut self, own: &str, name: &str) -> Run<Value> {
        let own = match own {
            "globalThis" | "global" | "window" | "builtins" | "__builtins__" | "self" => return self.unbound(name),
            own => own.strip_prefix("builtins.").unwrap_or(own),
        };
        let whole = format!("{own}.{name}");
        if let Some(value) = self.patched.get(&whole) {
            return Ok(value.clone());
        }
        if is_exception(name) && !own.starts_with("signal") {
            return Ok(self.builtin_class(name));
        }
        if name == "default" && !self.is_python() {
            return Ok(Value::native(own));
        }
        if matches!(own, "process.env" | "Bun.env") {
            return Ok(self.environment(name).unwrap_or(Value::Undefined));
        }
        if matches!(name, "call" | "apply" | "bind") && !self.is_python() && own.contains('.') {
            return Ok(bound(&Value::native(own), name));
        }
        if let Some(value) = self.constant(&whole)? {
            return Ok(value);
        }
        Ok(Value::native(whole))
    }

    /// The value of a part of a module that is no call.
    fn constant(&mut self, whole: &str) -> Run<Option<Value>> {
        Ok(Some(match whole {
            "os.sep" | "path.sep" | "os.path.sep" | "path.posix.sep" => Value::text("/"),
            "os.curdir" | "os.path.curdir" => Value::text("."),
            "os.pardir" | "os.path.pardir" => Value::text(".."),
            "os.linesep" | "node-os.EOL" => Value::text("\n"),
            "os.pathsep" | "path.delimiter" => Value::text(":"),
            "os.devnull" => Value::text("/dev/null"),
            "os.name" => Value::text("posix"),
            "os.extsep" => Value::text("."),
            "sys.platform" | "process.platform" => Value::text("linux"),
            "sys.executable" => Value::text("python3"),
            "process.execPath" => Value::text("node"),
            "sys.argv" | "process.argv" | "Bun.argv" => self.argument_list(whole),
            "Deno.args" => {
                let words = self.arguments.clone();
                self.heap.new_texts(words)
            }
            "sys.maxsize" => Value::Int(i128::from(i64::MAX)),
            "sys.version_info" => Value::Tuple([3, 12, 0].map(Value::Int).into()),
            "string.ascii_lowercase" => Value::text("abcdefghijklmnopqrstuvwxyz"),
            "string.ascii_uppercase" => Value::text("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "string.ascii_letters" => Value::text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "string.digits" => Value::text("0123456789"),
            "string.hexdigits" => Value::text("0123456789abcdefABCDEF"),
            "string.punctuation" => Value::text("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
            "string.printable" => Value::text(
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\u{b}\u{c}",
            ),
            "string.whitespace" => Value::text(" \t\n\r\u{b}\u{c}"),
            "require.main" => Value::native("module"),
            "import.meta" => Value::native("import.meta"),
            "import.meta.url" | "import.meta.filename" | "import.meta.dirname" => Value::Unknown,
            "Symbol.iterator" => Value::text("@@iterator"),
            "Symbol.asyncIterator" => Value::text("@@asyncIterator"),
            "Symbol.toPrimitive" => Value::text("@@toPrimitive"),
            "Number.MAX_SAFE_INTEGER" => Value::Int((1 << 53) - 1),
            "Math.PI" | "math.pi" => Value::Float(std::f64::consts::PI),
            "Number.POSITIVE_INFINITY" | "math.inf" => Value::Float(f64::INFINITY),
            "process.exitCode" | "process.pid" | "process.version" | "process.versions" | "sys.version"
            | "process.title" => Value::Unknown,
            _ => return Ok(None),
        }))
    }

    fn argument_list(&mut self, whole: &str) -> Value {
        // The interpreter stands before the program in JavaScript, the program stands first in Python.
        let before = if whole == "sys.argv" { 1 } else { 1 + usize::from(self.is_file) };
        let words = std::iter::repeat_n(SOME.to_string(), before).chain(self.arguments.iter().cloned());
        let list = self.heap.new_texts(words.collect::<Vec<_>>());
        self.patched.insert(whole.to_owned(), list.clone());
        list
    }

    pub(super) fn native_item(&mut self, own: &str, name: &str) -> Run<Value> {
        match own {
            "os.environ" | "os.environb" => match self.environment(name) {
                Some(value) => Ok(value),
                None => Err(self.exception("KeyError", name)),
            },
            "sys.modules" => self.module(name),
            _ if own.ends_with(".__dict__") => self.native_member(own.trim_end_matches(".__dict__"), name),
            // A type with its parts: `list[str]`.
            _ if self.is_python() => Ok(Value::native(own)),
            own => self.native_member(own, name),
        }
    }

    pub(super) fn native_contains(&mut self, own: &str, key: &str) -> Option<bool> {
        match own {
            "os.environ" | "process.env" => match self.environment(key) {
                Some(Value::Unknown) => None,
                Some(_) => Some(true),
                None => Some(false),
            },
            "sys.modules" => Some(true),
            _ => None,
        }
    }

    pub(super) fn set_native_member(&mut self, own: &str, name: &str, value: Value) -> Run<()> {
        if matches!(own, "os.environ" | "process.env" | "Bun.env") {
            return self.set_environment(name, &value);
        }
        let own = if matches!(own, "globalThis" | "global" | "builtins" | "__builtins__") {
            String::new()
        } else {
            format!("{own}.")
        };
        self.patched.insert(format!("{own}{name}"), value);
        Ok(())
    }

    /// Calls something that the language has.
    pub(super) fn call_native(&mut self, name: &str, given: Given) -> Run<Value> {
        self.step()?;
        if let Some(value) = self.patched.get(name).cloned() {
            return self.call_as(None, &value, given);
        }
        // Calls that give back a promise, or call back.
        let (plain, is_promise) = match name.strip_prefix("fs.promises.") {
            Some(base) => (format!("fs.{base}"), true),
            None => (name.to_owned(), false),
        };
        let mut given = given;
        let is_fs = plain.starts_with("fs.") && !plain.ends_with("Sync") && !plain.contains("Stream");
        let callback =
            if is_fs && !is_promise { given.values.last().filter(|value| value.is_callable()).cloned() } else { None };
        if callback.is_some() {
            given.values.pop();
        }
        // A call that leads back to the program takes more of the stack than others.
        self.depth += NATIVE_DEPTH;
        let value = match self.any_call(&plain, &given) {
            Ok(None) => self.unknown_call(&plain, &given),
            Ok(Some(value)) => Ok(value),
            Err(stop) => Err(stop),
        };
        self.depth -= NATIVE_DEPTH;
        let value = value?;
        if let Some(callback) = callback {
            self.queue.push_back((callback, vec![Value::None, value.clone()]));
        }
        Ok(if is_promise { self.heap.new_promise(Settled::Holds(value)) } else { value })
    }

    fn any_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let (module, base) = name.rsplit_once('.').unwrap_or(("", name));
        if let Some(value) = self.process_call(name, given)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.effect_call(module, base, given)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.path_call(name, given)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.file_call(module, base, given)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.codec_call(name, given)? {
            return Ok(Some(value));
        }
        if self.is_python() {
            if let Some(value) = self.regex_call(name, given)? {
                return Ok(Some(value));
            }
            if let Some(value) = self.task_call(name, base, given)? {
                return Ok(Some(value));
            }
            if let Some(value) = self.argument_call(name, given)? {
                return Ok(Some(value));
            }
            if let Some(value) = self.builtin_call(name, given)? {
                return Ok(Some(value));
            }
            return self.python_module_call(name, base, given);
        }
        if let Some(value) = self.promise_call(name, given)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.global_call(name, given)? {
            return Ok(Some(value));
        }
        self.script_module_call(name, base, given)
    }

    fn unknown_call(&mut self, name: &str, given: &Given) -> Run<Value> {
        let module = name.split('.').next().unwrap_or(name);
        self.notes.is_blind |= self.could_matter(given) && !is_harmless(module, name);
        self.call_back(given)?;
        if self.fails_here(self.place) {
            return Err(Stop::Raise(Value::Unknown));
        }
        let is_pure = PURE.contains(&module) && !given.values.is_empty();
        Ok(if is_pure { self.unknown_of(&given.values) } else { Value::Unknown })
    }
}

/// The call that a name means in whatever module it is.
pub(super) fn effect_named(name: &str) -> Option<&'static str> {
    Some(match name {
        "system" => "os.system",
        "popen" => "os.popen",
        "check_call" => "subprocess.check_call",
        "check_output" => "subprocess.check_output",
        "execSync" => "child_process.execSync",
        "spawnSync" => "child_process.spawnSync",
        "execFileSync" => "child_process.execFileSync",
        "rmtree" => "shutil.rmtree",
        "rmSync" => "fs.rmSync",
        "rimraf" => "rimraf",
        _ => return None,
    })
}

/// True if a call of a module runs nothing, whatever it is given.
fn is_harmless(module: &str, name: &str) -> bool {
    PURE.contains(&module)
        || matches!(
            module,
            "logging"
                | "console"
                | "print"
                | "warnings"
                | "pprint"
                | "json"
                | "time"
                | "datetime"
                | "sys"
                | "assert"
                | "chalk"
                | "typing"
                | "argparse"
                | "unittest"
                | "pytest"
                | "os"
                | "fs"
                | "path"
                | "performance"
                | "rich"
                | "click"
                | "log"
                | "logger"
                | "re"
                | "hasattr"
                | "difflib"
        )
        || matches!(
            name.rsplit('.').next().unwrap_or(name),
            "info" | "debug" | "warn" | "warning" | "error" | "log" | "getLogger" | "echo" | "write"
        )
}
