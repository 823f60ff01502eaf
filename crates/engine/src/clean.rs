//! Turns what a command writes into text for a model's eyes.
//!
//! Escape sequences and control characters are removed, and a line that was redrawn comes out as it stood last. This is
//! a line, not a screen: moving up, clearing the screen and saved cursors are ignored, so that nothing which scrolled by
//! is lost. Every character and every tab counts as one column, whatever its width.
//!
//! Bytes that are not UTF-8 pass as they are, and become U+FFFD when the text is shown. A column is a byte together
//! with the continuation bytes after it, so a character that arrives in two pieces needs no care.
//!
//! Invariants: as many newlines come out as go in; the result depends on the bytes alone and not on how they were cut
//! into chunks; memory held is at most a small multiple of [`LONGEST_LINE`], whatever the command writes.

use bashful_sys::wide;
use memchr::memrchr;
use vte::{Params, Parser, Perform};

/// An unfinished line is settled when it has this length, and what follows is handled like a new line that is glued to
/// it. Lines that are redrawn have the width of a terminal; a longer one is data.
const LONGEST_LINE: usize = 16 * 1024;

/// Moving right never makes more than this many columns of a line. Programs ask for column 999 to find the right edge,
/// and a model should not have to read the spaces.
const WIDEST_GAP: usize = 120;

/// So many bytes at a time are found to be plain or not: enough to be quick, and few enough to stay in the cache until
/// they are copied.
const BLOCK: usize = 4096;

/// Columns are counted this many bytes at a time, so that output which jumps about in a long line is not slow to read.
const STRIDE: usize = 64;

const ESCAPE: u8 = 0x1B;

/// The first byte of the characters from U+0080 to U+00BF, the first half of which are controls.
const LATIN_LEAD: u8 = 0xC2;

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Cleans one stream of output.
pub(crate) struct Cleaner {
    line: Line,
    place: Place,
    // Titles, links and images are thrown away, so there is no room for them.
    parser: Parser<0>,
    /// Text on its way out; kept to save allocations.
    text: Vec<u8>,
}

/// Where in the stream we are. `vte` knows it too, but does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In text.
    Text,
    /// After a [`LATIN_LEAD`]: what follows says whether this is a letter or a control.
    Lead,
    /// After ESC.
    Escape,
    /// In a control sequence (`ESC [`).
    Control,
    /// In a title, an image, or anything else that begins with ESC.
    Other,
}

impl Cleaner {
    pub(crate) fn new() -> Self {
        Self { line: Line::default(), place: Place::Text, parser: new_parser(), text: Vec::new() }
    }

    /// Takes the next bytes and hands on what is settled by them, piece by piece. Plain lines are handed on as they are,
    /// without a copy.
    pub(crate) fn push(&mut self, raw: &[u8], settled: &mut dyn FnMut(&[u8])) {
        let mut text = std::mem::take(&mut self.text);
        let mut raw = raw;
        while !raw.is_empty() {
            let at_rest = self.place == Place::Text && self.line.is_plain();
            let plain = if at_rest { plain_prefix(raw) } else { 0 };
            let (block, rest) = raw.split_at(if plain > 0 { plain } else { BLOCK.min(raw.len()) });
            raw = rest;
            if plain > 0 {
                let (lines, rest) = block.split_at(memrchr(b'\n', block).map_or(0, |at| at + 1));
                if !lines.is_empty() {
                    self.line.settle(&mut text);
                    hand_on(&mut text, settled);
                    settled(lines);
                }
                self.line.append(rest, &mut text);
            } else {
                self.work_through(block, &mut text);
            }
            hand_on(&mut text, settled);
        }
        self.text = text;
    }

    /// The unfinished last line, as it would be shown if nothing more came.
    pub(crate) fn pending(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = self.line.clone();
        if self.place == Place::Lead {
            line.write(REPLACEMENT, &mut text);
        }
        text.extend(line.bytes);
        text
    }

