//! Rules of the user for [`ToolAdvice`](super::ToolAdvice): an expression for the text of a command.
//!
//! Most expressions are matched in linear time. One with look-around has to backtrack: it gets a bounded number of steps and
//! a bounded amount of text. Beyond those it does not match, because advice is not worth waiting for.

use thiserror::Error;

/// Steps back that one match may take. At 4 KiB of text, the worst expression that was tried took 0.2 s for so many.
const MOST_STEPS: usize = 30_000;

/// A text of more bytes is not matched by backtracking: every step may read all of it.
const LONGEST_TEXT: usize = 4 << 10;

/// Bytes of a script, in all of its texts, that one expression looks at by backtracking.
const ALL_TEXTS: usize = 8 << 10;

/// The size of a compiled expression, in bytes.
const LARGEST: usize = 1 << 20;

/// Instructions of an expression that backtracks.
const LONGEST_PROGRAM: usize = 10_000;

/// A rule of the user: an expression for the text of a command.
#[derive(Debug, Clone)]
pub struct TextRule {
    expression: Expression,
    pub(super) tool: String,
    pub(super) message: String,
}

#[derive(Debug, Clone)]
enum Expression {
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// An expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the pattern {pattern:?} for the tool `{tool}` cannot be used: {why}")]
pub struct ExpressionError {
    /// The expression as it was given.
    pub pattern: String,
    /// The tool it should lead to.
    pub tool: String,
    /// The fault in the expression, on one line.
    pub why: String,
}

impl TextRule {
    /// A rule that leads to `tool` whenever a command's text matches. Expression and flags are those of JavaScript, as far as
    /// they mean something here: `i`, `m`, `s` and `y` do, `d`, `g`, `u` and `v` change nothing.
    ///
    /// ```
    /// use bashful_engine::{Interceptor, TextRule, ToolAdvice};
    ///
    /// let rule = TextRule::new("^SERVE(?!.*--detach)", "i", "bash", "Use `name` for a service.")?;
    /// let advice = ToolAdvice { rules: vec![rule], tools: vec!["bash".into()] };
    /// assert!(advice.intercept(b"serve 8080").is_some());
    /// assert!(advice.intercept(b"serve 8080 --detach").is_none());
    /// # Ok::<(), bashful_engine::ExpressionError>(())
    /// ```
    pub fn new(pattern: &str, flags: &str, tool: &str, message: &str) -> Result<Self, ExpressionError> {
        let fault = |why: String| ExpressionError { pattern: pattern.to_owned(), tool: tool.to_owned(), why };
        if let Some(unknown) = flags.chars().find(|flag| !"dgimsuvy".contains(*flag)) {
            return Err(fault(format!("there is no flag {unknown:?}")));
        }
        let switches: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
        let mut text = if flags.contains('y') { format!("\\A(?:{pattern})") } else { pattern.to_owned() };
        if !switches.is_empty() {
            text = format!("(?{switches}){text}");
        }
        let linear = regex::RegexBuilder::new(&text).size_limit(LARGEST).build();
        let expression = match linear {
            Ok(linear) => Expression::Linear(linear),
            // Look-around, or a fault; only a second parser can tell.
            Err(_) => fancy_regex::RegexBuilder::new(&text)
                .backtrack_limit(MOST_STEPS)
                .delegate_size_limit(LARGEST)
                .max_prog_size(LONGEST_PROGRAM)
                .build()
                .map(|expression| Expression::Backtracking(Box::new(expression)))
                .map_err(|error| fault(error.to_string().replace('\n', " ")))?,
        };
        Ok(Self { expression, tool: tool.to_owned(), message: message.to_owned() })
    }

    /// True if one of the texts of a script matches.
    pub(super) fn matches(&self, mut texts: impl Iterator<Item = String>) -> bool {
        match &self.expression {
            Expression::Linear(expression) => texts.any(|text| expression.is_match(&text)),
            Expression::Backtracking(expression) => {
                let mut room = ALL_TEXTS;
                for text in texts.filter(|text| text.len() <= LONGEST_TEXT) {
                    let Some(rest) = room.checked_sub(text.len()) else { return false };
                    room = rest;
                    match expression.is_match(&text) {
                        Ok(true) => return true,
                        Ok(false) => {}
                        // It would take as long with the next text.
                        Err(_) => return false,
                    }
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(pattern: &str, flags: &str, text: &str) -> bool {
        let rule = TextRule::new(pattern, flags, "tool", "message").expect("it can be used");
        rule.matches(std::iter::once(text.to_owned()))
    }

    #[test]
    fn look_around_works_in_all_four_directions() {
        let left_alone = r"(?<!&)&\s*$";
        assert!(matches(left_alone, "", "server &") && !matches(left_alone, "", "a &&"));
        let detached = r"docker\s+compose\s+up(?!.*(?:\s-d(?:\s|$)|--detach))(?:\s|$)";
        assert!(matches(detached, "", "docker compose up") && !matches(detached, "", "docker compose up -d"));
        assert!(matches(r"(?=.*x)a(?<=a)", "", "abx") && !matches(r"(?=.*x)a(?<=a)", "", "ab"));
    }

    #[test]
    fn flags_are_those_of_javascript() {
        assert!(matches("^GIT", "i", "git commit") && !matches("^GIT", "", "git commit"));
        assert!(matches("^b$", "m", "a\nb") && !matches("^b$", "", "a\nb"));
        assert!(matches("a.b", "s", "a\nb") && !matches("a.b", "", "a\nb"));
        assert!(matches("b|a", "y", "a b") && !matches("b", "y", "a b"));
        assert!(matches("(?<!x)GIT", "gi", "git") && matches("git", "dgimsuvy", "git"));
        let error = TextRule::new("a", "iz", "tool", "message").expect_err("no flag").to_string();
        assert_eq!(error, "the pattern \"a\" for the tool `tool` cannot be used: there is no flag 'z'");
    }

    #[test]
    fn a_faulty_expression_is_told_on_one_line() {
        for pattern in ["(open", "[z-a]", "*", "(?<!x", "\\", &"(?!a)(b{1000}){1000}".repeat(3)] {
            let error = TextRule::new(pattern, "", "tool", "message").expect_err(pattern).to_string();
            assert!(error.starts_with(&format!("the pattern {pattern:?} for the tool")), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn an_expression_that_backtracks_without_end_does_not_match_and_does_not_take_long() {
        let began = std::time::Instant::now();
        for pattern in
            [r"(?:a(?=.*z))*b", r"(?:(?=(a+))\1)*b", r"(a|a)*(?!x)$b", r"(.*)(.*)(.*)(?=q)\1z", "(?!.*b)(?:a|.)*c"]
        {
            let rule = TextRule::new(pattern, "", "tool", "message").expect("it can be used");
            for length in [30, LONGEST_TEXT, LONGEST_TEXT + 1] {
                let texts = std::iter::repeat_n("a".repeat(length - 1) + "z", 10_000);
                assert!(!rule.matches(texts), "{pattern}");
            }
        }
        // A minute is a hang: all of it takes seconds without optimization.
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }
}
