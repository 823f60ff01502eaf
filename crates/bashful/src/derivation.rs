//! `bashful check --explain`: shows the derivation of each dangerous command as a tree.
//!
//! The root is the command as the script spells it. Below it stand the assignments that its words came from, and then every
//! form that the command took on its way to the one that a rule refused. Kills also list the processes of this machine that
//! they would hit, which the guard itself cannot know.

use std::fmt::Write as _;

use bashful_dialect::visible;
use bashful_engine::{Finding, Level, Redactor, Verdict};

/// Most processes that a tree lists as hit by a kill. The rest are counted.
const MOST_VICTIMS: usize = 8;

/// The trees of all findings.
pub(crate) fn trees(script: &str, verdict: &Verdict, redactor: &Redactor) -> String {
    let trees: Vec<String> = verdict.findings.iter().map(|finding| tree(script, finding)).collect();
    let text = trees.join("\n");
    redactor.redact(text).lines().map(visible).collect::<Vec<_>>().join("\n")
}

fn tree(script: &str, finding: &Finding) -> String {
    let line = 1 + script.get(..finding.span.start).unwrap_or("").matches('\n').count();
    let written = script.get(finding.span.clone()).unwrap_or("").trim();
    let at = finding.chain.iter().position(|step| step == written);
    let (origins, steps) = match at {
        Some(at) => (finding.chain.get(..at).unwrap_or(&[]), finding.chain.get(at + 1..).unwrap_or(&[])),
        None => (&[][..], finding.chain.as_slice()),
    };
    let mut text = format!("line {line}: {}\n", one_line(written));
    // Writing to a string cannot fail.
    for origin in origins {
        let _ = writeln!(text, "├─ {}", one_line(origin));
    }
    for (depth, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}└─ {}", "   ".repeat(depth), one_line(step));
    }
    let depth = "   ".repeat(steps.len().saturating_sub(1));
    for command in &finding.also {
        let _ = writeln!(text, "{depth}└─ {}", one_line(command));
    }
    let level = match finding.level {
        Level::Warn => "warning",
        Level::Ask => "needs approval",
        Level::Deny => "refused",
    };
    let indent = "   ".repeat(steps.len());
    let _ = writeln!(text, "{indent}└─ {}: {level}", finding.rule);
    if finding.rule.starts_with("process/kill") {
        let command = finding.chain.last().map_or(written, String::as_str);
        let _ = writeln!(text, "{indent}   would hit: {}", victims(command, &processes()));
    }
    text
}

/// The first line of a text.
fn one_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("").to_owned();
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// The ids and names of the processes of this machine; none where there is no `/proc`.
fn processes() -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            Some((id, name.trim_end().to_owned()))
        })
        .collect();
    found.sort_unstable();
    found
}

fn victims(command: &str, processes: &[(u32, String)]) -> String {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or("");
    let names: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
    let hit: Vec<&(u32, String)> = match program.rsplit('/').next() {
        Some("killall") => processes.iter().filter(|(_, name)| names.contains(&name.as_str())).collect(),
        Some("pkill") => {
            let matches =
                |name: &str| names.iter().any(|wanted| matches!(*wanted, "." | ".*") || name.contains(wanted));
            processes.iter().filter(|(_, name)| matches(name)).collect()
        }
        _ => processes.iter().collect(),
    };
    if hit.is_empty() {
        return "nothing that runs now".to_owned();
    }
    let mut shown: Vec<String> = hit.iter().take(MOST_VICTIMS).map(|(id, name)| format!("{id} {name}")).collect();
    if hit.len() > MOST_VICTIMS {
        shown.push(format!("and {} more", hit.len() - MOST_VICTIMS));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bashful_engine::{Guard, Prelude};

    #[test]
    fn a_tree_shows_every_step_to_a_dangerous_word() {
        let script = "x=rm\nsudo -u root $x -rf \"$HOME\"";
        let verdict = Guard::default().judge(script, &Prelude::default());
        let expected = "line 2: sudo -u root $x -rf \"$HOME\"\n├─ x=rm\n└─ sudo -u root rm -rf ~\n   └─ rm -rf ~\n      \
                        └─ rm/critical: refused\n";
        assert_eq!(tree(script, &verdict.findings[0]), expected);
    }

    #[test]
    fn a_kill_names_its_victims() {
        let processes = [(7, "node".to_owned()), (8, "bash".to_owned()), (9, "nodemon".to_owned())];
        assert_eq!(victims("killall -9 node", &processes), "7 node");
        assert_eq!(victims("pkill node", &processes), "7 node, 9 nodemon");
        assert_eq!(victims("pkill -f .", &processes), "7 node, 8 bash, 9 nodemon");
        assert_eq!(victims("killall other", &processes), "nothing that runs now");
    }
}
