//! `bashful run` at the terminal of a person: what it draws, and what keys do.

use std::path::Path;

use bashful_testkit::{Home, Terminal, eventually};

use crate::BASHFUL;

/// Runs until the file `go` is there, and tells its process id in the file `shell`.
const UNTIL_GO: &str = "echo $$ >new; mv new shell; until test -e go; do sleep 0.05; done";

/// Types a line that runs a script, whose text is in a file.
fn types_run(home: &Home, terminal: &Terminal<'_>, options: &str, script: &str, after: &str) {
    std::fs::write(home.path().join("script"), script).expect("a file");
    terminal.types(&["clear", "Enter"]);
    terminal.types(&[&format!("bashful run {options} \"$(cat script)\"{after}"), "Enter"]);
}

fn go(home: &Home) {
    std::fs::write(home.path().join("go"), "").expect("a file");
}

/// The state of the command's shell: `T` if it is stopped, none if it has ended.
fn state(home: &Home) -> Option<char> {
    let pid = std::fs::read_to_string(home.path().join("shell")).expect("a file");
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

#[test]
fn a_command_in_the_background_leaves_the_screen_to_the_person() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    // Without the check of the foreground, it is drawn after 0.3 s, and every 0.2 s from then on.
    let script = format!("echo first; sleep 1.2; touch later; {UNTIL_GO}; echo all done");
    types_run(&home, &terminal, "", &script, " &");
    terminal.shows("[1]");
    terminal.types(&["echo half a"]);
    home.wait_for("later");
    let screen = terminal.screen();
    assert!(screen.contains("person> echo half a") && !screen.contains("running"), "{screen}");
    terminal.types(&[" line $((6 * 7))", "Enter"]);
    terminal.shows("\nhalf a line 42\n");
    // In the foreground it is drawn.
    terminal.types(&["fg", "Enter"]);
    terminal.shows("● running");
    go(&home);
    terminal.shows("all done");
    terminal.loses("running");
}

#[test]
fn the_newest_lines_are_shown_and_erased() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "-t 100", &format!("seq 30; {UNTIL_GO}; echo all done"), "");
    let screen = terminal.shows("● running");
    let lines: Vec<&str> = screen.lines().collect();
    let first = lines.iter().position(|line| line.starts_with('…')).expect(&screen);
    assert_eq!(lines[first..first + 3], ["… 20 earlier lines", "  21", "  22"], "{screen}");
    assert!(lines[first + 11].contains("timeout 1m40s · 30 lines · 81B · Ctrl-C stops it"), "{screen}");
    // A screen with fewer rows gets fewer lines.
    terminal.resize(100, 8);
    terminal.shows("… 26 earlier lines");
    terminal.resize(100, 30);
    go(&home);
    terminal.shows("all done");
    terminal.loses("● running");
}

#[test]
fn control_z_suspends_program_and_command_and_fg_brings_both_back() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", &format!("{UNTIL_GO}; echo all done"), "; echo ended $?");
    home.wait_for("shell");
    terminal.shows("● running");
    terminal.types(&["C-z"]);
    let screen = terminal.shows("Stopped");
    assert!(screen.contains("\n[suspended; its timeout goes on; fg resumes it]\n"), "{screen}");
    assert!(!screen.contains("running") && !screen.contains("^Z"), "{screen}");
    assert!(eventually(|| state(&home) == Some('T')), "{:?}", state(&home));
    terminal.types(&["echo $((6 * 7))", "Enter"]);
    terminal.shows("\n42\n");
    assert_eq!(state(&home), Some('T'));
    terminal.types(&["fg; echo ended $?", "Enter"]);
    terminal.shows("● running");
    assert!(eventually(|| state(&home).is_some_and(|state| state != 'T')), "{:?}", state(&home));
    go(&home);
    let screen = terminal.shows("ended 0");
    assert!(screen.contains("\nall done\nended 0\n"), "{screen}");
}

#[test]
fn a_suspended_command_goes_on_in_the_background() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", &format!("{UNTIL_GO}; echo all done"), "");
    home.wait_for("shell");
    terminal.shows("● running");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    terminal.types(&["bg", "Enter"]);
    assert!(eventually(|| state(&home).is_some_and(|state| state != 'T')), "{:?}", state(&home));
    terminal.types(&["echo half a"]);
    terminal.shows("person> echo half a");
    go(&home);
    let screen = terminal.shows("all done");
    assert!(screen.contains("person> echo half a") && !screen.contains("running"), "{screen}");
}

#[test]
fn the_time_of_a_suspended_command_goes_on() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "-t 2", UNTIL_GO, "");
    home.wait_for("shell");
    terminal.shows("● running");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    assert!(eventually(|| state(&home).is_none()), "it outlives its time");
    terminal.types(&["fg; echo ended $?", "Enter"]);
    let screen = terminal.shows("ended 124");
    assert!(screen.contains("[command timed out after 2s]"), "{screen}");
}

