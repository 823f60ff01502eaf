//! Programs whose output is known: those that scripts use to put text together.
//!
//! For text without marks the output is exactly what the program of the GNU system prints in the locale `C.UTF-8`, or unknown. An
//! option that is not understood makes it unknown. Text with marks goes through [`marked`].

mod calc;
mod columns;
mod count;
mod dc;
mod dump;
mod encode;
mod expr;
mod getopt;
mod join;
mod letters;
mod lines;
mod m4;
mod marked;
mod names;
pub(super) mod options;
mod order;
mod pieces;
mod search;
mod version;
mod words;
mod wrap;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use crate::marks::{HOME, REPO, START, has_mark, is_mark};
use crate::walk::ScriptWalk;

pub(super) use marked::joined;
use options::{Exact, Inexact};

/// Gives the text that a program writes. The name comes along because some share a function.
type ExactFilter = fn(&mut ScriptWalk<'_>, &str, &[String]) -> Exact<String>;

/// The programs whose output is known letter by letter, if everything that they read is.
fn exact_filter(name: &str) -> Option<ExactFilter> {
    Some(match name {
        "sort" => order::sort,
        "tsort" => order::tsort,
        "shuf" => order::shuf,
        "cat" => lines::cat,
        "uniq" => lines::uniq,
        "tac" => lines::tac,
        "rev" => lines::rev,
        "head" | "tail" => lines::head_or_tail,
        "nl" => lines::nl,
        "comm" => columns::comm,
        "cut" => columns::cut,
        "paste" => columns::paste,
        "join" => join::join,
        "column" => columns::column,
        "fold" => wrap::fold,
        "fmt" => wrap::fmt,
        "expand" | "unexpand" => wrap::expand,
        "strings" => wrap::strings,
        "iconv" => wrap::iconv,
        "tr" => letters::tr,
        "od" => dump::od,
        "hexdump" | "hd" => dump::hexdump,
        "xxd" => dump::xxd,
        "base64" | "gbase64" | "base32" | "basenc" => encode::encode,
        "seq" => count::seq,
        "wc" => count::wc,
        "factor" => count::factor,
        "numfmt" => count::numfmt,
        "expr" => expr::expr,
        "bc" => calc::bc,
        "dc" => dc::dc,
        "m4" => m4::m4,
        "sed" | "gsed" => crate::walk::sed::sed,
        "split" => pieces::split,
        "csplit" => pieces::csplit,
        "grep" | "egrep" | "fgrep" => search::grep,
        "dirname" | "basename" => names::dirname_or_basename,
        "pathchk" => |_, _, _| Ok(String::new()),
        "date" => words::date,
        "getopt" => getopt::getopt,
        "envsubst" => words::envsubst,
        "yes" => words::yes,
        _ => return None,
    })
}

impl ScriptWalk<'_> {
    /// The text that a program of this name writes; none if that is not known.
    pub(crate) fn filter(&mut self, name: &str, words: &[String]) -> Option<String> {
        let arguments = words.get(1..).unwrap_or(&[]);
        self.budget.begin_filter();
        let exact = exact_filter(name).map_or(Err(Inexact::Marked), |filter| filter(self, name, arguments));
        let text = match exact {
            Ok(text) => text,
            Err(Inexact::Marked) => match self.filter_spelled_out(name, arguments) {
                Some(text) => text,
                None => self.marked_filter(name, arguments)?,
            },
            Err(Inexact::Unknown) => {
                let given = self.text_given_to(words);
                self.unknown_made_of(&given)
            }
        };
        if !matches!(name, "dirname" | "basename" | "realpath" | "readlink") && !has_mark(&text) {
            self.world.certainty.lose();
        }
        Some(text)
    }

    /// The output of a filter over text in which the home and the working directory are the only marks.
    fn filter_spelled_out(&mut self, name: &str, arguments: &[String]) -> Option<String> {
        let filter = exact_filter(name)?;
        let is_place = |letter: char| matches!(letter, HOME | START | REPO);
        let is_plain = |text: &str| !text.contains(|letter| is_mark(letter) && !is_place(letter));
        let input = Rc::clone(&self.world.shell.input);
        if !is_plain(&input) || !arguments.iter().all(|word| is_plain(word)) {
            return None;
        }
        let arguments: Vec<String> = arguments.iter().map(|word| self.world.concrete(word)).collect();
        self.world.shell.input = self.world.concrete(&input).into();
        let text = filter(self, name, &arguments);
        self.world.shell.input = input;
        text.ok().map(|text| self.world.symbolic_text(&text))
    }

    /// The text of a file, or of standard input for `-`, if it has no marks.
    fn exact_text(&mut self, path: &str) -> Exact<Rc<str>> {
        let text = if path == "-" { Rc::clone(&self.world.shell.input) } else { self.read_file(path) };
        self.work(1 + text.len() / 256)?;
        if has_mark(&text) { Err(Inexact::Marked) } else { Ok(text) }
    }

    /// Uses up work of a filter, in units of about a microsecond. Too much of it leaves the output unknown.
    pub(super) fn work(&mut self, units: usize) -> Exact<()> {
        if self.budget.work(units) { Ok(()) } else { Err(Inexact::Unknown) }
    }

    /// The texts of these files one behind the other, or standard input, if they have no marks.
    fn exact_input(&mut self, paths: &[&str]) -> Exact<String> {
        let mut text = String::new();
        for path in if paths.is_empty() { &["-"] } else { paths } {
            text.push_str(&self.exact_text(path)?);
        }
        Ok(text)
    }
}
