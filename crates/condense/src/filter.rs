//! Filters: one command's rules, from TOML to what can be used.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex::bytes::Regex;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::command::CommandPattern;
use crate::probe;
use crate::rule::{Operation, Rule, RuleText, any_of, expression, whole_line};

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
        /// The line of the expression, from 1.
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
    /// Two filters of one file have the same name.
    #[error("line {line}: filter {filter}: the name is there twice")]
    Twice {
        /// The line of the second one's name, from 1.
        line: usize,
        /// The name.
        filter: String,
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
    #[serde(default)]
    family: Option<String>,
    commands: Vec<String>,
    #[serde(default)]
    valued: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    #[serde(default)]
    shape: Vec<Spanned<String>>,
    #[serde(default)]
    details: Vec<Spanned<String>>,
    #[serde(default)]
    resumes: Vec<Spanned<String>>,
    #[serde(default)]
    until: Vec<Spanned<String>>,
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
    shape: Vec<Spanned<String>>,
    details: Vec<Spanned<String>>,
    resumes: Vec<Spanned<String>>,
    until: Vec<Spanned<String>>,
    rules: Vec<RuleText>,
    /// The ends of the lines of its file, to name the line of an expression.
    line_ends: Arc<[usize]>,
    /// The expressions, compiled when the first output needs them: that takes longer than reading the file.
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    /// Lines that the output must have; one of them is enough. None if any output will do.
    shape: Option<Regex>,
    /// Lines that begin details, such as those of failed tests: no filter leaves out anything behind them.
    details: Option<Regex>,
    /// Lines that end details. Without them, details go on to the end.
    resumes: Option<Regex>,
    /// The line at which this filter ends its work: the output behind it is another program's.
    until: Option<Regex>,
    /// The lines of all rules: most lines are of none.
    lines: Option<Regex>,
    rules: Vec<Rule>,
}

impl Filter {
    /// Reads the filters of a file. Their expressions and examples are not looked at.
    pub(crate) fn read(text: &str) -> Result<Vec<Self>, FilterError> {
        let file: FilterFile = toml::from_str(text)?;
        let line_ends: Arc<[usize]> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
        let mut filters: Vec<Self> = Vec::with_capacity(file.filter.len());
        for filter in file.filter {
            let filter = Self::new(&line_ends, &file.family, filter)?;
            if filters.iter().any(|other| other.name == filter.name) {
                return Err(FilterError::Twice { line: filter.line, filter: filter.name });
            }
            filters.push(filter);
        }
        Ok(filters)
    }

    fn new(line_ends: &Arc<[usize]>, family: &str, text: FilterText) -> Result<Self, FilterError> {
        let line = line_of(line_ends, &text.name);
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
            line: line_of(line_ends, &example.command),
            command: example.command.into_inner(),
            status: example.status,
            input: example.input,
            output: example.output,
        };
        Ok(Self {
            line,
            family: text.family.unwrap_or_else(|| family.to_owned()),
            commands,
            valued: text.valued,
            except: text.except,
            examples: text.example.into_iter().map(example).collect(),
            shape: text.shape,
            details: text.details,
            resumes: text.resumes,
            until: text.until,
            rules: text.rule,
            line_ends: Arc::clone(line_ends),
            compiled: OnceLock::new(),
            name,
        })
    }

    /// Compiles the expressions, and looks for rules that name lines which nobody could recognize.
    pub(crate) fn check(&self) -> Result<(), FilterError> {
        let failed = |line, source| FilterError::Expression { line, filter: self.name.clone(), source };
        for text in self.expressions() {
            expression(text.get_ref(), false).map_err(|source| failed(line_of(&self.line_ends, text), source))?;
        }
        let compiled = self.compile().map_err(|source| failed(self.line, source))?;
        for (text, rule) in self.rules.iter().zip(&compiled.rules).filter(|(_, rule)| rule.operation == Operation::Drop)
        {
            let expressions = text.lines.iter().map(|line| line.get_ref().as_str());
            if let Some(taken) = probe::line_that_must_stay(expressions, |line| rule.names(line)) {
                let (filter, label) = (self.name.clone(), rule.label.clone());
                return Err(FilterError::TooWide { line: self.line, filter, label, taken });
            }
        }
        Ok(())
    }

    fn expressions(&self) -> impl Iterator<Item = &Spanned<String>> {
        let of_rules = self.rules.iter().flat_map(|rule| &rule.lines);
        self.shape.iter().chain(&self.details).chain(&self.resumes).chain(&self.until).chain(of_rules)
    }

    fn compile(&self) -> Result<Compiled, regex::Error> {
        let in_every_line = |lines: &[Spanned<String>], begins_line| match lines {
            [] => Ok(None),
            lines => {
                let lines: Vec<&str> = lines.iter().map(|line| line.get_ref().as_str()).collect();
                let text = if begins_line { whole_line(&lines) } else { lines.join("|") };
                expression(&text, true).map(Some)
            }
        };
        let shape = in_every_line(&self.shape, false)?;
        let details = in_every_line(&self.details, true)?;
        let resumes = in_every_line(&self.resumes, true)?;
        let until = in_every_line(&self.until, true)?;
        let rules = self.rules.iter().map(Rule::new).collect::<Result<_, _>>()?;
        let lines = match self.rules.as_slice() {
            [] => None,
            rules => Some(any_of(rules.iter().flat_map(|rule| &rule.lines))?),
        };
        Ok(Compiled { shape, details, resumes, until, lines, rules })
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

    /// The parts of a text with details of failures, from the line that begins them up to the line that ends them.
    pub(crate) fn details(&self, text: &str) -> Vec<Range<usize>> {
        let Compiled { details: Some(details), resumes, .. } = self.compiled() else { return Vec::new() };
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some(begin) = details.find_at(text.as_bytes(), from) {
            let end = resumes.as_ref().and_then(|resumes| resumes.find_at(text.as_bytes(), begin.end()));
            from = end.map_or(text.len(), |end| end.start());
            parts.push(begin.start()..from);
            if end.is_none() {
                break;
            }
        }
        parts
    }

    /// The place in a text at which the work of this filter ends.
    pub(crate) fn end_of_work(&self, text: &str) -> usize {
        let until = self.compiled().until.as_ref().and_then(|until| until.find(text.as_bytes()));
        until.map_or(usize::MAX, |line| line.start())
    }

    /// True if a rule must be sure that a line is this command's own.
    pub(crate) fn needs_own_lines(&self) -> bool {
        self.rules.iter().any(|rule| rule.operation.needs_own_lines())
    }
}

/// The line in which a value of a file stands, from 1.
fn line_of<T>(line_ends: &[usize], value: &Spanned<T>) -> usize {
    let start = value.span().start;
    1 + line_ends.partition_point(|end| *end < start)
}
