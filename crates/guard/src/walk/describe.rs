//! Text in which bash describes its own state, so that it can be run again: `declare -f`, `declare -p`, `alias -p`.

use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;
use bashful_bash::ast::ShellCommand;

impl ScriptWalk<'_> {
    /// The definition of a function, as the script has written it. bash prints other blanks and the same commands.
    pub(super) fn function_text(&self, name: &str) -> Option<String> {
        let body = self.world.shell.functions.get(name)?;
        let ShellCommand::Compound { extent, .. } = body.as_ref() else { return None };
        let source = self.trail.source(*extent).filter(|source| source.starts_with(['{', '(']))?;
        Some(format!("{name} () \n{source}\n"))
    }

    /// The declaration of a variable.
    fn variable_text(&mut self, name: &str) -> Option<String> {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$"));
        Some(match self.value(name)? {
            ShellValue::Unset => return None,
            ShellValue::Scalar(text) => format!("declare -- {name}={}\n", quoted(&text)),
            ShellValue::Array(items) => {
                let items: Vec<String> = items.iter().map(|(at, item)| format!("[{at}]={}", quoted(item))).collect();
                format!("declare -a {name}=({})\n", items.join(" "))
            }
            ShellValue::Table(items) => {
                let items: Vec<String> = items.iter().map(|(key, item)| format!("[{key}]={}", quoted(item))).collect();
                format!("declare -A {name}=({} )\n", items.join(" "))
            }
        })
    }

    /// `declare -f name`, `declare -p name`: prints what is known.
    pub(super) fn describe(&mut self, name: &str, is_function: bool) {
        let text = if is_function { self.function_text(name) } else { self.variable_text(name) };
        if let Some(text) = text {
            self.write(&text);
        }
    }
}
