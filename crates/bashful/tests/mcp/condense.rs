//! Condensed output over MCP, of real tools: in every dialect, and with their errors.

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::server::{Server, text};
use crate::{ends_well, home};

const ON: (&str, &str) = ("BASHFUL_CONDENSE_ENABLED", "true");

/// Sixty tests that pass, and one that fails if there is a file `fail`.
const TESTS: &str = "import os, unittest
class Passing(unittest.TestCase):
    pass
for number in range(60):
    setattr(Passing, f'test_case_{number:02}', lambda self: None)
class Other(unittest.TestCase):
    def test_other(self):
        self.assertFalse(os.path.exists('fail'))
";

const MAKEFILE: &str = "all: $(addprefix step,$(shell seq 10 69)) last
step%:; @echo '  CC      src/$@.o'
last:; @test ! -e fail || { echo 'src/last.c:3:1: error: expected a name'; exit 1; }
";

fn write(home: &Home, name: &str, text: &str) {
    std::fs::write(home.path().join(name), text).expect("a file");
}

/// The facts about the artifact, and its bytes as a client reads them.
#[track_caller]
fn artifact(server: &mut Server, result: &Value) -> (Value, String) {
    let facts = result["_meta"]["bashful/facts"]["artifact"].clone();
    let read = server.ask("resources/read", &json!({ "uri": facts["uri"] }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned();
    (facts, text)
}

#[test]
fn real_tests_are_condensed_and_their_failures_stay() {
    let home = home();
    write(&home, "test_all.py", TESTS);
    let mut server = Server::greeted(&home, &[], &[ON]);
    let command = json!({ "command": "python3 -m unittest -v" });
    let passing = server.call("bash", &command);
    let said = text(&passing);
    assert!(said.contains("\nRan 61 tests in ") && said.contains("\nOK\n"), "{said}");
    // The blank line behind them goes with them.
    assert!(said.contains("[left out: passing tests (62 lines)"), "{said}");
    assert!(said.ends_with("]\n[raw output: artifact://1]\n") && said.len() < 300, "{said}");
    let (facts, raw) = artifact(&mut server, &passing);
    assert_eq!((&facts["kind"], raw.matches(" ... ok\n").count()), (&json!("bash-original"), 61));
    let facts = &passing["_meta"]["bashful/facts"];
    assert_eq!(facts["output_bytes"], raw.len(), "the size of the raw output");
    assert_eq!(facts["shown"][0]["lines"], json!([1, facts["condensed"]["lines"]]), "the lines of the shorter one");
    write(&home, "fail", "");
    let failing = server.call("bash", &command);
    let said = text(&failing);
    for line in [
        "[command failed: exit code 1]\n",
        "FAIL: test_other (test_all.Other",
        "AssertionError: True is not false\n",
        "test_all.py\", line 8, in test_other\n",
        "\nFAILED (failures=1)\n",
        "[left out: passing tests (60 lines)",
        "\n[raw output: artifact://2]\n",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    ends_well(server, &home);
}

#[test]
fn every_dialect_says_what_is_missing_and_where_it_is() {
    let home = home();
    write(&home, "makefile", MAKEFILE);
    write(&home, "fail", "");
    for (dialect, variable) in [("native", ON), ("pi", ("LANG", "C.UTF-8")), ("plain", ON)] {
        let mut server = Server::greeted(&home, &["--dialect", dialect], &[variable]);
        let said = text(&server.call("bash", &json!({ "command": "make -k 2>&1" }))).to_owned();
        for part in [
            "src/last.c:3:1: error: expected a name",
            "make: *** [makefile:3: last] Error 1",
            "left out: compile steps (59 lines)",
            "raw output: artifact://",
        ] {
            assert!(said.contains(part), "{dialect}: {part} in {said}");
        }
        assert!(!said.contains("step10.o") && said.contains("step69.o"), "{dialect}: {said}");
        let tools = server.ask("tools/list", &json!({}))["result"].to_string();
        assert!(tools.contains("Lines that went well may be left out"), "{dialect}: {tools}");
        // The name in the reply is a file for the next command.
        if dialect != "plain" {
            let uri = said.rsplit("[raw output: ").next().and_then(|rest| rest.split(']').next()).expect("a name");
            let again = server.call("bash", &json!({ "command": format!("grep -c step {uri}") }));
            assert!(text(&again).starts_with("60\n"), "{}", text(&again));
        }
        server.close();
        assert!(server.end().success());
    }
    home.check_nothing_survives();
}

#[test]
fn it_is_off_unless_the_settings_say_otherwise() {
    let home = home();
    write(&home, "makefile", MAKEFILE);
    let off = ("BASHFUL_CONDENSE_PI_ENABLED", "false");
    let except = ("BASHFUL_CONDENSE_EXCEPT", "[\"builds\"]");
    for (dialect, variables) in [
        ("native", vec![]),
        ("plain", vec![]),
        ("pi", vec![off, ON]),
        ("pi", vec![except]),
        ("native", vec![ON, except]),
    ] {
        let mut server = Server::greeted(&home, &["--dialect", dialect], &variables);
        let said = text(&server.call("bash", &json!({ "command": "make" }))).to_owned();
        assert!(said.contains("step10.o") && !said.contains("artifact://"), "{dialect}: {said}");
        server.close();
        assert!(server.end().success());
    }
    home.check_nothing_survives();
}

#[test]
fn many_files_of_a_real_repository_are_listed_without_loss() {
    let home = home();
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &[]);
    let files =
        "git init -q -b main app && cd app && mkdir views && touch views/page_{10..49}.html && git status -uall";
    // A list with commands that no filter knows stays as it is.
    let raw = text(&server.call("bash", &json!({ "command": files }))).to_owned();
    assert!(raw.contains("\tviews/page_10.html\n\tviews/page_11.html\n"), "{raw}");
    let said = text(&server.call("bash", &json!({ "command": "git status -uall", "cwd": "app" }))).to_owned();
    let numbers: Vec<String> = (10..50).map(|number| number.to_string()).collect();
    assert!(said.contains(&format!("\tviews/page_{{{}}}.html\n", numbers.join(","))), "{said}");
    assert!(said.contains("paths grouped by directory (40 lines)]\n[raw output: artifact://1]\n"), "{said}");
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn filters_of_the_user_apply_and_a_wrong_one_keeps_a_server_that_condenses_from_starting() {
    let home = home();
    let settings = home.path().join(".config/bashful");
    std::fs::create_dir_all(&settings).expect("a directory");
    let filters = "family = \"own\"\n[[filter]]\nname = \"deploy\"\ncommands = [\"deploy\"]\n[[filter.rule]]\ndo = \"drop\"\n\
                   label = \"uploads\"\nlines = ['^uploaded \\S+$']\n[[filter.example]]\ncommand = \"deploy\"\n\
                   input = \"uploaded a\\nrest\\n\"\noutput = \"rest\\n\"\n";
    write(&home, ".config/bashful/filters.toml", filters);
    write(&home, "deploy", "for n in {100..160}; do echo uploaded site/$n.html; done; echo deployed");
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &[("BASHFUL_CONDENSE_ONLY", "[\"deploy\"]")]);
    let said = text(&server.call("bash", &json!({ "command": "chmod +x deploy && ./deploy" }))).to_owned();
    assert!(said.starts_with("deployed\n[left out: uploads (61 lines)]\n[raw output: artifact://1]\n"), "{said}");
    server.close();
    assert!(server.end().success());
    write(&home, ".config/bashful/filters.toml", &filters.replace("'^uploaded \\S+$'", "'(', '^uploaded'"));
    // Nobody uses the filters where nothing is condensed.
    for args in [&["mcp"][..], &["run", "true"], &["run", "--dialect", "native", "true"]] {
        let output = home.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    for args in [&["mcp", "--dialect", "pi"][..], &["run", "--dialect", "pi", "true"]] {
        let output = home.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        let place = "filters.toml: line 8: filter deploy: an expression cannot be used: ";
        assert!(said.contains(place), "{said}");
    }
    std::fs::remove_file(settings.join("filters.toml")).expect("it is there");
    let output = home
        .command(&["mcp", "--dialect", "pi"])
        .env("BASHFUL_CONDENSE_EXCEPT", "[\"nothing\"]")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("`[condense] except` in the settings: there is no filter and no family \"nothing\""),
        "{said}"
    );
    home.check_nothing_survives();
}

#[test]
fn people_and_pipes_get_every_byte_and_programs_the_shorter_text() {
    let home = home();
    write(&home, "makefile", MAKEFILE);
    let run = |args: &[&str]| {
        let output = home.command(&[&["run"], args, &["make"]].concat()).env(ON.0, ON.1).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(run(&[]).lines().count(), 60);
    let facts: Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    assert_eq!((&facts["output_lines"], &facts["condensed"]["lines"]), (&json!(60), &json!(1)));
    let end = "[left out: compile steps (59 lines)]\n[raw output: artifact://1]\n";
    assert_eq!(facts["output"], format!("  CC      src/step69.o\n{end}"));
    let facts: Value = serde_json::from_str(&run(&["--json", "--split"])).expect("JSON");
    assert_eq!(facts["stdout"].as_str().map(|text| text.lines().count()), Some(60));
    assert!(run(&["--dialect", "pi"]).contains("step69.o\n[left out: compile steps (59 lines)]\n"));
}

#[test]
fn savings_are_summed_up() {
    let home = home();
    write(&home, "makefile", MAKEFILE);
    write(&home, "test_all.py", TESTS);
    let none = home.run(&["log", "--savings"]);
    assert_eq!(String::from_utf8_lossy(&none.stderr), "[no output was condensed: 0 commands ended]\n");
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &[]);
    for command in ["make", "python3 -m unittest -v", "make", "seq 1000"] {
        server.call("bash", &json!({ "command": command }));
    }
    server.close();
    assert!(server.end().success());
    let logged = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
    let lines: Vec<Value> = logged.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let raw_bytes = 60 * "  CC      src/step10.o\n".len();
    assert_eq!(lines[0]["condensed"]["before_bytes"], raw_bytes);
    assert_eq!((&lines[0]["condensed"]["filters"], &lines[3]["condensed"]), (&json!(["make"]), &Value::Null));
    let savings = home.run(&["log", "--savings", "--json"]).stdout;
    let savings: Value = serde_json::from_slice(&savings).expect("JSON");
    assert_eq!((&savings["ended"], &savings["total"]["commands"]), (&json!(4), &json!(3)));
    let of = |filter: &str| {
        let rows = savings["by_filter"].as_array().expect("a list");
        rows.iter().find(|row| row["filters"] == json!([filter])).unwrap_or_else(|| panic!("{savings}")).clone()
    };
    let (make, tests) = (of("make"), of("unittest"));
    assert_eq!((&make["commands"], &make["before_bytes"]), (&json!(2), &json!(2 * raw_bytes)));
    assert_eq!(tests["families"], json!(["tests"]));
    let number = |value: &Value| value.as_u64().expect("a number");
    let saved = number(&make["saved_bytes"]) + number(&tests["saved_bytes"]);
    assert_eq!(number(&savings["total"]["saved_bytes"]), saved);
    assert_eq!(number(&savings["total"]["saved_tokens"]), saved.div_ceil(4));
    let table = String::from_utf8_lossy(&home.run(&["log", "--savings"]).stdout).into_owned();
    assert!(table.contains("builds  make ") && table.contains("3 of 4 commands"), "{table}");
    assert!(home.run(&["log", "--savings", "--since", "0s"]).stdout.is_empty());
    assert_eq!(home.run(&["log", "--savings", "-f"]).status.code(), Some(125));
    home.check_nothing_survives();
}
