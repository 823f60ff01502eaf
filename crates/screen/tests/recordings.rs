//! Recorded programs look as they look in tmux, however their output is cut.
//!
//! `recordings/record.py` has recorded them.

use bashful_screen::{Budget, Screen, Size, Snapshot};

/// The size at which the programs were recorded.
fn recorded_size() -> Size {
    Size::new(60, 15)
}

fn feed_all(screen: &mut Screen, mut bytes: &[u8], budget: Budget) {
    while !bytes.is_empty() {
        let fed = screen.feed(bytes, budget);
        assert!(fed.consumed > 0, "a budget above 0 makes progress");
        bytes = &bytes[fed.consumed..];
    }
}

/// The screen after the output has been fed in pieces of `length` bytes.
fn snapshot_in_pieces(output: &[u8], length: usize, budget: Budget) -> Snapshot {
    let mut screen = Screen::new(recorded_size());
    for piece in output.chunks(length) {
        feed_all(&mut screen, piece, budget);
    }
    // The counter counts steps, and those depend on the pieces.
    Snapshot { generation: 0, ..screen.snapshot() }
}

#[track_caller]
fn check(output: &[u8], tmux: &str) {
    let whole = snapshot_in_pieces(output, output.len(), Budget::UNLIMITED);
    assert_eq!(whole.text().trim_end(), tmux.trim_end());
    for length in [1, 2, 3, 7, 100] {
        assert_eq!(snapshot_in_pieces(output, length, Budget::UNLIMITED), whole, "in pieces of {length} bytes");
    }
    assert_eq!(snapshot_in_pieces(output, output.len(), Budget(1)), whole, "in the smallest steps");
}

macro_rules! recordings {
    ($($name:ident: $file:literal,)*) => { $(
        #[test]
        fn $name() {
            check(include_bytes!(concat!("recordings/", $file, ".bytes")), include_str!(concat!("recordings/", $file, ".txt")));
        }
    )* };
}

recordings! {
    vim_looks_as_in_tmux: "vim",
    less_looks_as_in_tmux: "less",
    top_looks_as_in_tmux: "top",
    the_python_prompt_looks_as_in_tmux: "python",
    git_log_in_a_pager_looks_as_in_tmux: "git-log",
    a_menu_of_dialog_looks_as_in_tmux: "dialog",
    whiptail_with_line_drawing_looks_as_in_tmux: "whiptail",
}
