//! Any output at any size: no panic, bounded work and memory, and the same screen however the output is cut.

use bashful_screen::{Budget, Fed, KeyDecoder, Screen, Size, Snapshot};
use proptest::collection::vec;
use proptest::prelude::*;

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![0..9u16, 0..300u16, Just(u16::MAX)];
    let csi = (prop_oneof![Just(""), Just("?"), Just(">"), Just("=")], vec(number(), 0..4), "[ !$]?[@-~]").prop_map(
        |(marker, numbers, last)| {
            let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
            format!("\x1b[{marker}{}{last}", numbers.join(";")).into_bytes()
        },
    );
    let modes = [1, 6, 7, 25, 47, 1000, 1003, 1006, 1047, 1048, 1049, 2004, 2026, 4, 20];
    let mode =
        (proptest::sample::select(modes.to_vec()), any::<bool>(), any::<bool>()).prop_map(|(mode, private, on)| {
            format!("\x1b[{}{mode}{}", if private { "?" } else { "" }, if on { 'h' } else { 'l' }).into_bytes()
        });
    let margins = (1..60u16, 1..60u16).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r").into_bytes());
    let escape = "\x1b[ -/]?[0-~]".prop_map(String::into_bytes);
    let text = "[a-z\n\r\t\x08 日é\u{301}👍\u{200d}\u{fe0f}\x0e\x0f]{0,40}".prop_map(String::into_bytes);
    let string =
        (prop_oneof![Just("]0;"), Just("P"), Just("_"), Just("]52;c;")], "[a-z?]{0,9}", "(\x07|\x1b\\\\|\x18)?")
            .prop_map(|(start, text, end)| format!("\x1b{start}{text}{end}").into_bytes());
    prop_oneof![3 => csi, 3 => mode, 1 => margins, 1 => escape, 3 => text, 1 => string, 1 => vec(any::<u8>(), 0..20)]
}

fn outputs() -> impl Strategy<Value = Vec<u8>> {
    vec(pieces(), 0..40).prop_map(|pieces| pieces.concat())
}

fn sizes() -> impl Strategy<Value = Size> {
    let columns = prop_oneof![Just(20u16), 20..30u16, 20..=400u16];
    let rows = prop_oneof![Just(5u16), 5..10u16, 5..=200u16];
    (columns, rows).prop_map(|(columns, rows)| Size::new(columns, rows))
}

fn feed_all(screen: &mut Screen, mut bytes: &[u8], budget: u64) {
    while !bytes.is_empty() {
        let Fed { consumed, work } = screen.feed(bytes, Budget(budget));
        assert!(consumed > 0, "no progress");
        assert!(work < budget.saturating_add(Budget::LARGEST_STEP), "{work} units for a budget of {budget}");
        bytes = &bytes[consumed..];
    }
}

/// Reads everything that can be read, and checks what always holds.
fn read(screen: &Screen) -> Snapshot {
    let snapshot = screen.snapshot();
    assert_eq!(snapshot.rows.len(), usize::from(screen.size().rows()));
    assert!(snapshot.cursor.row < screen.size().rows() && snapshot.cursor.column < screen.size().columns());
    for (row, text) in (0..).zip(&snapshot.rows) {
        assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
        assert_eq!(screen.cells(row).count(), usize::from(screen.size().columns()));
        let styled = screen.row_styled(row);
        assert!(
            !styled.contains('\x1b') || styled.ends_with("\x1b[0m") || styled.rfind("\x1b[0m") == styled.rfind('\x1b')
        );
    }
    for line in 0..screen.scrollback() {
        screen.scrollback_text(line);
    }
    Snapshot { generation: 0, ..snapshot }
}

proptest! {
    #[test]
    fn output_cut_anywhere_gives_the_same_screen(size in sizes(), output in outputs(), cut in 1..9usize) {
        let mut whole = Screen::with_scrollback(size, 30);
        feed_all(&mut whole, &output, u64::MAX);
        let mut parts = Screen::with_scrollback(size, 30);
        for part in output.chunks(cut) {
            feed_all(&mut parts, part, 1);
        }
        prop_assert_eq!(read(&whole), read(&parts));
        prop_assert_eq!(whole.modes(), parts.modes());
    }

    #[test]
    fn no_output_and_no_resize_makes_it_panic(steps in vec((sizes(), outputs(), 0..5u8), 1..4)) {
        let mut screen = Screen::with_scrollback(steps[0].0, 30);
        for (size, output, kind) in &steps {
            match kind {
                0 => screen.skip(output),
                1 => feed_all(&mut screen, output, 500),
                _ => {
                    screen.resize(*size);
                    feed_all(&mut screen, output, u64::MAX);
                }
            }
            read(&screen);
        }
    }

    #[test]
    fn any_bytes_decode_as_keys(parts in vec((outputs(), 0..80u64), 0..5)) {
        let mut now = std::time::Instant::now();
        let mut decoder = KeyDecoder::default();
        for (bytes, wait) in parts {
            decoder.feed(&bytes, now);
            now += std::time::Duration::from_millis(wait);
            decoder.expire(now);
        }
    }
}

