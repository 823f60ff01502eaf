//! Cleaned escape sequences, redrawn lines and control characters, in any chunks.

use proptest::prelude::*;

use super::*;

/// The finished text and the pending line after all chunks were pushed.
fn clean<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u8>) {
    let mut cleaner = Cleaner::new();
    let mut text = Vec::new();
    for chunk in chunks {
        cleaner.push(chunk, &mut |piece: &[u8]| text.extend_from_slice(piece));
    }
    (text, cleaner.pending())
}

fn shown(raw: &[u8]) -> Vec<u8> {
    let (text, pending) = clean([raw]);
    [text, pending].concat()
}

#[track_caller]
fn check(raw: impl AsRef<[u8]>, expected: &str) {
    let raw = raw.as_ref();
    assert_eq!(String::from_utf8_lossy(&shown(raw)), expected);
    let (text, pending) = clean(raw.chunks(1));
    assert_eq!(String::from_utf8_lossy(&[text, pending].concat()), expected, "byte by byte");
}

#[test]
fn plain_text_passes_and_only_whole_lines_are_settled() {
    assert_eq!(clean([b"one\n\ttwo\nthr".as_slice()]), (b"one\n\ttwo\n".to_vec(), b"thr".to_vec()));
    assert_eq!(clean([b"thr".as_slice(), b"ee\nfour"]), (b"three\n".to_vec(), b"four".to_vec()));
}

#[test]
fn crlf_is_just_a_newline() {
    check("one\r\ntwo\r\r\n\r\n", "one\ntwo\n\n");
}

#[track_caller]
fn check_changes(raw: &[u8], expected: Changes) {
    for chunk in [1, 2, 7, raw.len().max(1)] {
        let mut cleaner = Cleaner::new();
        raw.chunks(chunk).for_each(|chunk| cleaner.push(chunk, &mut |_: &[u8]| {}));
        assert_eq!(cleaner.changes(), expected, "in chunks of {chunk}");
    }
}

#[test]
fn changes_that_a_reader_cannot_see_are_counted() {
    check_changes(b"plain\n\x1b[1mred\x1b[m\n10%\r20%\n", Changes::default());
    check_changes(b"one\r\ntwo\n\r\n\r\r\n\rno\n", Changes { crlf_lines: 3, ..Changes::default() });
    check_changes(b"a\0b\0\0\n", Changes { nuls: 3, ..Changes::default() });
    check_changes("\x07\x0b\x7f\u{85}\n".as_bytes(), Changes { controls: 4, ..Changes::default() });
}

#[test]
fn nuls_are_shown_and_words_between_them_stay_apart() {
    check("one\0two\0", "one␀two␀");
    check(vec![0; 20_000], &"␀".repeat(20_000));
}

#[test]
fn colors_are_removed() {
    // `ls --color`, `grep --color`, and colors of 24 bits in both spellings.
    check("\x1b[0m\x1b[01;34msrc\x1b[0m  \x1b[01;32mrun.sh\x1b[0m\n", "src  run.sh\n");
    check("\x1b[35m\x1b[Ka.c\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[Kmain\n", "a.c:main\n");
    check("\x1b[38;2;255;100;0mwarm\x1b[38:2::1:2:3mcold\x1b[m", "warmcold");
}

#[test]
fn a_progress_bar_of_cargo_leaves_what_was_built() {
    check(
        "\x1b[1m\x1b[32m   Compiling\x1b[0m vte v0.15.0\n\
         \x1b[1m\x1b[36m    Building\x1b[0m [=====>    ] 1/2: vte\r\x1b[K\
         \x1b[1m\x1b[32m    Finished\x1b[0m `dev` profile\n",
        "   Compiling vte v0.15.0\n    Finished `dev` profile\n",
    );
}

#[test]
fn a_progress_bar_of_pip_shows_its_last_state() {
    check(
        "\r\x1b[2K   \x1b[90m━━━━\x1b[0m \x1b[32m0.1/1.0 MB\x1b[0m\
         \r\x1b[2K   \x1b[91m━━\x1b[0m\x1b[90m╺━\x1b[0m \x1b[32m0.5/1.0 MB\x1b[0m\
         \r\x1b[2K   \x1b[91m━━━━\x1b[0m \x1b[32m1.0/1.0 MB\x1b[0m\n\x1b[?25h",
        "   ━━━━ 1.0/1.0 MB\n",
    );
}

#[test]
fn a_spinner_of_npm_leaves_nothing() {
    check("⠙\x1b[1G\x1b[0K⠹\x1b[1G\x1b[0K⠸\x1b[1G\x1b[0Kadded 3 packages\n", "added 3 packages\n");
    check("⠙\r\x1b[J⠹\r\x1b[Jdone\n", "done\n");
}

