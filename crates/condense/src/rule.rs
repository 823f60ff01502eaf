//! One rule of a filter: the lines that it names, and the operation on them.

use std::ops::Range;

use regex::Regex;
use serde::Deserialize;

/// The operations. Each keeps every line that its rule does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Operation {
    /// Leaves the lines out.
    Drop,
    /// Shows lines that repeat once, with a count. Numbers in them may differ.
    Repeat,
    /// Writes paths of one directory that follow each other as `directory/{a,b}`.
    Group,
    /// Writes three blanks and more as two, and rulers as three signs.
    Squeeze,
    /// Writes blanks between columns as one, and columns at the beginning that lines in a row share once, on a line of
    /// their own.
    Columns,
    /// Writes the branches of a tree as one blank a level.
    Outdent,
}

impl Operation {
    /// The names of the parts of a line that the operation is about. An expression has at least one of them.
    pub(crate) fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Group => &["path"],
            Self::Columns => &["shared", "columns"],
            _ => &[],
        }
    }

    /// True if it must be sure that a line is the command's own: such an operation names lines by little.
    pub(crate) fn needs_own_lines(self) -> bool {
        matches!(self, Self::Repeat | Self::Group | Self::Outdent | Self::Columns)
    }

    /// The form, for the account of what was done.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Self::Drop | Self::Repeat => "",
            Self::Group => "paths grouped by directory",
            Self::Squeeze => "padding and rulers",
            Self::Columns => "columns",
            Self::Outdent => "branches drawn as indentation",
        }
    }
}

/// The line of a rule that stays although all the others are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stays {
    /// The last one: the end of a progress.
    Last,
    /// The first one.
    First,
}

/// The neighbors that have to be left out as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Neighbor {
    /// The line behind it: an announcement goes with what it announces. Another announcement will do.
    Next,
    /// All lines below it that are indented deeper, and at least one: a heading goes with its lines.
    Deeper,
    /// The same, where there need not be any.
    DeeperOrNone,
    /// The line before it: a continuation goes with its line.
    Previous,
}

/// A rule as it is written in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleText {
    #[serde(rename = "do")]
    pub(crate) operation: Operation,
    pub(crate) label: String,
    pub(crate) lines: Vec<String>,
    #[serde(default)]
    pub(crate) verdict: bool,
    #[serde(default)]
    pub(crate) stays: Option<Stays>,
    #[serde(default)]
    pub(crate) with: Option<Neighbor>,
}

/// A rule that can be used.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) operation: Operation,
    /// The kind of lines, in the plural.
    pub(crate) label: String,
    /// The tool itself says in such a line that something went well. A word such as `error` in it is part of a name.
    pub(crate) verdict: bool,
    pub(crate) stays: Option<Stays>,
    pub(crate) with: Option<Neighbor>,
    /// The lines again, if the operation is about a part of them.
    pub(crate) parts: Vec<Regex>,
}

impl Rule {
    /// The parts of a line that the operation is about, by their places in the line. A part that is missing is empty, at
    /// the end of the part before it.
    pub(crate) fn parts<const N: usize>(&self, line: &str) -> Option<[Range<usize>; N]> {
        let found = self.parts.iter().find_map(|part| part.captures(line))?;
        let mut end = 0;
        let mut names = self.operation.parts().iter();
        Some(std::array::from_fn(|_| {
            let part = names.next().and_then(|name| found.name(name)).map_or(end..end, |part| part.range());
            end = part.end;
            part
        }))
    }
}
