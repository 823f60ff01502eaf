//! Functions of Perl that make values of values: texts, numbers, lists.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Leaving, Outcome, Perl};
use crate::walk::perl::text::{formatted, packed, substr_range, unpacked};
use crate::walk::perl::value::Val;
use std::rc::Rc;

impl Perl<'_, '_> {
    /// Functions of lists. None if this is no such function.
    pub(super) fn list_function(&mut self, name: &str, values: &[Val]) -> Outcome<Option<Vec<Val>>> {
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
            "pairs" => values.chunks(2).map(|pair| self.new_array(pair.to_vec())).collect(),
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
            _ => return Ok(None),
        }))
    }

    /// Functions of texts and numbers. None if this is no such function.
    pub(super) fn text_function(&mut self, name: &str, values: &[Val]) -> Outcome<Option<Val>> {
        let first = values.first().cloned().unwrap_or(Val::Undefined);
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
            _ => return self.number_function(name, values),
        }))
    }

    /// Functions of numbers and of other values. None if this is no such function.
    fn number_function(&mut self, name: &str, values: &[Val]) -> Outcome<Option<Val>> {
        let first = values.first().cloned().unwrap_or(Val::Undefined);
        let number = |change: &dyn Fn(f64) -> f64| {
            first.number().map_or_else(Val::unknown, |number| Val::Number(change(number)))
        };
        let letters = |change: &dyn Fn(&str) -> String| Val::text(change(&first.to_text()));
        Ok(Some(match name {
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
            "__LINE__" | "lock" | "study" | "pos" | "carp" | "warn" | "cluck" | "umask" | "utime" | "chmod"
            | "chown" | "kill" | "autoflush" | "dualvar" | "weaken" | "usleep" => Val::Number(1.0),
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

    pub(super) fn index(&self, name: &str, values: &[Val]) -> Val {
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

    pub(super) fn hash_items(&mut self, name: &str, target: Option<&Expr>) -> Outcome<Vec<Val>> {
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

    pub(super) fn splice(&mut self, arguments: &[Expr]) -> Outcome<Vec<Val>> {
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
}

pub(super) fn cut(text: &str, name: &str) -> String {
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
