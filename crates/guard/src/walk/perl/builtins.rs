//! Functions that Perl has: texts, lists, hashes.

use crate::walk::perl::functions::cut;

use crate::walk::perl::ast::Expr;
use crate::walk::perl::places::MOST_ITEMS;
use crate::walk::perl::run::{Leaving, Outcome, Perl};
use crate::walk::perl::text::substr_range;
use crate::walk::perl::value::Val;

impl Perl<'_, '_> {
    pub(super) fn call_scalar(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Val> {
        if let Some(closure) = self.code_named(name) {
            let arguments = self.lists(arguments)?;
            return Ok(self.call_closure(&closure, arguments, false)?.pop().unwrap_or(Val::Undefined));
        }
        if let Some(value) = self.place_function(name, arguments)? {
            return Ok(value);
        }
        match name {
            "reverse" => {
                let text: String = if arguments.is_empty() {
                    self.topic().to_text()
                } else {
                    self.lists(arguments)?.iter().map(Val::to_text).collect()
                };
                let text = self.walk.world.concrete(&text);
                return Ok(if crate::marks::is_vague(&text) {
                    Val::unknown()
                } else {
                    Val::text(text.chars().rev().collect::<String>())
                });
            }
            "split" => return Ok(Val::count(self.split(arguments)?.len())),
            "localtime" | "gmtime" => return Ok(Val::unknown()),
            "unpack" | "glob" => {
                return Ok(self.call_list(name, arguments)?.into_iter().next().unwrap_or(Val::Undefined));
            }
            "readdir" => return self.read_directory(arguments),
            "keys" | "values" | "uniq" | "uniqnum" | "uniqstr" => {
                return Ok(Val::count(self.call_list(name, arguments)?.len()));
            }
            _ => {}
        }
        Ok(self.call_list(name, arguments)?.pop().unwrap_or(Val::Undefined))
    }

    /// Functions that change a variable. None if this is no such function.
    pub(super) fn place_function(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Option<Val>> {
        let first = arguments.first();
        Ok(Some(match name {
            "push" | "unshift" => {
                let Some((target, rest)) = arguments.split_first() else { return Ok(None) };
                let values = self.lists(rest)?;
                let array = self.array_at(target)?;
                let mut items = array.borrow_mut();
                if items.len() + values.len() > MOST_ITEMS {
                    items.push(Val::unknown());
                } else if name == "push" {
                    items.extend(values);
                } else {
                    items.splice(0..0, values);
                }
                let count = items.len();
                Val::count(count)
            }
            "pop" | "shift" => {
                let array = match first {
                    Some(target) => self.array_at(target)?,
                    None if self.wants.is_empty() => self.array_cell("ARGV"),
                    None => self.array_cell("_"),
                };
                let mut items = array.borrow_mut();
                let taken = if name == "pop" {
                    items.pop()
                } else if items.is_empty() {
                    None
                } else {
                    Some(items.remove(0))
                };
                taken.unwrap_or(Val::Undefined)
            }
            "chomp" | "chop" => return self.chomp(name, first).map(Some),
            "defined" => return self.is_defined(first).map(Some),
            "exists" | "delete" => return self.exists_or_delete(name == "delete", first).map(Some),
            "undef" => {
                match first {
                    Some(target) if target.is_list() => self.assign_list(target, Vec::new())?,
                    Some(target) => self.assign(target, Val::Undefined)?,
                    None => {}
                }
                Val::Undefined
            }
            "scalar" => match first {
                Some(target) => self.scalar(target)?,
                None => Val::Undefined,
            },
            "wantarray" => self.wants.last().map_or(Val::Undefined, |wants| Val::flag(*wants)),
            "substr" if arguments.len() == 4 => {
                let Some((last, rest)) = arguments.split_last() else { return Ok(None) };
                let with = self.scalar(last)?;
                let before = self.call_scalar("substr", rest)?;
                self.assign(&Expr::Call("substr".to_owned(), Vec::new()), Val::Undefined)?;
                let text = self.scalar(rest.first().unwrap_or(&Expr::Unknown))?.to_text();
                let mut numbers = Vec::new();
                for number in rest.get(1..).unwrap_or(&[]) {
                    numbers.push(self.scalar(number)?);
                }
                let changed = match substr_range(&text, &numbers) {
                    Some((from, to)) => {
                        let letters: Vec<char> = text.chars().collect();
                        let head: String = letters.iter().take(from).collect();
                        let tail: String = letters.iter().skip(to).collect();
                        Val::text(format!("{head}{}{tail}", with.to_text()))
                    }
                    None => Val::unknown(),
                };
                if let Some(target) = rest.first() {
                    self.assign(target, changed)?;
                }
                before
            }
            "bless" => {
                let object = match first {
                    Some(first) => self.scalar(first)?,
                    None => Val::Undefined,
                };
                let class = match arguments.get(1) {
                    Some(class) => self.scalar(class)?.to_text(),
                    None => self.package.clone(),
                };
                if let Val::Hash(hash) = &object {
                    hash.class.replace(Some(class));
                }
                object
            }
            "open" | "opendir" | "close" | "closedir" | "binmode" | "eof" | "select" => {
                return self.handle_function(name, arguments).map(Some);
            }
            "GetOptions" | "getopts" => return self.options(name, arguments).map(Some),
            "local $_" => Val::Undefined,
            _ => return Ok(None),
        }))
    }

    pub(super) fn chomp(&mut self, name: &str, target: Option<&Expr>) -> Outcome<Val> {
        let Some(target) = target else {
            let text = self.topic().to_text();
            self.set_topic(Val::text(cut(&text, name)));
            return Ok(Val::Number(1.0));
        };
        // `chomp(my @lines = …)`
        let place = match target {
            Expr::Assign(place, ..) => {
                if place.is_list() {
                    drop(self.list(target)?);
                } else {
                    drop(self.scalar(target)?);
                }
                place
            }
            other => other,
        };
        let place = match place {
            Expr::My(inner) => inner,
            other => other,
        };
        if place.is_list() {
            if let Expr::Array(_) | Expr::Dereferenced('@', _) = place {
                let array = self.array_at(place)?;
                for item in array.borrow_mut().iter_mut() {
                    *item = Val::text(cut(&item.to_text(), name));
                }
            } else if let Expr::List(items) = place {
                for item in items {
                    self.chomp(name, Some(item))?;
                }
            }
        } else {
            let value = self.scalar(place)?;
            if value.is_defined() {
                self.assign(place, Val::text(cut(&value.to_text(), name)))?;
            }
        }
        Ok(Val::Number(1.0))
    }

    pub(super) fn is_defined(&mut self, target: Option<&Expr>) -> Outcome<Val> {
        Ok(match target {
            Some(Expr::Function(name)) => Val::flag(self.code_named(name).is_some()),
            Some(Expr::Call(name, arguments)) if arguments.is_empty() && self.code_named(name).is_some() => {
                Val::flag(true)
            }
            Some(target) => Val::flag(self.scalar(target)?.is_defined()),
            None => Val::flag(self.topic().is_defined()),
        })
    }

    pub(super) fn exists_or_delete(&mut self, deletes: bool, target: Option<&Expr>) -> Outcome<Val> {
        Ok(match target {
            Some(Expr::Entry(hash, key)) => {
                let key = self.scalar(key)?;
                if matches!(hash.as_ref(), Expr::Hash(name) if name == "ENV") {
                    let value = self.environment_value(&key.to_text());
                    if deletes {
                        self.environment.insert(key.to_text(), None);
                        return Ok(value);
                    }
                    return Ok(if value.is_unknown() { value } else { Val::flag(value.is_defined()) });
                }
                let hash = self.hash_at(hash)?;
                let mut entries = hash.entries.borrow_mut();
                if deletes {
                    entries.remove(&key.to_text()).unwrap_or(Val::Undefined)
                } else if key.is_marked() && !entries.is_empty() {
                    Val::unknown()
                } else {
                    Val::flag(entries.contains_key(&key.to_text()))
                }
            }
            Some(Expr::Entries(hash, keys)) if deletes => {
                let keys = self.list(keys)?;
                let hash = self.hash_at(hash)?;
                let mut last = Val::Undefined;
                for key in keys {
                    last = hash.entries.borrow_mut().remove(&key.to_text()).unwrap_or(Val::Undefined);
                }
                last
            }
            Some(Expr::Local(inner)) => return self.exists_or_delete(deletes, Some(inner)),
            Some(Expr::Item(array, key)) => {
                let array = self.array_at(array)?;
                let key = self.scalar(key)?;
                let length = array.borrow().len();
                let at = Self::index_of(&key, length).filter(|at| *at < length);
                match at {
                    Some(at) if deletes => array
                        .borrow_mut()
                        .get_mut(at)
                        .map_or(Val::Undefined, |item| std::mem::replace(item, Val::Undefined)),
                    at => Val::flag(at.is_some()),
                }
            }
            Some(Expr::Function(name) | Expr::Call(name, _)) => Val::flag(self.code_named(name).is_some()),
            _ => Val::unknown(),
        })
    }

    pub(super) fn call_list(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Vec<Val>> {
        if let Some(closure) = self.code_named(name) {
            let arguments = self.lists(arguments)?;
            return self.call_closure(&closure, arguments, true);
        }
        if let Some(value) = self.place_function(name, arguments)? {
            return Ok(vec![value]);
        }
        match name {
            "split" => return self.split(arguments),
            "keys" | "values" | "each" => return self.hash_items(name, arguments.first()),
            "readdir" => return self.read_directories(arguments),
            "splice" => return self.splice(arguments),
            "eval" => {
                let code = self.scalar(arguments.first().unwrap_or(&Expr::Unknown))?;
                return self.evaluate_text(&code);
            }
            "do" | "require" => return self.run_file(name, arguments),
            "return" => return Err(Leaving::Return(self.lists(arguments)?)),
            _ => {}
        }
        let mut values = self.lists(arguments)?;
        // Many functions take `$_` if they are given nothing.
        if arguments.is_empty() && TOPICAL.contains(&name) {
            values.push(self.topic());
        }
        if let Some(values) = self.list_function(name, &values)? {
            return Ok(values);
        }
        if let Some(value) = self.text_function(name, &values)? {
            return Ok(vec![value]);
        }
        self.system_function(name, values)
    }
}

/// Functions that take `$_` if they are given nothing.
const TOPICAL: [&str; 26] = [
    "lc",
    "uc",
    "lcfirst",
    "ucfirst",
    "length",
    "chr",
    "ord",
    "int",
    "hex",
    "oct",
    "abs",
    "sqrt",
    "quotemeta",
    "unlink",
    "rmdir",
    "glob",
    "ref",
    "stat",
    "lstat",
    "readlink",
    "log",
    "exp",
    "mkdir",
    "evalbytes",
    "fc",
    "unpack",
];
