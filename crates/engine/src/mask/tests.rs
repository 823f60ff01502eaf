use proptest::prelude::*;

use super::*;
use crate::capture::Cleaning;
use crate::output_redactor::OutputRedactor;

pub(super) fn mask(secrets: &[(&str, &str)]) -> Mask {
    let withheld: Vec<_> = secrets.iter().map(|(name, value)| Withheld::new((*name).into(), (*value).into())).collect();
    Mask::new(&withheld)
}

pub(super) fn masked(mask: &Mask, text: &str) -> String {
    let masked = mask.apply(text.as_bytes(), Edges::None).unwrap_or_else(|| text.as_bytes().to_vec());
    String::from_utf8_lossy(&masked).into_owned()
}

#[track_caller]
fn check(text: &str, edges: Edges, expected: &str) {
    let mask = mask(&[("TOKEN", "abcdefghij"), ("LONGER", "abcdefghijkl"), ("SHORT", "true")]);
    let masked = mask.apply(text.as_bytes(), edges).unwrap_or_else(|| text.as_bytes().to_vec());
    assert_eq!(String::from_utf8_lossy(&masked), expected);
}

#[test]
fn values_are_replaced_by_the_name_and_short_ones_are_left() {
    check("x=abcdefghij, true", Edges::None, "x=[withheld: TOKEN], true");
    check("abcdefghijkl abcdefghij", Edges::None, "[withheld: LONGER] [withheld: TOKEN]");
    check("nothing here", Edges::Both, "nothing here");
}

#[test]
fn a_mask_is_made_anew_when_something_else_is_withheld() {
    let last = LastMask::default();
    let (one, other) = (mask(&[("A", "abcdefgh")]).withheld, mask(&[("A", "ijklmnop")]).withheld);
    let first = last.for_these(&one);
    assert!(Arc::ptr_eq(&first, &last.for_these(&one)));
    let second = last.for_these(&other);
    assert_eq!(second.apply(b"abcdefgh ijklmnop", Edges::None), Some(b"abcdefgh [withheld: A]".to_vec()));
    assert_eq!(last.for_these(&[]).apply(b"ijklmnop", Edges::None), None);
}

#[test]
fn a_value_cut_in_two_does_not_show_either_half() {
    check("key: abcdefg", Edges::End, "key: [withheld: LONGER]");
    check("ghijkl and more", Edges::Begin, "[withheld: LONGER] and more");
    check("key: abcdefg", Edges::None, "key: abcdefg");
    check("abcdef", Edges::Both, "[withheld: LONGER]");
    check("cdefg", Edges::Both, "[withheld: LONGER]");
}

#[test]
fn a_part_is_redacted_before_it_is_cut() {
    let mask = mask(&[("TOKEN", "abcdefghij")]);
    let text = b"x abcdefghij y abcdefghij";
    let cut = |shown| String::from_utf8(mask.cut(text, shown, Edges::None)).expect("text");
    assert_eq!(cut(0..text.len()), "x [withheld: TOKEN] y [withheld: TOKEN]");
    assert_eq!(cut(3..4), "[withheld: TOKEN]");
    assert_eq!(cut(0..3), "x [withheld: TOKEN]");
    assert_eq!(cut(11..16), "[withheld: TOKEN] y [withheld: TOKEN]");
    assert_eq!(cut(0..2), "x ");
    assert_eq!(cut(12..15), " y ");
    assert_eq!(cut(4..4), "");
}

#[test]
fn a_stream_is_redacted_however_it_is_cut() {
    let mask = mask(&[("A", "abcd1234WXYZabcd"), ("B", "WXYZabcdefgh"), ("C", "aaaaaaaab")]);
    let text = "abcd1234WXYZabcdefgh abcd1234WXYZabcd abcd123 aaaaaaaaaab WXYZabcdabcd1234WXYZabcd WXYZabcdefg";
    let whole = mask.apply(text.as_bytes(), Edges::None).expect("something is hidden");
    for first in 0..text.len() {
        for second in [first, (first + 3).min(text.len()), text.len()] {
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            let mut redactor = StreamRedactor::default();
            let mut got: Vec<u8> =
                pieces.iter().flat_map(|piece| redactor.push(&mask, piece.as_bytes()).into_owned()).collect();
            got.extend(redactor.finish(&mask, b""));
            assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&whole), "{pieces:?}");
        }
    }
}

