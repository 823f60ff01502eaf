//! Resources: artifacts and the output of jobs, read by address.
//!
//! `artifact://7` and `job://3` are read whole or in part: `?lines=10-20` (from 1, both included), `?bytes=512-` (from 0, the end
//! excluded), `?tail=50`. The text is cleaned, redacted and bounded. A cut text ends with the address of the next part.

use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};

use bashful_engine::{Artifact, ByteSize, Engine, OutputRedactor, artifact_id, error_chain, job_id};
use memchr::{memchr_iter, memrchr};
use thiserror::Error;

use crate::answer::ResourceLink;
use crate::job::{self, one_line, state_text};

/// Most bytes of one read: more than any client shows its model, and little enough for one message.
const READ_LIMIT: ByteSize = ByteSize::kib(256);

/// The URI templates of resources, with their descriptions.
pub const TEMPLATES: [(&str, &str); 2] = [
    ("artifact://{id}{?lines,bytes,tail}", "Full output of a command, or a part of it"),
    ("job://{id}{?lines,bytes,tail}", "Output of a job so far, or a part of it"),
];

/// An error from reading a resource.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// No resource has this address.
    #[error("there is no resource {uri}: {why}")]
    NotFound {
        /// The address in the request.
        uri: String,
        /// The reason.
        why: String,
    },
    /// The resource exists, and this part of it cannot be read.
    #[error("{uri} cannot be read: {why}")]
    Unreadable {
        /// The address in the request.
        uri: String,
        /// The reason.
        why: String,
    },
}

/// The requested part of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ResourcePart {
    Bytes(Range<u64>),
    Lines(RangeInclusive<u64>),
    Tail(u64),
}

/// One page of the list of resources.
#[derive(Debug, Clone)]
pub struct ResourcePage {
    /// The resources of this page, the newest first. One that was just removed is missing.
    pub links: Vec<ResourceLink>,
    /// Position of the next page; none after the last one.
    pub next: Option<usize>,
}

/// The text of a resource, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    /// The text, cleaned and redacted, at most 256 KiB.
    pub text: String,
    /// The part is longer than that.
    pub is_cut: bool,
    /// Address of the rest of a text that is cut; none for the last lines, of which fewer can be asked for.
    pub next: Option<String>,
}

impl ResourceText {
    /// The text for a model: if it is cut, a line at its end says so.
    pub(crate) fn with_notice(self) -> String {
        let mut text = self.text;
        if self.is_cut {
            let rest = self.next.map_or_else(|| "ask for fewer lines".to_owned(), |next| format!("next: {next}"));
            crate::text::add_line(&mut text, &format!("[cut at {READ_LIMIT}; {rest}]\n"));
        }
        text
    }
}

/// Up to `count` resources from position `first` on. Jobs come before artifacts, the newest first. Only records on the page are
/// read.
pub(crate) fn page(engine: &Engine, first: usize, count: usize) -> ResourcePage {
    // A store that cannot be listed cannot be read either, so an empty page is right.
    let jobs = engine.jobs().map(|store| store.ids()).unwrap_or_default();
    let artifacts = engine.artifacts().map(|store| store.ids()).unwrap_or_default();
    let end = first.saturating_add(count);
    let next = (end < jobs.len() + artifacts.len()).then_some(end);
    let redactor = engine.redactor();
    let of_job = |id: u64| {
        let mut job = engine.jobs()?.get(id).ok()?;
        job::redact(&mut job, &redactor);
        Some(ResourceLink {
            uri: job.uri(),
            name: format!("job {}: {} ({})", job.id, one_line(&job.script), state_text(&job)),
            size: job.output_file.metadata().map_or(0, |metadata| metadata.len()),
        })
    };
    let of_artifact = |id: u64| {
        let entry = engine.artifacts()?.get(id).ok()?;
        Some(ResourceLink { uri: entry.uri(), name: format!("full output, artifact {id}"), size: entry.bytes })
    };
    let (first_artifact, artifacts_at_most) =
        (first.saturating_sub(jobs.len()), end.saturating_sub(jobs.len().max(first)));
    let jobs = jobs.iter().rev().skip(first).take(count).filter_map(|id| of_job(*id));
    let artifacts =
        artifacts.iter().rev().skip(first_artifact).take(artifacts_at_most).filter_map(|id| of_artifact(*id));
    ResourcePage { links: jobs.chain(artifacts).collect(), next }
}

/// Reads a resource. Finding lines may scan the whole file.
pub(crate) fn read(engine: &Engine, uri: &str) -> Result<ResourceText, ResourceError> {
    let (name, query) = uri.split_once('?').unwrap_or((uri, ""));
    let unreadable = |why| ResourceError::Unreadable { uri: uri.to_owned(), why };
    let artifact = open(engine, name).map_err(|why| ResourceError::NotFound { uri: uri.to_owned(), why })?;
    let part =
        parse_part(query).ok_or_else(|| unreadable("ask for ?lines=10-20, ?bytes=512-1024 or ?tail=50".to_owned()))?;
    read_part(&artifact, &part, name, engine.output_redactor()).map_err(unreadable)
}