/// Feeds `pattern` again and again up to `length` bytes, and returns the work for each byte.
fn work_per_byte(size: Size, pattern: &[u8], length: usize) -> u64 {
    let output = pattern.repeat(length / pattern.len());
    let mut screen = Screen::new(size);
    let fed = screen.feed(&output, Budget::UNLIMITED);
    assert_eq!(fed.consumed, output.len());
    fed.work / output.len() as u64
}

#[test]
fn a_flood_of_repetitions_is_counted_and_stopped_by_the_budget() {
    let output = b"x\x1b[65535b".repeat(2048);
    let mut screen = Screen::new(Size::default());
    let fed = screen.feed(&output, Budget(1_000_000));
    assert!(fed.work < 1_000_000 + Budget::LARGEST_STEP);
    assert!(fed.consumed < output.len() / 20, "{} bytes for a budget of 1,000,000 units", fed.consumed);
    // The rest is skipped at the price of reading it.
    screen.skip(&output[fed.consumed..]);
    assert_eq!(screen.skipped_bytes(), (output.len() - fed.consumed) as u64);
    assert_eq!(screen.snapshot().text(), "");
}

#[test]
fn one_sequence_costs_at_most_one_step() {
    let sequences: [&[u8]; 12] = [
        b"x\x1b[65535b",
        b"\x1b[4hx\x1b[65535b",
        b"\x1b[65535I",
        b"\x1b[3g\x1b[9999G\x1b[65535Z",
        b"\x1b[65535L",
        b"\x1b[65535T",
        b"\x1b[2J",
        b"\x1b#8",
        b"\x1bc",
        b"\x1b[?1049h\x1b[?1049;47;1047;1049;47;1047l",
        b"\x1b[65535@",
        b"\x1b[65535P",
    ];
    for sequence in sequences {
        let mut screen = Screen::new(Size::LARGEST);
        feed_all(&mut screen, &sequence.repeat(20), 1);
    }
}

#[test]
fn sequences_without_a_visible_effect_are_cheap() {
    for pattern in [&b"\x1b[22;0t"[..], b"\x1b[23;0t", b"\x1b[c", b"\x1b[6n", b"\x1b[>1u", b"\x1b[<1u", b"\x1b[?2026h"]
    {
        let work = work_per_byte(Size::LARGEST, pattern, 1 << 17);
        assert!(work <= 16, "{work} units a byte for {pattern:?}");
    }
}

#[test]
fn a_title_stack_that_is_flooded_stays_small() {
    let mut screen = Screen::new(Size::default());
    let mut output = Vec::new();
    for n in 0..100 {
        output.extend(format!("\x1b]0;{n}\x07\x1b[22;0t").into_bytes());
    }
    output.extend(b"\x1b[23;0t".repeat(16));
    feed_all(&mut screen, &output, u64::MAX);
    assert_eq!(screen.title(), Some("84"));
    feed_all(&mut screen, b"\x1b[23;0t", u64::MAX);
    assert_eq!(screen.title(), Some("84"), "older titles are gone");
}

#[test]
fn long_strings_are_read_past() {
    for start in ["\x1b]0;", "\x1b]52;c;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"] {
        let mut screen = Screen::new(Size::default());
        feed_all(&mut screen, start.as_bytes(), u64::MAX);
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            let fed = screen.feed(&piece, Budget::UNLIMITED);
            assert!(fed.work <= piece.len() as u64, "reading past a string is cheap");
        }
        feed_all(&mut screen, b"\x1b\\text", u64::MAX);
        assert_eq!(screen.snapshot().text(), "text");
        assert!(screen.title().is_none_or(|title| title.len() == 256));
    }
}

#[test]
fn marks_on_one_cell_are_bounded() {
    let mut screen = Screen::new(Size::default());
    feed_all(&mut screen, "日".as_bytes(), u64::MAX);
    for _ in 0..1000 {
        feed_all(&mut screen, "\u{301}\u{302}\x1b[D\x1b[C\u{303}".as_bytes(), u64::MAX);
        feed_all(&mut screen, b"\x1b[65535b\r\x1b[2C", u64::MAX);
    }
    let marks = |screen: &Screen| screen.cells(0).map(|cell| cell.marks.len()).max();
    assert!(marks(&screen) <= Some(8), "{:?}", marks(&screen));
    assert!(screen.row_text(0).len() < 10_000);
}

#[test]
fn memory_is_bounded_by_size_and_scrollback() {
    let mut screen = Screen::new(Size::default());
    feed_all(&mut screen, &b"\x1b[31mline\r\n".repeat(10_000), u64::MAX);
    assert_eq!(screen.scrollback(), 2000);
    assert_eq!(screen.memory(), (2000 + 2 * 40) * 120 * 24);
}