#[test]
fn held_text_is_released_and_the_rest_of_a_value_stays_hidden() {
    let mask = mask(&[("TOKEN", "abcdefghij")]);
    let check = |pieces: &[&str], expected: &str| {
        let mut redactor = StreamRedactor::default();
        let mut shown = Vec::new();
        for piece in pieces {
            shown.extend(redactor.push(&mask, piece.as_bytes()).iter());
            shown.extend(redactor.release(&mask));
        }
        shown.extend(redactor.finish(&mask, b""));
        assert_eq!(String::from_utf8_lossy(&shown), expected, "{pieces:?}");
    };
    check(&["a", "b", "x", "a"], "abxa");
    check(&["ab", "cdefghij", "!"], "ab[withheld: TOKEN]!");
    // Neighbors with the same name have one label, as in one piece.
    check(&["abcdefghij", "abcdefghij"], "[withheld: TOKEN]");
    check(&["x abcdefghij y"], "x [withheld: TOKEN] y");
}

#[test]
fn values_that_overlap_are_hidden_as_a_whole() {
    let mask = mask(&[("A", "abcd1234WXYZabcd"), ("B", "WXYZabcdefgh")]);
    let masked = |text: &str, edges| {
        let masked = mask.apply(text.as_bytes(), edges).expect("something is hidden");
        String::from_utf8(masked).expect("text")
    };
    assert_eq!(masked("xxxabcd1234WXYZabcd", Edges::End), "xxx[withheld: A]");
    assert_eq!(masked("abcd1234WXYZabcdefgh.", Edges::None), "[withheld: A].");
    assert_eq!(masked("WXYZabcd more", Edges::Begin), "[withheld: A] more");
}

#[test]
fn a_line_that_is_redrawn_over_a_value_shows_no_part_of_it() {
    let mask = Arc::new(mask(&[("TOKEN", "sk-ant-Zx81kfQ0pL2mNv77")]));
    for redrawn in
        ["\rok", "\x08\x08\x08XX", "\x1b[3DXY", "\x1b[1Gab", "\x1b[10D\x1b[K", "\x1b[5D\x1b[P", "\x1b[9D\x1b[2X"]
    {
        let raw = format!("key: sk-ant-Zx81kfQ0pL2mNv77{redrawn}\nnext\n");
        for chunk in [1, 7, raw.len()] {
            let mut redactor = OutputRedactor::new(Cleaning::ForEyes, Arc::clone(&mask));
            let mut shown: Vec<u8> = raw.as_bytes().chunks(chunk).flat_map(|piece| redactor.push(piece)).collect();
            shown.extend(redactor.pending());
            let shown = String::from_utf8_lossy(&shown).into_owned();
            assert!(
                !shown.contains("Zx81") && !shown.contains("kfQ0") && shown.ends_with("next\n"),
                "{redrawn:?}: {shown}"
            );
        }
    }
}

#[test]
fn a_row_of_values_that_overlap_is_not_held_back() {
    let mask = mask(&[("ZEROS", "00000000")]);
    let mut redactor = StreamRedactor::default();
    let mut shown = Vec::new();
    for _ in 0..100 {
        shown.extend(redactor.push(&mask, &[b'0'; 5000]).iter());
    }
    assert_eq!(String::from_utf8_lossy(&shown), "[withheld: ZEROS]");
    assert!(redactor.pending(&mask, b"x").len() <= 2 * LONGEST);
    shown.extend(redactor.finish(&mask, b""));
    assert_eq!(String::from_utf8_lossy(&shown), "[withheld: ZEROS]");
}

#[test]
fn a_short_password_of_a_url_is_known_by_its_user() {
    let shown =
        |url: &str| masked(&mask(&[("HTTPS_PROXY", url)]), &format!("uses {url} now").replace("http:", "proxy "));
    assert_eq!(shown("http://bob:s3cr3t@proxy:3128"), "uses proxy [withheld: HTTPS_PROXY password]proxy:3128 now");
    assert!(!shown("http://proxyuser:proxyuser@host").contains("proxyuser"));
}