#[test]
fn the_meter_of_curl_shows_its_last_state() {
    check(
        "  % Total\n\r  0  100    0     0\r 50  100   50     0\r100  100  100     0\r\n",
        "  % Total\n100  100  100     0\n",
    );
}

#[test]
fn what_git_clone_says_is_one_line_for_each_stage() {
    check(
        "remote: Counting objects:  50% (1/2)\x1b[K\rremote: Counting objects: 100% (2/2)\x1b[K\r\
         remote: Counting objects: 100% (2/2), done.\x1b[K\n\
         Receiving objects:   5% (1/20)\rReceiving objects: 100% (20/20), done.\n",
        "remote: Counting objects: 100% (2/2), done.\nReceiving objects: 100% (20/20), done.\n",
    );
}

#[test]
fn backspaces_go_left_and_what_follows_overwrites() {
    check("work |\x08/\x08-\x08\\\x08done\n", "work done\n");
    check("N\x08NA\x08AM\x08ME\x08E _\x08x", "NAME x");
    check("\x08\x08a", "a");
    check("aé\x08\x08xy", "xy");
}

#[test]
fn a_shorter_redraw_leaves_the_rest_as_a_terminal_does() {
    check("hello\rJ\n", "Jello\n");
    check("ééé\rab\n", "abé\n");
    check("abc\r█\n", "█bc\n");
}

#[test]
fn titles_links_and_images_are_removed() {
    check("\x1b]0;vim: file\x07text", "text");
    check("\x1b]0;vim: file\x1b\\text", "text");
    check("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\!", "link!");
    check("a\x1bPq#0;2;0;0;0#0~~@@vv$-\x1b\\b", "ab");
    check("a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd");
    check(format!("a\x1b]52;c;{}\x07b", "QUJD;".repeat(50_000)), "ab");
}

#[test]
fn modes_and_character_sets_are_removed() {
    check("\x1b[?2004h$ ls\x1b[?2004l\n", "$ ls\n");
    check("\x1b[200~pasted\x1b[201~", "pasted");
    check("\x1b(B\x1b)0\x1b=\x1b>\x1b7\x1b8\x1bMa\x1b#8b\x1b%Gc", "abc");
    check("\x1b[!p\x1b[>4;1m\x1b[1;2;3$rx\x1b[1<2qy", "xy");
    check("a\x1b[12\x18b\x1b]0;t\x1ac", "abc");
}

#[test]
fn a_newline_ends_any_unfinished_sequence() {
    for start in ["\x1b", "\x1b[", "\x1b[31;", "\x1b[1<2", "\x1b]0;title", "\x1bPq12", "\x1b_x", "\x1b(", "\x1bP1;"] {
        check(format!("a{start}\nm31 b\n"), "a\nm31 b\n");
    }
}

#[test]
fn erasing_and_moving_act_on_the_line() {
    check("abcdef\x1b[3D\x1b[K", "abc");
    check("abcdef\x1b[3D\x1b[1K", "    ef");
    check("abc\x1b[2Kd", "   d");
    check("abc\x1b[2K\rd", "d");
    check("abcdef\x1b[2GX\x1b[CY", "aXcYef");
    check("ok\x1b[6G!", "ok   !");
    check("ok\x1b[6G", "ok");
    check("ok\x1b[3C\x1b[2Dx\n", "ok x\n");
    check("abcdef\r\x1b[2Pg", "gdef");
    check("aéüdef\r\x1b[C\x1b[2X", "a  def");
    check("abc\x1b[2D\x1b[9X", "a");
    let long = "é".repeat(500);
    check(format!("{long}\x1b[400Da\x1b[300Cb\x1b[11Gc\x1b[900D\x1b[499Cd"), &{
        let mut columns: Vec<char> = long.chars().collect();
        columns[100] = 'a';
        columns[401] = 'b';
        columns[10] = 'c';
        columns[499] = 'd';
        columns.into_iter().collect::<String>()
    });
    check("abc\x1b[H\x1b[2J\x1b[Ad", "abcd");
}

#[test]
fn moving_far_right_makes_few_spaces() {
    check("a\x1b[999C\x1b[9999Gb\x1b[999Cc", &format!("a{}bc", " ".repeat(119)));
}

#[test]
fn control_characters_are_dropped() {
    check("a\0b\x07c\x0bd\x0ce\x7ff\x01g\x0eh\u{85}i\u{9b}j", "a␀bcdefghij");
    check("«a°b\u{a0}c»é\x07", "«a°b\u{a0}c»é");
}