fn open(engine: &Engine, name: &str) -> Result<Artifact, String> {
    if name.starts_with("artifact://") {
        let id = artifact_id(name).map_err(|error| error_chain(&error))?;
        let store = engine.artifacts().ok_or("this server keeps no artifacts")?;
        return Artifact::open(&store.get(id).map_err(|error| error_chain(&error))?)
            .map_err(|error| error_chain(&error));
    }
    if name.starts_with("job://") {
        let id = job_id(name).map_err(|error| error_chain(&error))?;
        let store = engine.jobs().ok_or("this server keeps no jobs")?;
        return store.get(id).map_err(|error| error_chain(&error))?.output().map_err(|error| error_chain(&error));
    }
    Err("only artifact:// and job:// are known".to_owned())
}

fn parse_part(query: &str) -> Option<ResourcePart> {
    if query.is_empty() {
        return Some(ResourcePart::Bytes(0..u64::MAX));
    }
    let (key, value) = query.split_once('=')?;
    let range = || {
        let (first, last) = value.split_once('-')?;
        let last = if last.is_empty() { Some(u64::MAX) } else { last.parse().ok() }?;
        Some((first.parse::<u64>().ok()?, last))
    };
    match key {
        "bytes" => range().filter(|(first, end)| first <= end).map(|(first, end)| ResourcePart::Bytes(first..end)),
        "lines" => {
            let sensible = |(first, last): &(u64, u64)| *first > 0 && first <= last;
            range().filter(sensible).map(|(first, last)| ResourcePart::Lines(first..=last))
        }
        "tail" => value.parse().ok().map(ResourcePart::Tail),
        _ => None,
    }
}

fn read_part(
    artifact: &Artifact,
    part: &ResourcePart,
    name: &str,
    redactor: OutputRedactor,
) -> Result<ResourceText, String> {
    let mut page = PageBuffer { bytes: Vec::new(), room: READ_LIMIT.in_memory(), is_full: false };
    let mut begin = 0;
    let read = match part {
        ResourcePart::Bytes(range) => {
            begin = range.start;
            artifact.bytes(range.clone(), &mut page)
        }
        ResourcePart::Lines(lines) => artifact.lines(lines.clone(), &mut page).map(|lines| begin = lines.begin),
        ResourcePart::Tail(lines) => artifact.tail_begin(*lines).and_then(|from| {
            begin = from;
            artifact.bytes(from..u64::MAX, &mut page)
        }),
    };
    if !page.is_full {
        read.map_err(|error| error_chain(&error))?;
    } else if let ResourcePart::Lines(lines) = part {
        // The full page ended the read before it could report its beginning.
        begin = artifact.lines(*lines.start()..=*lines.start(), &mut io::sink()).map_or(0, |lines| lines.begin);
    }
    if page.is_full
        && let Some(end) = memrchr(b'\n', &page.bytes)
    {
        // Cut at a line end, so that no character is split.
        page.bytes.truncate(end + 1);
    }
    let count = page.bytes.len() as u64;
    let lines = memchr_iter(b'\n', &page.bytes).count() as u64;
    let (before, after) = artifact.around(begin..begin.saturating_add(count));
    let text = String::from_utf8_lossy(&redactor.show_part(&before, &page.bytes, &after)).into_owned();
    let rest = match part {
        ResourcePart::Bytes(range) => Some(format!("{name}?bytes={}-", range.start + count)),
        ResourcePart::Lines(asked) => Some(format!("{name}?lines={}-", asked.start() + lines)),
        ResourcePart::Tail(_) => None,
    };
    Ok(ResourceText { text, is_cut: page.is_full, next: rest.filter(|_| page.is_full) })
}

/// A buffer that fails once it is full.
struct PageBuffer {
    bytes: Vec<u8>,
    room: usize,
    is_full: bool,
}

impl Write for PageBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken < bytes.len() {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_said_in_one_of_three_ways() {
        assert_eq!(parse_part(""), Some(ResourcePart::Bytes(0..u64::MAX)));
        assert_eq!(parse_part("bytes=5-7"), Some(ResourcePart::Bytes(5..7)));
        assert_eq!(parse_part("bytes=5-"), Some(ResourcePart::Bytes(5..u64::MAX)));
        assert_eq!(parse_part("lines=1-2"), Some(ResourcePart::Lines(1..=2)));
        assert_eq!(parse_part("tail=9"), Some(ResourcePart::Tail(9)));
        for wrong in ["lines=0-2", "lines=3-2", "bytes=7-5", "bytes=x-", "tail=", "tail=-1", "grep=a", "lines"] {
            assert_eq!(parse_part(wrong), None, "{wrong}");
        }
    }
}