#[test]
fn control_z_suspends_a_pipeline_too() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", &format!("{UNTIL_GO}; echo all done"), " | cat");
    home.wait_for("shell");
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    assert!(eventually(|| state(&home) == Some('T')), "{:?}", state(&home));
    terminal.types(&["fg", "Enter"]);
    go(&home);
    terminal.shows("\nall done\n");
}

#[test]
fn the_first_control_c_says_what_the_second_does() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    let script = format!("trap '' TERM; {UNTIL_GO}");
    types_run(&home, &terminal, "", &script, "; echo ended $?");
    home.wait_for("shell");
    terminal.shows("Ctrl-C stops it");
    terminal.types(&["C-c"]);
    terminal.shows("stopping; Ctrl-C again kills");
    assert!(state(&home).is_some());
    terminal.types(&["C-c"]);
    let screen = terminal.shows("ended 130");
    assert!(screen.contains("[command cancelled]\nended 130"), "{screen}");
    assert!(eventually(|| state(&home).is_none()));
}

#[test]
fn the_first_control_c_is_answered_where_output_goes_to_a_pipe() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", &format!("trap '' TERM; {UNTIL_GO}"), " >out; echo ended $?");
    home.wait_for("shell");
    terminal.types(&["C-c"]);
    terminal.shows("\n[stopping; Ctrl-C again kills]\n");
    terminal.types(&["C-c"]);
    terminal.shows("ended 130");
}

/// A script whose output has colors, and sequences that set a title and clear the screen.
const COLORS: &str = r"printf '\033]0;title\007\033[31mred\033[0m and \033[1;38;5;208morange\033[m\n\033[2Jplain\n'";

#[track_caller]
fn check_colors(before: &str, options: &str, expected: &str) {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    std::fs::write(home.path().join("script"), COLORS).expect("a file");
    terminal.types(&["clear", "Enter"]);
    terminal.types(&[&format!("{before} bashful run {options} \"$(cat script)\"; echo ended $?"), "Enter"]);
    let screen = terminal.shows("\nended 0\n");
    assert!(screen.contains("\nred and orange\nplain\nended 0\n"), "{screen}");
    let screen = terminal.styled_screen();
    assert_eq!(screen.lines().find(|line| line.contains("orange")), Some(expected), "{screen:?}");
    assert_ne!(terminal.facts("#{pane_title}"), "title");
}

const RED_AND_ORANGE: &str = "\u{1b}[31mred\u{1b}[39m and \u{1b}[1m\u{1b}[38;5;208morange";

#[test]
fn colors_of_the_command_stay_on_a_terminal_and_nothing_else_does() {
    check_colors("TERM=xterm", "", RED_AND_ORANGE);
}

#[test]
fn no_color_is_respected() {
    check_colors("TERM=xterm NO_COLOR=1", "", "red and orange");
    check_colors("TERM=xterm", "--color never", "red and orange");
    check_colors("TERM=dumb", "", "red and orange");
}

#[test]
fn color_always_is_stronger_than_no_color() {
    check_colors("TERM=xterm NO_COLOR=1", "--color always", RED_AND_ORANGE);
}

#[test]
fn the_live_display_has_the_colors_of_the_command() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", &format!("printf '\\033[32mgreen\\033[m\\n'; {UNTIL_GO}"), "");
    terminal.shows("● running");
    let screen = terminal.styled_screen();
    assert!(screen.contains("\n  \u{1b}[32mgreen") && screen.contains("\u{1b}[36m● running"), "{screen:?}");
    go(&home);
    terminal.loses("● running");
}

#[test]
fn colors_bring_no_withheld_value_to_the_screen() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    terminal.types(&["export API_TOKEN=hunter2hunter2", "Enter"]);
    let script = format!("printf '\\033[32mgreen\\033[m\\nhunter2\\033[31mhunter2\\033[m\\n'; {UNTIL_GO}");
    types_run(&home, &terminal, "", &script, "; echo ended $?");
    let screen = terminal.shows("● running");
    assert!(screen.contains("\n  green\n") && !screen.contains("hunter2"), "{screen}");
    go(&home);
    let screen = terminal.shows("\nended 0\n");
    assert!(screen.contains("\ngreen\n") && !screen.contains("hunter2"), "{screen}");
}

#[test]
fn a_trailing_head_is_still_a_limit_on_a_terminal_with_colors() {
    let home = Home::new(BASHFUL);
    let terminal = Terminal::shell(&home);
    types_run(&home, &terminal, "", "(printf '\\033[32mgreen\\033[m\\n'; seq 5; exit 3) | head -2", "; echo ended $?");
    let screen = terminal.shows("ended 3");
    assert!(screen.contains("green\n1\n") && !screen.contains("\n3\n"), "{screen}");
}
