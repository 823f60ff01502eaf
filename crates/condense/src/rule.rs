//! One rule of a filter: the lines that it names, and the operation on them.

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
    /// Writes the branches of a tree as one blank a level.
    Outdent,
}

impl Operation {
    /// True if it must be sure that a line is the command's own: such an operation names lines by little.
    pub(crate) fn needs_own_lines(self) -> bool {
        matches!(self, Self::Repeat | Self::Group | Self::Outdent)
    }

    /// The form, for the account of what was done.
    pub(crate) fn form(self) -> &'static str {
        match self {
            Self::Drop | Self::Repeat => "",
            Self::Group => "paths grouped by directory",
            Self::Squeeze => "padding and rulers",
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
    /// The line behind it: an announcement goes with what it announces. Another announcement or the end will do.
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
    /// For `group`: the path in a line.
    pub(crate) path: Option<Regex>,
}