#[test]
fn what_stands_before_an_ellipsis_may_be_half_of_a_value() {
    let mask = mask(&[("TOKEN", "abcdefghij")]);
    let said = |text: &str| mask.sentence(text);
    assert_eq!(said("`cd abcdef…` and abcdef"), Some("`cd [withheld: TOKEN]…` and abcdef".to_owned()));
    assert_eq!(said("abcdefghij…"), Some("[withheld: TOKEN]…".to_owned()));
    assert_eq!(said("nothing…"), None);
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg/qhkiG9w0+AQEFAASC\n6nZhyZ9YB7HGm/ulHnSXD1pIclAn/Hli\nshort\n-----END PRIVATE KEY-----";

#[test]
fn lines_of_a_value_are_found_alone() {
    let mask = mask(&[("KEY", KEY)]);
    let expected = "     2\t[withheld: KEY]\n     3\t[withheld: KEY]\n     4\tshort";
    let shown = "     2\tMIIEvQIBADANBg/qhkiG9w0+AQEFAASC\n     3\t6nZhyZ9YB7HGm/ulHnSXD1pIclAn/Hli\n     4\tshort";
    assert_eq!(masked(&mask, shown), expected);
    let other = "-----BEGIN PRIVATE KEY-----\nsomebody else's\n-----END PRIVATE KEY-----\n";
    assert_eq!(masked(&mask, other), other, "the frame is the same for every key");
    assert_eq!(masked(&mask, &KEY.replace('\n', "\r\n")).matches("MIIE").count(), 0);
    assert_eq!(masked(&mask, KEY), "[withheld: KEY]");
}

#[test]
fn encoded_values_are_found() {
    let value = "pa/ss\"word'+12345<>äbc";
    let mask = mask(&[("API", value)]);
    for encoded in [
        r#"pa/ss\"word'+12345<>äbc"#,
        r#"pa\/ss\"word'+12345<>\u00e4bc"#,
        r"pa/ss\u0022word\u0027\u002B12345\u003C\u003E\u00E4bc",
        r#"pa/ss\"word'+12345\u003c\u003eäbc"#,
        r#"pa/ss"word'\''+12345<>äbc"#,
        "pa%2Fss%22word%27%2B12345%3C%3E%C3%A4bc",
        "cGEvc3Mid29yZCcrMTIzNDU8PsOkYmM=",
        "cGEvc3Mid29yZCcrMTIzNDU8PsOkYmMK",
    ] {
        assert_eq!(masked(&mask, &format!("<{encoded}>")), "<[withheld: API]>", "{encoded}");
    }
    // After a name, as for basic authentication; the group at each edge belongs to the neighbor too.
    let shown = masked(&mask, "dXNlcjpwYS9zcyJ3b3JkJysxMjM0NTw+w6RiYw==");
    assert_eq!(shown, "dXNlcjpw[withheld: API]Yw==");
}

#[test]
fn wrapped_base64_is_found_line_by_line() {
    let value = (0..40).map(|number| format!("{number:03}-")).collect::<Vec<_>>().concat();
    let mask = mask(&[("API", &value)]);
    for width in [76, 64] {
        let encoded = encode::base64(value.as_bytes())[0].clone();
        let lines: Vec<_> = encoded.chunks(width).map(|line| String::from_utf8_lossy(line)).collect();
        for line in &lines {
            assert_eq!(masked(&mask, line), "[withheld: API]", "{line}");
        }
    }
}

#[test]
fn base64_in_lines_is_found_wherever_the_value_stands() {
    let value = "sk-ant-Zx81kfQ0pL2mNv77AbCdEf01";
    let mask = mask(&[("TOKEN", value)]);
    for before in 0..80 {
        let text = format!("{}key={value}\nmore=1\n", "x".repeat(before));
        let encoded = encode::base64(text.as_bytes()).into_iter().next().expect("a form");
        for width in [64, 76] {
            let lines: Vec<_> = encoded.chunks(width).map(<[u8]>::to_vec).collect();
            let shown = masked(&mask, &String::from_utf8_lossy(&lines.join(&b'\n')));
            let hidden = encode::base64(&value.as_bytes()[3..27]);
            // At most fifteen characters at each end of a line are left.
            let longest = hidden
                .iter()
                .flat_map(|form| form.windows(STRETCH_SHOWN))
                .any(|piece| memmem::find(shown.as_bytes(), piece).is_some());
            assert!(!longest, "{before} {width}: {shown}");
        }
    }
}

/// More characters of base64 than can be left of a value at the end of a line.
const STRETCH_SHOWN: usize = 20;

#[test]
fn a_key_that_is_written_on_one_line_is_found_line_by_line() {
    let mask = mask(&[(
        "KEY",
        r"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w\nAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n",
    )]);
    let file = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w\nAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n";
    let shown = masked(&mask, file);
    assert_eq!(shown, "-----BEGIN PRIVATE KEY-----\n[withheld: KEY]\n[withheld: KEY]\n-----END PRIVATE KEY-----\n");
}

#[test]
fn control_characters_in_a_value_do_not_hide_it() {
    for (value, printed) in [
        ("first-secret-value\r", "x first-secret-value\r\n"),
        ("left-\u{1b}[31mright-secret\u{1b}[0m-end", "left-\u{1b}[31mright-secret\u{1b}[0m-end\n"),
        ("left-right-secret-end", "left-\u{1b}[31mright-secret\u{1b}[0m-end\n"),
        ("abcdefghijklmnopqrstuvwxyz\rZYXWVUTSRQ", "key=abcdefghijklmnopqrstuvwxyz\rZYXWVUTSRQ\n"),
        ("abcdefghijklm\u{8}\u{8}nopqrstuvwxyz", "abcdefghijklm\u{8}\u{8}nopqrstuvwxyz\n"),
    ] {
        let redactor = OutputRedactor::new(Cleaning::ForEyes, Arc::new(mask(&[("V", value)])));
        let shown = String::from_utf8(redactor.show(printed.as_bytes())).expect("text");
        assert!(shown.contains("[withheld: V]"), "{shown}");
        for piece in ["secret", "mnop", "defg", "YXWV", "stuv"] {
            assert!(!shown.contains(piece), "{value:?}: {shown}");
        }
    }
}

#[test]
fn passwords_of_urls_are_found_alone() {
    let mask = mask(&[("DATABASE_URL", "postgres://user:p%40ssw0rd-1234@db.example.com/app")]);
    assert_eq!(masked(&mask, "postgres://user:p%40ssw0rd-1234@db.example.com/app"), "[withheld: DATABASE_URL]");
    for password in ["p%40ssw0rd-1234", "p@ssw0rd-1234"] {
        assert_eq!(masked(&mask, &format!("pw={password}")), "pw=[withheld: DATABASE_URL password]");
    }
    assert_eq!(masked(&mask, "db.example.com/app user"), "db.example.com/app user");
    let mask = self::mask(&[("DATABASE_URL", "postgres://postgres:postgres@localhost/db")]);
    assert_eq!(masked(&mask, "postgres listens on localhost"), "postgres listens on localhost");
}

#[test]
fn long_values_are_found_in_blocks_and_named_once() {
    let value = (0..2000).map(|number| format!("{number}:")).collect::<Vec<_>>().concat();
    let mask = mask(&[("LONG", &value)]);
    assert_eq!(masked(&mask, &format!("<{value}>")), "<[withheld: LONG]>");
    for chunk in [1, 7, 1000, 5000] {
        let mut redactor = StreamRedactor::default();
        let text = format!("<{value}>");
        let mut got: Vec<u8> =
            text.as_bytes().chunks(chunk).flat_map(|piece| redactor.push(&mask, piece).into_owned()).collect();
        got.extend(redactor.finish(&mask, b""));
        assert_eq!(String::from_utf8_lossy(&got), "<[withheld: LONG]>", "{chunk}");
    }
}

/// No piece of this many bytes of a value may be visible.
const PIECE: usize = 12;

/// Values in which blanks, line ends and control characters leave little to search for.
fn any_mostly_blank() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ \t\r\n]{1,12}",
        2 => "[a-z]{1,9}",
        1 => "(%20|\\\\n|\u{8}|\u{1b}\\[0m|[äé]){1,4}",
    ];
    let value = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
    prop_oneof![value.clone(), value.prop_map(|password| format!("postgres://u:{password}@h/d"))]
}

