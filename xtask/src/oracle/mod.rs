//! The guard against execution: every script of a corpus runs under real bash, and its effect is its label.
//!
//! # The world
//! Each script runs in a fresh copy of a little world: home `/home/dev`, with the git repository `work/widget` as working
//! directory, which has changed, untracked and ignored files, a remote whose branch has a commit that is missing here, and
//! directories like `build` and `node_modules`. [`stage`] and [`cell`] say why no script can reach the host.
//!
//! # The labels
//! A script is *dangerous* if its run breaks one of these rules, and else *harmless*, also if it fails or takes too long:
//!
//! - `git/blind-add`: after any git command, an index has both of two untracked files that lie in different directories and that
//!   no script knows by name. So it is the effect that counts: `git add -u`, `git add src` and `git add -A src` are harmless.
//! - `git/force-push`: a git process, after its aliases, has the words of a push with `-f`, `--force`, `--mirror` or a plus
//!   sign, and is no dry run; or a branch of the remote loses commits without `--force-with-lease`.
//! - `rm/critical`: a recursive `rm` has an operand that means the root, a system directory (`/etc`, `/usr/bin`, …), the home
//!   directory, the working directory or a directory above it, or the `.git` of a repository that was there before. Or, after the
//!   script, all files of the project, its `.git`, everything visible or everything hidden of the home directory, or the contents
//!   of a system directory are gone, whichever program removed them.
//!
//! Further events are noted and do not make a script dangerous: `host/disk` (`mkfs` and its like), `host/modes` (recursive `chmod` or
//! `chown` of something critical), `host/kill` (`pkill`, `killall`).
//!
//! # The corpus
//! Files of JSON lines with `script`, `group` (`core`: as people and agents write, `hard`: deliberate or odd spellings, `harmless`,
//! and `policy`: decided by the guard's documentation, whatever the execution says, and counted apart by `family`), `family`, and `label`: the rule that the execution found, or `null`.

mod cell;
mod label;
mod recorder;
mod stage;
mod world;

pub(crate) use recorder::recorder_main;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bashful_guard::{Guard, Prelude};
use serde_json::{Value, json};

use crate::{Done, print};

/// The task that builds the world and runs scripts in cells. Only the oracle calls it.
pub(crate) const STAGE: &str = "--oracle-stage";
/// The task that runs one script. Only the stage calls it.
pub(crate) const CELL: &str = "--oracle-cell";

const USAGE: &str = "usage: cargo xtask guard --oracle [DIR] [--relabel | --trust] [--json FILE]";

/// Programs of other languages, without their versions.
const FOREIGN: [&str; 18] = [
    "python", "perl", "node", "ruby", "php", "awk", "gawk", "mawk", "jq", "tclsh", "expect", "make", "lua", "deno",
    "bun", "sqlite", "m", "ed",
];

/// A file of the corpus and its lines.
type CorpusFile = (PathBuf, Vec<Value>);

/// One script of the corpus, with its outcome.
struct Trial {
    /// The line of the file, as it was read.
    line: Value,
    script: String,
    /// The name of its file.
    set: String,
    group: String,
    family: String,
    /// The rules that the run broke, without repetition.
    broken: Vec<String>,
    /// The events that recorders and effects showed, or the reason that the script failed.
    detail: Value,
    refused: bool,
    /// The guard's findings, for the report.
    findings: Vec<String>,
}

/// Runs a part of the oracle that needs namespaces of its own.
pub(crate) fn part(words: &[&str]) -> Done {
    match words {
        [STAGE, stage] => stage::main(stage),
        [CELL, directory] => cell::main(directory, false),
        [CELL, directory, "build"] => cell::main(directory, true),
        _ => Err(USAGE.into()),
    }
}

