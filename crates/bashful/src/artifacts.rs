//! `bashful artifacts`: lists, prints and removes saved output.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::num::ParseIntError;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::SystemTime;

use bashful_engine::{Artifact, ArtifactEntry, ArtifactStore, ByteSize, OutputRedactor, ReadError};
use serde_json::{Value, json};
use thiserror::Error;

use crate::cli::{ArtifactsCommand, ShowArgs};
use crate::exit::Exit;
use crate::print;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;

/// An error in a range of lines or bytes.
#[derive(Debug, Error)]
pub(crate) enum RangeError {
    #[error("write a range as in `10-20`, or `10-` for everything from there on")]
    Shape,
    #[error("{0} is one number: `{0}-{0}` is that line, and `--head {0}` and `--tail {0}` are the first and last ones")]
    OneLine(u64),
    #[error("{0:?} is not a number that fits")]
    Number(String, #[source] ParseIntError),
    #[error("lines are counted from 1")]
    LineZero,
    #[error("it ends before it begins")]
    Backwards,
}

/// Lists, shows or removes artifacts.
pub(crate) fn main(command: &ArtifactsCommand, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let store = stores::artifacts(&settings, &around).ok_or_else(|| around.state().no_place("artifacts"))?;
    match command {
        ArtifactsCommand::List(args) => list(&store, args.json),
        ArtifactsCommand::Show(args) => show(&store, args, &setup::output_redactor(&settings, &around)?),
        ArtifactsCommand::Path { id, json: true } => {
            print::pretty_json(as_json(&store.get(*id)?))?;
            Ok(Exit::Code(0))
        }
        ArtifactsCommand::Path { id, json: false } => {
            use std::os::unix::ffi::OsStrExt;
            let entry = store.get(*id)?;
            print::data(&[entry.path.as_os_str().as_bytes(), b"\n"].concat())?;
            Ok(Exit::Code(0))
        }
        ArtifactsCommand::Rm { ids, json } => {
            let results = ids.iter().map(|id| (json!(id), format!("artifact {id}"), store.remove(*id)));
            Ok(print::changes(*json, "removed", results)?)
        }
        ArtifactsCommand::Sweep { json } => sweep(&store, *json),
    }
}

/// Parses a line range such as `10-20`, counted from 1, both ends included.
pub(crate) fn lines(text: &str) -> Result<RangeInclusive<u64>, RangeError> {
    if let Ok(line) = text.parse() {
        return Err(RangeError::OneLine(line));
    }
    let (begin, end) = range(text)?;
    match (begin, end.unwrap_or(u64::MAX)) {
        (0, _) => Err(RangeError::LineZero),
        (begin, end) if end < begin => Err(RangeError::Backwards),
        (begin, end) => Ok(begin..=end),
    }
}

/// Parses a byte range such as `512-1024`, counted from 0, the end excluded.
pub(crate) fn bytes(text: &str) -> Result<Range<u64>, RangeError> {
    let (begin, end) = range(text)?;
    let end = end.unwrap_or(u64::MAX);
    if end < begin { Err(RangeError::Backwards) } else { Ok(begin..end) }
}

fn range(text: &str) -> Result<(u64, Option<u64>), RangeError> {
    let number = |text: &str| {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(RangeError::Shape);
        }
        text.parse().map_err(|error| RangeError::Number(text.to_owned(), error))
    };
    let (begin, end) = text.split_once('-').filter(|(begin, _)| !begin.is_empty()).ok_or(RangeError::Shape)?;
    let end = if end.is_empty() { None } else { Some(number(end)?) };
    Ok((number(begin)?, end))
}

fn list(store: &ArtifactStore, json: bool) -> Result<Exit, Box<dyn Error>> {
    let entries = store.list()?;
    if json {
        let entries: Value = entries.iter().map(as_json).collect();
        print::pretty_json(entries)?;
    } else if entries.is_empty() {
        print::talk(&format!("[no artifacts in {}]", store.directory().display()));
    } else {
        print::text(&as_text(&entries))?;
    }
    Ok(Exit::Code(0))
}

fn as_json(entry: &ArtifactEntry) -> Value {
    let missing = |missing: &bashful_engine::Gap| {
        let end = Some(missing.range.end).filter(|end| *end < u64::MAX);
        json!({ "bytes": [missing.range.start, end], "why": missing.why })
    };
    let modified = entry.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    json!({
        "id": entry.id,
        "uri": entry.uri(),
        "path": entry.path,
        "bytes": entry.bytes,
        "on_disk_bytes": entry.on_disk.0,
        "modified_unix_ms": u64::try_from(modified.as_millis()).unwrap_or(u64::MAX),
        "in_use": entry.in_use,
        "missing": entry.missing.iter().map(missing).collect::<Vec<_>>(),
    })
}

