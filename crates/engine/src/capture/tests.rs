//! Every byte is shown or saved, or the output says that it is not.

use crate::last_lines::LastOfFirst;
use proptest::prelude::*;

use super::*;
use crate::environment::{EnvironmentPolicy, Pattern};
use crate::window::{Budget, Sizes};
use crate::{Artifact, ArtifactLimits};

const SECRET: &str = "s3cr3t-value";

/// A mask whose label is far longer than the value that it replaces.
fn mask() -> Mask {
    let policy = EnvironmentPolicy { withhold: vec![Pattern::new("*")], ..EnvironmentPolicy::default() };
    let host = vec![("A_NAME_THAT_IS_MUCH_LONGER_THAN_ITS_VALUE".into(), SECRET.into())];
    Mask::new(&policy.resolve(&host, &[]).expect("valid").withheld)
}

fn any_window() -> impl Strategy<Value = Window> {
    let budget = |bytes: std::ops::Range<u64>| {
        (bytes, prop::option::of(0_u64..40)).prop_map(|(bytes, lines)| Budget { bytes: ByteSize(bytes), lines })
    };
    let sizes = prop_oneof![Just(Sizes::AtLeast), Just(Sizes::AtMost)];
    (budget(0..40_000), budget(0..20_000), budget(0..20_000), sizes, prop::option::of(1_usize..200))
        .prop_map(|(whole, head, tail, sizes, columns)| Window { whole, head, tail, sizes, columns })
}

/// Text with everything that changes its size: invalid bytes, secrets, escape sequences, redraws, unfinished lines.
fn any_output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z €]{0,60}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"\x1b[1mred\r".to_vec()),
        1 => Just(SECRET.as_bytes().to_vec()),
        1 => (0_usize..6000).prop_map(|count| vec![0xFF; count]),
        1 => (0_usize..20_000).prop_map(|count| vec![b'x'; count]),
        1 => (0_usize..400).prop_map(|count| SECRET.repeat(count).into_bytes()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// The text of the whole output, as it would be shown without any limit.
fn whole_text(raw: &[u8], cleaning: Cleaning, mask: &Mask) -> Vec<u8> {
    let huge = Window::head(ByteSize::mib(64));
    let mut capture = Capture::new(huge, cleaning, None);
    capture.push(raw, &mut |_| {});
    match capture.output(mask, huge.limit()).clip {
        Clip::Whole(bytes) => bytes,
        Clip::Cut { .. } => panic!("it fits"),
    }
}

fn saved(output: &Output) -> Option<Vec<u8>> {
    let facts = output.artifact.as_ref()?;
    Some(std::fs::read(&facts.path).expect("it is there"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_is_shown_or_saved_or_said_to_be_missing(
        raw in any_output(),
        chunk in 1_usize..9000,
        window in any_window(),
        lines in prop::option::of((1_u64..400, 1_u64..20)),
        cleans in any::<bool>(),
        has_store in any::<bool>(),
    ) {
        let place = tempfile::tempdir().expect("a directory");
        let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), ArtifactLimits::default()));
        let cleaning = if cleans { Cleaning::ForEyes } else { Cleaning::None };
        let mask = mask();
        let number = |number| std::num::NonZeroU64::new(number).expect("not zero");
        let lines = lines.map(|(first, last)| LastOfFirst::new(window, number(first), number(last)));
        let mut capture = Capture::new(window, cleaning, has_store.then_some(store)).only_last_of_first(lines);
        for chunk in raw.chunks(chunk) {
            capture.push(chunk, &mut |_| {});
        }
        let output = capture.output(&mask, window.limit());
        prop_assert_eq!(output.bytes, raw.len() as u64);
        prop_assert!(output.clip.text_bytes() <= window.limit().0);
        match &output.clip {
            Clip::Whole(text) if output.shortened == 0 => prop_assert_eq!(text, &whole_text(&raw, cleaning, &mask)),
            // The rest is saved, or the output says why not.
            _ if has_store => prop_assert_eq!(saved(&output), Some(raw)),
            _ => prop_assert!(output.not_saved.is_some()),
        }
        if let Some(narrower) = &output.narrower {
            prop_assert!(output.artifact.is_some() || output.not_saved.is_some());
            prop_assert!(narrower.text_bytes() <= window.limit().0);
        }
    }

    #[test]
    fn a_limit_that_is_lower_than_the_window_holds_too(raw in any_output(), limit in 0_u64..3000) {
        let mut capture = Capture::new(Window::middle(ByteSize(20_000), ByteSize(900)), Cleaning::ForEyes, None);
        capture.push(&raw, &mut |_| {});
        let output = capture.output(&mask(), ByteSize(limit));
        prop_assert!(output.clip.text_bytes() <= limit);
    }
}

