//! Lines that filters once took for good news, and that have to stay.

use bashful_condense::{Condensed, Condenser, FilterError};
use bashful_guard::Sequence;

/// The text that a reader gets.
fn shown(script: &str, output: &str, status: i32) -> String {
    let commands = Sequence::of(script).unwrap_or_else(|| panic!("{script} is a sequence"));
    match Condenser::default().condense(&commands, output, Some(status)) {
        Condensed::Shorter { text, .. } => text,
        Condensed::Unchanged => output.to_owned(),
    }
}

#[track_caller]
fn check_stays(script: &str, output: &str, status: i32, lines: &[&str]) {
    let text = shown(script, output, status);
    for line in lines {
        assert!(output.lines().any(|own| own == *line), "{line:?} is in the output");
        assert!(text.lines().any(|kept| kept == *line), "{script}: {line:?} is missing in\n{text}");
    }
}

fn repeated(line: impl Fn(usize) -> String, times: usize) -> String {
    (0..times).map(line).collect()
}

#[test]
fn a_downloaded_table_is_no_meter() {
    let table = repeated(|row| format!("{row} 2 3 4 5 6 7 8 9 10 11 12\n"), 40);
    for script in
        ["curl -s http://x/table", "curl --silent http://x/table", "curl -fsSL http://x/table", "curl http://x/t"]
    {
        assert_eq!(shown(script, &table, 0), table, "{script}");
    }
}

#[test]
fn values_in_logs_are_not_merged() {
    let access = repeated(|row| format!("10.0.0.1 - GET /a {} 12ms\n", if row == 20 { 500 } else { 200 }), 40);
    check_stays("docker logs web", &access, 0, &["10.0.0.1 - GET /a 500 12ms"]);
    let text = shown("docker logs web", &access, 0);
    assert!(text.lines().count() < 10, "the others are merged:\n{text}");
    let pods = repeated(|row| format!("pod ready {}/5 exit {}\n", 5 - row % 6, row * 3), 40);
    assert_eq!(shown("kubectl logs x", &pods, 0), pods);
    let heat = repeated(|row| format!("[   12.{row:06}] thermal: temperature {}C\n", 70 + row), 40);
    assert_eq!(shown("dmesg", &heat, 0), heat);
    let orders = repeated(|row| format!("worker KeyError: order {}\n", row / 20), 40);
    assert_eq!(shown("docker logs worker", &orders, 0), orders);
    let oom = repeated(|_| "worker was hit by OOM\n".to_owned(), 40);
    assert_eq!(shown("docker logs worker", &oom, 0), oom);
}

#[test]
fn commands_that_only_show_what_they_would_do_are_left_alone() {
    let steps = repeated(|row| format!("cc -c -o src/f{row}.o src/f{row}.c\n"), 40);
    assert!(shown("make", &steps, 0).len() < 200);
    for script in [
        "make -n",
        "make --dry-run",
        "make --dry",
        "make --just-print",
        "make --recon",
        "MAKEFLAGS=n make",
        "export MAKEFLAGS=-n; make",
        "env MAKEFLAGS=n make",
        "make MAKEFLAGS=n",
    ] {
        assert_eq!(shown(script, &steps, 0), steps, "{script}");
    }
}

#[test]
fn a_name_that_the_script_gives_to_something_else_is_left_alone() {
    let steps = repeated(|row| format!("cc -c -o src/f{row}.o src/f{row}.c\n"), 40);
    for script in ["alias make=./deploy; make", "trap './report' EXIT; make"] {
        assert_eq!(shown(script, &steps, 0), steps, "{script}");
    }
    assert_eq!(Sequence::of("make() { ./deploy; }; make"), None);
}

#[test]
fn the_lines_of_a_format_are_no_lines_of_a_tool() {
    let output = repeated(|row| format!("test money::splits_{row} ... ok\n"), 40) + "test result: ok. 40 passed\n";
    assert!(shown("cargo test; printf 'done\\n'", &output, 0).len() < 100);
    for script in [
        r"cargo test; printf 'a\ntest fake ... ok\n'",
        r"cargo test; echo -e 'a\ntest fake ... ok'",
        r"cargo test; printf 'test %s ... ok\n' fake",
    ] {
        assert_eq!(shown(script, &output, 0), output, "{script}");
    }
}

