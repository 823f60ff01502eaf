//! Real outputs of real tools, with the lines that must survive.

pub(crate) mod savings;

use std::fs;
use std::io;
use std::path::Path;

use bashful_condense::{Condensed, Condenser, Dropped};
use bashful_guard::Sequence;

/// One output.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The family and the name: `pytest/pass_verbose`.
    pub(crate) name: String,
    /// The command line, as an agent would type it.
    pub(crate) command: String,
    /// Standard output and standard error, in their order.
    pub(crate) output: String,
    /// The same command on a terminal, of a run of its own.
    pub(crate) terminal: Option<String>,
    pub(crate) status: i32,
    /// Each of these must be in the result.
    pub(crate) musts: Vec<String>,
}

impl Case {
    /// The directory of the case.
    pub(crate) fn family(&self) -> &str {
        self.name.split('/').next().unwrap_or("")
    }

    /// Condenses a text as if the command had written it; none if it stays as it is.
    pub(crate) fn condense(&self, condenser: &Condenser, output: &str) -> Option<(String, Dropped)> {
        let commands = Sequence::of(&self.command)?;
        match condenser.condense(&commands, output, Some(self.status)) {
            Condensed::Shorter { text, dropped } => Some((text, dropped)),
            Condensed::Unchanged => None,
        }
    }

    /// The part of the output that is saved, in percent. The note counts as text.
    #[expect(clippy::cast_precision_loss, reason = "outputs are far below the limit")]
    pub(crate) fn saved(&self, condenser: &Condenser) -> f64 {
        let shorter = self.condense(condenser, &self.output);
        let after = shorter.map_or(self.output.len(), |(text, dropped)| text.len() + dropped.note().len());
        100.0 * (1.0 - after as f64 / self.output.len().max(1) as f64)
    }

    /// The musts that an output has, and a text made of it lacks. Colors do not count.
    pub(crate) fn lost<'c>(&'c self, output: &str, text: &str) -> Vec<&'c str> {
        let (before, after) = (without_colors(output), without_colors(text));
        self.musts.iter().map(String::as_str).filter(|must| before.contains(must) && !after.contains(must)).collect()
    }
}

/// All cases of a directory, by name.
pub(crate) fn read(directory: &Path) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for family in fs::read_dir(directory)? {
        let family = family?.path();
        for file in if family.is_dir() { Some(fs::read_dir(&family)?) } else { None }.into_iter().flatten() {
            let path = file?.path();
            if path.extension().is_some_and(|end| end == "cmd") && path.with_extension("out").exists() {
                cases.push(case(&path)?);
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

fn case(path: &Path) -> io::Result<Case> {
    let text = |end: &str| fs::read(path.with_extension(end)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let family = part(path.parent().and_then(Path::file_name));
    let musts = text("must").unwrap_or_default();
    Ok(Case {
        name: format!("{family}/{}", part(path.file_stem())),
        command: text("cmd")?.trim_end().to_owned(),
        output: text("out")?,
        terminal: text("tty").ok(),
        status: text("status")?.trim().parse().map_err(io::Error::other)?,
        musts: musts.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
    })
}

fn without_colors(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1B}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(letter);
        }
    }
    out
}
