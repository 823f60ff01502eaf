//! Texts of Perl in double quotes, with the values of their variables.

use crate::walk::program::Language;
use crate::walk::program::ast::Expr;
use crate::walk::program::expressions::ProgramParser;
use crate::walk::program::lexer::braced;
use crate::walk::program::perl_lexer::{tokens, variable_length};
use crate::walk::program::perl_terms::{call, part};

/// A text in double quotes, with the values of its variables.
pub(super) fn template(text: &str) -> Option<Expr> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..)?;
        match letter {
            '\\' => {
                let (taken, meant) = crate::syntax::unescape(after, true);
                let taken = if taken > 0 {
                    plain.extend(meant);
                    taken
                } else {
                    plain.extend(after.chars().next());
                    after.chars().next().map_or(0, char::len_utf8)
                };
                rest = after.get(taken..).unwrap_or("");
            }
            '$' | '@' if interpolated_length(after) > 0 => {
                let length = interpolated_length(after);
                parts.push(Expr::Text(std::mem::take(&mut plain)));
                let code = rest.get(..=length)?;
                let value = interpolated(code).unwrap_or(Expr::Other(Vec::new()));
                parts.push(if letter == '@' { call("perl_words", vec![part(value)]) } else { value });
                rest = after.get(length..).unwrap_or("");
            }
            _ => {
                plain.push(letter);
                rest = after;
            }
        }
    }
    if parts.is_empty() {
        return Some(Expr::Text(plain));
    }
    parts.push(Expr::Text(plain));
    Some(Expr::Template(parts))
}

/// The length of a variable in a text, with its indexes.
fn interpolated_length(after: &str) -> usize {
    let mut length = if after.starts_with('{') {
        braced(after).unwrap_or(0)
    } else if after.starts_with('$') {
        1 + variable_length(after.get(1..).unwrap_or(""))
    } else if after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
        variable_length(after)
    } else {
        0
    };
    while length > 0 {
        let rest = after.get(length..).unwrap_or("");
        let arrow = if rest.starts_with("->[") || rest.starts_with("->{") { 2 } else { 0 };
        let inside = rest.get(arrow..).unwrap_or("");
        let closed = match inside.chars().next() {
            Some('{') => braced(inside),
            Some('[') => inside.find(']').map(|end| end + 1).filter(|end| {
                inside.get(1..end - 1).is_some_and(|key| key.starts_with(['$', '-']) || key.parse::<u32>().is_ok())
            }),
            _ => None,
        };
        match closed {
            Some(closed) => length += arrow + closed,
            None => break,
        }
    }
    length
}

fn interpolated(code: &str) -> Option<Expr> {
    // `${name}` is `$name`.
    let simple = code.get(1..).and_then(|rest| rest.strip_prefix('{')).and_then(|rest| rest.split_once('}'));
    let code = match simple {
        Some((name, rest))
            if !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') =>
        {
            format!("{}{name}{rest}", code.get(..1).unwrap_or(""))
        }
        _ => code.to_owned(),
    };
    let tokens = tokens(&code)?;
    let mut parser = ProgramParser { language: Language::Perl, tokens: &tokens, at: 0, depth: 0 };
    parser.perl_unary()
}