/// Values of all kinds: tokens, keys of several lines, text that encoders change, control characters.
pub(super) fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_-]{12,60}",
        "[ -~]{12,60}",
        "([a-zA-Z0-9+/]{16,64}\n){2,12}",
        "([a-zA-Z0-9+/]{16,64}\r\n){2,6}",
        "[a-z]{12,20}[äöü€😀]{1,3}[a-z]{12,20}",
        "[a-z]{12,30}\r[A-Z]{8,30}",
        "[a-z]{12,30}(\u{1b}\\[[0-9]{1,2}m)[A-Z]{12,30}",
        "[a-z]{12,30}\u{8}{1,3}[A-Z]{12,30}",
        "[a-zA-Z0-9]{1100,2600}",
    ]
}

/// The value as some program prints it, and the texts of which no piece may be visible then.
fn printed(value: &str, how: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let bytes = value.as_bytes();
    let with_newline = [bytes, b"\n"].concat();
    let [encoded, for_urls] = encode::base64(&with_newline);
    let in_lines = encoded.chunks(76).flat_map(|line| [line, b"\n"].concat()).collect();
    let forms = encode::json(value).chain(encode::shell(bytes)).chain(encode::percent(bytes));
    let mut forms = forms.chain(encode::base64(bytes)).chain([encoded, for_urls, in_lines]);
    let form = forms.nth(how).unwrap_or_else(|| bytes.to_vec());
    let hidden = form.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    (form, hidden)
}

