//! Cases about the text that a model is shown: that it is the one that was sent, and what it costs.

use super::agent::Agent;
use super::cases::{HELD, Held, Verdict};
use super::play::{Call, Tool};
use super::rig::{AgentHome, Performance, Rig};

/// Commands whose output an agent might take for something other than text, and the output.
const MISTAKABLE: [(&str, &str); 9] = [
    ("echo 42", "42"),
    ("echo -1.5e3", "-1.5e3"),
    ("echo true", "true"),
    ("echo null", "null"),
    (r#"echo '"text"'"#, r#""text""#),
    ("echo '[1, 2]'", "[1, 2]"),
    ("cat list.json", "[\n  1,\n  {\"two\": 2}\n]"),
    ("cat package.json", "{\n  \"name\": \"x\",\n  \"list\": [1, 2]\n}"),
    ("printf 'a\\tb\\n\\n  c\\n'", "a\tb\n\n  c"),
];

/// What an agent may add to a text, beyond what it adds to every text: the line behind JSON.
const ADDED: usize = "\n[end of output]".len() + 4;

/// The model is shown the whole text that was sent, byte for byte, and nothing else.
pub(super) fn whole(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = project(rig, agent)?;
    let scripts = std::iter::once("true").chain(MISTAKABLE.map(|(script, _)| script));
    let play = home.play(scripts.map(|script| vec![Call::bash(script)]).collect(), true, None)?;
    let around = play.result(0)?.len() - "(no output)".len();
    for (at, (script, printed)) in MISTAKABLE.into_iter().enumerate() {
        let result = play.result(at + 1)?;
        if !result.contains(printed) || result.len() > printed.len() + around + ADDED {
            return Err(format!("`{script}` printed {printed:?}, and the model was shown {result:?}\n{play}"));
        }
    }
    Ok(HELD)
}

/// Ten ordinary commands, and a part of what each prints.
const ORDINARY: [(&str, &str); 10] = [
    ("ls", "notes.txt"),
    ("cat package.json", "name"),
    ("git status --short", "?? web/"),
    ("git log --oneline | head -5", "first notes"),
    ("grep -rn TODO .", "TODO: the rest"),
    ("wc -l notes.txt; tail -2 notes.txt", "the last note"),
    ("cat missing.txt", "No such file"),
    // Some agents show the first lines, others the last ones.
    ("seq 1 20000", "\n1"),
    ("if then", "syntax error"),
    // Last, because some agents stay in the directory.
    ("cd web && ls | head -3", "main.js"),
];

/// Ten results cost about as much as those of the agent's own shell, or less. A command whose output that shell has lost does not
/// count, as happens to Qwen Code.
pub(super) fn cost(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = project(rig, agent)?;
    let (shell, arguments) = agent.own_shell;
    let own = |script: &str| vec![Call { tool: Tool::Own(shell.to_owned()), arguments: arguments(script) }];
    let scripts = ORDINARY.map(|(script, _)| script);
    let turns = scripts.map(|script| vec![Call::bash(script)]).into_iter().chain(scripts.map(own));
    let play = home.play(turns.collect(), true, None)?;
    let (mut ours, mut own, mut lost) = (Vec::new(), Vec::new(), String::new());
    for (at, (script, printed)) in ORDINARY.into_iter().enumerate() {
        play.expect(at, &[printed])?;
        let of_own = play.result(ORDINARY.len() + at)?;
        if of_own.contains(printed) {
            ours.push(play.result(at)?.len());
            own.push(of_own.len());
        } else {
            lost = format!("{lost}; its own shell lost the output of `{script}`");
        }
    }
    let sums = (ours.iter().sum::<usize>(), own.iter().sum::<usize>());
    let facts = format!("{} bytes, its own shell {}: {ours:?} {own:?}{lost}", sums.0, sums.1);
    if sums.0 * 100 > sums.1 * agent.cost_percent {
        Err(format!("{facts}\n{}", quoted(&play)))
    } else {
        Ok(Held::Yes(facts))
    }
}

fn quoted(play: &Performance) -> String {
    format!("{play:.6000}")
}

/// A project with some files, in a repository.
fn project<'a>(rig: &'a Rig, agent: &'static Agent) -> Result<AgentHome<'a>, String> {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let notes = "a note\n".repeat(40) + "TODO: the rest\nthe last note\n";
    for (name, text) in [
        ("project/list.json", "[\n  1,\n  {\"two\": 2}\n]\n"),
        ("project/package.json", "{\n  \"name\": \"x\",\n  \"list\": [1, 2]\n}\n"),
        ("project/notes.txt", &notes),
        ("project/web/index.html", "<!-- TODO: a title -->\n"),
        ("project/web/main.js", "// TODO: everything\n"),
        ("project/web/style.css", "\n"),
        ("project/web/data.json", "{}\n"),
    ] {
        home.write(name, text)?;
    }
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=rig", "-c", "user.email=rig@localhost", "-c", "init.defaultBranch=main"];
        home.command(std::path::Path::new("git"), &[&identity[..], arguments].concat())
    };
    // Without the sample hooks of a template: some agents have a `grep` that skips them.
    git(&["init", "--quiet", "--template="])?;
    git(&["add", "package.json", "notes.txt"])?;
    git(&["commit", "--quiet", "--message", "Write the first notes"])?;
    Ok(home)
}