fn as_text(entries: &[ArtifactEntry]) -> String {
    let mut text = format!("{:<20} {:>10} {:>10} {:>10}\n", "ARTIFACT", "SIZE", "ON DISK", "CHANGED");
    for entry in entries {
        let (size, on_disk) = (ByteSize(entry.bytes).to_string(), entry.on_disk.to_string());
        let _ = write!(text, "{:<20} {size:>10} {on_disk:>10} {:>10}", entry.uri(), ago(entry.modified));
        if entry.in_use {
            text.push_str("  in use");
        }
        for missing in &entry.missing {
            let _ = write!(text, "  [{missing}]");
        }
        text.push('\n');
    }
    text
}

/// The age in its largest unit, as in `3m ago`.
fn ago(time: SystemTime) -> String {
    // A time in the future, after the clock was set back, counts as now.
    match time.elapsed().unwrap_or_default().as_secs() {
        seconds @ ..60 => format!("{seconds}s ago"),
        seconds @ ..3600 => format!("{}m ago", seconds / 60),
        seconds @ ..86_400 => format!("{}h ago", seconds / 3600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

fn show(store: &ArtifactStore, args: &ShowArgs, redactor: &OutputRedactor) -> Result<Exit, Box<dyn Error>> {
    let artifact = Artifact::open(&store.get(args.id)?)?;
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let shown = if args.raw {
        part(&artifact, args, &mut out).and_then(|exit| {
            out.flush().map_err(ReadError::Write)?;
            Ok(exit)
        })
    } else {
        redacted_part(&artifact, args, redactor, out)
    };
    match shown {
        // The reader has closed its end, as in `show 7 | head`.
        Err(ReadError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Code(0)),
        shown => Ok(shown?),
    }
}

/// Redacts a part together with the text around it, because it may begin or end in the middle of a withheld value.
fn redacted_part(
    artifact: &Artifact,
    args: &ShowArgs,
    redactor: &OutputRedactor,
    out: impl Write,
) -> Result<Exit, ReadError> {
    let begin = match (&args.lines, &args.bytes, args.tail) {
        (Some(lines), ..) if *lines.start() > 1 => {
            artifact.lines(*lines.start()..=*lines.start(), &mut io::sink())?.begin
        }
        (_, Some(bytes), _) => bytes.start,
        (.., Some(lines)) => artifact.tail_begin(lines)?,
        _ => 0,
    };
    let (before, _) = artifact.around(begin..begin);
    let mut out = redactor.writer(out, before);
    let exit = part(artifact, args, &mut out)?;
    let (_, after) = artifact.around(begin..begin.saturating_add(out.taken()));
    // Matching lines are not next to each other in the artifact, so no text follows them.
    let after = if args.grep.is_some() { Vec::new() } else { after };
    out.finish(&after).map_err(ReadError::Write)?;
    Ok(exit)
}

fn part(artifact: &Artifact, args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, ReadError> {
    if let Some(lines) = &args.lines {
        let there = artifact.lines(lines.clone(), out)?.there;
        if there < *lines.start() {
            // Without this, no output could mean an empty line.
            print::talk(&format!("[the artifact ends with line {there}]"));
        }
    } else if let Some(bytes) = &args.bytes {
        artifact.bytes(bytes.clone(), out)?;
    } else if let Some(lines) = args.head {
        artifact.head(lines, out)?;
    } else if let Some(lines) = args.tail {
        artifact.tail(lines, out)?;
    } else if let Some(pattern) = &args.grep {
        let found = artifact.grep(&|line| pattern.is_match(line), out)?;
        // The exit code of `grep`: 1 if nothing matched.
        return Ok(Exit::Code(u8::from(found == 0)));
    } else {
        artifact.whole(out)?;
    }
    Ok(Exit::Code(0))
}

fn sweep(store: &ArtifactStore, json: bool) -> Result<Exit, Box<dyn Error>> {
    let report = store.sweep()?;
    if json {
        print::pretty_json(json!({ "removed": report.removed, "freed_bytes": report.freed.0 }))?;
    } else {
        print::text(&format!("{} removed, {} freed\n", print::count(report.removed.len(), "artifact"), report.freed))?;
    }
    Ok(Exit::Code(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_numbers_or_one_and_all_that_follows() {
        assert_eq!(lines("10-20").ok(), Some(10..=20));
        assert_eq!(lines("7-7").ok(), Some(7..=7));
        assert_eq!(lines("3-").ok(), Some(3..=u64::MAX));
        assert_eq!(bytes("0-512").ok(), Some(0..512));
        assert_eq!(bytes("512-").ok(), Some(512..u64::MAX));
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        let said = |text| lines(text).expect_err("it is wrong").to_string();
        assert_eq!(said("0-5"), "lines are counted from 1");
        assert_eq!(said("5-4"), "it ends before it begins");
        assert_eq!(said("1-99999999999999999999"), "\"99999999999999999999\" is not a number that fits");
        assert!(said("5").starts_with("5 is one number: `5-5` is that line, and `--head 5`"), "{}", said("5"));
        for text in ["", "-", "-5", "a-b", "1-+2", "1-2-3", "1..2", " 1-2"] {
            assert_eq!(said(text), "write a range as in `10-20`, or `10-` for everything from there on", "{text}");
        }
    }
}