/// Runs a corpus, prints where the guard and the execution disagree, and the rates.
pub(crate) fn main(options: &[&str]) -> Done {
    let mut directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    let (mut relabel, mut trust, mut json) = (false, false, None);
    let mut words = options.iter();
    while let Some(&word) = words.next() {
        match word {
            "--relabel" => relabel = true,
            "--trust" => trust = true,
            "--json" => json = Some(words.next().ok_or(USAGE)?),
            _ if word.starts_with('-') => return Err(USAGE.into()),
            _ => directory = word.into(),
        }
    }
    let files = read(&directory)?;
    let lines: Vec<&Value> = files.iter().flat_map(|(_, lines)| lines).collect();
    let scripts: Vec<&str> = lines.iter().map(|line| line["script"].as_str().unwrap_or("")).collect();
    let began = Instant::now();
    let results = if trust { lines.iter().map(|line| as_labeled(line)).collect() } else { stage::run(&scripts)? };
    let took = began.elapsed();
    let sets = files.iter().flat_map(|(file, lines)| lines.iter().map(move |_| file.file_stem().unwrap_or_default()));
    let tried = sets.zip(lines.iter().zip(results));
    let trials: Vec<Trial> = tried.map(|(set, (line, result))| trial(&set.to_string_lossy(), line, result)).collect();
    if relabel {
        write_labels(&files, &trials)?;
    }
    if let Some(file) = json {
        let each = trials.iter().map(|trial| {
            json!({ "script": trial.script, "group": trial.group, "family": trial.family, "broken": trial.broken,
                "refused": trial.refused, "findings": trial.findings, "detail": trial.detail })
        });
        let mut text = String::new();
        each.for_each(|line| text.extend([line.to_string(), "\n".to_owned()]));
        fs::write(file, text)?;
    }
    let strange: Vec<&Trial> =
        trials.iter().filter(|trial| !trial.group_holds() || !(relabel || trial.label_holds())).collect();
    print::data(&report(&trials, &strange)?);
    let speed = u32::try_from(trials.len()).map_or(0.0, f64::from) / took.as_secs_f64();
    print::data(&format!("{} scripts in {:.1} s: {speed:.0} a second\n", trials.len(), took.as_secs_f64()));
    match strange.len() {
        0 => Ok(()),
        count => Err(format!("{count} scripts did not do what their group or label says").into()),
    }
}

impl Trial {
    /// True if the script was written by somebody who had not seen the rules. Only these figures say how good the guard is.
    fn is_held(&self) -> bool {
        self.set.starts_with("held-")
    }

    /// True if the script has code in another language.
    fn has_foreign_code(&self) -> bool {
        let mut words = self.script.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        words.any(|word| FOREIGN.contains(&word.trim_end_matches(|letter: char| letter.is_ascii_digit())))
    }

    fn is_right(&self) -> bool {
        self.refused == self.is_dangerous()
    }

    fn is_dangerous(&self) -> bool {
        self.broken.iter().any(|rule| label::RULES.contains(&rule.as_str()))
    }

    /// The rule that the run broke, or nothing.
    fn label(&self) -> Value {
        self.broken.iter().find(|rule| label::RULES.contains(&rule.as_str())).map_or(Value::Null, |rule| json!(rule))
    }

    /// Says whether the execution agrees with the label in the file.
    fn label_holds(&self) -> bool {
        self.line.get("label").is_some_and(|label| *label == self.label())
    }

    /// Says whether the script is in a group where it belongs.
    fn group_holds(&self) -> bool {
        match self.group.as_str() {
            "core" | "hard" => self.is_dangerous(),
            "harmless" => !self.is_dangerous(),
            _ => true,
        }
    }
}

fn read(directory: &Path) -> Result<Vec<CorpusFile>, Box<dyn std::error::Error>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let parse = |file: PathBuf| {
        let lines = fs::read_to_string(&file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok((file, lines))
    };
    files.into_iter().map(parse).collect()
}

/// The outcome that the label of a line tells, without a run.
fn as_labeled(line: &Value) -> Value {
    let found: Vec<Value> = line["label"].as_str().map(|rule| json!([rule, "labeled"])).into_iter().collect();
    json!({ "found": found })
}

