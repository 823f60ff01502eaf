//! Shows the screen that recorded output leads to: `cargo run --example replay -- FILE [COLUMNS ROWS]`.
//!
//! With `--time` it feeds the file for a while instead, and prints how fast that is and what a unit of work costs.

use std::time::{Duration, Instant};

use bashful_screen::{Budget, Screen, Size};

#[expect(clippy::print_stdout, reason = "the example is a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let path = words.first().ok_or("usage: replay [--time] FILE [COLUMNS ROWS]")?;
    let output = std::fs::read(path)?;
    let size = match &words[1..] {
        [columns, rows] => Size::new(columns.parse()?, rows.parse()?),
        _ => Size::default(),
    };
    let mut screen = Screen::new(size);
    if flags.iter().any(|flag| flag == "--time") {
        println!("{}", measure(&mut screen, &output));
        return Ok(());
    }
    let mut rest = output.as_slice();
    while !rest.is_empty() {
        let fed = screen.feed(rest, Budget::default());
        rest = &rest[fed.consumed..];
    }
    for row in 0..size.rows() {
        println!("{}", screen.row_styled(row));
    }
    let cursor = screen.cursor();
    println!("cursor in row {}, column {}; title {:?}", cursor.row, cursor.column, screen.title());
    Ok(())
}

/// Feeds `output` again and again for half a second.
fn measure(screen: &mut Screen, output: &[u8]) -> String {
    let start = Instant::now();
    let (mut bytes, mut work) = (0u64, 0u64);
    while start.elapsed() < Duration::from_millis(500) {
        let fed = screen.feed(output, Budget(2_000_000));
        bytes += fed.consumed as u64;
        work += fed.work;
    }
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let (rate, unit) = (bytes * 1000 / nanoseconds, work * 1000 / nanoseconds);
    format!("{rate} MB/s, {} ns a byte, {unit} units a microsecond", nanoseconds / bytes.max(1))
}
