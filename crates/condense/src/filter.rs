//! Filters: one command's rules, from TOML to what can be used.

use std::sync::OnceLock;

use regex::bytes::Regex;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::command::CommandPattern;
use crate::rule::{Operation, Rule, RuleText, any_of, expression};

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
    #[error("line {line}: filter {filter}: an expression cannot be used")]
    Expression {
        /// The line of the filter's name, from 1.
        line: usize,
        /// The filter's name.
        filter: String,
        /// The reason.
        source: regex::Error,
    },
    /// A part is missing.
    #[error("line {line}: filter {filter}: {part} is missing")]
    Missing {
        /// The line of the filter's name, from 1.
        line: usize,
        /// The filter's name.
        filter: String,
        /// The key.
        part: &'static str,
    },
    /// A rule would leave out lines that it does not recognize.
    #[error("line {line}: filter {filter}: the rule {label:?} names too much: it takes {taken:?}")]
    TooWide {
        /// The line of the filter's name, from 1.
        line: usize,
        /// The filter's name.
        filter: String,
        /// The rule's label.
        label: String,
        /// A line that no rule may name.
        taken: String,
    },
    /// A command is written in a way that is not understood.
    #[error("line {line}: filter {filter}: the command {command:?} is no program with subcommands and options")]
    Command {
        /// The line of the filter's name, from 1.
        line: usize,
        /// The filter's name.
        filter: String,
        /// The command as written.
        command: String,
    },
    /// An example turns out differently.
    #[error("line {line}: filter {filter}: example {example} gives\n{got}\ninstead of\n{expected}")]
    Example {
        /// The line of the example's command, from 1.
        line: usize,
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
    name: Spanned<String>,
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
    example: Vec<ExampleText>,
}

/// An example as it is written in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleText {
    command: Spanned<String>,
    #[serde(default)]
    status: i32,
    input: String,
    output: Option<String>,
}

/// An output, and what becomes of it.
#[derive(Debug)]
pub(crate) struct Example {
    /// Line of the command in its file, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) status: i32,
    pub(crate) input: String,
    /// None if the output stays as it is.
    pub(crate) output: Option<String>,
}

/// One command's rules.
#[derive(Debug)]
pub(crate) struct Filter {
    /// Line of the name in its file, from 1.
    line: usize,
    pub(crate) name: String,
    pub(crate) family: String,
    pub(crate) commands: Vec<CommandPattern>,
    /// Options before the subcommand that take the next word.
    pub(crate) valued: Vec<String>,
    /// Options with which the output has another form.
    pub(crate) except: Vec<String>,
    pub(crate) examples: Vec<Example>,
    shape: Vec<String>,
    rules: Vec<RuleText>,
    /// The expressions, compiled when the first output needs them: that takes longer than reading the file.
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    /// Lines that the output must have; one of them is enough. None if any output will do.
    shape: Option<Regex>,
    /// The lines of all rules: most lines are of none.
    lines: Option<Regex>,
    rules: Vec<Rule>,
}

impl Filter {
    /// Reads the filters of a file. Their expressions and examples are not looked at.
    pub(crate) fn read(text: &str) -> Result<Vec<Self>, FilterError> {
        let file: FilterFile = toml::from_str(text)?;
        file.filter.into_iter().map(|filter| Self::new(text, &file.family, filter)).collect()
    }

    fn new(file: &str, family: &str, text: FilterText) -> Result<Self, FilterError> {
        let line = line_of(file, &text.name);
        let name = text.name.into_inner();
        let missing = |part| Err(FilterError::Missing { line, filter: name.clone(), part });
        if text.commands.is_empty() {
            return missing("commands");
        }
        if text.example.is_empty() {
            return missing("example");
        }
        if text.rule.iter().any(|rule| rule.lines.is_empty()) {
            return missing("lines");
        }
        let mut commands = Vec::new();
        for command in &text.commands {
            let pattern = CommandPattern::of(command).ok_or_else(|| FilterError::Command {
                line,
                filter: name.clone(),
                command: command.clone(),
            })?;
            commands.push(pattern);
        }
        let example = |example: ExampleText| Example {
            line: line_of(file, &example.command),
            command: example.command.into_inner(),
            status: example.status,
            input: example.input,
            output: example.output,
        };
        Ok(Self {
            line,
            family: family.to_owned(),
            commands,
            valued: text.valued,
            except: text.except,
            examples: text.example.into_iter().map(example).collect(),
            shape: text.shape,
            rules: text.rule,
            compiled: OnceLock::new(),
            name,
        })
    }

    /// Compiles the expressions, and looks for rules that name lines which nobody could recognize.
    pub(crate) fn check(&self) -> Result<(), FilterError> {
        let compiled = self.compile().map_err(|source| FilterError::Expression {
            line: self.line,
            filter: self.name.clone(),
            source,
        })?;
        for taken in NEVER_NAMED {
            let rule = compiled.rules.iter().find(|rule| rule.operation == Operation::Drop && rule.names(taken));
            if let Some(rule) = rule {
                let (filter, label) = (self.name.clone(), rule.label.clone());
                return Err(FilterError::TooWide { line: self.line, filter, label, taken: taken.to_owned() });
            }
        }
        Ok(())
    }

    fn compile(&self) -> Result<Compiled, regex::Error> {
        let shape = match self.shape.as_slice() {
            [] => None,
            lines => Some(expression(&lines.join("|"), true)?),
        };
        let rules = self.rules.iter().map(Rule::new).collect::<Result<_, _>>()?;
        let lines = match self.rules.as_slice() {
            [] => None,
            rules => Some(any_of(rules.iter().flat_map(|rule| &rule.lines))?),
        };
        Ok(Compiled { shape, lines, rules })
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| self.compile().expect("it was checked when it was loaded, or by a test"))
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.compiled().rules
    }

    /// The first rule that names the line.
    pub(crate) fn rule(&self, line: &str) -> Option<&Rule> {
        let Compiled { lines, rules, .. } = self.compiled();
        lines.as_ref().filter(|lines| lines.is_match(line.as_bytes()))?;
        // The lines of a filter with one rule are that rule's.
        if let [rule] = rules.as_slice() { Some(rule) } else { rules.iter().find(|rule| rule.names(line)) }
    }

    /// True if the text has a line of the expected shape.
    pub(crate) fn has_shape(&self, text: &str) -> bool {
        self.compiled().shape.as_ref().is_none_or(|shape| shape.is_match(text.as_bytes()))
    }

    /// True if a rule must be sure that a line is this command's own.
    pub(crate) fn needs_own_lines(&self) -> bool {
        self.rules.iter().any(|rule| rule.operation.needs_own_lines())
    }
}

/// The line in which a value of a file stands, from 1.
fn line_of<T>(file: &str, value: &Spanned<T>) -> usize {
    let before = file.as_bytes().get(..value.span().start).unwrap_or_default();
    1 + memchr::memchr_iter(b'\n', before).count()
}
