//! Reads parts of an artifact, and compares them with a reference that is too simple to be wrong.

use std::fs;
use std::ops::Range;

use bashful_engine::{Artifact, ArtifactLimits, ArtifactStore, ReadError};
use proptest::prelude::*;
use tempfile::TempDir;

const BEHIND: &str = "[lines are counted without the bytes that are missing before them]\n";

/// An artifact on disk, and its contents.
struct Sample {
    _place: TempDir,
    artifact: Artifact,
    bytes: Vec<u8>,
    gap: Option<Range<usize>>,
}

impl Sample {
    fn new(bytes: &[u8], gap: Option<Range<usize>>) -> Self {
        let place = TempDir::with_prefix("bashful-artifacts-").expect("a temporary directory");
        let store = ArtifactStore::new(place.path().to_path_buf(), ArtifactLimits::default());
        let mut writer = store.create().expect("it is made");
        writer.push(bytes).expect("it is written");
        drop(writer);
        if let Some(gap) = &gap {
            // The bytes of the gap are still there, so that showing them would be noticed.
            let line = format!("{} {} lost\n", gap.start, gap.end);
            fs::write(place.path().join("1.gap"), line).expect("it is written");
        }
        let artifact = Artifact::open(&store.get(1).expect("it is there")).expect("it opens");
        Self { _place: place, artifact, bytes: bytes.to_vec(), gap }
    }

    fn said(&self, read: impl FnOnce(&Artifact, &mut Vec<u8>) -> Result<(), ReadError>) -> Vec<u8> {
        let mut out = Vec::new();
        read(&self.artifact, &mut out).expect("it is read");
        out
    }

    /// Everything that can be shown: its line, its offset, and the byte; none stands for the gap.
    fn tokens(&self) -> Vec<(u64, usize, Option<u8>)> {
        let mut line = 1;
        let mut tokens = Vec::new();
        for (at, byte) in self.bytes.iter().enumerate() {
            match &self.gap {
                Some(gap) if gap.start == at => tokens.push((line, at, None)),
                Some(gap) if gap.contains(&at) => {}
                _ => {
                    tokens.push((line, at, Some(*byte)));
                    line += u64::from(*byte == b'\n');
                }
            }
        }
        tokens
    }

    fn shown(&self, wanted: impl Fn(u64, usize) -> bool) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        for (line, at, byte) in self.tokens() {
            match (byte, &self.gap) {
                (Some(byte), _) if wanted(line, at) => out.push(byte),
                (None, Some(gap)) if wanted(line, at) => {
                    if out.last().is_some_and(|last| *last != b'\n') {
                        out.push(b'\n');
                    }
                    out.extend(format!("[bytes {}-{} are missing: lost]\n", gap.start, gap.end).bytes());
                }
                _ => {}
            }
        }
        out
    }

    fn lines(&self, first: u64, last: u64) -> Vec<u8> {
        let shown = self.shown(|line, _| (first..=last).contains(&line));
        let behind = self.tokens().iter().any(|(line, _, byte)| byte.is_none() && *line < first);
        if behind && !shown.is_empty() { [BEHIND.as_bytes(), &shown].concat() } else { shown }
    }

    fn total(&self) -> u64 {
        self.tokens().last().map_or(0, |(line, _, _)| *line)
    }

    fn tail(&self, lines: u64) -> Vec<u8> {
        let total = self.total();
        self.shown(|line, _| line.saturating_add(lines) > total)
    }

    fn grep(&self, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut begun: Option<(u64, Vec<u8>)> = None;
        let judge = |begun: &mut Option<(u64, Vec<u8>)>, out: &mut Vec<u8>| {
            if let Some((line, text)) = begun.take().filter(|(_, text)| wanted(text)) {
                out.extend(format!("{line}:").bytes().chain(text).chain(*b"\n"));
            }
        };
        for (line, _, byte) in self.tokens() {
            match byte {
                None => {
                    judge(&mut begun, &mut out);
                    let gap = self.gap.as_ref().expect("there is one");
                    out.extend(format!("[bytes {}-{} are missing: lost]\n", gap.start, gap.end).bytes());
                }
                Some(b'\n') => {
                    begun.get_or_insert_with(|| (line, Vec::new()));
                    judge(&mut begun, &mut out);
                }
                Some(byte) => begun.get_or_insert_with(|| (line, Vec::new())).1.push(byte),
            }
        }
        judge(&mut begun, &mut out);
        out
    }
}

