use super::*;
use proptest::prelude::*;

const SMALL: Window = Window::middle(ByteSize(5000), ByteSize(40));

fn view(window: Window, bytes: &[u8], chunk: usize) -> View {
    let mut view = View::new(window);
    for chunk in bytes.chunks(chunk.max(1)) {
        view.push(chunk);
    }
    view
}

fn any_window() -> impl Strategy<Value = Window> {
    let budget = |bytes: std::ops::Range<u64>| {
        (bytes, proptest::option::of(0_u64..60)).prop_map(|(bytes, lines)| Budget { bytes: ByteSize(bytes), lines })
    };
    let sizes = prop_oneof![Just(Sizes::AtLeast), Just(Sizes::AtMost)];
    (budget(0..6000), budget(0..3000), budget(0..3000), sizes).prop_map(|(whole, head, tail, sizes)| Window {
        whole,
        head,
        tail,
        sizes,
        columns: None,
    })
}

fn lines_of(bytes: &[u8]) -> u64 {
    bytes.split_inclusive(|byte| *byte == b'\n').count() as u64
}

proptest! {
    #[test]
    fn a_smaller_budget_holds_whatever_is_shown_and_leaves_the_numbers_true(
        bytes in proptest::collection::vec(prop_oneof![4 => 32_u8..127, 1 => Just(b'\n')], 0..9000),
        window in any_window(),
        most in 2100_u64..6000,
    ) {
        let smaller = window.within(Budget::bytes(ByteSize(most)));
        let shown = |clip: &Clip| match clip {
            Clip::Whole(bytes) => bytes.len() as u64,
            Clip::Cut { head, tail, .. } => (head.bytes.len() + tail.bytes.len()) as u64,
        };
        let at_once = view(smaller, &bytes, 1000).clip();
        let afterwards = view(window, &bytes, 1000).clip().within(smaller);
        prop_assert!(shown(&at_once) <= most && shown(&afterwards) <= most);
        if let Clip::Cut { head, omitted, tail } = afterwards {
            let middle = usize::try_from(omitted.bytes).expect("small");
            prop_assert_eq!(head.bytes.len() + middle + tail.bytes.len(), bytes.len());
            prop_assert!(bytes.starts_with(&head.bytes) && bytes.ends_with(&tail.bytes));
            prop_assert_eq!(&bytes[usize::try_from(tail.range.start).expect("small")..], &tail.bytes[..]);
            if !tail.bytes.is_empty() {
                let before = &bytes[..bytes.len() - tail.bytes.len()];
                prop_assert_eq!(tail.first_line, 1 + count_newlines(before));
            }
        }
    }

    #[test]
    fn what_is_shown_and_what_is_omitted_make_up_the_whole(
        bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..9000),
        chunk in 1_usize..3000,
        window in any_window(),
    ) {
        let view = view(window, &bytes, chunk);
        prop_assert_eq!(view.bytes(), bytes.len() as u64);
        prop_assert_eq!(view.lines(), lines_of(&bytes));
        match view.clip() {
            Clip::Whole(shown) => prop_assert_eq!(shown, bytes),
            Clip::Cut { head, omitted, tail } => {
                prop_assert!(!view.is_whole() && omitted.bytes > 0);
                let middle = usize::try_from(omitted.bytes).expect("small");
                prop_assert_eq!(head.bytes.len() + middle + tail.bytes.len(), bytes.len());
                prop_assert!(bytes.starts_with(&head.bytes) && bytes.ends_with(&tail.bytes));
                prop_assert_eq!(&head.range, &(0..head.bytes.len() as u64));
                prop_assert_eq!(&tail.range, &((head.bytes.len() + middle) as u64..bytes.len() as u64));
                prop_assert_eq!(head.last_line, lines_of(&head.bytes));
                prop_assert_eq!(tail.last_line, lines_of(&bytes));
                let before_tail = &bytes[..bytes.len() - tail.bytes.len()];
                if !tail.bytes.is_empty() {
                    prop_assert_eq!(tail.first_line, 1 + count_newlines(before_tail));
                }
                let mut begin = 0;
                let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
                    begin += line.len() as u64;
                    begin - line.len() as u64..begin
                });
                let unseen = lines.filter(|line| line.start >= head.range.end && line.end <= tail.range.start).count();
                prop_assert_eq!(omitted.lines, unseen as u64);
                prop_assert!(window.head.lines.is_none_or(|most| lines_of(&head.bytes) <= most));
                prop_assert!(window.tail.lines.is_none_or(|most| lines_of(&tail.bytes) <= most));
                if window.sizes == Sizes::AtMost {
                    prop_assert!(head.bytes.len() as u64 <= window.head.bytes.0);
                    prop_assert!(tail.bytes.len() as u64 <= window.tail.bytes.0);
                }
            }
        }
    }

    #[test]
    fn text_is_never_cut_inside_a_character(text in "[aé€😀]{2000,4000}", chunk in 1_usize..500) {
        let window = Window::middle(ByteSize(1500), ByteSize(40));
        if let Clip::Cut { head, tail, .. } = view(window, text.as_bytes(), chunk).clip() {
            prop_assert!(std::str::from_utf8(&head.bytes).is_ok());
            prop_assert!(std::str::from_utf8(&tail.bytes).is_ok());
        }
    }

    #[test]
    fn memory_stays_within_the_window(chunks in proptest::collection::vec(1_usize..9000, 1..60)) {
        let mut view = View::new(SMALL);
        let block = vec![b'x'; 9000];
        for size in chunks {
            view.push(&block[..size]);
            prop_assert!(view.first.len() <= 5000 && view.last.len() <= 2 * (40 + REACH));
        }
    }
}