#[test]
fn a_control_cannot_be_put_together_from_pieces() {
    check(b"\xc2\x1b[m\x85x", "\u{fffd}\u{fffd}x");
    check(b"\xc2\x07\x85\xc2\xc2\n\xc2", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n\u{fffd}");
}

#[test]
fn a_redraw_after_a_very_long_line_only_affects_what_comes_after_the_settled_part() {
    let long = "x".repeat(LONGEST_LINE);
    assert_eq!(clean([long.as_bytes()]), (long.clone().into_bytes(), Vec::new()));
    check(format!("{long}ab\rc\n"), &format!("{long}cb\n"));
    let nearly = "x".repeat(LONGEST_LINE - 1);
    check(format!("{nearly}\r█y\n"), &format!("█y{}\n", &nearly[2..]));
}

#[test]
fn a_chunk_that_needs_work_does_not_make_the_next_one_slow() {
    for chunk in ["\x1b[1mbold\x1b[m", "\x1b]0;t\x07", "a\r\n", "ab\x08c", "abc\rdef", "\x1b[1<2q", "\x1b[2K", "\u{85}"]
    {
        let mut cleaner = Cleaner::new();
        cleaner.push(chunk.as_bytes(), &mut |_: &[u8]| {});
        assert!(cleaner.state == StreamState::Text && cleaner.line.is_plain(), "{chunk:?}");
    }
    assert!(is_plain("Größe: 20 °C\t»x«\n".as_bytes()));
}

#[test]
fn memory_is_bounded_whatever_comes() {
    for flood in
        ["x", "\r", "\x1b[1;", "9;", "\x1b]0;t", "\x1bPq~", "\x1b[65535Gx", "é\x08\x08", "\u{85}", "█\r\x1b[9C"]
    {
        let chunk = flood.repeat(2 * LONGEST_LINE / flood.len());
        let mut cleaner = Cleaner::new();
        let mut text = Vec::new();
        for _ in 0..2 {
            cleaner.push(chunk.as_bytes(), &mut |piece: &[u8]| text.extend_from_slice(piece));
            text.clear();
            assert!(cleaner.pending().len() <= LONGEST_LINE + BLOCK, "{flood:?}");
            assert!(cleaner.line.bytes.capacity() <= 64 * 1024, "{flood:?}");
        }
    }
}

/// Output as programs write it, only worse.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[a-z0-9 ;]{1,6}".prop_map(String::into_bytes),
        3 => "\\PC{1,4}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        3 => Just(b"\r\n".to_vec()),
        1 => (0..4 * LONGEST_LINE).prop_map(|length| vec![0; length]),
        3 => prop::sample::select(b"\r\x08\t\x07\x1b[]P\\\x18".to_vec()).prop_map(|byte| vec![byte]),
        6 => "\x1b\\[[?]?[0-9]{0,2}(;[0-9]{0,3})?[A-Za-z@`]".prop_map(String::into_bytes),
        2 => "\x1b[\\]P_X(#][0-9a-z;é]{0,5}(\x07|\x1b\\\\)?".prop_map(String::into_bytes),
        2 => prop::collection::vec(prop::sample::select(b"\xc2\xc3\x80\x85\x9c\xa0\xe2\x96\x88\xf0\xff\x7f".to_vec()), 1..4),
        1 => prop::collection::vec(any::<u8>(), 1..8),
        1 => (LONGEST_LINE - 4..LONGEST_LINE + 4).prop_map(|length| vec![b'-'; length]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_letter_at_the_end_of_the_longest_line_makes_no_control_with_what_is_written_over_it() {
    for ahead in LONGEST_LINE - 2..=LONGEST_LINE {
        let raw = [&vec![b'-'; ahead], "¡\r".as_bytes(), b"\x80"].concat();
        let text = String::from_utf8_lossy(&shown(&raw)).into_owned();
        assert!(!text.contains('\u{80}'), "{ahead}");
    }
}

proptest! {
    #[test]
    fn how_the_output_is_cut_makes_no_difference(raw in output(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(raw.len() + 1)).collect();
        cuts.extend([0, raw.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &raw[cut[0]..cut[1]]);
        let whole = clean([raw.as_slice()]);
        prop_assert_eq!(&clean(chunks), &whole);
        prop_assert_eq!(&clean(raw.chunks(1)), &whole);
    }

    #[test]
    fn as_many_lines_come_out_as_go_in(raw in output()) {
        let newlines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        prop_assert_eq!(newlines(&shown(&raw)), newlines(&raw));
    }

    #[test]
    fn no_control_character_is_left(raw in output()) {
        let text = String::from_utf8_lossy(&shown(&raw)).into_owned();
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{:?}", text);
    }

    #[test]
    fn text_without_controls_passes_unchanged(lines in prop::collection::vec("(\\PC|\t){0,40}", 0..20)) {
        let raw = lines.join("\n");
        prop_assert_eq!(shown(raw.as_bytes()), raw.as_bytes());
        // The same for text after something that needed work.
        prop_assert_eq!(shown(format!("\x1b[m\r{raw}").as_bytes()), raw.as_bytes());
    }

    #[test]
    fn the_pending_line_is_never_long(raw in output()) {
        prop_assert!(clean([raw.as_slice()]).1.len() <= LONGEST_LINE + BLOCK);
    }
}
