//! The property that the guard is never blind: whatever bash would run behind a script, the guard sees.
//!
//! A line that deletes a system directory goes behind a script. If bash parses the whole (`bash -n`, which runs nothing),
//! the guard has to refuse it. Scripts come from files, and from mutations of them for as long as the caller wants.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bashful_guard::{Guard, Prelude};

/// Deletes a directory of the system behind a detour that no program takes by itself. It is never run.
const PROBE: &str = "rm -rf /zzzq/../etc";

/// Text that changes how a parser reads what follows.
const FRAGMENTS: [&str; 64] = [
    "'",
    "\"",
    "`",
    "\\",
    "$",
    "$(",
    "${",
    "$((",
    "((",
    "))",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "[[ ",
    " ]]",
    "<<E\n",
    "<<-'E'\n",
    "E\n",
    "<(",
    ">(",
    ">",
    "<",
    "<<<",
    "|",
    "||",
    "&",
    "&&",
    ";",
    ";;",
    ";&",
    "\n",
    " ",
    "\t",
    "#",
    " # ",
    "!",
    "if ",
    "then ",
    "else ",
    "elif ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "while ",
    "case x in ",
    "esac",
    "select ",
    "function f ",
    "f() ",
    "time ",
    "coproc ",
    "${a.b}",
    "${x:-",
    "$'",
    "$\"",
    "=(",
    "a[",
    "=~ ",
    "\\\n",
    "$[",
];

/// The outcome for one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// The guard refuses the script with the line behind it.
    Seen,
    /// bash would not get to the line either.
    NotReached,
    /// bash would run the line, and the guard lets it pass.
    Blind,
}

/// Tries one script.
pub(crate) fn sight(guard: &Guard, script: &str) -> std::io::Result<Sight> {
    let probed = format!("{script}\n{PROBE}\n");
    if guard.judge(&probed, &Prelude::default()).refuses() {
        return Ok(Sight::Seen);
    }
    let reached = !script.ends_with('\\') && !script.contains('\0') && bash_parses(&probed)?;
    Ok(if reached { Sight::Blind } else { Sight::NotReached })
}

/// True if bash parses all of a script and has nothing to say about it. Nothing is run.
fn bash_parses(script: &str) -> std::io::Result<bool> {
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = bash.stdin.take() {
        // bash stops reading at an error, and then the pipe breaks.
        let _ = input.write_all(script.as_bytes());
    }
    let output = bash.wait_with_output()?;
    Ok(output.status.success() && output.stderr.is_empty())
}

/// Mutates scripts.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// A number below `below`, which is not zero.
    fn below(&mut self, below: usize) -> usize {
        // xorshift64*: good enough to pick places, and the same on every machine.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(bits).unwrap_or(0) % below.max(1)
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        text.floor_char_boundary(at)
    }

    /// One of the scripts with one to three changes.
    pub(crate) fn mutate(&mut self, scripts: &[(String, String)]) -> String {
        let pick = self.below(scripts.len());
        let mut text = scripts.get(pick).map_or(String::new(), |(_, script)| script.clone());
        // A window of a long script finds as much and takes less time.
        if text.len() > 3000 {
            let from = self.place(&text);
            let to = text.floor_char_boundary((from + 1500).min(text.len()));
            text = text.get(from..to).unwrap_or("").to_owned();
        }
        for _ in 0..=self.below(3) {
            let at = self.place(&text);
            match self.below(6) {
                0 => {
                    let end = text.floor_char_boundary((at + 1 + self.below(4)).min(text.len()));
                    text.replace_range(at..end.max(at), "");
                }
                1 => {
                    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end);
                    text.replace_range(at..end, "");
                }
                2 => {
                    let other = self.below(scripts.len());
                    let line = scripts.get(other).and_then(|(_, script)| script.lines().next_back()).unwrap_or("");
                    text.insert_str(at, line);
                }
                _ => {
                    let fragment = self.below(FRAGMENTS.len());
                    text.insert_str(at, FRAGMENTS.get(fragment).copied().unwrap_or(""));
                }
            }
        }
        text
    }
}

/// The scripts at which the guard was blind, and how many were tried and how many of those bash would have run to the end.
#[derive(Debug, Default)]
pub(crate) struct BlindReport {
    pub(crate) tried: usize,
    pub(crate) seen: usize,
    pub(crate) blind: Vec<(String, String)>,
}

impl BlindReport {
    fn note(&mut self, guard: &Guard, name: &str, script: &str) -> std::io::Result<()> {
        self.tried += 1;
        match sight(guard, script)? {
            Sight::Seen => self.seen += 1,
            Sight::NotReached => {}
            Sight::Blind => self.blind.push((name.to_owned(), script.to_owned())),
        }
        Ok(())
    }
}

/// Tries all scripts, and then mutations of them for a while.
pub(crate) fn run(
    guard: &Guard,
    scripts: &[(String, String)],
    mutate_for: Duration,
    seed: u64,
) -> std::io::Result<[BlindReport; 2]> {
    let (mut own, mut mutated) = (BlindReport::default(), BlindReport::default());
    for (name, script) in scripts {
        own.note(guard, name, script)?;
    }
    let began = Instant::now();
    let mut mutator = Mutator::new(seed);
    while began.elapsed() < mutate_for && !scripts.is_empty() {
        let script = mutator.mutate(scripts);
        mutated.note(guard, "mutation", &script)?;
    }
    Ok([own, mutated])
}
