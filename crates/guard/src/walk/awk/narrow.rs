//! The record where a condition that is not known holds.
//!
//! A condition that looks for a text chooses among the names of a listing, so that the listing is no longer everything. One that leaves
//! some names out does not.

use std::rc::Rc;

use crate::marks::{FRESH, NAME, STAR, TREE, has_mark};
use crate::walk::awk::ast::{Comparison, Expr, NF, NR, Slot};
use crate::walk::awk::machine::AwkRun;
use crate::walk::awk::state::Record;
use crate::walk::awk::value::Value;

impl AwkRun<'_, '_, '_> {
    /// Takes a condition for granted.
    pub(super) fn narrow(&mut self, condition: &Expr) {
        if let Expr::And(conditions) = condition {
            for condition in conditions {
                self.narrow_one(condition);
            }
        } else {
            self.narrow_one(condition);
        }
    }

    fn narrow_one(&mut self, condition: &Expr) {
        if let Expr::Compare(Comparison::Equal, left, right) = condition
            && let (Expr::Text(text), place) | (place, Expr::Text(text)) = (&**left, &**right)
            && self.narrow_place(place, text)
        {
            return;
        }
        let record = &self.state.record;
        if has_mark(&record.text) && record.text.contains([STAR, TREE, NAME, FRESH]) && chooses(condition) {
            self.state.record = Rc::new(record.chosen());
        }
    }

    /// Gives a place the text that it was found to be equal to; false if its text was known.
    fn narrow_place(&mut self, place: &Expr, text: &Rc<str>) -> bool {
        match place {
            Expr::Var(slot) => {
                let is_vague = |value: &Value| has_mark(&value.to_text("%.6g"));
                let is_vague = is_vague(&self.state.value(*slot));
                if is_vague {
                    self.state.set(*slot, Value::Input(Rc::clone(text)));
                }
                is_vague
            }
            Expr::Field(number) => {
                let Expr::Number(number) = **number else { return false };
                let Some(at) = super::number::whole(number).and_then(|at| usize::try_from(at).ok()) else {
                    return false;
                };
                let record = Rc::clone(&self.state.record);
                if !has_mark(&record.field(at).to_text("%.6g")) {
                    return false;
                }
                if at == 0 {
                    self.set_record(text);
                    return true;
                }
                let mut fields = record.fields.clone();
                let Some(field) = fields.get_mut(at - 1) else { return false };
                let whole = record.text.replacen(&**field, text, 1);
                *field = Rc::clone(text);
                self.state.record = Rc::new(Record { text: whole.into(), fields, is_open: record.is_open });
                true
            }
            _ => false,
        }
    }
}

/// True if a condition looks for a text, and not only for how many there are.
fn chooses(condition: &Expr) -> bool {
    match condition {
        Expr::Regex(_) | Expr::In(..) | Expr::Native("index" | "match", _) => true,
        Expr::Match { is_negated, .. } => !is_negated,
        Expr::Compare(Comparison::Equal, left, right) => !is_count(left) && !is_count(right),
        Expr::And(conditions) => conditions.iter().any(chooses),
        Expr::Or(conditions) => conditions.iter().all(chooses),
        Expr::Compare(Comparison::Greater | Comparison::Unequal, left, _) => {
            matches!(**left, Expr::Native("index" | "match", _))
        }
        _ => false,
    }
}

fn is_count(value: &Expr) -> bool {
    match value {
        Expr::Var(Slot::Global(at)) => *at == NR || *at == NF || *at == super::ast::FNR,
        Expr::Chain(first, _) => is_count(first),
        Expr::Native("length" | "system", _) | Expr::Getline { .. } => true,
        _ => false,
    }
}
