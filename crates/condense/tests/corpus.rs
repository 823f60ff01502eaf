//! The filters against real outputs.

mod cases;

use std::path::Path;

use bashful_condense::Condenser;
use cases::Case;
use cases::savings::Savings;

fn corpus() -> Vec<Case> {
    cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).expect("the corpus is in the repository")
}

#[test]
fn nothing_that_must_survive_is_lost() {
    let condenser = Condenser::default();
    let mut musts = 0;
    for case in corpus() {
        for output in std::iter::once(&case.output).chain(&case.terminal) {
            for status in [case.status, 0, 1] {
                let case = Case { status, ..case.clone() };
                if let Some((text, _)) = case.condense(&condenser, output) {
                    assert_eq!(case.lost(output, &text), Vec::<&str>::new(), "{}, status {status}:\n{text}", case.name);
                }
            }
        }
        musts += case.musts.len();
    }
    assert!(musts > 500, "there are {musts} of them");
}

#[test]
fn no_output_gets_longer_and_twice_is_once() {
    let condenser = Condenser::default();
    for case in corpus() {
        let Some((text, dropped)) = case.condense(&condenser, &case.output) else { continue };
        assert!(text.len() + dropped.note().len() < case.output.len(), "{}", case.name);
        assert_eq!(case.condense(&condenser, &text), None, "{}", case.name);
        assert_eq!(case.condense(&condenser, &case.output), Some((text, dropped)), "{} again", case.name);
    }
}

#[test]
fn pipes_data_differences_and_other_languages_stay_as_they_are() {
    let condenser = Condenser::default();
    let mut count = 0;
    for case in corpus() {
        let is_alone = ["pipe", "json", "diff", "locale", "locale_de"].contains(&case.family())
            || ["git diff", "git show", "git blame", "git log"].iter().any(|start| case.command.starts_with(start));
        if is_alone {
            count += 1;
            assert_eq!(case.condense(&condenser, &case.output), None, "{}", case.name);
        }
    }
    assert!(count > 15, "there are {count} of them");
}

#[test]
fn a_failed_run_keeps_at_least_as_much_as_one_that_passed() {
    let condenser = Condenser::default();
    for case in corpus() {
        let passed = Case { status: 0, ..case.clone() }.condense(&condenser, &case.output);
        let failed = Case { status: 1, ..case.clone() }.condense(&condenser, &case.output);
        assert!(failed.is_none() || failed == passed, "{}", case.name);
    }
}

#[test]
fn an_output_that_was_cut_short_gets_no_line_of_its_own() {
    let condenser = Condenser::default();
    for case in corpus().into_iter().filter(|case| !case.output.contains(['\r', '\u{1B}'])) {
        for tenths in 1..10 {
            let cut = &case.output[..case.output.floor_char_boundary(case.output.len() * tenths / 10)];
            let Some((text, dropped)) = case.condense(&condenser, cut) else { continue };
            if dropped.rewritten.is_empty() {
                let foreign = text.lines().find(|line| !cut.lines().any(|own| own == *line));
                assert_eq!(foreign, None, "{} at {tenths}/10", case.name);
            }
        }
    }
}

#[test]
fn outputs_get_as_short_as_promised() {
    let savings = Savings::of(&Condenser::default(), &corpus());
    let (passing, failing) = savings.of_tools(&["tests", "builds", "installs", "progress"]);
    let (listings, _) = savings.of_tools(&["listings"]);
    assert!(passing >= Some(60.0), "{passing:?} % of passing runs");
    assert!(failing >= Some(20.0), "{failing:?} % of failing runs");
    assert!(listings >= Some(40.0), "{listings:?} % of listings");
}

#[test]
fn a_filter_for_another_tool_loses_nothing_either() {
    let condenser = Condenser::default();
    let commands = [
        "pytest",
        "cargo test",
        "cargo nextest run",
        "go test ./...",
        "npm test",
        "make test",
        "ninja",
        "cmake -B b",
        "ctest",
        "./configure",
        "mvn test",
        "./gradlew build",
        "dotnet test",
        "npm run build",
        "pip install x",
        "uv sync",
        "npm install",
        "apt-get install x",
        "curl x",
        "wget x",
        "docker build .",
        "docker pull x",
        "git clone x",
        "git status",
        "rspec",
        "phpunit",
    ];
    for case in corpus().iter().filter(|case| !case.musts.is_empty()) {
        for command in commands {
            let case = Case { command: command.to_owned(), ..case.clone() };
            if let Some((text, _)) = case.condense(&condenser, &case.output) {
                assert_eq!(case.lost(&case.output, &text), Vec::<&str>::new(), "{} as {command}:\n{text}", case.name);
            }
        }
    }
}

/// bash is the oracle: grouped paths mean to it what they stand for.
#[test]
fn grouped_paths_are_the_same_paths_to_bash() {
    let condenser = Condenser::default();
    let is_plain = |line: &&str| line.chars().all(|letter| letter.is_alphanumeric() || "_./@+-{},".contains(letter));
    let mut count = 0;
    for case in corpus().into_iter().filter(|case| ["find", "tar"].contains(&case.family())) {
        let Some((text, _)) = case.condense(&condenser, &case.output) else { continue };
        let shown: Vec<&str> = text.lines().filter(is_plain).collect();
        let script = format!("printf '%s\\n' {}", shown.join(" "));
        let expanded = std::process::Command::new("bash").args(["-c", &script]).output().expect("bash runs");
        let expected: Vec<&str> = case.output.lines().filter(is_plain).collect();
        let expanded = String::from_utf8_lossy(&expanded.stdout).into_owned();
        assert_eq!(expanded.lines().collect::<Vec<_>>(), expected, "{}", case.name);
        count += expected.len();
    }
    assert!(count > 300, "there are {count} paths");
}
