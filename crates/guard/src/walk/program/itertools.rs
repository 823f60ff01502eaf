//! `itertools`, `functools` and `operator`.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Partial, Value};
use crate::walk::program::{Run, Trial};

/// The most items of a product or of an endless iterator.
const MOST_ITEMS: usize = 600;

impl Trial<'_, '_> {
    pub(super) fn functools_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
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

    pub(super) fn itertools_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
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
            _ => return self.choosing_call(base, given),
        };
        self.spend(found.len() / 4)?;
        Ok(Some(self.heap.new_iterator(found)))
    }

    /// Calls that leave items out or put them into groups.
    fn choosing_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let found = match base {
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

    pub(super) fn product(&mut self, given: &Given) -> Run<Vec<Value>> {
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

    pub(super) fn arrangements(&mut self, base: &str, given: &Given) -> Run<Value> {
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

    pub(super) fn groups(&mut self, list: &Value, key: Option<&Value>) -> Run<Vec<Value>> {
        let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
        for item in self.items(list)? {
            let own = match key {
                Some(key) if !key.is_nothing() => self.call(key.clone(), vec![item.clone()])?,
                _ => item.clone(),
            };
            let before = groups.last().map(|(before, _)| before.clone());
            let is_same = match before {
                Some(before) => self.equals(&before, &own) == Some(true),
                None => false,
            };
            match groups.last_mut() {
                Some((_, gathered)) if is_same => gathered.push(item),
                _ => groups.push((own, vec![item])),
            }
        }
        Ok(groups.into_iter().map(|(key, items)| Value::Tuple([key, self.heap.new_list(items)].into())).collect())
    }

    pub(super) fn operator_call(&mut self, base: &str, given: &Given) -> Run<Option<Value>> {
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
}
