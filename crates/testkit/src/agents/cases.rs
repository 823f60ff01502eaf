//! The cases: one promise to a model or to an agent's user each.

use std::path::Path;

use serde_json::{Value, json};

use super::agent::Agent;
use super::play::{Call, Stop, StopBy, Tool};
use super::rig::{AgentHome, Performance, Rig};
use super::rows::{Rows, check_rows};
use super::texts;

/// A promise that has to hold with every agent.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// A short name, for the table.
    pub name: &'static str,
    run: fn(&Rig, &'static Agent) -> Verdict,
}

/// The outcome of a case; the error says what the model saw instead.
pub type Verdict = Result<Held, String>;

/// A case that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The promise held. The note is a measured fact, or empty.
    Yes(String),
    /// The case does not apply to this agent, for this reason.
    NotApplicable(&'static str),
}

/// All cases, in the order of the table.
pub const CASES: [Case; 16] = [
    Case { name: "output", run: output },
    Case { name: "whole", run: texts::whole },
    Case { name: "cost", run: texts::cost },
    Case { name: "long output", run: long_output },
    Case { name: "long failure", run: long_failure },
    Case { name: "background", run: background },
    Case { name: "approve", run: approve },
    Case { name: "auto mode", run: auto_mode },
    Case { name: "replace", run: replace },
    Case { name: "interrupt", run: |rig, agent| cancel(rig, agent, StopBy::Interrupt) },
    Case { name: "terminal", run: cancel_at_terminal },
    Case { name: "environment", run: environment },
    Case { name: "worktree", run: worktree },
    Case { name: "kill", run: |rig, agent| cancel(rig, agent, StopBy::Kill) },
    Case { name: "hook", run: hook },
    Case { name: "two at once", run: two_at_once },
];

impl Case {
    /// The case of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// Runs it for an agent.
    pub fn run(&self, rig: &Rig, agent: &'static Agent) -> Verdict {
        match agent.excused.iter().find(|(case, _)| *case == self.name) {
            Some((_, reason)) => Ok(Held::NotApplicable(reason)),
            None => (self.run)(rig, agent),
        }
    }
}

/// The promise held, without a note.
pub(super) const HELD: Held = Held::Yes(String::new());

/// Writes `seen-42` to standard output and `heard-49` to standard error. The script itself contains neither.
const SPEAK: &str = "echo seen-$((6*7)); echo heard-$((7*7)) >&2";
const SPOKEN: [&str; 2] = ["seen-42", "heard-49"];

/// Standard output, standard error and the exit code reach the model; the facts in `_meta` do not.
fn output(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let fails = format!("{SPEAK}; exit 7");
    let play =
        home.play(vec![vec![Call::bash(SPEAK)], vec![Call::bash(&fails)], vec![Call::bash("true")]], true, None)?;
    play.expect(0, &SPOKEN)?;
    play.expect(1, &SPOKEN)?;
    play.expect(1, &["exit code 7"])?;
    play.expect(2, &["(no output)"])?;
    for turn in 0..3 {
        no_facts(&play, &play.result(turn)?)?;
    }
    let at_once = play.offers_at_once(&Tool::Served("bash".to_owned()));
    Ok(Held::Yes(if at_once { "" } else { "after a search for the tool" }.to_owned()))
}

/// Requires that a result has none of the facts that are for programs.
fn no_facts(play: &Performance, result: &str) -> Result<(), String> {
    match ["duration_ms", "output_bytes", "_meta"].iter().find(|fact| result.contains(**fact)) {
        None => Ok(()),
        Some(fact) => Err(format!("the model was shown {fact:?}, which is a fact for programs\n{play}")),
    }
}

/// Numbers of rows of 10 to 17 bytes: below and above the sizes at which clients are known to cut, and at last half a megabyte.
const ROW_COUNTS: [usize; 9] = [300, 500, 620, 1_400, 1_600, 2_150, 2_700, 7_400, 30_000];

/// The model sees long outputs whole, or head, tail and the artifact as bashful names them. The agent itself cuts nothing.
fn long_output(rig: &Rig, agent: &'static Agent) -> Verdict {
    long_outputs(rig, agent, "true", &[])
}

/// The model sees long outputs of failed commands too. Some agents cut those sooner.
fn long_failure(rig: &Rig, agent: &'static Agent) -> Verdict {
    long_outputs(rig, agent, "exit 2", &["exit code 2"])
}