#[test]
fn cuts_are_at_line_borders_where_lines_are_sane() {
    let text = (1..=2000).fold(String::new(), |text, number| text + &format!("line {number}\n"));
    let Clip::Cut { head, omitted, tail } = view(SMALL, text.as_bytes(), 64).clip() else { panic!("not cut") };
    assert_eq!(String::from_utf8_lossy(&head.bytes), "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\n");
    assert_eq!(String::from_utf8_lossy(&tail.bytes), "line 1997\nline 1998\nline 1999\nline 2000\n");
    assert_eq!((head.last_line, tail.first_line, tail.last_line, omitted.lines), (6, 1997, 2000, 1990));
}

#[test]
fn one_endless_line_is_cut_too() {
    let Clip::Cut { head, omitted, tail } = view(SMALL, &vec![b'x'; 100_000], 4096).clip() else { panic!("not cut") };
    assert_eq!((head.bytes.len(), tail.bytes.len(), omitted.lines), (40, 40, 0));
    assert_eq!((head.last_line, tail.first_line, tail.last_line), (1, 1, 1));
}

#[test]
fn the_newest_part_begins_with_a_line() {
    let view = view(SMALL, b"one\ntwo\nthree\nfo", 3);
    assert_eq!(view.newest(11), b"three\nfo");
    assert_eq!(view.newest(100), b"one\ntwo\nthree\nfo");
}

#[test]
fn the_newest_part_of_an_endless_line_is_cut_where_it_must() {
    assert_eq!(view(SMALL, &vec![b'x'; 9000], 100).newest(10), b"xxxxxxxxxx");
}

#[test]
fn what_is_left_out_is_put_down_to_the_limit_that_cut() {
    let text = (1..=2000).fold(String::new(), |text, number| text + &format!("line {number}\n"));
    let by = |window: Window| match view(window, text.as_bytes(), 100).clip() {
        Clip::Whole(_) => panic!("not cut"),
        Clip::Cut { omitted, .. } => omitted.by,
    };
    let number = |count| NonZeroU64::new(count).expect("not zero");
    // The limit on bytes is exceeded too, but far fewer lines are wanted than would fit.
    let (tail, head) = (Window::tail(ByteSize::kib(4)), Window::head(ByteSize::kib(4)));
    assert_eq!(by(tail.of_lines(Lines::Last(number(5)))), LimitHit::Lines);
    assert_eq!(by(head.of_lines(Lines::First(number(5)))), LimitHit::Lines);
    // So many lines do not fit.
    assert_eq!(by(tail.of_lines(Lines::Last(number(1500)))), LimitHit::Bytes);
    assert_eq!(by(head.of_lines(Lines::First(number(1500)))), LimitHit::Bytes);
    assert_eq!((by(tail), by(head)), (LimitHit::Bytes, LimitHit::Bytes));
    assert_eq!(by(Window::both_ends(10, ByteSize::kib(4))), LimitHit::Lines);
    assert_eq!(by(Window::both_ends(10, ByteSize::mib(4))), LimitHit::Lines);
    assert_eq!(by(Window::both_ends(1900, ByteSize::kib(4))), LimitHit::Bytes);
}

#[test]
fn policies_show_what_their_names_say() {
    let text = (1..=2000).fold(String::new(), |text, number| text + &format!("line {number}\n"));
    let shown = |window| match view(window, text.as_bytes(), 100).clip() {
        Clip::Whole(_) => panic!("not cut"),
        Clip::Cut { head, tail, .. } => {
            let text = |part: Part| String::from_utf8(part.bytes).expect("text");
            (text(head), text(tail))
        }
    };
    assert_eq!(shown(Window::tail(ByteSize(25))), (String::new(), "line 1999\nline 2000\n".to_owned()));
    assert_eq!(shown(Window::head(ByteSize(15))), ("line 1\nline 2\n".to_owned(), String::new()));
    let both = shown(Window::both_ends(4, ByteSize::kib(4)));
    assert_eq!(both, ("line 1\nline 2\n".to_owned(), "line 1999\nline 2000\n".to_owned()));
}
