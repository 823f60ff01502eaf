//! Any bytes at any size leave a readable screen, also with resizes and skips among them, and decode as keys.
#![no_main]

use std::time::{Duration, Instant};

use bashful_screen::{Budget, KeyDecoder, Screen, Size};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [columns, rows, rest @ ..] = bytes else { return };
    let mut screen = Screen::with_scrollback(Size::new(u16::from(*columns) * 2, (*rows).into()), 50);
    let start = Instant::now();
    let mut decoder = KeyDecoder::default();
    // 0xF8 is in no valid text: here it stands for an event other than output.
    for (index, part) in rest.split(|&byte| byte == 0xf8).enumerate() {
        let (event, output) = match part {
            [event, output @ ..] if index > 0 => (*event, output),
            _ => (0, part),
        };
        match event {
            1..=100 => screen.resize(Size::new(u16::from(event) * 4, u16::from(event))),
            101..=120 => screen.skip(output),
            _ => {}
        }
        let mut left = output;
        while !left.is_empty() {
            let fed = screen.feed(left, Budget(1000));
            assert!(fed.consumed > 0 && fed.work < 1000 + Budget::LARGEST_STEP);
            left = &left[fed.consumed..];
        }
        let cursor = screen.cursor();
        assert!(cursor.row < screen.size().rows() && cursor.column < screen.size().columns());
        decoder.feed(output, start + Duration::from_millis(index as u64));
    }
    let snapshot = screen.snapshot();
    assert_eq!(snapshot.rows.len(), usize::from(screen.size().rows()));
    assert!(snapshot.rows.iter().all(|row| !row.contains(|c: char| c.is_control())));
    for row in 0..screen.size().rows() {
        screen.row_styled(row);
    }
    for line in 0..screen.scrollback() {
        screen.scrollback_text(line);
    }
    screen.take_answers(start);
    decoder.expire(start + Duration::from_secs(60));
});
