//! From words to fields, in bash's order: braces, tilde, parameters and substitutions, splitting, globs.
//!
//! Globs are not matched against files; they stay in the fields as marks.

mod arith;
mod brace;
mod param;

pub(crate) use param::unescape_all;

use std::rc::Rc;

use crate::marks::{HOME, ONE, SET, SOME, STAR, TREE, UNKNOWN, is_wild};
use crate::walk::ScriptWalk;
use crate::walk::files::FRESH_DIRECTORY;
use crate::walk::state::DIRECTORY;
use bashful_bash::ast::{List, Redirect, ShellCommand, ShellWord, WordPiece};

/// The treatment of the text of an expansion: whether it is quoted, and whether it is split.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpandMode {
    /// Inside of double quotes.
    pub(crate) quoted: bool,
    /// Unquoted results are split at blanks.
    pub(crate) split: bool,
    /// Unquoted globs become marks.
    pub(crate) live: bool,
}

impl ExpandMode {
    const FIELDS: Self = Self { quoted: false, split: true, live: true };
    const TEXT: Self = Self { quoted: false, split: false, live: false };
    const PATTERN: Self = Self { quoted: false, split: false, live: true };
}

/// The fields that a word becomes.
#[derive(Debug, Default)]
pub(crate) struct FieldList {
    done: Vec<String>,
    current: Option<String>,
}

impl FieldList {
    fn push(&mut self, text: &str) {
        self.current.get_or_insert_default().push_str(text);
    }

    fn push_letter(&mut self, letter: char) {
        self.current.get_or_insert_default().push(letter);
    }

    fn touch(&mut self) {
        self.current.get_or_insert_default();
    }

    /// Ends the field that is being put together, if there is one.
    fn cut(&mut self) {
        self.done.extend(self.current.take());
    }

    /// Appends the fields of another word.
    fn append(&mut self, other: Self) {
        for (at, field) in other.finish().into_iter().enumerate() {
            if at > 0 {
                self.cut();
            }
            self.push(&field);
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.cut();
        self.done
    }

    fn joined(self) -> String {
        let mut fields = self.finish();
        if fields.len() == 1 { fields.pop().unwrap_or_default() } else { fields.join(" ") }
    }
}

impl ScriptWalk<'_> {
    /// The fields of all words.
    pub(crate) fn expand_fields(&mut self, words: &[ShellWord]) -> Vec<String> {
        let mut fields = Vec::with_capacity(words.len());
        for word in words {
            self.word_fields(word, &mut fields);
        }
        if !self.world.files.is_empty() && fields.iter().any(|field| field.contains(is_wild)) {
            fields = fields.into_iter().flat_map(|field| self.matching_files(field)).collect();
        }
        fields
    }

    fn word_fields(&mut self, word: &ShellWord, fields: &mut Vec<String>) {
        if let Some(text) = word.plain()
            && !text.contains(['{', '~', '*', '?', '['])
        {
            fields.push(text.to_owned());
            return;
        }
        match brace::expand(word) {
            brace::BraceExpansion::Same => {
                let expanded = self.expand(&word.pieces, ExpandMode::FIELDS);
                fields.extend(expanded.finish());
            }
            brace::BraceExpansion::Words(words) => {
                self.budget.spend(words.len() / 4);
                if self.budget.is_exhausted() {
                    return;
                }
                for pieces in words {
                    let expanded = self.expand(&pieces, ExpandMode::FIELDS);
                    fields.extend(expanded.finish());
                }
            }
            brace::BraceExpansion::TooMany => self.budget.give_up("its braces expand to too many words"),
        }
    }

    /// The text of a word that is neither split nor matched against files.
    pub(crate) fn expand_text(&mut self, word: &ShellWord) -> String {
        self.expand(&word.pieces, ExpandMode::TEXT).joined()
    }

    /// The text of an assigned value: tildes also count after a colon.
    pub(crate) fn expand_assigned(&mut self, word: &ShellWord) -> String {
        let text = self.expand_text(word);
        match word.pieces.first() {
            Some(WordPiece::Text(first)) if first.contains(":~") => text.replace(":~", &format!(":{HOME}")),
            _ => text,
        }
    }

    /// A word as a pattern. Letters outside of quotes are alive.
    pub(crate) fn expand_pattern(&mut self, word: &ShellWord) -> String {
        self.expand(&word.pieces, ExpandMode::PATTERN).joined()
    }

    fn expand(&mut self, pieces: &[WordPiece], mode: ExpandMode) -> FieldList {
        let mut fields = FieldList::default();
        let mut rest = pieces;
        if let Some((WordPiece::Text(first), after)) = pieces.split_first()
            && let Some((expanded, left)) = self.tilde(first, after.is_empty())
        {
            fields.push(&expanded);
            self.push_piece(&WordPiece::Text(left.to_owned()), mode, &mut fields);
            rest = after;
        }
        for piece in rest {
            self.push_piece(piece, mode, &mut fields);
        }
        fields
    }