fn long_outputs(rig: &Rig, agent: &'static Agent, end: &str, texts: &[&str]) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let call =
        |count| vec![Call::bash(&format!("for ((i = 1; i <= {count}; i++)); do echo row-$i-of-many; done; {end}"))];
    let play = home.play(ROW_COUNTS.into_iter().map(call).collect(), true, None)?;
    let mut whole = 0;
    for (turn, count) in ROW_COUNTS.into_iter().enumerate() {
        play.expect(turn, texts)?;
        let result = play.result(turn)?;
        match check_rows(&result, count).map_err(|error| format!("turn {turn}, {count} rows: {error}\n{play}"))? {
            Rows::Whole => whole = result.len(),
            Rows::Clipped => play.expect(turn, &["artifact://"])?,
        }
    }
    play.expect(ROW_COUNTS.len() - 1, &["artifact://"])?;
    Ok(Held::Yes(format!("up to {whole} bytes whole")))
}

/// A job is started, named and waited for.
fn background(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let start = Call::served("bash", json!({ "command": SPEAK, "mode": "background" }));
    let wait = Call::served("job", json!({ "action": "wait", "ids": [1], "wait_seconds": 30 }));
    let play = home.play(vec![vec![start], vec![wait]], true, None)?;
    play.expect(0, &["<job>1</job>", "<output_file>"])?;
    play.expect(1, &SPOKEN)?;
    Ok(HELD)
}

/// After `install --approve` a call needs no permission, and runs outside of the sandbox that some agents have.
fn approve(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &["--approve"])?;
    let play = home.play(vec![vec![Call::bash(&format!("{SPEAK}; touch ../outside"))]], false, None)?;
    play.expect(0, &SPOKEN)?;
    offered_at_once(&play)?;
    if !home.path().join("outside").exists() {
        return Err(format!("the command could not write a file\n{play}"));
    }
    Ok(HELD)
}

/// The safety check of auto mode decides about every call, and about none after `install --approve`.
fn auto_mode(rig: &Rig, agent: &'static Agent) -> Verdict {
    // The check runs on servers that the stage cannot reach, so every call that needs it is refused.
    let refused = ["its safety check does not run"];
    for (options, texts) in [(&[][..], &refused[..]), (&["--approve"], &SPOKEN)] {
        let home = AgentHome::new(rig, agent)?;
        home.write(".claude/settings.json", "{ \"permissions\": { \"defaultMode\": \"auto\" } }\n")?;
        home.install_server(options)?;
        home.play(vec![vec![Call::bash(SPEAK)]], false, None)?.expect(0, texts)?;
    }
    Ok(HELD)
}

/// Requires that the model need not search for the tool.
fn offered_at_once(play: &Performance) -> Result<(), String> {
    if play.offers_at_once(&Tool::Served("bash".to_owned())) {
        return Ok(());
    }
    Err(format!("the first request does not offer bash\n{play}"))
}

/// After `install --replace` bashful is the only shell, and a call needs no permission.
fn replace(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &["--replace"])?;
    let play = home.play(vec![vec![Call::bash(SPEAK)]], false, None)?;
    play.expect(0, &SPOKEN)?;
    offered_at_once(&play)?;
    let (shell, _) = agent.own_shell;
    if play.offers_at_once(&Tool::Own(shell.to_owned())) {
        return Err(format!("the agent still offers its own {shell}\n{play}"));
    }
    Ok(HELD)
}

/// An agent that is stopped takes the command's whole process tree with it, and what fled into a session of its own too.
fn cancel(rig: &Rig, agent: &'static Agent, by: StopBy) -> Verdict {
    cancelled(rig, agent, by, json!({ "mode": "slow" }))
}

/// The same for a command at the prompt of a session with a terminal.
fn cancel_at_terminal(rig: &Rig, agent: &'static Agent) -> Verdict {
    cancelled(rig, agent, StopBy::Interrupt, json!({ "session": "s", "pty": true, "timeout": 300 }))
}

fn cancelled(rig: &Rig, agent: &'static Agent, by: StopBy, mut arguments: Value) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let when = home.path().join("runs");
    let mark = "7654321";
    let command = format!("setsid sleep {mark} & sleep {mark} & touch '{}'; wait", when.display());
    arguments["command"] = command.into();
    let slow = Call::served("bash", arguments);
    let play = home.play(vec![vec![slow]], true, Some(Stop { when: when.clone(), mark: mark.to_owned(), by }))?;
    if !when.exists() {
        return Err(format!("the command never ran\n{play}"));
    }
    match play.record.gone_after {
        Some(seconds) => Ok(Held::Yes(format!("{seconds:.2} s"))),
        None => Err(format!("processes were left: {:?}\n{play}", play.record.survivors)),
    }
}