    fn work_through(&mut self, block: &[u8], text: &mut Vec<u8>) {
        let mut rest = block;
        while let [byte, after @ ..] = rest {
            if self.place == Place::Text {
                let run = rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
                if run > 0 {
                    self.line.write(&rest[..run], text);
                    rest = &rest[run..];
                    continue;
                }
                if *byte == 0 {
                    // They do nothing, and where there is one there are often thousands.
                    rest = &rest[rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len())..];
                    continue;
                }
            }
            self.step(*byte, text);
            rest = after;
        }
    }

    fn step(&mut self, byte: u8, text: &mut Vec<u8>) {
        if self.place == Place::Lead {
            self.place = Place::Text;
            match byte {
                0x80..=0x9F => return,
                0xA0..=0xBF => return self.line.write(&[LATIN_LEAD, byte], text),
                // Replaced here and not left for later: once a sequence between them is removed, it could make a
                // control together with what follows.
                _ => self.line.write(REPLACEMENT, text),
            }
        }
        match (self.place, byte) {
            (_, b'\n') => {
                if self.place != Place::Text {
                    // An unfinished sequence must not swallow more than its own line.
                    self.parser = new_parser();
                    self.place = Place::Text;
                }
                self.line.settle(text);
                text.push(b'\n');
            }
            (Place::Text, LATIN_LEAD) => self.place = Place::Lead,
            (Place::Text, byte) if byte != ESCAPE => self.line.obey(byte, text),
            _ => self.parse(byte, text),
        }
    }

    /// Hands one byte of an escape sequence to the parser, and follows where it goes.
    fn parse(&mut self, byte: u8, text: &mut Vec<u8>) {
        let mut sequence = Sequence { line: &mut self.line, text, ended: false };
        self.parser.advance(&mut sequence, &[byte]);
        self.place = match (self.place, byte) {
            // Whatever it ends, it begins the next one.
            (_, ESCAPE) => Place::Escape,
            _ if sequence.ended => Place::Text,
            (Place::Escape, b'[') => Place::Control,
            (Place::Escape, b' '..=b'/' | b'P' | b']' | b'X' | b'^' | b'_') => Place::Other,
            // A control sequence that makes no sense ends without a word from the parser.
            (Place::Control, b'@'..=b'~') => Place::Text,
            (place, _) => place,
        };
    }
}

/// How many bytes from the beginning need no work, in whole blocks.
fn plain_prefix(raw: &[u8]) -> usize {
    raw.chunks(BLOCK).take_while(|block| is_plain(block)).map(<[u8]>::len).sum()
}

fn hand_on(text: &mut Vec<u8>, settled: &mut dyn FnMut(&[u8])) {
    if !text.is_empty() {
        settled(text);
        text.clear();
    }
}

/// This constructor exists only without the feature `std` of `vte`, with which there would be no limit to the length of
/// a title: whoever turns it on should not get past the compiler.
fn new_parser() -> Parser<0> {
    Parser::new_with_size()
}

/// Whether all bytes can be copied as they are. Most output is ASCII, and the question is answered twice as fast for that.
fn is_plain(block: &[u8]) -> bool {
    wide::is_plain_ascii(block) || is_plain_text(block)
}

/// There is no way out of the loop, and numbers stand for truths in it, on purpose: this way the compiler looks at
/// sixteen or more bytes at a time.
fn is_plain_text(block: &[u8]) -> bool {
    let [first @ .., last] = block else { return true };
    let mut found = control(*last) | u8::from(*last == LATIN_LEAD);
    for (byte, next) in first.iter().zip(&block[1..]) {
        let letter = u8::from(next & 0xE0 == 0xA0);
        found |= control(*byte) | (u8::from(*byte == LATIN_LEAD) & (1 ^ letter));
    }
    found == 0
}

/// 1 if this is a control character that does more than a newline or a tab, 0 otherwise.
fn control(byte: u8) -> u8 {
    let low = u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
    low | u8::from(byte == 0x7F)
}