#[test]
fn an_unfinished_last_line_that_passes_the_limit_is_saved() {
    let place = tempfile::tempdir().expect("a directory");
    let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), ArtifactLimits::default()));
    let window = Window::middle(ByteSize::kib(128), ByteSize::kib(4));
    let endings: [Vec<u8>; 3] =
        [vec![b'x'; 140_000], vec![b'x'; 131_073], [b"0123456789\n".repeat(11_915), b"abcdefghijkl".to_vec()].concat()];
    for raw in endings {
        let mut capture = Capture::new(window, Cleaning::ForEyes, Some(Arc::clone(&store)));
        capture.push(&raw, &mut |_| {});
        let output = capture.output(&Mask::default(), window.limit());
        assert!(matches!(output.clip, Clip::Cut { .. }));
        assert!(saved(&output) == Some(raw), "it is not saved");
    }
}

#[test]
fn an_artifact_that_lacks_its_middle_says_so() {
    let place = tempfile::tempdir().expect("a directory");
    let limits = ArtifactLimits { one: ByteSize::kib(64), ..ArtifactLimits::default() };
    let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), limits));
    let window = Window::tail(ByteSize(1000));
    let mut capture = Capture::new(window, Cleaning::ForEyes, Some(Arc::clone(&store)));
    let raw: Vec<u8> = (0..20_000).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
    capture.push(&raw, &mut |_| {});
    let output = capture.output(&Mask::default(), window.limit());
    let facts = output.artifact.as_ref().expect("there is one");
    assert!(!facts.missing.is_empty());
    let entry = store.get(facts.id).expect("it is there");
    assert_eq!(entry.missing, facts.missing);
    let mut kept = Vec::new();
    Artifact::open(&entry).expect("it opens").whole(&mut kept).expect("it is read");
    assert!(kept.len() < raw.len());
}

/// More bytes than are written without a thread, and no two buffers alike.
fn long_output() -> Vec<u8> {
    (0..800_000).flat_map(|number: u32| format!("line {number}\n").into_bytes()).collect()
}

/// Pushes all bytes in pieces of these sizes in turn, each at the beginning of a buffer, as a stream reads them.
fn push_in_buffers(capture: &mut Capture, raw: &[u8], sizes: &[usize]) {
    let (mut buffer, mut rest) = (vec![0; aside::BUFFER], raw);
    for size in sizes.iter().cycle() {
        let (piece, behind) = rest.split_at((*size).min(rest.len()));
        buffer[..piece.len()].copy_from_slice(piece);
        capture.push_buffer(&mut buffer, piece.len(), &mut |_| {});
        assert_eq!(buffer.len(), aside::BUFFER);
        rest = behind;
        if rest.is_empty() {
            return;
        }
    }
}

#[test]
fn a_long_artifact_has_every_byte_in_its_place_whatever_the_pieces() {
    let raw = long_output();
    assert!(raw.len() as u64 > 2 * THREAD_FROM);
    for sizes in [&[aside::BUFFER][..], &[1000], &[aside::BUFFER, 10, 70_000, 4096], &[65_536, 65_535]] {
        let place = tempfile::tempdir().expect("a directory");
        let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), ArtifactLimits::default()));
        let window = Window::tail(ByteSize(1000));
        let mut capture = Capture::new(window, Cleaning::ForEyes, Some(Arc::clone(&store)));
        push_in_buffers(&mut capture, &raw, sizes);
        assert!(matches!(capture.raw, RawBytes::Saving(_)), "no thread writes it");
        let output = capture.output(&Mask::default(), window.limit());
        assert!(saved(&output).is_some_and(|saved| saved == raw), "pieces of {sizes:?}");
        // Writing continues after a check, and all of it is there once the capture is dropped.
        push_in_buffers(&mut capture, &raw, sizes);
        let path = output.artifact.expect("there is one").path;
        drop(capture);
        assert!(std::fs::read(path).expect("it is there") == raw.repeat(2), "pieces of {sizes:?}");
    }
}

#[test]
fn a_long_artifact_keeps_to_its_limit_and_says_what_is_missing() {
    let place = tempfile::tempdir().expect("a directory");
    let limits = ArtifactLimits { one: ByteSize::mib(6), ..ArtifactLimits::default() };
    let store = Arc::new(ArtifactStore::new(place.path().join("artifacts"), limits));
    let window = Window::tail(ByteSize(1000));
    let mut capture = Capture::new(window, Cleaning::ForEyes, Some(Arc::clone(&store)));
    let raw = long_output();
    push_in_buffers(&mut capture, &raw, &[aside::BUFFER]);
    assert!(matches!(capture.raw, RawBytes::Saving(_)), "no thread writes it");
    let facts = capture.output(&Mask::default(), window.limit()).artifact.expect("there is one");
    let [missing] = facts.missing.as_slice() else { panic!("one gap: {:?}", facts.missing) };
    let (begin, end) = (missing.range.start, missing.range.end);
    let at = |offset: u64| usize::try_from(offset).expect("it is small");
    let kept = std::fs::read(&facts.path).expect("it is there");
    assert!(raw.len() as u64 - (end - begin) <= ByteSize::mib(6).0);
    assert!(kept.len() == raw.len() && kept[..at(begin)] == raw[..at(begin)] && kept[at(end)..] == raw[at(end)..]);
}
