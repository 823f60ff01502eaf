//! Values as real programs print them.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::Edges;
use super::tests::{any_value, mask, masked, piece_seen};

/// A value of which every encoder leaves other characters as they are.
const VALUE: &str = "it's ''(1 00%)~*a+b/c!=ü&\"$x`";

#[test]
fn a_value_is_found_as_other_programs_print_it() {
    let mask = mask(&[("API", VALUE)]);
    for (program, printed) in [
        ("Python: quote", "it%27s%20%27%27%281%2000%25%29~%2Aa%2Bb/c%21%3D%C3%BC%26%22%24x%60"),
        ("Python: quote_plus", "it%27s+%27%27%281+00%25%29~%2Aa%2Bb%2Fc%21%3D%C3%BC%26%22%24x%60"),
        ("curl 7.88 -G --data-urlencode", "it%27s+%27%27%281+00%25%29~%2aa%2bb%2fc%21%3d%c3%bc%26%22%24x%60"),
        ("Node: encodeURIComponent, jq 1.6: @uri", "it's%20''(1%2000%25)~*a%2Bb%2Fc!%3D%C3%BC%26%22%24x%60"),
        ("Node: encodeURI", "it's%20''(1%2000%25)~*a+b/c!=%C3%BC&%22$x%60"),
        ("Node: URL.password", "it's%20''(1%2000%)~*a+b%2Fc!%3D%C3%BC&%22$x%60"),
        ("Node: URLSearchParams", "it%27s+%27%27%281+00%25%29%7E*a%2Bb%2Fc%21%3D%C3%BC%26%22%24x%60"),
        ("Python: shlex.quote", r#"it'"'"'s '"'"''"'"'(1 00%)~*a+b/c!=ü&"$x`"#),
        ("dash: set", r#"it'"'"'s '"''"'(1 00%)~*a+b/c!=ü&"$x`"#),
        ("bash: set, jq: @sh", r#"it'\''s '\'''\''(1 00%)~*a+b/c!=ü&"$x`"#),
        ("bash: declare -p", r#"it's ''(1 00%)~*a+b/c!=ü&\"\$x\`"#),
        ("bash: printf %q", r#"it\'s\ \'\'\(1\ 00%\)~\*a+b/c\!=ü\&\"\$x\`"#),
    ] {
        assert_eq!(masked(&mask, &format!("<{printed}>")), "<[withheld: API]>", "{program}");
    }
}

/// Prints every value that it gets in every way that Python has.
const SCRIPT: &str = r"
import base64, json, shlex, sys, urllib.parse as url
print(json.dumps([[
    url.quote(value), url.quote(value, safe=''), url.quote_plus(value), url.urlencode({'x': value}),
    shlex.quote(value), json.dumps(value), json.dumps(value, ensure_ascii=False),
    base64.b64encode(value.encode()).decode(), base64.encodebytes(value.encode()).decode(),
] for value in json.load(sys.stdin)]))
";

#[test]
fn no_piece_of_a_value_is_shown_however_python_prints_it() {
    let mut runner = TestRunner::deterministic();
    let values = any_value().prop_map(|value| value + VALUE);
    let values: Vec<String> = (0..100).map(|_| values.new_tree(&mut runner).expect("a value").current()).collect();
    let mut python = Command::new("python3");
    let mut python = python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    let input = serde_json::to_vec(&values).expect("JSON");
    python.stdin.take().expect("a pipe").write_all(&input).expect("it reads");
    let output = python.wait_with_output().expect("it ends").stdout;
    let printed: Vec<Vec<String>> = serde_json::from_slice(&output).expect("JSON");
    assert_eq!(printed.len(), values.len());
    for (value, forms) in values.iter().zip(printed) {
        let mask = mask(&[("SECRET", value)]);
        for form in forms {
            let hidden: Vec<_> = form.split('\n').map(|line| line.trim_end_matches('=').as_bytes().to_vec()).collect();
            let shown = mask.apply(form.as_bytes(), Edges::None).unwrap_or(form.into_bytes());
            assert_eq!(piece_seen(&shown, &hidden), None, "{value:?}");
        }
    }
}
