//! One rule of a filter: the lines that it names, and the operation on them.

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use toml::Spanned;

/// Bytes that a compiled expression may take. Those that come with the crate need a tenth of it.
const LARGEST_PROGRAM: usize = 4 << 20;

/// The operations. Each keeps every line that its rule does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Operation {
    /// Leaves the lines out.
    Drop,
    /// Shows lines that repeat once, with a count. Times, process numbers and short durations in them may differ.
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
    /// True if it leaves lines out.
    pub(crate) fn leaves_out(self) -> bool {
        matches!(self, Self::Drop | Self::Repeat)
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
    /// The last one of each run of lines: the end of each transfer.
    LastOfRun,
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
    /// None, but the same entry of `ls -R` has to stand in the part of the directory above.
    ListedAbove,
}

/// Two words that tell the first line of a block from its last one; the rest of both lines is the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockWords {
    opens: String,
    closes: String,
}

impl BlockWords {
    pub(crate) fn is_open(&self, line: &str) -> bool {
        line.contains(&self.opens)
    }

    /// True if the line ends the block that the other line began.
    pub(crate) fn closes(&self, line: &str, open: &str) -> bool {
        line.replacen(&self.closes, &self.opens, 1) == open
    }
}

/// A rule as it is written in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleText {
    #[serde(rename = "do")]
    pub(crate) operation: Operation,
    pub(crate) label: String,
    pub(crate) lines: Vec<Spanned<String>>,
    #[serde(default)]
    verdict: bool,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    block: Option<BlockWords>,
    #[serde(default)]
    stays: Option<Stays>,
    #[serde(default)]
    with: Option<Neighbor>,
    #[serde(default)]
    before: Option<String>,
    #[serde(default)]
    columns: usize,
    #[serde(default)]
    shared: usize,
}

/// A rule that can be used.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) operation: Operation,
    /// The kind of lines, in the plural.
    pub(crate) label: String,
    /// The lines that the rule names.
    lines: Regex,
    /// The tool itself says in such a line that something went well. A word such as `error` in it is part of a name.
    pub(crate) verdict: bool,
    /// The lines could be those of another command, so the rule counts only if the command ran by itself.
    pub(crate) alone: bool,
    /// The first and the last line of a block, which go only with all lines between them.
    pub(crate) block: Option<BlockWords>,
    pub(crate) stays: Option<Stays>,
    pub(crate) with: Option<Neighbor>,
    /// For `group`: the text before the path, if there is any.
    before: Option<Regex>,
    /// For `columns`: the columns at the beginning that lose their padding. None of them has blanks in it.
    pub(crate) columns: usize,
    /// For `columns`: the columns at the beginning that are written once for lines in a row.
    pub(crate) shared: usize,
}

impl Rule {
    pub(crate) fn new(text: &RuleText) -> Result<Self, regex::Error> {
        Ok(Self {
            operation: text.operation,
            label: text.label.clone(),
            lines: any_of(&text.lines)?,
            verdict: text.verdict,
            alone: text.alone,
            block: text.block.clone(),
            stays: text.stays,
            with: text.with,
            before: text.before.as_deref().map(|before| expression(before, false)).transpose()?,
            columns: text.columns.max(text.shared),
            shared: text.shared,
        })
    }

    /// True if the rule is about the line.
    pub(crate) fn names(&self, line: &str) -> bool {
        self.lines.is_match(line.as_bytes())
    }

    /// The text before the path in a line, and the path.
    pub(crate) fn path<'t>(&self, line: &'t str) -> (&'t str, &'t str) {
        let before =
            self.before.as_ref().and_then(|before| before.find(line.as_bytes())).map_or(0, |found| found.end());
        line.split_at_checked(before).unwrap_or(("", line))
    }
}

/// One expression for whole lines that fit one of these.
pub(crate) fn any_of<'t>(lines: impl IntoIterator<Item = &'t Spanned<String>>) -> Result<Regex, regex::Error> {
    let lines: Vec<&str> = lines.into_iter().map(|line| line.get_ref().as_str()).collect();
    expression(&whole_line(&lines), false)
}

/// The text of an expression for whole lines that fit one of these.
pub(crate) fn whole_line(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("^(?:{line})$")).collect();
    lines.join("|")
}

/// Compiles an expression. Classes such as `\d` mean ASCII, which makes it small and quick; one that has other letters
/// in a class is compiled as Unicode.
pub(crate) fn expression(text: &str, in_every_line: bool) -> Result<Regex, regex::Error> {
    let build = |unicode| {
        RegexBuilder::new(text).unicode(unicode).multi_line(in_every_line).size_limit(LARGEST_PROGRAM).build()
    };
    build(false).or_else(|_| build(true))
}
