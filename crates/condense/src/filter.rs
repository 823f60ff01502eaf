//! Filters: one command's rules, from TOML to what can be used.

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;
use thiserror::Error;

use crate::command::CommandPattern;
use crate::rule::{Operation, Rule, RuleText};

/// Bytes that the compiled lines of one filter may take. Those that come with the crate need a tenth of it.
const LARGEST_PROGRAM: usize = 4 << 20;

/// Lines that no rule may name: a rule that does would leave out what nobody has recognized.
const NEVER_NAMED: [&str; 7] = [
    "",
    "error: it failed",
    "src/main.c:12:5: note",
    "something that no tool says",
    "as expected, it works",
    "info: it is done",
    "Done.",
];

/// A filter cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The text is not TOML, or has other keys than a filter.
    #[error("the filters cannot be read")]
    Syntax(#[from] toml::de::Error),
    /// A regular expression is wrong or too large.
    #[error("filter {filter}: an expression cannot be used")]
    Expression {
        /// The filter's name.
        filter: String,
        /// The reason.
        source: regex::Error,
    },
    /// A part is missing.
    #[error("filter {filter}: {part} is missing")]
    Missing {
        /// The filter's name.
        filter: String,
        /// The key.
        part: &'static str,
    },
    /// A rule would leave out lines that it does not recognize.
    #[error("filter {filter}: the rule {label:?} names too much: it takes {line:?}")]
    TooWide {
        /// The filter's name.
        filter: String,
        /// The rule's label.
        label: String,
        /// A line that no rule may name.
        line: String,
    },
    /// A command is written in a way that is not understood.
    #[error("filter {filter}: the command {command:?} is no program with subcommands and options")]
    Command {
        /// The filter's name.
        filter: String,
        /// The command as written.
        command: String,
    },
    /// An example turns out differently.
    #[error("filter {filter}: example {example} gives\n{got}\ninstead of\n{expected}")]
    Example {
        /// The filter's name.
        filter: String,
        /// The number of the example, from 1.
        example: usize,
        /// The result.
        got: String,
        /// The result that the example promises.
        expected: String,
    },
}

/// A file of filters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterFile {
    family: String,
    filter: Vec<FilterText>,
}

/// A filter as it is written in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterText {
    name: String,
    commands: Vec<String>,
    #[serde(default)]
    valued: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    #[serde(default)]
    shape: Vec<String>,
    #[serde(default)]
    rule: Vec<RuleText>,
    #[serde(default)]
    example: Vec<Example>,
}

/// An output, and what becomes of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) status: i32,
    pub(crate) input: String,
    /// None if the output stays as it is.
    pub(crate) output: Option<String>,
}

/// One command's rules.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) commands: Vec<CommandPattern>,
    /// Options before the subcommand that take the next word.
    pub(crate) valued: Vec<String>,
    /// Options with which the output has another form.
    pub(crate) except: Vec<String>,
    /// Lines that the output must have; one of them is enough. Empty if any output will do.
    pub(crate) shape: Vec<Regex>,
    /// The lines of all rules.
    pub(crate) lines: RegexSet,
    /// The rule of each expression in `lines`.
    pub(crate) rule_of: Vec<usize>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) examples: Vec<Example>,
}

impl Filter {
    /// Reads the filters of a file, without trying out their examples.
    pub(crate) fn read(text: &str) -> Result<Vec<Self>, FilterError> {
        let file: FilterFile = toml::from_str(text)?;
        file.filter.into_iter().map(|filter| Self::new(&file.family, filter)).collect()
    }

    fn new(family: &str, text: FilterText) -> Result<Self, FilterError> {
        let name = text.name;
        let missing = |part| Err(FilterError::Missing { filter: name.clone(), part });
        if text.commands.is_empty() {
            return missing("commands");
        }
        if text.example.is_empty() {
            return missing("example");
        }
        let of_expression = |source| FilterError::Expression { filter: name.clone(), source };
        let mut commands = Vec::new();
        for command in &text.commands {
            let pattern = CommandPattern::of(command)
                .ok_or_else(|| FilterError::Command { filter: name.clone(), command: command.clone() })?;
            commands.push(pattern);
        }
        let shape = text.shape.iter().map(|line| whole_line(line)).collect::<Result<_, _>>().map_err(of_expression)?;
        let mut rule_of = Vec::new();
        let mut rules = Vec::new();
        for (at, rule) in text.rule.iter().enumerate() {
            if rule.lines.is_empty() {
                return missing("lines");
            }
            rule_of.extend(rule.lines.iter().map(|_| at));
            let names = rule.operation.parts();
            let lines = rule.lines.iter().filter(|_| !names.is_empty());
            let parts: Vec<Regex> =
                lines.map(|line| Regex::new(line)).collect::<Result<_, _>>().map_err(of_expression)?;
            if parts.iter().any(|part| !part.capture_names().flatten().any(|name| names.contains(&name))) {
                return missing("a part such as (?<path>…) in lines");
            }
            rules.push(Rule {
                operation: rule.operation,
                label: rule.label.clone(),
                verdict: rule.verdict,
                stays: rule.stays,
                with: rule.with,
                parts,
            });
        }
        let lines = RegexSetBuilder::new(text.rule.iter().flat_map(|rule| &rule.lines))
            .size_limit(LARGEST_PROGRAM)
            .build()
            .map_err(of_expression)?;
        let filter = Self {
            family: family.to_owned(),
            commands,
            valued: text.valued,
            except: text.except,
            shape,
            lines,
            rule_of,
            rules,
            examples: text.example,
            name,
        };
        filter.check_width()?;
        Ok(filter)
    }

    /// A rule that leaves lines out has to know them.
    fn check_width(&self) -> Result<(), FilterError> {
        for line in NEVER_NAMED {
            if let Some(rule) = self.rule(line).filter(|rule| rule.operation == Operation::Drop) {
                let (filter, label) = (self.name.clone(), rule.label.clone());
                return Err(FilterError::TooWide { filter, label, line: line.to_owned() });
            }
        }
        Ok(())
    }

    /// The first rule that names the line.
    pub(crate) fn rule_index(&self, line: &str) -> Option<usize> {
        if !self.lines.is_match(line) {
            return None;
        }
        self.lines.matches(line).iter().next().and_then(|expression| self.rule_of.get(expression)).copied()
    }

    fn rule(&self, line: &str) -> Option<&Rule> {
        self.rules.get(self.rule_index(line)?)
    }

    /// True if the text has a line of the expected shape.
    pub(crate) fn has_shape(&self, text: &str) -> bool {
        self.shape.is_empty() || self.shape.iter().any(|line| line.is_match(text))
    }

    /// True if a rule must be sure that a line is this command's own.
    pub(crate) fn needs_own_lines(&self) -> bool {
        self.rules.iter().any(|rule| rule.operation.needs_own_lines())
    }
}

/// An expression that is looked for in every line of a text.
fn whole_line(line: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(line).multi_line(true).size_limit(LARGEST_PROGRAM).build()
}