/// Text of many short lines; often longer than one read.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(b'\n'), 5 => Just(b'a'), 5 => Just(b'b'), 1 => Just(0), 1 => Just(0xff)];
    (prop::collection::vec(byte, 0..70), prop_oneof![3 => Just(1), 1 => Just(7001)])
        .prop_map(|(unit, times)| unit.repeat(times))
}

/// A text, and a gap within it: something always comes after it.
fn samples() -> impl Strategy<Value = (Vec<u8>, Option<Range<usize>>)> {
    (texts(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(text, a, b, gap)| {
            if !gap || text.len() < 2 {
                return (text, None);
            }
            let (a, b) = (a.index(text.len()), b.index(text.len()));
            let gap = Some(a.min(b)..a.max(b)).filter(|gap| !gap.is_empty());
            (text, gap)
        },
    )
}

/// Numbers around everything that matters: small, or anywhere.
fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..80_u64, 0..500_000_u64, Just(u64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_part_is_what_the_reference_says((text, gap) in samples(), a in numbers(), b in numbers()) {
        let sample = Sample::new(&text, gap);
        prop_assert!(sample.said(|artifact, out| artifact.whole(out)) == sample.shown(|_, _| true), "whole");
        let (first, last) = (a.min(b).max(1), a.max(b));
        let mut there = 0;
        let said = sample.said(|artifact, out| artifact.lines(first..=last, out).map(|lines| there = lines.there));
        prop_assert!(said == sample.lines(first, last), "lines");
        if first <= last {
            prop_assert_eq!(there, sample.total().min(last));
        }
        prop_assert!(sample.said(|artifact, out| artifact.head(a, out)) == sample.lines(1, a), "head");
        prop_assert!(sample.said(|artifact, out| artifact.tail(a, out)) == sample.tail(a), "tail");
        let wanted = |line: &[u8]| line.windows(2).any(|pair| pair == b"ab");
        let mut found = 0;
        let said = sample.said(|artifact, out| artifact.grep(&wanted, out).map(|count| found = count));
        prop_assert!(said == sample.grep(wanted), "grep");
        prop_assert_eq!(found, said.split(|byte| *byte == b'\n').filter(|line| line.first().is_some_and(u8::is_ascii_digit)).count() as u64);
    }

    #[test]
    fn bytes_are_those_at_their_offsets((text, gap) in samples(), a in numbers(), b in numbers()) {
        let sample = Sample::new(&text, gap.clone());
        let range = a.min(b)..a.max(b);
        let wanted = |_, at: usize| match &gap {
            Some(gap) if gap.start == at => range.start < gap.end as u64 && (gap.start as u64) < range.end && !range.is_empty(),
            _ => range.contains(&(at as u64)),
        };
        prop_assert!(sample.said(|artifact, out| artifact.bytes(range.clone(), out)) == sample.shown(wanted));
    }
}

#[test]
fn a_line_longer_than_memory_allows_is_searched_in_pieces() {
    let sample = Sample::new(&[&vec![b'x'; 5 << 20][..], b"needle\nneedle\n"].concat(), None);
    let mut longest = 0;
    let out = sample.said(|artifact, out| {
        let found = artifact.grep(&|line| line.ends_with(b"needle"), out)?;
        assert_eq!(found, 2);
        Ok(())
    });
    for line in out.split(|byte| *byte == b'\n') {
        longest = longest.max(line.len());
    }
    assert!(out.ends_with(b"needle\n2:needle\n"));
    assert!(longest < 2 << 20, "{longest}");
}

#[test]
fn a_reader_that_goes_away_is_told_apart_from_a_file_that_cannot_be_read() {
    struct Gone;
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let sample = Sample::new(b"text", None);
    assert!(matches!(sample.artifact.whole(&mut Gone), Err(ReadError::Write(_))));
}
