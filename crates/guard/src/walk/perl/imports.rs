//! `use constant`, `use parent`, and options on the command line.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Outcome, Perl, fill_hash};
use crate::walk::perl::value::{Slot, Val};
use std::cell::RefCell;
use std::rc::Rc;

impl Perl<'_, '_> {
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
    pub(super) fn options(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Val> {
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