fn is_special(byte: u8) -> bool {
    control(byte) != 0 || byte == b'\n' || byte == LATIN_LEAD
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The unfinished line and its cursor.
#[derive(Debug, Clone, Default)]
struct Line {
    bytes: Vec<u8>,
    /// Where the next character goes; always where a column begins.
    cursor: usize,
    /// How many columns beyond the end the cursor is. They become spaces when something is written there.
    gap: usize,
}

impl Line {
    /// Whether what comes next is simply appended.
    fn is_plain(&self) -> bool {
        self.cursor == self.bytes.len() && self.gap == 0
    }

    /// Gives all of it away, and begins anew.
    fn settle(&mut self, text: &mut Vec<u8>) {
        text.append(&mut self.bytes);
        self.cursor = 0;
        self.gap = 0;
    }

    /// Appends to a plain line.
    fn append(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        self.bytes.extend_from_slice(bytes);
        // Settled is what would have been if the bytes had come one by one. A letter stays with its lead, which comes in the
        // same piece: without it, what is written over the letter could make a control together with the lead.
        let mut settled = 0;
        while self.bytes.len() - settled >= LONGEST_LINE {
            settled += LONGEST_LINE;
            settled -= usize::from(self.bytes[settled - 1] == LATIN_LEAD);
        }
        text.extend(self.bytes.drain(..settled));
        self.cursor = self.bytes.len();
    }

    /// Writes at the cursor, over what is there.
    fn write(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        let mut rest = bytes;
        while !self.is_plain()
            && let [byte, after @ ..] = rest
        {
            self.put(*byte, text);
            rest = after;
        }
        if !rest.is_empty() {
            self.append(rest, text);
        }
    }

    fn put(&mut self, byte: u8, text: &mut Vec<u8>) {
        if self.gap > 0 {
            self.bytes.resize(self.bytes.len() + self.gap, b' ');
            self.cursor = self.bytes.len();
            self.gap = 0;
        }
        if self.cursor == self.bytes.len() || is_continuation(byte) {
            self.bytes.insert(self.cursor, byte);
        } else {
            let (end, _) = self.right_by(1);
            self.bytes[self.cursor] = byte;
            self.bytes.drain(self.cursor + 1..end);
        }
        self.cursor += 1;
        // It only grows left of the cursor, so this is enough to keep it short.
        if self.bytes.len() >= LONGEST_LINE && byte != LATIN_LEAD {
            text.extend(self.bytes.drain(..self.cursor));
            self.cursor = 0;
        }
    }

    /// Does what a control character says, if it has to do with a line.
    fn obey(&mut self, control: u8, text: &mut Vec<u8>) {
        match control {
            b'\r' => self.go_to(0),
            b'\x08' => self.go_left(1),
            b'\t' => self.write(b"\t", text),
            _ => {}
        }
    }

    fn go_to(&mut self, column: usize) {
        self.cursor = 0;
        self.gap = 0;
        self.go_right(column);
    }

    fn go_right(&mut self, columns: usize) {
        let (at, beyond) = self.right_by(columns);
        self.cursor = at;
        if beyond > 0 {
            let widest = WIDEST_GAP.saturating_sub(self.columns(at));
            self.gap = (self.gap + beyond).min(widest);
        }
    }

    fn go_left(&mut self, columns: usize) {
        let in_gap = columns.min(self.gap);
        self.gap -= in_gap;
        let mut left = columns - in_gap;
        while let Some(stride) = self.bytes[..self.cursor].last_chunk::<STRIDE>()
            && beginnings(stride) < left
        {
            left -= beginnings(stride);
            self.cursor -= STRIDE;
        }
        while left > 0 && self.cursor > 0 {
            self.cursor -= 1;
            left -= usize::from(!is_continuation(self.bytes[self.cursor]));
        }
    }

    /// Erases from the cursor to the end.
    fn erase_right(&mut self) {
        self.bytes.truncate(self.cursor);
    }

    /// Erases from the beginning up to and with the cursor.
    fn erase_left(&mut self) {
        let (end, _) = self.right_by(1);
        let blank = self.columns(end);
        self.cursor = self.columns(self.cursor);
        self.bytes.splice(..end, std::iter::repeat_n(b' ', blank));
    }

    /// Erases all of it; the cursor stays where it is.
    fn erase_all(&mut self) {
        let column = self.columns(self.cursor) + self.gap;
        self.bytes.clear();
        self.go_to(column);
    }

    /// Makes columns blank.
    fn blank(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        if end == self.bytes.len() {
            self.erase_right();
        } else {
            self.bytes.splice(self.cursor..end, std::iter::repeat_n(b' ', columns));
        }
    }

    /// Removes columns; what is right of them moves up.
    fn remove(&mut self, columns: usize) {
        let (end, _) = self.right_by(columns);
        self.bytes.drain(self.cursor..end);
    }

    /// Where the cursor would be so many columns to the right, and how many of them are beyond the end.
    fn right_by(&self, columns: usize) -> (usize, usize) {
        if columns == 0 || self.cursor == self.bytes.len() {
            return (self.cursor, columns);
        }
        let mut at = self.cursor + 1;
        let mut left = columns;
        while let Some(stride) = self.bytes[at..].first_chunk::<STRIDE>()
            && beginnings(stride) < left
        {
            left -= beginnings(stride);
            at += STRIDE;
        }
        while let Some(byte) = self.bytes.get(at) {
            left -= usize::from(!is_continuation(*byte));
            if left == 0 {
                return (at, 0);
            }
            at += 1;
        }
        (at, left - 1)
    }

    /// How many columns there are before `end`.
    fn columns(&self, end: usize) -> usize {
        // What begins with the rest of a character has no first byte, but is a column too.
        let headless = self.bytes[..end].first().is_some_and(|byte| is_continuation(*byte));
        beginnings(&self.bytes[..end]) + usize::from(headless)
    }
}

/// How many columns begin in these bytes.
fn beginnings(bytes: &[u8]) -> usize {
    let in_stride = |stride: &[u8]| stride.iter().map(|byte| u8::from(!is_continuation(*byte))).sum::<u8>();
    bytes.chunks(STRIDE).map(|stride| usize::from(in_stride(stride))).sum()
}

/// Carries out what one byte of an escape sequence means for the line.
struct Sequence<'a> {
    line: &'a mut Line,
    text: &'a mut Vec<u8>,
    /// Text follows, unless the byte begins the next sequence.
    ended: bool,
}