fn any_printed() -> impl Strategy<Value = (String, Vec<u8>, Vec<Vec<u8>>)> {
    (any_value(), 0_usize..40).prop_map(|(value, how)| {
        let (form, hidden) = printed(&value, how);
        (value, form, hidden)
    })
}

pub(super) fn piece_seen(shown: &[u8], hidden: &[Vec<u8>]) -> Option<String> {
    let mut pieces = hidden.iter().flat_map(|text| text.windows(PIECE));
    let seen = pieces.find(|piece| memmem::find(shown, piece).is_some())?;
    Some(format!("{:?} in {:?}", String::from_utf8_lossy(seen), String::from_utf8_lossy(shown)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn blanks_in_a_value_neither_hide_other_blanks_nor_the_value(value in any_mostly_blank(), edges in 0_usize..4) {
        let mask = mask(&[("SECRET", &value)]);
        let edges = [Edges::None, Edges::End, Edges::Begin, Edges::Both][edges];
        let blanks = "\t    \n\r\n".repeat(3) + &" ".repeat(40);
        prop_assert_eq!(mask.apply(blanks.as_bytes(), Edges::None), None);
        let text = format!("<{value}>");
        let shown = mask.apply(text.as_bytes(), edges).unwrap_or_else(|| text.clone().into_bytes());
        let trimmed = value.trim_ascii();
        prop_assert!(trimmed.len() < SHORTEST || memmem::find(&shown, trimmed.as_bytes()).is_none());
    }

    #[test]
    fn no_piece_of_a_value_is_shown_whatever_the_chunks(
        (value, form, hidden) in any_printed(),
        chunk in 1_usize..200,
        before in "[.,\n]{0,40}",
    ) {
        let mask = Arc::new(mask(&[("SECRET", &value)]));
        let text = [before.as_bytes(), &form, b"\n... and on\n"].concat();
        for cleaning in [Cleaning::None, Cleaning::ForEyes] {
            let mut redactor = OutputRedactor::new(cleaning, Arc::clone(&mask));
            let mut shown = Vec::new();
            for piece in text.chunks(chunk) {
                shown.extend(redactor.push(piece));
                let now = [shown.as_slice(), &redactor.pending()].concat();
                prop_assert_eq!(piece_seen(&now, &hidden), None);
            }
            shown.extend(redactor.pending());
            prop_assert_eq!(piece_seen(&shown, &hidden), None);
        }
        let mut redactor = StreamRedactor::default();
        let mut streamed: Vec<u8> =
            text.chunks(chunk).flat_map(|piece| redactor.push(&mask, piece).into_owned()).collect();
        streamed.extend(redactor.finish(&mask, b""));
        let whole = mask.apply(&text, Edges::None).unwrap_or(text);
        prop_assert_eq!(String::from_utf8_lossy(&streamed), String::from_utf8_lossy(&whole));
    }

    #[test]
    fn no_piece_of_a_value_is_shown_whatever_the_cut(
        (value, form, hidden) in any_printed(),
        from in any::<prop::sample::Index>(),
        length in any::<prop::sample::Index>(),
        around in "[.,\n]{0,40}",
    ) {
        let mask = Arc::new(mask(&[("SECRET", &value)]));
        let text = [around.as_bytes(), &form, around.as_bytes()].concat();
        let begin = from.index(text.len());
        let end = begin + length.index(text.len() - begin + 1);
        let margin = begin.saturating_sub(LONGEST)..(end + LONGEST).min(text.len());
        let (before, part, after) = (&text[margin.start..begin], &text[begin..end], &text[end..margin.end]);
        for cleaning in [Cleaning::None, Cleaning::ForEyes] {
            let redactor = || OutputRedactor::new(cleaning, Arc::clone(&mask));
            prop_assert_eq!(piece_seen(&redactor().show_part(before, part, after), &hidden), None);
            let mut follow = redactor().behind(before.to_vec());
            let mut shown = follow.push(part);
            shown.extend(follow.pending());
            prop_assert_eq!(piece_seen(&shown, &hidden), None);
        }
        let mut written = Vec::new();
        let mut writer = OutputRedactor::new(Cleaning::None, Arc::clone(&mask)).writer(&mut written, before.to_vec());
        std::io::Write::write_all(&mut writer, part).expect("it takes everything");
        writer.finish(after).expect("it takes everything");
        prop_assert_eq!(piece_seen(&written, &hidden), None);
    }
}
