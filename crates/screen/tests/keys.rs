//! Keys become the bytes that xterm sends, and the bytes of a user's terminal become keys.

use std::time::{Duration, Instant};

use bashful_screen::{Code, Decoded, Key, KeyDecoder, Keys, Modes, UnknownKey, paste};

#[track_caller]
fn parsed(name: &str) -> Key {
    name.parse().expect("the name of a key")
}

#[track_caller]
fn refused(name: &str) -> UnknownKey {
    name.parse::<Key>().expect_err("no name of a key")
}

#[track_caller]
fn check(name: &str, bytes: &str) {
    assert_eq!(
        parsed(name).encode(Modes::default()).escape_ascii().to_string(),
        bytes.as_bytes().escape_ascii().to_string(),
        "{name}"
    );
}

#[test]
fn keys_are_sent_as_xterm_sends_them() {
    let table = [
        ("Enter", "\r"),
        ("Return", "\r"),
        ("Tab", "\t"),
        ("BTab", "\x1b[Z"),
        ("S-Tab", "\x1b[Z"),
        ("Escape", "\x1b"),
        ("Esc", "\x1b"),
        ("BSpace", "\x7f"),
        ("Backspace", "\x7f"),
        ("C-BSpace", "\x08"),
        ("Space", " "),
        ("Up", "\x1b[A"),
        ("Down", "\x1b[B"),
        ("Right", "\x1b[C"),
        ("Left", "\x1b[D"),
        ("C-Up", "\x1b[1;5A"),
        ("S-Up", "\x1b[1;2A"),
        ("M-Up", "\x1b[1;3A"),
        ("C-S-Left", "\x1b[1;6D"),
        ("Home", "\x1b[H"),
        ("End", "\x1b[F"),
        ("PPage", "\x1b[5~"),
        ("PageUp", "\x1b[5~"),
        ("PgUp", "\x1b[5~"),
        ("NPage", "\x1b[6~"),
        ("IC", "\x1b[2~"),
        ("DC", "\x1b[3~"),
        ("Del", "\x1b[3~"),
        ("C-Delete", "\x1b[3;5~"),
        ("F1", "\x1bOP"),
        ("F4", "\x1bOS"),
        ("C-F1", "\x1b[1;5P"),
        ("F5", "\x1b[15~"),
        ("F6", "\x1b[17~"),
        ("F10", "\x1b[21~"),
        ("F11", "\x1b[23~"),
        ("F12", "\x1b[24~"),
        ("S-F5", "\x1b[15;2~"),
        ("F13", "\x1b[1;2P"),
        ("F24", "\x1b[24;2~"),
        ("C-a", "\x01"),
        ("C-A", "\x01"),
        ("Ctrl+C", "\x03"),
        ("ctrl-c", "\x03"),
        ("^C", "\x03"),
        ("^[", "\x1b"),
        ("C-z", "\x1a"),
        ("C-Space", "\0"),
        ("C-@", "\0"),
        ("C-\\", "\x1c"),
        ("C-]", "\x1d"),
        ("C-^", "\x1e"),
        ("C-_", "\x1f"),
        ("C-/", "\x1f"),
        ("C-?", "\x7f"),
        ("M-x", "\x1bx"),
        ("M-X", "\x1bX"),
        ("Alt+x", "\x1bx"),
        ("m-X", "\x1bX"),
        ("M-Enter", "\x1b\r"),
        ("C-M-a", "\x1b\x01"),
        ("M--", "\x1b-"),
        ("S-a", "A"),
        ("a", "a"),
        ("-", "-"),
        ("+", "+"),
        ("^", "^"),
        ("é", "é"),
        ("日", "日"),
        ("\u{3}", "\x03"),
        ("KP5", "5"),
        ("KPEnter", "\r"),
        ("ENTER", "\r"),
        ("pagedown", "\x1b[6~"),
    ];
    for (name, bytes) in table {
        check(name, bytes);
    }
}

#[test]
fn application_modes_change_arrows_and_keypad() {
    let modes = Modes { application_cursor: true, application_keypad: true, ..Modes::default() };
    let bytes = |names: &[&str]| Keys::parse(names.iter().copied()).expect("names of keys").encode(modes);
    assert_eq!(bytes(&["Up", "Home", "End"]), b"\x1bOA\x1bOH\x1bOF");
    assert_eq!(bytes(&["C-Up", "PPage"]), b"\x1b[1;5A\x1b[5~");
    assert_eq!(bytes(&["KP0", "KP9", "KPEnter", "KP+"]), b"\x1bOp\x1bOy\x1bOM\x1bOk");
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let nearest = |name: &str| refused(name).nearest;
    assert_eq!(nearest("Entr"), ["Enter"]);
    assert_eq!(nearest("Escpae"), ["Escape"]);
    assert_eq!(nearest("C-Pgup1"), ["C-PgUp"]);
    assert_eq!(nearest("F25").first().map(String::as_str), Some("F2"));
    for name in ["", "ls -la", "F0", "F99", "C-é", "S-1", "Hyper-x", "KP12", "C-", "F+1", "F01"] {
        let error = refused(name);
        assert_eq!(error.name, name);
        assert_eq!(error.to_string(), format!("unknown key {name:?}"));
    }
    assert_eq!(nearest(&"x".repeat(100_000)), [""; 0]);
    assert_eq!(Keys::parse(["Enter", "Nope!"]).map_err(|error| error.name), Err("Nope!".to_owned()));
}