#[test]
fn another_command_of_the_list_keeps_its_lines() {
    let output = repeated(|row| format!("Collecting package-{row}\n"), 40)
        + "Successfully installed package-1\n  Created 2 of 5 rows\nUpdated users\n\nRan 1 test in 0.001s\n\nOK\n";
    let script = "pip install x && python -m unittest -v";
    check_stays(script, &output, 0, &["  Created 2 of 5 rows", "Updated users"]);
    assert!(shown(script, &output, 0).len() < 300);
    let checks =
        repeated(|row| format!("checking for header-{row}.h... yes\n"), 40) + "config.status: creating Makefile\n";
    assert!(shown("./configure", &checks, 0).len() < 200);
    assert_eq!(shown("./configure && make", &checks, 0), checks, "`checking … yes` may be make's");
}

#[test]
fn trees_of_processes_keep_their_form() {
    let output = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n".to_owned()
        + &repeated(
            |row| format!("root        {row:4}  0.0  0.0   2920  1784 ?        SN   10:44   0:00  \\_ sleep\n"),
            40,
        );
    assert!(shown("ps aux", &output, 0).len() < output.len());
    for script in ["ps axuf", "ps auxf", "ps aux f", "ps fax", "ps -ef f", "ps -eH", "ps aux --forest", "ps aux --for"]
    {
        assert_eq!(shown(script, &output, 0), output, "{script}");
    }
}

#[test]
fn a_failure_is_named_by_an_error_and_not_by_a_vague_word() {
    let output = repeated(|row| format!("test money::splits_{row} ... ok\n"), 40)
        + "compiler identification is unknown\ntest result: ok. 40 passed; 0 failed\n";
    assert_eq!(shown("cargo test", &output, 1), output);
}

fn with_lines(lines: &str) -> Result<(), FilterError> {
    let text = format!(
        "family = \"own\"\n[[filter]]\nname = \"deploy\"\ncommands = [\"deploy\"]\n[[filter.rule]]\ndo = \"drop\"\n\
         label = \"uploads\"\nlines = [\n{lines}\n]\n[[filter.example]]\ncommand = \"deploy\"\ninput = \"uploaded\\nx\\n\"\n\
         output = \"x\\n\"\n"
    );
    Condenser::default().add_filters(&text)
}

#[test]
fn an_expression_of_the_user_means_a_whole_line() {
    let mut condenser = Condenser::default();
    let text = "family = \"own\"\n[[filter]]\nname = \"deploy\"\ncommands = [\"deploy\"]\n[[filter.rule]]\ndo = \"drop\"\n\
                label = \"uploads\"\nlines = ['uploaded']\n[[filter.example]]\ncommand = \"deploy\"\n\
                input = \"uploaded\\nuploaded nothing: quota reached\\n\"\noutput = \"uploaded nothing: quota reached\\n\"\n";
    condenser.add_filters(text).expect("the example says what the expression means");
    let twice = format!("{text}{}", text.strip_prefix("family = \"own\"\n").expect("it begins so"));
    let error = condenser.add_filters(&twice).expect_err("two of one name").to_string();
    assert_eq!(error, "line 14: filter deploy: the name is there twice");
}

#[test]
fn a_rule_about_errors_is_refused_in_every_form() {
    with_lines("'^uploaded$'").expect("it is about uploads");
    for lines in [
        "'^uploaded$', '^ERROR .*$'",
        "'^(uploaded|fatal: .*)$'",
        "'^uploaded( with \\d+ warnings)?$'",
        "'^uploaded$', '^\\[(info|error)\\] .*$'",
        "'^uploaded$', '^[a-z]+: .*$'",
        "'^uploaded$', '^upload (done|failed)$'",
    ] {
        let error = with_lines(lines).expect_err(lines);
        assert!(matches!(error, FilterError::TooWide { .. }), "{lines}: {error}");
    }
    let error = with_lines("'^uploaded$',\n'('").expect_err("no expression");
    assert!(matches!(error, FilterError::Expression { line: 10, .. }), "{error}");
}
