//! Functions that Perl has: texts, lists, hashes.

use std::cell::RefCell;
use std::rc::Rc;

use crate::walk::perl::ast::{Expr, Sub};
use crate::walk::perl::places::MOST_ITEMS;
use crate::walk::perl::run::{Leaving, Outcome, Perl, fill_hash};
use crate::walk::perl::text::{formatted, packed, substr_range, unpacked};
use crate::walk::perl::value::{Closure, Slot, Val};

/// The most items that are sorted by a function.
const MOST_SORTED: usize = 96;

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
            "keys" | "values" => return Ok(Val::count(self.call_list(name, arguments)?.len())),
            "unpack" => return Ok(self.call_list(name, arguments)?.into_iter().next().unwrap_or(Val::Undefined)),
            "readdir" => return self.read_directory(arguments),
            "splice" => return Ok(self.call_list(name, arguments)?.pop().unwrap_or(Val::Undefined)),
            "uniq" | "uniqnum" | "uniqstr" => return Ok(Val::count(self.call_list(name, arguments)?.len())),
            "glob" => {
                let found = self.call_list(name, arguments)?;
                return Ok(found.into_iter().next().unwrap_or(Val::Undefined));
            }
            _ => {}
        }
        Ok(self.call_list(name, arguments)?.pop().unwrap_or(Val::Undefined))
    }

    /// Functions that change a variable. None if this is no such function.
    fn place_function(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Option<Val>> {
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

    fn chomp(&mut self, name: &str, target: Option<&Expr>) -> Outcome<Val> {
        let Some(target) = target else {
            let text = self.topic().to_text();
            self.set_topic(Val::text(cut(&text, name)));
            return Ok(Val::Number(1.0));
        };
        // `chomp(my @lines = …)`
        let place = match target {
            Expr::Assign(place, ..) => {
                if place.is_list() {
                    drop(self.list(target)?)
                } else {
                    drop(self.scalar(target)?)
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

    fn is_defined(&mut self, target: Option<&Expr>) -> Outcome<Val> {
        Ok(match target {
            Some(Expr::Function(name)) => Val::flag(self.code_named(name).is_some()),
            Some(Expr::Call(name, arguments)) if arguments.is_empty() && self.code_named(name).is_some() => {
                Val::flag(true)
            }
            Some(target) => Val::flag(self.scalar(target)?.is_defined()),
            None => Val::flag(self.topic().is_defined()),
        })
    }

    fn exists_or_delete(&mut self, deletes: bool, target: Option<&Expr>) -> Outcome<Val> {
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

    /// Functions of lists. None if this is no such function.
    fn list_function(&mut self, name: &str, values: &[Val]) -> Outcome<Option<Vec<Val>>> {
        Ok(Some(match name {
            "reverse" => values.iter().rev().cloned().collect(),
            "sort" => {
                let mut values = values.to_vec();
                values.sort_by_cached_key(Val::to_text);
                values
            }
            "sort by" => {
                let Some((code, items)) = values.split_first() else { return Ok(None) };
                let Val::Code(code) = code.clone() else { return Ok(Some(items.to_vec())) };
                self.sorted(&code, items.to_vec())?
            }
            "map by" | "grep by" => values.get(1..).unwrap_or(&[]).to_vec(),
            "uniq" | "uniqnum" | "uniqstr" => {
                let mut seen = std::collections::BTreeSet::new();
                values.iter().filter(|value| seen.insert(value.to_text())).cloned().collect()
            }
            "shuffle" => values.to_vec(),
            "pairkeys" => values.iter().step_by(2).cloned().collect(),
            "pairvalues" => values.iter().skip(1).step_by(2).cloned().collect(),
            "pairs" => values.chunks(2).map(|pair| Val::array(pair.to_vec())).collect(),
            "head" | "tail" => {
                let count: usize =
                    values.first().and_then(Val::number).map_or(0, |count| format!("{count:.0}").parse().unwrap_or(0));
                let items = values.get(1..).unwrap_or(&[]);
                let from = if name == "head" { 0 } else { items.len().saturating_sub(count) };
                items.iter().skip(from).take(count).cloned().collect()
            }
            "unpack" => {
                let template = values.first().map(Val::to_text).unwrap_or_default();
                let text = match values.get(1) {
                    Some(text) => text.to_text(),
                    None => self.topic().to_text(),
                };
                unpacked(&template, &text).unwrap_or_else(|| vec![Val::unknown()])
            }
            "caller" => vec![Val::text("main"), Val::text("-e"), Val::unknown()],
            "localtime" | "gmtime" | "stat" | "lstat" | "times" => vec![Val::unknown(); 13],
            "getpwuid" | "getpwnam" => {
                let mut entry = vec![Val::unknown(); 9];
                if let Some(home) = entry.get_mut(7) {
                    *home = Val::text(crate::marks::HOME.to_string());
                }
                entry
            }
            "fileparse" => {
                let path = values.first().map(Val::to_text).unwrap_or_default();
                let (directory, base) =
                    path.rsplit_once('/').map_or(("./".to_owned(), path.clone()), |(directory, base)| {
                        (format!("{directory}/"), base.to_owned())
                    });
                vec![Val::text(base), Val::text(directory), Val::text("")]
            }
            "tempfile" => {
                vec![Val::Handle(Rc::default()), Val::text(format!("{}/file", crate::walk::files::FRESH_DIRECTORY))]
            }
            "wantarray" => return Ok(None),
            _ => return Ok(None),
        }))
    }

    /// Functions of texts and numbers. None if this is no such function.
    fn text_function(&mut self, name: &str, values: &[Val]) -> Outcome<Option<Val>> {
        let first = values.first().cloned().unwrap_or(Val::Undefined);
        let number = |change: &dyn Fn(f64) -> f64| {
            first.number().map_or_else(Val::unknown, |number| Val::Number(change(number)))
        };
        let letters = |change: &dyn Fn(&str) -> String| Val::text(change(&first.to_text()));
        Ok(Some(match name {
            "lc" | "fc" => letters(&|text| text.to_lowercase()),
            "uc" => letters(&|text| text.to_uppercase()),
            "ucfirst" | "lcfirst" => letters(&|text| {
                let mut rest = text.chars();
                let head = rest.next().map(|letter| {
                    if name == "ucfirst" {
                        letter.to_uppercase().to_string()
                    } else {
                        letter.to_lowercase().to_string()
                    }
                });
                format!("{}{}", head.unwrap_or_default(), rest.as_str())
            }),
            "length" => match self.plain(&first) {
                _ if !first.is_defined() => Val::Undefined,
                Some(text) => Val::count(text.chars().count()),
                None => Val::unknown(),
            },
            "join" => {
                let items: Vec<String> = values.iter().skip(1).map(Val::to_text).collect();
                let text = items.join(&first.to_text());
                return self.bounded(text).map(Some);
            }
            "sprintf" => {
                let text = formatted(&first.to_text(), values.get(1..).unwrap_or(&[]));
                return self.bounded(text).map(Some);
            }
            "substr" => {
                let text = self.walk.world.concrete(&first.to_text());
                match substr_range(&text, values.get(1..).unwrap_or(&[])) {
                    Some((from, to)) => Val::text(text.chars().skip(from).take(to - from).collect::<String>()),
                    None => Val::unknown(),
                }
            }
            "index" | "rindex" => self.index(name, values),
            "chr" => {
                let letter = first.number().and_then(|code| format!("{code:.0}").parse().ok()).and_then(char::from_u32);
                letter
                    .filter(|letter| !crate::marks::is_mark(*letter))
                    .map_or_else(Val::unknown, |letter| Val::text(letter.to_string()))
            }
            "ord" => match self.plain(&first) {
                Some(text) => Val::Number(text.chars().next().map_or(0.0, |letter| f64::from(u32::from(letter)))),
                None => Val::unknown(),
            },
            "hex" | "oct" => based(name, &first),
            "int" => number(&f64::trunc),
            "floor" => number(&f64::floor),
            "ceil" => number(&f64::ceil),
            "abs" => number(&f64::abs),
            "sqrt" => number(&f64::sqrt),
            "quotemeta" => letters(&|text| {
                text.chars()
                    .map(|letter| {
                        if letter.is_alphanumeric() || letter == '_' || crate::marks::is_mark(letter) {
                            letter.to_string()
                        } else {
                            format!("\\{letter}")
                        }
                    })
                    .collect()
            }),
            "pack" => packed(&first.to_text(), values.get(1..).unwrap_or(&[]))
                .filter(|_| !values.iter().any(Val::is_marked))
                .map_or_else(Val::unknown, Val::text),
            "decode_base64" | "encode_base64" => match self.plain(&first) {
                Some(text) if name == "decode_base64" => {
                    crate::walk::decode::base64(&text).map_or_else(Val::unknown, Val::text)
                }
                _ => Val::unknown(),
            },
            "ref" => Val::text(match &first {
                Val::Array(_) => "ARRAY".to_owned(),
                Val::Hash(hash) => hash.class.borrow().clone().unwrap_or_else(|| "HASH".to_owned()),
                Val::Code(_) => "CODE".to_owned(),
                Val::Scalar(_) => "SCALAR".to_owned(),
                Val::Handle(_) => "GLOB".to_owned(),
                Val::Pattern(_) => "Regexp".to_owned(),
                _ => String::new(),
            }),
            "blessed" => match &first {
                Val::Hash(hash) => hash.class.borrow().as_ref().map_or(Val::Undefined, Val::text),
                _ => Val::Undefined,
            },
            "looks_like_number" => match self.plain(&first) {
                Some(text) => Val::flag(text.trim().parse::<f64>().is_ok()),
                None => Val::unknown(),
            },
            "max" | "min" | "sum" | "sum0" | "product" => numbers(name, values),
            "maxstr" | "minstr" => {
                let mut texts: Vec<String> = values.iter().map(Val::to_text).collect();
                texts.sort_unstable();
                let found = if name == "maxstr" { texts.last() } else { texts.first() };
                found.map_or(Val::Undefined, Val::text)
            }
            "time" | "rand" | "getppid" | "fork" | "wait" | "waitpid" | "sleep" | "getpid" | "hostname"
            | "getlogin" | "srand" | "alarm" => Val::unknown(),
            "strftime" => Val::text(crate::marks::SOME.to_string()),
            "__FILE__" => Val::text("-e"),
            "__LINE__" => Val::Number(1.0),
            "lock" | "study" | "pos" | "carp" | "warn" | "cluck" | "umask" | "utime" | "chmod" | "chown" | "kill"
            | "autoflush" | "dualvar" | "weaken" | "usleep" => Val::Number(1.0),
            "die" | "croak" | "confess" => {
                let error = match &first {
                    Val::Hash(_) if values.len() == 1 => first.clone(),
                    _ => Val::text(values.iter().map(Val::to_text).collect::<String>()),
                };
                return Err(Leaving::Die(error));
            }
            "exit" | "_exit" => return Err(Leaving::Exit),
            _ => return Ok(None),
        }))
    }

    fn index(&self, name: &str, values: &[Val]) -> Val {
        let (Some(text), Some(part)) =
            (values.first().and_then(|text| self.plain(text)), values.get(1).and_then(|part| self.plain(part)))
        else {
            return Val::unknown();
        };
        let start: usize =
            values.get(2).and_then(Val::number).map_or(0, |start| format!("{start:.0}").parse().unwrap_or(0));
        let found = if name == "index" {
            text.get(start..).and_then(|rest| rest.find(&part)).map(|at| at + start)
        } else {
            text.rfind(&part)
        };
        found.map_or(Val::Number(-1.0), |at| Val::count(text.get(..at).unwrap_or("").chars().count()))
    }

    fn hash_items(&mut self, name: &str, target: Option<&Expr>) -> Outcome<Vec<Val>> {
        let Some(target) = target else { return Ok(Vec::new()) };
        if let Expr::Array(_) | Expr::Dereferenced('@', _) = target {
            let array = self.array_at(target)?;
            let items = array.borrow();
            return Ok(if name == "keys" { (0..items.len()).map(Val::count).collect() } else { items.clone() });
        }
        let hash = match target {
            Expr::Hash(_) | Expr::Dereferenced(..) => self.hash_at(target)?,
            other => match self.scalar(other)? {
                Val::Hash(hash) => hash,
                _ => return Ok(vec![Val::unknown()]),
            },
        };
        if name == "each" {
            // Every pair once: the first is taken out of a copy.
            let key = format!("%each {:?}", Rc::as_ptr(&hash));
            let at = self.places.entry(Rc::as_ptr(&hash).addr()).or_insert((key, 0));
            let pair = hash.entries.borrow().iter().nth(at.1).map(|(key, value)| vec![Val::text(key), value.clone()]);
            at.1 = if pair.is_some() { at.1 + 1 } else { 0 };
            return Ok(pair.unwrap_or_default());
        }
        let entries = hash.entries.borrow();
        Ok(if name == "keys" { entries.keys().map(Val::text).collect() } else { entries.values().cloned().collect() })
    }

    fn splice(&mut self, arguments: &[Expr]) -> Outcome<Vec<Val>> {
        let Some((target, rest)) = arguments.split_first() else { return Ok(Vec::new()) };
        let array = self.array_at(target)?;
        let values = self.lists(rest)?;
        let length = array.borrow().len();
        let from = values.first().map_or(Some(0), |from| Self::index_of(from, length)).unwrap_or(length).min(length);
        let count = match values.get(1).and_then(Val::number) {
            Some(count) if count < 0.0 => {
                length.saturating_sub(from).saturating_sub(format!("{:.0}", -count).parse().unwrap_or(0))
            }
            Some(count) => format!("{count:.0}").parse().unwrap_or(0),
            None => length,
        };
        let to = (from + count).min(length);
        let with = values.get(2..).unwrap_or(&[]).to_vec();
        let taken = array.borrow_mut().splice(from..to, with).collect();
        Ok(taken)
    }

    /// `map`, `grep`, `sort` and their like.
    pub(super) fn with_block(&mut self, name: &str, sub: &Rc<Sub>, items: &[Expr]) -> Outcome<Vec<Val>> {
        let items = self.lists(items)?;
        let closure = Rc::new(Closure { sub: Rc::clone(sub), scope: Rc::clone(&self.scope) });
        let mut results = Vec::new();
        match name {
            "sort" => return self.sorted(&closure, items),
            "sort_by" => return Ok(items),
            "reduce" => return self.reduced(&closure, items),
            "pairmap" | "pairgrep" => {
                for pair in items.chunks(2) {
                    let (first, second) = (
                        pair.first().cloned().unwrap_or(Val::Undefined),
                        pair.get(1).cloned().unwrap_or(Val::Undefined),
                    );
                    results.extend(self.call_with_pair(&closure, first, second)?);
                }
                return Ok(results);
            }
            _ => {}
        }
        for (at, item) in items.into_iter().enumerate() {
            if results.len() > MOST_ITEMS {
                break;
            }
            if name == "map" {
                results.extend(self.call_with_topic(&closure, item, true)?);
                continue;
            }
            let (holds, item) = self.holds(&closure, item)?;
            match name {
                "grep" if holds => results.push(item),
                "first" if holds => return Ok(vec![item]),
                "first_index" | "firstidx" if holds => return Ok(vec![Val::count(at)]),
                "any" if holds => return Ok(vec![Val::flag(true)]),
                "none" if holds => return Ok(vec![Val::flag(false)]),
                "all" if !holds => return Ok(vec![Val::flag(false)]),
                "notall" if !holds => return Ok(vec![Val::flag(true)]),
                _ => {}
            }
        }
        Ok(match name {
            "grep" | "map" => results,
            "any" | "notall" => vec![Val::flag(false)],
            "all" | "none" => vec![Val::flag(true)],
            _ => vec![Val::Undefined],
        })
    }

    /// True if a block holds for an item. The item comes back narrowed.
    fn holds(&mut self, closure: &Rc<Closure>, item: Val) -> Outcome<(bool, Val)> {
        self.step(1)?;
        let cell = Rc::new(RefCell::new(item));
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let topic = Rc::clone(&cell);
        let result = self.scoped(true, |perl| {
            perl.declare("$_", Slot::Scalar(topic));
            match closure.sub.body.as_slice() {
                // A listing is kept where nothing else is known.
                [crate::walk::perl::ast::Statement::Expr(condition)] => perl.decide(condition, Some(true)),
                _ => Ok(perl.body(&closure.sub.body, false)?.pop().unwrap_or(Val::Undefined).truth().unwrap_or(true)),
            }
        });
        self.scope = before;
        let item = cell.borrow().clone();
        Ok((result?, item))
    }

    fn call_with_pair(&mut self, closure: &Rc<Closure>, first: Val, second: Val) -> Outcome<Vec<Val>> {
        self.scalar_cell("a").replace(first);
        self.scalar_cell("b").replace(second);
        self.step(1)?;
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let result = self.scoped(false, |perl| perl.body(&closure.sub.body, true));
        self.scope = before;
        match result {
            Err(Leaving::Return(values)) => Ok(values),
            result => result,
        }
    }

    fn sorted(&mut self, closure: &Rc<Closure>, items: Vec<Val>) -> Outcome<Vec<Val>> {
        if items.len() > MOST_SORTED {
            return Ok(items);
        }
        let mut sorted: Vec<Val> = Vec::with_capacity(items.len());
        for item in items {
            let mut at = sorted.len();
            while at > 0 {
                let other = sorted.get(at - 1).cloned().unwrap_or(Val::Undefined);
                let order = self.call_with_pair(closure, other, item.clone())?.pop().and_then(|order| order.number());
                if order.is_none_or(|order| order <= 0.0) {
                    break;
                }
                at -= 1;
            }
            sorted.insert(at, item);
        }
        Ok(sorted)
    }

    fn reduced(&mut self, closure: &Rc<Closure>, items: Vec<Val>) -> Outcome<Vec<Val>> {
        let mut items = items.into_iter();
        let Some(mut sum) = items.next() else { return Ok(vec![Val::Undefined]) };
        for item in items {
            sum = self.call_with_pair(closure, sum, item)?.pop().unwrap_or(Val::Undefined);
        }
        Ok(vec![sum])
    }

    /// `use constant …`, `use parent …`
    pub(super) fn import(&mut self, name: &str, list: Option<&Expr>) -> Outcome<()> {
        let Some(list) = list else { return Ok(()) };
        match name {
            "constant" => {
                let values = match list {
                    Expr::NewHash(items) => {
                        let items = self.lists(items)?;
                        items
                            .chunks(2)
                            .map(|pair| {
                                (
                                    pair.first().map(Val::to_text).unwrap_or_default(),
                                    pair.get(1).cloned().into_iter().collect(),
                                )
                            })
                            .collect()
                    }
                    list => {
                        let mut items = self.list(list)?.into_iter();
                        let name = items.next().map(|name| name.to_text()).unwrap_or_default();
                        vec![(name, items.collect::<Vec<Val>>())]
                    }
                };
                for (name, values) in values {
                    self.globals.insert(format!("@={name}"), Slot::Array(Rc::new(RefCell::new(values))));
                }
            }
            "parent" | "base" => {
                let bases = self.list(list)?.iter().map(Val::to_text).filter(|base| !base.starts_with('-')).collect();
                self.bases.insert(self.package.clone(), bases);
            }
            _ => {}
        }
        Ok(())
    }

    /// The values of a constant.
    pub(super) fn constant(&self, name: &str) -> Option<Vec<Val>> {
        match self.globals.get(&format!("@={name}")) {
            Some(Slot::Array(values)) => Some(values.borrow().clone()),
            _ => None,
        }
    }

    /// `GetOptions('name=s' => \$name, …)`, `getopts('ab:', \%options)`
    fn options(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Val> {
        let values = self.lists(arguments)?;
        let words = self.array_cell("ARGV");
        let given = words.take();
        let mut left = Vec::new();
        if name == "getopts" {
            let letters = values.first().map(Val::to_text).unwrap_or_default();
            let hash = match values.get(1) {
                Some(Val::Hash(hash)) => Rc::clone(hash),
                _ => Rc::default(),
            };
            let mut rest = given.into_iter();
            while let Some(word) = rest.next() {
                let text = word.to_text();
                let Some(letter) = text.strip_prefix('-').and_then(|text| text.chars().next()) else {
                    left.push(word);
                    continue;
                };
                let value = if letters.contains(&format!("{letter}:")) {
                    rest.next().unwrap_or(Val::Undefined)
                } else {
                    Val::Number(1.0)
                };
                fill_hash(&hash, vec![Val::text(letter.to_string()), value]);
            }
            words.replace(left);
            return Ok(Val::Number(1.0));
        }
        let mut pairs: Vec<(String, Val)> = Vec::new();
        let (table, specs) = match values.split_first() {
            Some((Val::Hash(table), rest)) => (Some(Rc::clone(table)), rest.to_vec()),
            _ => (None, values.clone()),
        };
        let mut specs = specs.into_iter().peekable();
        while let Some(spec) = specs.next() {
            let is_target = specs.peek().is_some_and(|next| !matches!(next, Val::Text(_)));
            let target = if is_target { specs.next().unwrap_or(Val::Undefined) } else { Val::Undefined };
            pairs.push((spec.to_text(), target));
        }
        let mut rest = given.into_iter();
        while let Some(word) = rest.next() {
            let text = word.to_text();
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty() && *option != "-") else {
                left.push(word);
                continue;
            };
            let option = option.trim_start_matches('-');
            let (option, attached) =
                option.split_once('=').map_or((option, None), |(option, value)| (option, Some(value.to_owned())));
            let bare = option.strip_prefix("no-").or_else(|| option.strip_prefix("no")).unwrap_or(option);
            let found = pairs.iter().find(|(spec, _)| {
                let names = spec.split(['=', ':', '!', '+']).next().unwrap_or("");
                names.split('|').any(|name| name == option || spec.ends_with('!') && name == bare)
            });
            let Some((spec, target)) = found.cloned() else { continue };
            let name = spec.split(['|', '=', ':', '!', '+']).next().unwrap_or("").to_owned();
            let value = if spec.contains('=') {
                attached.map(Val::text).or_else(|| rest.next()).unwrap_or(Val::Undefined)
            } else {
                Val::Number(if spec.ends_with('!') && option.starts_with("no") && bare != option { 0.0 } else { 1.0 })
            };
            match target {
                Val::Scalar(cell) => drop(cell.replace(value)),
                Val::Array(cell) => cell.borrow_mut().push(value),
                Val::Code(code) => drop(self.call_closure(&code, vec![Val::text(name), value], false)?),
                _ => {
                    if let Some(table) = &table {
                        fill_hash(table, vec![Val::text(name), value]);
                    }
                }
            }
        }
        words.replace(left);
        Ok(Val::Number(1.0))
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

fn cut(text: &str, name: &str) -> String {
    if name == "chomp" {
        return text.strip_suffix('\n').unwrap_or(text).to_owned();
    }
    let mut letters = text.chars();
    letters.next_back();
    letters.as_str().to_owned()
}

fn based(name: &str, value: &Val) -> Val {
    if value.is_marked() {
        return Val::unknown();
    }
    let text = value.to_text().trim().replace('_', "").to_lowercase();
    let (digits, radix) = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) if name == "oct" => (digits, 2),
        _ => (text.as_str(), if name == "hex" { 16 } else { 8 }),
    };
    u32::from_str_radix(digits, radix).map_or(Val::Number(0.0), |number| Val::Number(f64::from(number)))
}

fn numbers(name: &str, values: &[Val]) -> Val {
    let Some(numbers) = values.iter().map(Val::number).collect::<Option<Vec<f64>>>() else { return Val::unknown() };
    match name {
        "max" => numbers.into_iter().reduce(f64::max).map_or(Val::Undefined, Val::Number),
        "min" => numbers.into_iter().reduce(f64::min).map_or(Val::Undefined, Val::Number),
        "product" => Val::Number(numbers.into_iter().product()),
        "sum" if numbers.is_empty() => Val::Undefined,
        _ => Val::Number(numbers.into_iter().sum()),
    }
}