#[test]
fn names_of_keys_parse_to_the_same_key() {
    for name in
        ["C-c", "M-X", "BTab", "C-Up", "PPage", "S-F1", "F12", "KP3", "KPEnter", "Space", "M-BTab", "é", "C-Space"]
    {
        let key = parsed(name);
        assert_eq!(key.to_string(), name);
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}

#[test]
fn control_characters_are_names_of_the_keys_that_send_them() {
    for byte in (0..0x20).chain([0x7f]) {
        let name = char::from(byte).to_string();
        assert_eq!(parsed(&name).encode(Modes::default()), [byte], "{name:?}");
        assert!(parsed(&name).to_string().len() > 1, "{name:?} is displayed as it is");
    }
    assert_eq!(parsed("\u{3}").to_string(), "C-c");
    assert_eq!(parsed("M-\u{1b}").encode(Modes::default()), b"\x1b\x1b");
}

#[test]
fn pasted_text_cannot_end_its_own_paste() {
    let modes = Modes { bracketed_paste: true, ..Modes::default() };
    let text = "a\n\x1b[201\x1b[201~~b";
    assert_eq!(paste(text, modes), b"\x1b[200~a\rb\x1b[201~");
    assert_eq!(paste("\x1b[201~\r", modes), b"\x1b[200~\r\x1b[201~");
    assert_eq!(paste("a\r\nb", Modes::default()), b"a\rb");
}

fn key(name: &str) -> Decoded {
    Decoded::Key(parsed(name))
}

#[track_caller]
fn check_decoded(bytes: &str, names: &[&str]) {
    let keys: Vec<Decoded> = names.iter().copied().map(key).collect();
    let now = Instant::now();
    assert_eq!(KeyDecoder::default().feed(bytes.as_bytes(), now), keys, "{bytes:?}");
    let mut decoder = KeyDecoder::default();
    let parts: Vec<Decoded> = bytes.bytes().flat_map(|byte| decoder.feed(&[byte], now)).collect();
    assert_eq!(parts, keys, "{bytes:?} byte by byte");
    assert_eq!(decoder.deadline(), None);
}

#[test]
fn legacy_keys_are_decoded() {
    check_decoded("aé日", &["a", "é", "日"]);
    check_decoded("\r\t\x7f\x03\0\x1c", &["Enter", "Tab", "BSpace", "C-c", "C-Space", "C-\\"]);
    check_decoded("\x1b[A\x1bOA\x1b[1;5A\x1b[H\x1b[4~", &["Up", "Up", "C-Up", "Home", "End"]);
    check_decoded("\x1bOP\x1b[15~\x1b[24;2~\x1b[Z\x1b[3~", &["F1", "F5", "S-F12", "BTab", "DC"]);
    check_decoded("\x1bx\x1bX\x1b\x7f\x1b\x03\x1bé", &["M-x", "M-X", "M-BSpace", "C-M-c", "M-é"]);
}

#[test]
fn kitty_keys_are_decoded_to_the_same_keys() {
    check_decoded("\x1b[97u\x1b[97;5u\x1b[97;2u\x1b[97;3u", &["a", "C-a", "A", "M-a"]);
    check_decoded("\x1b[13u\x1b[27u\x1b[9;2u\x1b[127u", &["Enter", "Escape", "BTab", "BSpace"]);
    check_decoded("\x1b[1;5:1A\x1b[1;1:2B\x1b[3;1:1~", &["C-Up", "Down", "DC"]);
    check_decoded("\x1b[97:65;2;65u\x1b[57399u\x1b[57414u\x1b[57419;5u", &["A", "KP0", "KPEnter", "C-Up"]);
    // Keys let go, and modifiers alone.
    check_decoded("\x1b[97;1:3u\x1b[1;1:3A\x1b[57441;2u", &[]);
}

#[test]
fn a_lone_escape_is_told_from_a_sequence_by_time() {
    let start = Instant::now();
    let after = |milliseconds| start + Duration::from_millis(milliseconds);
    let mut decoder = KeyDecoder::default();
    assert_eq!(decoder.feed(b"\x1b", start), []);
    assert_eq!(decoder.deadline(), Some(after(50)));
    assert_eq!(decoder.expire(after(49)), []);
    assert_eq!(decoder.feed(b"[A", after(49)), [key("Up")]);
    assert_eq!(decoder.feed(b"\x1b", start), []);
    assert_eq!(decoder.feed(b"[A", after(50)), [key("Escape"), key("["), key("A")]);
    assert_eq!(decoder.feed(b"\x1b\x1b[B", start), [key("Escape"), key("Down")]);
    assert_eq!(decoder.feed(b"\x1b[", start), []);
    assert_eq!(decoder.expire(after(50)), [key("M-[")]);
    assert_eq!(decoder.feed(b"\x1bO", start), []);
    assert_eq!(decoder.expire(after(50)), [key("M-O")]);
    assert_eq!(decoder.deadline(), None);
}

#[test]
fn pastes_and_other_sequences_are_told_from_keys() {
    let now = Instant::now();
    let mut decoder = KeyDecoder::default();
    let input = b"a\x1b[200~rm\r\x1b[A\x1b[201~b\x1b[<0;1;2M\x1b[I\x1b[M !!\x1b[?62;22c";
    let expected = [
        key("a"),
        Decoded::Paste(b"rm\r\x1b[A".to_vec()),
        key("b"),
        Decoded::Other(b"\x1b[<0;1;2M".to_vec()),
        Decoded::Other(b"\x1b[I".to_vec()),
        Decoded::Other(b"\x1b[M !!".to_vec()),
        Decoded::Other(b"\x1b[?62;22c".to_vec()),
    ];
    assert_eq!(decoder.feed(input, now), expected);

    assert_eq!(decoder.feed(b"\x1b[200~", now), []);
    // One paste, however its bytes come.
    let long = "é".repeat(100_000).into_bytes();
    for piece in long.chunks(4097) {
        assert_eq!(decoder.feed(piece, now), []);
    }
    assert_eq!(decoder.feed(b"\x1b[201~", now + Duration::from_secs(9)), [Decoded::Paste(long)]);
}

#[test]
fn a_paste_that_is_too_long_is_dropped_as_a_whole() {
    let now = Instant::now();
    let mut decoder = KeyDecoder::default();
    let most = 1024 * 1024;
    for (length, expected) in
        [(most, Decoded::Paste(vec![b'x'; most])), (most + 1, Decoded::PasteTooLong { bytes: most as u64 + 1 })]
    {
        let input = [b"\x1b[200~".as_slice(), &vec![b'x'; length], b"\x1b[201~a"].concat();
        let events: Vec<Decoded> = input.chunks(65_000).flat_map(|piece| decoder.feed(piece, now)).collect();
        assert_eq!(events.len(), 2);
        assert!(events[0] == expected, "{length}");
        assert_eq!(events[1], key("a"));
    }
    let input = [b"\x1b[200~".as_slice(), &vec![b'x'; 3 * most], b"\x1b[201~"].concat();
    let events: Vec<Decoded> = input.chunks(65_000).flat_map(|piece| decoder.feed(piece, now)).collect();
    assert_eq!(events, [Decoded::PasteTooLong { bytes: 3 * most as u64 }]);
}

#[test]
fn the_bytes_of_a_character_may_come_late() {
    let now = Instant::now();
    let mut decoder = KeyDecoder::default();
    assert_eq!(decoder.feed(b"\xe6\x97", now), []);
    assert_eq!(decoder.deadline(), None);
    assert_eq!(decoder.feed(b"\xa5", now + Duration::from_millis(200)), [key("日")]);
    // One that never comes loses nothing else.
    decoder.feed(b"\xe6", now);
    assert_eq!(decoder.feed(b"a", now + Duration::from_secs(9)), [Decoded::Other(b"\xe6".to_vec()), key("a")]);
}

#[test]
fn two_escapes_at_once_are_two() {
    let now = Instant::now();
    let mut decoder = KeyDecoder::default();
    assert_eq!(decoder.feed(b"\x1b\x1b", now), []);
    assert_eq!(decoder.expire(now + Duration::from_millis(50)), [key("Escape"), key("Escape")]);
}

#[test]
fn decoded_keys_encode_to_what_the_program_expects() {
    let modes = Modes { application_cursor: true, ..Modes::default() };
    let decoded = KeyDecoder::default().feed(b"\x1b[57419u\x1b[99;5u", Instant::now());
    let bytes: Vec<u8> = decoded
        .into_iter()
        .flat_map(|input| match input {
            Decoded::Key(key) => key.encode(modes),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes, b"\x1bOA\x03");
    assert_eq!(Key::from(Code::Escape).encode(modes), b"\x1b");
}