    /// The directory of a leading tilde, and the text after it. `ends` is true if the word ends with this text.
    fn tilde<'t>(&mut self, text: &'t str, ends: bool) -> Option<(String, &'t str)> {
        let (before, tail) = if let Some(tail) = text.strip_prefix('~') {
            ("", tail)
        } else {
            // `make prefix=~/x` is treated like an assignment.
            let (name, value) = text.split_once("=~")?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_name {
                return None;
            }
            (text.get(..=name.len())?, value)
        };
        let length = tail.find('/').unwrap_or(tail.len());
        if length == tail.len() && !ends {
            return None;
        }
        let (user, left) = tail.split_at(length);
        let path = match user {
            "" => self.scalar("HOME").unwrap_or_else(|| HOME.to_string()),
            "+" => self.scalar(DIRECTORY)?,
            "-" => self.scalar("OLDPWD").unwrap_or_else(|| UNKNOWN.to_string()),
            // A name that is not known is somebody's all the same.
            _ if user.chars().all(|letter| matches!(letter, UNKNOWN | SOME)) => HOME.to_string(),
            _ if user.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) => {
                HOME.to_string()
            }
            _ => return None,
        };
        Some((format!("{before}{path}"), left))
    }

    fn push_piece(&mut self, piece: &WordPiece, mode: ExpandMode, fields: &mut FieldList) {
        match piece {
            WordPiece::Text(text) if mode.quoted || !mode.live => fields.push(text),
            WordPiece::Text(text) => self.push_live(text, fields),
            WordPiece::Quoted(text) => fields.push(text),
            WordPiece::Double(inner) => {
                // `"$@"` without arguments is no field at all.
                if !matches!(inner.as_slice(), [WordPiece::Param(param)] if param::is_list(param)) {
                    fields.touch();
                }
                for piece in inner {
                    self.push_piece(piece, ExpandMode { quoted: true, ..mode }, fields);
                }
            }
            WordPiece::Param(param) => self.push_param(param, mode, fields),
            WordPiece::Command(list) => {
                let text = self.captured(list);
                self.push_expansion(&text, mode, fields);
            }
            WordPiece::Arith(inner) => {
                let text = self.arithmetic(inner);
                self.push_expansion(&text, mode, fields);
            }
            WordPiece::Input(list) => {
                let path = self.process_file(list);
                fields.push(&path);
            }
            WordPiece::Output(list) => {
                let path = self.process_reader(list);
                fields.push(&path);
            }
            WordPiece::Extended { options, .. } => {
                for option in options {
                    self.expand_pattern(option);
                }
                fields.push_letter(if mode.live { STAR } else { UNKNOWN });
            }
            WordPiece::Array(_) => {}
            WordPiece::Unknown => self.push_expansion(&UNKNOWN.to_string(), mode, fields),
        }
    }

    /// Text outside of quotes.
    fn push_live(&self, text: &str, fields: &mut FieldList) {
        fields.touch();
        let closed = text.rfind(']').unwrap_or(0);
        let goes_deep = self.world.shell.stars_go_deep && text.contains("**");
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if goes_deep && letter == '*' && letters.next_if(|(_, next)| *next == '*').is_some() {
                fields.push_letter(TREE);
            } else {
                fields.push_letter(self.live_letter(letter, at + 1 < closed));
            }
        }
    }

    /// A letter outside of quotes; `closed` says that a bracket follows, with something before it.
    fn live_letter(&self, letter: char, closed: bool) -> char {
        match letter {
            _ if self.world.shell.no_glob => letter,
            '*' => STAR,
            '?' => ONE,
            '[' if closed => SET,
            _ => letter,
        }
    }

    /// The result of an expansion.
    fn push_expansion(&mut self, text: &str, mode: ExpandMode, fields: &mut FieldList) {
        if mode.quoted || !mode.split {
            if mode.live && !mode.quoted {
                self.push_live(text, fields);
            } else {
                fields.push(text);
            }
            return;
        }
        let separators = self.scalar("IFS").unwrap_or_else(|| " \t\n".to_owned());
        let closed = text.rfind(']').unwrap_or(0);
        for (at, letter) in text.char_indices() {
            if !separators.contains(letter) {
                fields.push_letter(if mode.live { self.live_letter(letter, at + 1 < closed) } else { letter });
            } else if letter.is_ascii_whitespace() {
                fields.cut();
            } else {
                fields.touch();
                fields.cut();
            }
        }
    }

    /// The output of a substitution, without the ends of lines after it.
    fn captured(&mut self, list: &Rc<List>) -> String {
        let mut text = self.capture(list);
        text.truncate(text.trim_end_matches('\n').len());
        // Who hides the errors of a command expects that it may print nothing.
        let may_be_nothing = text.chars().eq([UNKNOWN]) || text == FRESH_DIRECTORY;
        if may_be_nothing && hides_errors(list) && self.picks_nothing() {
            text.clear();
        }
        text
    }
}

/// True if a substitution is one command whose errors nobody sees.
fn hides_errors(list: &List) -> bool {
    let [item] = list.items.as_slice() else { return false };
    if !item.rest.is_empty() {
        return false;
    }
    let [ShellCommand::Simple(simple)] = item.first.stages.as_slice() else { return false };
    simple.redirects.iter().any(Redirect::hides_errors)
}
