//! The names that a script mentions, for a caller that has more definitions than a walk can afford to begin with.

use super::Parser;
use super::visit::each_simple;

/// Blanks, quotes, operators and the like: no letter of a name that a script can call.
const BORDERS: &[char] =
    &[' ', '\t', '\r', '\n', ';', '&', '|', '(', ')', '<', '>', '{', '}', '"', '\'', '`', '$', '\\', '='];

/// Every name that a script may call as a function or an alias, with repetitions and in no order.
///
/// The names are too many rather than too few: a name in a quoted text counts, because `eval` and `trap` run such texts.
/// A name that the script puts together from parts while it runs is not among them.
///
/// ```
/// let names = bashful_bash::mentioned_names("trap 'clean up' EXIT; \"de\"ploy");
/// assert!(["clean", "deploy"].iter().all(|name| names.iter().any(|mentioned| mentioned == name)));
/// ```
pub fn mentioned_names(script: &str) -> Vec<String> {
    let mut names: Vec<String> = script.split(BORDERS).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    // Quotes and backslashes in the middle of a name do not change it.
    if script.contains(['"', '\'', '\\']) {
        let mut parser = Parser::new(script);
        while let Ok(Some(line)) = parser.line() {
            each_simple(&line, &mut |simple| {
                let name =
                    simple.words.first().filter(|word| word.plain().is_none()).and_then(super::ast::ShellWord::literal);
                names.extend(name);
            });
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, is_mentioned: bool) {
        assert_eq!(mentioned_names(script).iter().any(|name| name == "one"), is_mentioned, "{script}");
    }

    #[test]
    fn a_name_is_found_wherever_it_may_be_called() {
        for script in [
            "one",
            "a; if one; then b",
            "x=$(one)",
            "x=one; $x",
            "eval 'one two'",
            "alias a='one two'",
            "`one`",
            "o\"n\"e x",
            "a && \\o'ne'",
            "x=\"$(\\on\\e)\"",
        ] {
            check(script, true);
        }
        for script in ["onetwo", "none", "on e", "a \"o\"nce"] {
            check(script, false);
        }
    }

    #[test]
    fn an_error_hides_no_line_before_it() {
        check("o'n'e\necho 'open", true);
        check("echo 'open one", true);
    }
}
