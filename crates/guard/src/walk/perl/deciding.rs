//! Conditions of Perl, and what they say about the names of a listing.

use crate::marks::{NAME, SOME, STAR, TREE};
use crate::walk::perl::ast::{Block, Expr, Statement};
use crate::walk::perl::run::{Outcome, Perl};
use crate::walk::perl::value::{Slot, Val};
use std::rc::Rc;

impl Perl<'_, '_> {
    /// Answers a question that nothing in the program answers.
    pub(super) fn ask(&mut self) -> bool {
        self.asked += 1;
        self.answer
    }

    /// True if the condition holds. Where that is not known, `lean` says so, or the answer of this run.
    pub(super) fn decide(&mut self, condition: &Expr, lean: Option<bool>) -> Outcome<bool> {
        self.step(0)?;
        match condition {
            Expr::Not(inner) => Ok(!self.decide(inner, lean.map(|lean| !lean))?),
            Expr::And(left, right) => {
                let left_lean = if leaves_at_once(right) { Some(false) } else { lean };
                Ok(self.decide(left, left_lean)? && self.decide(right, lean)?)
            }
            Expr::Or(left, right) => {
                let left_lean = if leaves_at_once(right) { Some(true) } else { lean };
                Ok(self.decide(left, left_lean)? || self.decide(right, lean)?)
            }
            Expr::List(items) if items.len() == 1 => match items.first() {
                Some(inner) => self.decide(inner, lean),
                None => Ok(false),
            },
            _ => {
                let value =
                    if condition.is_list() { Val::count(self.list(condition)?.len()) } else { self.scalar(condition)? };
                if let Some(truth) = value.truth() {
                    Ok(truth)
                } else {
                    let truth = match lean {
                        Some(lean) => lean,
                        None => self.ask(),
                    };
                    self.narrow(condition, truth);
                    Ok(truth)
                }
            }
        }
    }

    /// A condition about the names of a listing leaves some of them, and no longer everything.
    pub(super) fn narrow(&mut self, condition: &Expr, truth: bool) {
        let (tested, chooses): (Vec<&Expr>, bool) = match condition {
            Expr::FileTest(..) | Expr::Scalar(_) => return,
            Expr::Call(name, _)
                if matches!(
                    name.as_str(),
                    "defined" | "length" | "system" | "unlink" | "rmdir" | "opendir" | "chdir" | "open"
                ) =>
            {
                return;
            }
            Expr::Match { target, .. } => (target.iter().map(AsRef::as_ref).collect(), truth),
            Expr::Binary(sign, left, right) => {
                let chooses = match *sign {
                    "eq" | "==" => truth,
                    "ne" | "!=" => !truth,
                    _ => true,
                };
                (vec![left, right], chooses)
            }
            Expr::Call(name, arguments) if name == "exists" => (arguments.iter().collect(), truth),
            other => (vec![other], true),
        };
        if !chooses {
            return;
        }
        let implied = matches!(condition, Expr::Match { target: None, .. });
        let mut names: Vec<String> = if implied { vec!["_".to_owned()] } else { Vec::new() };
        for expression in tested {
            mentioned(expression, &mut names);
        }
        let is_listing = |text: &str| text.contains([STAR, TREE, NAME]);
        let is_about = names.iter().any(|name| self.scalar_cell(name).borrow().to_text().contains([STAR, TREE, NAME]));
        if !is_about {
            return;
        }
        let mut scope = Some(Rc::clone(&self.scope));
        while let Some(current) = scope {
            for slot in current.variables.borrow().values() {
                if let Slot::Scalar(cell) = slot {
                    let text = cell.borrow().to_text();
                    if is_listing(&text) {
                        cell.replace(Val::text(text.replace([STAR, TREE, NAME], &SOME.to_string())));
                    }
                }
            }
            scope = if current.is_call { None } else { current.parent.clone() };
        }
        for name in ["_", "File::Find::name"] {
            let cell = self.scalar_cell(name);
            let text = cell.borrow().to_text();
            if is_listing(&text) {
                cell.replace(Val::text(text.replace([STAR, TREE, NAME], &SOME.to_string())));
            }
        }
    }
}

/// True if a block ends the function, the round of a loop or the program.
pub(super) fn leaves(body: &Block) -> bool {
    match body.last() {
        Some(Statement::Expr(expression)) => leaves_at_once(expression),
        _ => false,
    }
}

pub(super) fn leaves_at_once(expression: &Expr) -> bool {
    match expression {
        Expr::Return(_) | Expr::Next(_) | Expr::Last(_) => true,
        Expr::Call(name, _) => {
            matches!(name.as_str(), "die" | "exit" | "croak" | "confess" | "usage" | "pod2usage" | "_exit")
        }
        Expr::Do(body) => leaves(body),
        _ => false,
    }
}

/// The names of the scalars in an expression.
fn mentioned(expression: &Expr, names: &mut Vec<String>) {
    match expression {
        Expr::Scalar(name) => names.push(name.clone()),
        Expr::Joined(parts) | Expr::List(parts) | Expr::Call(_, parts) => {
            for part in parts {
                mentioned(part, names);
            }
        }
        Expr::Item(left, right) | Expr::Entry(left, right) | Expr::Binary(_, left, right) => {
            mentioned(left, names);
            mentioned(right, names);
        }
        Expr::Match { target, .. } => match target {
            Some(target) => mentioned(target, names),
            None => names.push("_".to_owned()),
        },
        Expr::Not(inner) => mentioned(inner, names),
        _ => {}
    }
}