impl Perform for Sequence<'_> {
    fn print(&mut self, _: char) {
        debug_assert!(false, "the parser sees escape sequences only, and must agree with us on where they end");
    }

    fn execute(&mut self, byte: u8) {
        // A terminal obeys controls inside a sequence, and these two cancel it.
        self.ended |= matches!(byte, 0x18 | 0x1A);
        self.line.obey(byte, self.text);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.ended = true;
        if ignore || !intermediates.is_empty() {
            return;
        }
        let number = params.iter().next().and_then(|values| values.first()).map_or(0, |value| usize::from(*value));
        let count = number.max(1);
        match (action, number) {
            ('C' | 'a', _) => self.line.go_right(count),
            ('D', _) => self.line.go_left(count),
            ('G' | '`', _) => self.line.go_to(count - 1),
            // Progress bars erase to the end of the screen where they mean the line.
            ('K' | 'J', 0) => self.line.erase_right(),
            ('K', 1) => self.line.erase_left(),
            ('K', 2) => self.line.erase_all(),
            ('P', _) => self.line.remove(count),
            ('X', _) => self.line.blank(count),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, _: u8) {
        self.ended = true;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.ended = true;
    }

    fn unhook(&mut self) {
        self.ended = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The settled text and the pending line after each of the chunks was pushed.
    fn clean<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u8>) {
        let mut cleaner = Cleaner::new();
        let mut text = Vec::new();
        for chunk in chunks {
            cleaner.push(chunk, &mut |piece| text.extend_from_slice(piece));
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
        for start in ["\x1b", "\x1b[", "\x1b[31;", "\x1b[1<2", "\x1b]0;title", "\x1bPq12", "\x1b_x", "\x1b(", "\x1bP1;"]
        {
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
        check("a\0b\x07c\x0bd\x0ce\x7ff\x01g\x0eh\u{85}i\u{9b}j", "abcdefghij");
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
        for chunk in
            ["\x1b[1mbold\x1b[m", "\x1b]0;t\x07", "a\r\n", "ab\x08c", "abc\rdef", "\x1b[1<2q", "\x1b[2K", "\u{85}"]
        {
            let mut cleaner = Cleaner::new();
            cleaner.push(chunk.as_bytes(), &mut |_| {});
            assert!(cleaner.place == Place::Text && cleaner.line.is_plain(), "{chunk:?}");
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
                cleaner.push(chunk.as_bytes(), &mut |piece| text.extend_from_slice(piece));
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
            // And the same for text that comes after something that needed work.
            prop_assert_eq!(shown(format!("\x1b[m\r{raw}").as_bytes()), raw.as_bytes());
        }

        #[test]
        fn the_pending_line_is_never_long(raw in output()) {
            prop_assert!(clean([raw.as_slice()]).1.len() <= LONGEST_LINE + BLOCK);
        }
    }
}
