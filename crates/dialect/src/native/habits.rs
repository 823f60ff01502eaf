//! Arguments of `bash` in the habit of other agents' shell tools, on which models were trained.

use serde_json::{Map, Value};

use crate::approval::shell_quoted;

/// Other names of arguments, the name here, and the notice.
const NAMES: [(&str, &str, &str); 3] = [
    ("cmd", "command", "`cmd` is `command` here"),
    ("workdir", "cwd", "`workdir` is `cwd` here"),
    ("dir_path", "cwd", "`dir_path` is `cwd` here"),
];

/// Flags for a mode, and the notice.
const BACKGROUND: [(&str, &str); 2] = [
    ("run_in_background", "`run_in_background` is mode \"background\" here"),
    ("is_background", "`is_background` is mode \"background\" here"),
];

/// Arguments that may be empty, or zero, which means that they are absent.
const MAY_BE_EMPTY: [&str; 5] = ["mode", "timeout", "cwd", "session", "env"];

/// The arguments by their names here, and notices about what was taken another way than it was given.
pub(crate) fn translate(arguments: Value) -> (Value, Vec<&'static str>) {
    let Value::Object(mut given) = arguments else { return (arguments, Vec::new()) };
    let mut notices = Vec::new();
    // It is for the people who watch.
    given.remove("description");
    for (other, name, notice) in NAMES {
        if !is_there(&given, name)
            && let Some(value) = given.remove(other)
        {
            given.insert(name.to_owned(), value);
            notices.push(notice);
        }
    }
    for (flag, notice) in BACKGROUND {
        match given.get(flag).map(Value::as_bool) {
            Some(Some(true)) if !is_there(&given, "mode") => {
                given.insert("mode".to_owned(), "background".into());
                notices.push(notice);
            }
            Some(Some(_)) => {}
            _ => continue,
        }
        given.remove(flag);
    }
    if let Some(Value::Array(words)) = given.get("command") {
        let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(shell_quoted)).collect();
        if let Some(words) = words {
            given.insert("command".to_owned(), words.join(" ").into());
            notices.push("`command` is a script here; the list was quoted");
        }
    }
    if let Some(seconds) = given.get("timeout").and_then(Value::as_str).and_then(|text| text.trim().parse::<f64>().ok())
    {
        given.insert("timeout".to_owned(), seconds.into());
    }
    for name in MAY_BE_EMPTY {
        if !is_there(&given, name) {
            given.remove(name);
        }
    }
    (Value::Object(given), notices)
}

/// True for an argument that says something.
fn is_there(given: &Map<String, Value>, name: &str) -> bool {
    match given.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => name != "timeout" || number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(given: Value, expected: Value, told: usize) {
        let (translated, notices) = translate(given);
        assert_eq!((translated, notices.len()), (expected, told));
    }

    #[test]
    fn names_of_other_agents_are_taken_and_told() {
        check(json!({ "cmd": "ls", "workdir": "/x" }), json!({ "command": "ls", "cwd": "/x" }), 2);
        check(
            json!({ "command": "ls", "dir_path": "/x", "description": "List" }),
            json!({ "command": "ls", "cwd": "/x" }),
            1,
        );
        check(
            json!({ "command": "ls", "run_in_background": true }),
            json!({ "command": "ls", "mode": "background" }),
            1,
        );
        check(json!({ "command": "ls", "is_background": false }), json!({ "command": "ls" }), 0);
        check(
            json!({ "command": ["bash", "-lc", "echo 'a b'"] }),
            json!({ "command": "bash '-lc' 'echo '\\''a b'\\'''" }),
            1,
        );
    }

    #[test]
    fn empty_arguments_are_absent_and_numbers_may_be_text() {
        check(
            json!({ "command": "ls", "cwd": "", "session": "", "timeout": 0, "mode": null }),
            json!({ "command": "ls" }),
            0,
        );
        check(json!({ "command": "ls", "timeout": "20" }), json!({ "command": "ls", "timeout": 20.0 }), 0);
    }

    #[test]
    fn contradictions_and_strangers_stay_for_the_parser_to_refuse() {
        check(json!({ "command": "ls", "cmd": "rm" }), json!({ "command": "ls", "cmd": "rm" }), 0);
        check(json!({ "command": "ls", "timout": 3 }), json!({ "command": "ls", "timout": 3 }), 0);
        check(json!({ "command": [1] }), json!({ "command": [1] }), 0);
        check(json!("ls"), json!("ls"), 0);
    }
}
