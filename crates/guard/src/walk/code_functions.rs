//! Functions that code in other languages defines, so that a call of one can be followed with its arguments.
//!
//! Python's `def`, also in classes, and the functions of JavaScript are understood. A body ends where its indentation or its braces end; braces in
//! strings are not told apart, which makes a body too long or too short, and nothing worse.

use crate::walk::values::Values;

/// Functions of one kind that are looked for in a program. Each may be as long as the rest of it.
const MOST: usize = 200;

/// A function: its parameters and the code of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeFunction<'c> {
    pub(super) name: &'c str,
    parameters: Vec<&'c str>,
    /// Its first parameter is the object.
    is_method: bool,
    pub(super) body: &'c str,
}

impl<'c> CodeFunction<'c> {
    fn new(name: &'c str, parameters: &'c str, body: &'c str) -> Option<Self> {
        let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let is_name = |name: &str| !name.is_empty() && name.chars().all(is_letter);
        // `name: str = "x"`, `...rest`, `*args`
        let bare = |parameter: &'c str| {
            let parameter = parameter.trim().trim_start_matches(['*', '.']);
            parameter.split([':', '=']).next().unwrap_or("").trim()
        };
        let mut parameters: Vec<&str> =
            parameters.split(',').map(bare).filter(|parameter| is_name(parameter)).collect();
        let is_method = parameters.first().is_some_and(|first| matches!(*first, "self" | "cls"));
        if is_method {
            parameters.remove(0);
        }
        is_name(name).then_some(Self { name, parameters, is_method, body })
    }

    /// True if a call of this name is a call of this function: also `object.method`, and the class for its `__init__`.
    pub(super) fn is_called(&self, name: &str) -> bool {
        name == self.name || self.is_method && name.rsplit_once('.').is_some_and(|(_, method)| method == self.name)
    }

    /// Gives the parameters the words of a call. A single parameter takes all of them: it may be a list.
    pub(super) fn bind(&self, words: Vec<String>, values: &mut Values) {
        if let [only] = self.parameters.as_slice() {
            values.insert((*only).to_owned(), words);
            return;
        }
        for (parameter, word) in self.parameters.iter().zip(words) {
            values.insert((*parameter).to_owned(), vec![word]);
        }
    }
}

/// The functions that some code defines.
pub(super) fn functions<'c>(language: &str, code: &'c str) -> Vec<CodeFunction<'c>> {
    match language {
        "python" | "pypy" if code.contains("def ") => python_functions(code),
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" if code.contains("function") || code.contains("=>") => {
            script_functions(code)
        }
        _ => Vec::new(),
    }
}

fn python_functions(code: &str) -> Vec<CodeFunction<'_>> {
    let mut functions = Vec::new();
    let mut start = 0;
    let mut class = "";
    for line in code.split_inclusive('\n') {
        let end_of_line = start + line.len();
        let head = line.trim_start();
        let indent = line.len() - head.len();
        start = end_of_line;
        if let Some(name) = head.strip_prefix("class ") {
            class = name.split(['(', ':']).next().unwrap_or("").trim();
        }
        let Some(head) = head.strip_prefix("async ").unwrap_or(head).strip_prefix("def ") else { continue };
        let Some((name, rest)) = head.split_once('(') else { continue };
        let Some((parameters, after)) = rest.split_once(')') else { continue };
        let inline = after.split_once(':').map_or("", |(_, inline)| inline.trim());
        let body = if inline.is_empty() { indented(code.get(end_of_line..).unwrap_or(""), indent) } else { inline };
        // A call of the class is a call of this function.
        let name = if name.trim() == "__init__" { class } else { name.trim() };
        functions.extend(CodeFunction::new(name, parameters, body));
    }
    functions
}

/// The lines that are indented by more than this, from the beginning of the code.
fn indented(code: &str, indent: usize) -> &str {
    let is_inside = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
    let length: usize = code.split_inclusive('\n').take_while(is_inside).map(str::len).sum();
    code.get(..length).unwrap_or("")
}

fn script_functions(code: &str) -> Vec<CodeFunction<'_>> {
    let mut functions = Vec::new();
    // `function name(parameters) {`
    for (at, keyword) in code.match_indices("function ").take(MOST) {
        let head = code.get(at + keyword.len()..).unwrap_or("");
        let Some((name, rest)) = head.split_once('(') else { continue };
        let Some((parameters, after)) = rest.split_once(')') else { continue };
        functions.extend(CodeFunction::new(name.trim(), parameters, braced(after.trim_start())));
    }
    // `const name = (parameters) => body` and `const name = parameter => body`
    for (at, arrow) in code.match_indices("=>").take(MOST) {
        let head = code.get(..at).unwrap_or("").trim_end();
        let Some((name, parameters)) = head.rsplit_once('=') else { continue };
        let name = name.trim_end().rsplit([' ', '\n', ';', '\t']).next().unwrap_or("");
        let parameters = parameters.trim().trim_start_matches("async").trim().trim_matches(['(', ')']);
        let body = code.get(at + arrow.len()..).unwrap_or("").trim_start();
        let body = match braced(body) {
            "" => body.split([';', '\n']).next().unwrap_or(""),
            braced => braced,
        };
        functions.extend(CodeFunction::new(name, parameters, body));
    }
    functions
}

/// The code up to the brace that closes the first one; empty if it begins with none.
fn braced(code: &str) -> &str {
    let mut open = 0_usize;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return code.get(..at).unwrap_or("");
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies<'c>(language: &str, code: &'c str) -> Vec<(&'c str, Vec<&'c str>, &'c str)> {
        functions(language, code).into_iter().map(|found| (found.name, found.parameters, found.body.trim())).collect()
    }

    #[test]
    fn a_body_ends_with_its_indentation_or_its_braces() {
        let code = "import os\ndef a(x, *, y: int = 1):\n    f(x)\n\n    g(y)\nh()\ndef b(*args): i(args)\n";
        assert_eq!(bodies("python", code), [("a", vec!["x", "y"], "f(x)\n\n    g(y)"), ("b", vec!["args"], "i(args)")]);
        let code = "function a(x) { if (x) { f(x) } }\nconst b = (y, z) => { g(y) };\nconst c = w => h(w); i()";
        assert_eq!(
            bodies("node", code),
            [("a", vec!["x"], "{ if (x) { f(x) }"), ("b", vec!["y", "z"], "{ g(y)"), ("c", vec!["w"], "h(w)")]
        );
    }
}