/// Commands have the variables that the agent's own shell has, and none that is withheld.
fn environment(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    let script = "echo \"<$JAVA_HOME $VIRTUAL_ENV $KUBECONFIG $SSH_AUTH_SOCK ${RIG_SECRET_TOKEN-withheld}>\"";
    let play = home.play(vec![vec![Call::bash(script)]], true, None)?;
    play.expect(0, &["</opt/java /opt/venv /opt/kube /tmp/agent.sock withheld>"])?;
    Ok(HELD)
}

/// Commands follow an agent that enters a worktree.
fn worktree(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    repository(&home)?;
    let enter = Call { tool: Tool::Own("EnterWorktree".to_owned()), arguments: json!({ "name": "rig" }) };
    let play = home.play(vec![vec![Call::bash("pwd")], vec![enter], vec![Call::bash("pwd")]], true, None)?;
    play.expect(2, &["/project/.claude/worktrees/rig\n", "the client is in"])?;
    Ok(HELD)
}

/// After `hook install` the agent's own shell pushes, but not by force.
fn hook(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::new(rig, agent)?;
    home.bashful(&["hook", "install", agent.name, "--yes"])?;
    repository(&home)?;
    let before = pushed(&home, "main")?.ok_or("the repository has no remote")?;
    let (shell, arguments) = agent.own_shell;
    let call = |command| vec![Call { tool: Tool::Own(shell.to_owned()), arguments: arguments(command) }];
    let turns = vec![call("git push origin main:allowed"), call("git push --force origin main")];
    let play = home.play(turns, true, None)?;
    play.result(1)?;
    // This shows that the shell works at all.
    if pushed(&home, "allowed")?.is_none() {
        return Err(format!("a push without force was not run\n{play}"));
    }
    if pushed(&home, "main")?.as_ref() != Some(&before) {
        return Err(format!("the push by force was run\n{play}"));
    }
    play.expect(1, &["git push"])?;
    Ok(HELD)
}

/// A repository whose `main` differs from that of its remote, so that only force can push it.
fn repository(home: &AgentHome<'_>) -> Result<(), String> {
    let remote = remote(home);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=rig", "-c", "user.email=rig@localhost", "-c", "init.defaultBranch=main"];
        home.command(Path::new("git"), &[&identity[..], arguments].concat())
    };
    git(&["init", "--quiet", "--bare", &remote])?;
    git(&["init", "--quiet"])?;
    git(&["remote", "add", "origin", &remote])?;
    git(&["commit", "--quiet", "--allow-empty", "--message", "first"])?;
    git(&["push", "--quiet", "origin", "main"])?;
    git(&["commit", "--quiet", "--allow-empty", "--amend", "--message", "second"])
}

fn remote(home: &AgentHome<'_>) -> String {
    home.path().join("remote.git").to_string_lossy().into_owned()
}

/// The commit of a branch of the remote.
fn pushed(home: &AgentHome<'_>, branch: &str) -> Result<Option<String>, String> {
    let path = Path::new(&remote(home)).join("refs/heads").join(branch);
    if !path.exists() {
        return Ok(None);
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| error.to_string())
}

/// A fact for the documentation: whether the agent runs two calls of one turn at the same time.
fn two_at_once(rig: &Rig, agent: &'static Agent) -> Verdict {
    let home = AgentHome::with_server(rig, agent, &[])?;
    // Each command waits for the other, and gives up after some seconds.
    let meet = |mine: &str, other: &str| {
        Call::bash(&format!(
            "touch {mine}; for ((i = 0; i < 50; i++)); do [ -e {other} ] && break; sleep 0.1; done; [ -e {other} ] && echo m''et || echo a''lone"
        ))
    };
    let play = home.play(vec![vec![meet("one", "two"), meet("two", "one")]], true, None)?;
    let (first, second) = (play.result_of((0, 0))?, play.result_of((0, 1))?);
    if !second.contains("met") {
        return Err(format!("the second call did not run after the first\n{play}"));
    }
    Ok(Held::Yes(if first.contains("met") { "at once" } else { "one by one" }.to_owned()))
}