fn trial(set: &str, line: &Value, result: Value) -> Trial {
    let field = |name: &str| line[name].as_str().unwrap_or("").to_owned();
    let script = field("script");
    let mut broken = Vec::new();
    for rule in result["found"].as_array().into_iter().flatten().filter_map(|found| found[0].as_str()) {
        if !broken.iter().any(|known| known == rule) {
            broken.push(rule.to_owned());
        }
    }
    let prelude = Prelude {
        directory: Some(label::PROJECT.into()),
        home: Some(label::HOME.into()),
        environment: Some(cell::ENVIRONMENT.iter().map(|(name, _)| (*name).to_owned()).collect()),
        ..Prelude::default()
    };
    let verdict = Guard::default().judge(&script, &prelude);
    let findings = verdict.findings.iter().map(|finding| format!("{} ({:?})", finding.rule, finding.level)).collect();
    let refused = verdict.refuses();
    Trial {
        line: line.clone(),
        set: set.to_owned(),
        group: field("group"),
        family: field("family"),
        script,
        broken,
        detail: result,
        refused,
        findings,
    }
}

fn write_labels(files: &[CorpusFile], trials: &[Trial]) -> Done {
    let mut trials = trials.iter();
    for (file, lines) in files {
        let mut text = String::new();
        for trial in trials.by_ref().take(lines.len()) {
            let mut line = trial.line.clone();
            line["label"] = trial.label();
            writeln!(text, "{line}")?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

/// The scripts that a documented decision is about, by its name. They are left out of the rates, and counted here.
fn decisions(trials: &[Trial]) -> BTreeMap<&str, Vec<&Trial>> {
    let mut decisions: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.group == "policy") {
        decisions.entry(&trial.family).or_default().push(trial);
    }
    decisions
}

fn report(trials: &[Trial], strange: &[&Trial]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for trial in strange {
        writeln!(
            text,
            "label {} of {}, but it did {}: {:?}",
            trial.line["label"], trial.group, trial.detail, trial.script
        )?;
    }
    let mut families: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for trial in trials {
        let count = families.entry((&trial.group, &trial.family)).or_default();
        count.0 += usize::from(trial.is_right());
        count.1 += 1;
        if !trial.is_right() && trial.group != "policy" {
            let what = if trial.refused { "wrongly refused" } else { "missed" };
            let Trial { group, set, script, .. } = trial;
            writeln!(text, "{what} ({group}, {set}, {}): {script:?}", trial.label())?;
        }
    }
    let is_worse = |((group, _), (right, all)): &(&(&str, &str), &(usize, usize))| right < all && *group != "policy";
    for ((group, family), (right, all)) in families.iter().filter(is_worse) {
        writeln!(text, "  {group} {family}: {right} of {all}")?;
    }
    for (family, trials) in decisions(trials) {
        let count = |dangerous: bool| trials.iter().filter(|trial| trial.is_dangerous() == dangerous).count();
        let differ = |dangerous: bool| {
            let is_other = |trial: &&&Trial| trial.is_dangerous() == dangerous && trial.refused != dangerous;
            trials.iter().filter(is_other).count()
        };
        writeln!(
            text,
            "decision {family}: refuses {} of {} harmless scripts, lets {} of {} dangerous ones pass",
            differ(false),
            count(false),
            differ(true),
            count(true)
        )?;
    }
    for group in ["core", "hard", "harmless"] {
        let of_group = || trials.iter().filter(|trial| trial.group == group);
        write_rate(&mut text, group, of_group())?;
        write_rate(&mut text, &format!("held {group}"), of_group().filter(|trial| trial.is_held()))?;
        let plain = of_group().filter(|trial| trial.is_held() && !trial.has_foreign_code());
        write_rate(&mut text, &format!("held {group} without another language"), plain)?;
    }
    Ok(text)
}

/// Writes how many of these the guard judges rightly.
fn write_rate<'t>(text: &mut String, name: &str, trials: impl Iterator<Item = &'t Trial>) -> std::fmt::Result {
    let (mut right, mut all) = (0_u32, 0_u32);
    for trial in trials {
        right += u32::from(trial.is_right());
        all += 1;
    }
    let percent = 100.0 * f64::from(right) / f64::from(all.max(1));
    writeln!(text, "{name}: {right} of {all} judged rightly ({percent:.2} %)")
}
