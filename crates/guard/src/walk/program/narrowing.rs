//! Conditions that make a choice among the names of a listing.
//!
//! `if name == "a"` leaves one name, and `if name.startswith("a")` some: what is deleted behind it is no longer everything. A
//! question for the kind of a file chooses nothing, and leaving out single names leaves everything but a few.

use crate::walk::program::ast::Expr;

/// Calls that ask which kind of file a name is, or whether it is there.
const KINDS: [&str; 14] = [
    "is_dir",
    "isdir",
    "is_file",
    "isfile",
    "exists",
    "lexists",
    "islink",
    "is_symlink",
    "isDirectory",
    "isFile",
    "existsSync",
    "statSync",
    "lstatSync",
    "access",
];

/// The names in an expression.
pub(super) fn mentions(expression: &Expr) -> Vec<&str> {
    match expression {
        Expr::Name(name) => vec![name],
        Expr::Member(value, _) | Expr::Not(value) | Expr::Spread(value) => mentions(value),
        Expr::Index(left, right) | Expr::Binary(left, _, right) => {
            mentions(left).into_iter().chain(mentions(right)).collect()
        }
        Expr::Call(callee, arguments) => {
            let inside = arguments.iter().flat_map(|argument| mentions(&argument.value));
            mentions(callee).into_iter().chain(inside).collect()
        }
        Expr::Template(parts) | Expr::List(parts) | Expr::Other(parts) => parts.iter().flat_map(mentions).collect(),
        _ => Vec::new(),
    }
}

/// Says whether a choice was made where the condition holds, and where it does not.
pub(super) fn narrowing(condition: &Expr) -> (bool, bool) {
    match condition {
        Expr::Not(value) => {
            let (holds, fails) = narrowing(value);
            (fails, holds)
        }
        Expr::Binary(left, operator, right) => match operator.as_str() {
            "&&" | "||" => {
                let (left, right) = (narrowing(left), narrowing(right));
                (left.0 || right.0, left.1 || right.1)
            }
            "==" | "in" => (true, false),
            "!=" | "!in" => (false, true),
            _ => (true, true),
        },
        Expr::Call(callee, _) if is_kind(callee) => (false, false),
        // The name itself: there is one.
        Expr::Name(_) => (false, false),
        _ => (true, true),
    }
}

fn is_kind(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) | Expr::Member(_, name) => KINDS.contains(&name.as_str()),
        _ => false,
    }
}
