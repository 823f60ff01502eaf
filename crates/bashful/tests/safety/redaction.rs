//! Withheld values stay out of output, however a program writes them and whichever part is read.

use std::path::Path;
use std::process::Command;

use bashful_testkit::Home;

use crate::BASHFUL;

const LABEL: &str = "[withheld: DEPLOY_SECRET]";

/// A secret of several lines, in a file `key` as a variable cannot hold it: with a newline at its end.
fn home_with(secret: &str) -> Home {
    let home = Home::new(BASHFUL);
    std::fs::write(home.path().join("key"), format!("{secret}\n")).expect("a file");
    home
}

fn key() -> String {
    let body: Vec<String> = (0..12).map(|line| format!("MIIE+{line:02}/{}", "aZ3+x/9Q".repeat(7))).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", body.join("\n"))
}

/// All that is said, which holds no piece of the lines of the secret.
#[track_caller]
fn said(home: &Home, secret: &str, args: &[&str]) -> String {
    let output = home.command(args).env("DEPLOY_SECRET", secret).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines = secret.split(|char: char| char.is_control()).filter(|line| !line.starts_with("-----"));
    for piece in lines.flat_map(|line| line.as_bytes().windows(12)) {
        let piece = String::from_utf8_lossy(piece);
        assert!(!said.contains(&*piece), "{args:?}: {piece} in {said}");
    }
    said
}

#[test]
fn lines_and_encodings_of_a_key_are_not_shown() {
    let (secret, home) = (key(), home_with(&key()));
    let check = |script: &str, labels: usize| {
        for args in [&["run", script][..], &["run", "--dialect", "native", script]] {
            let said = said(&home, &secret, args);
            assert_eq!(said.matches(LABEL).count(), labels, "{args:?}: {said}");
            assert!(!said.contains("LS0tLS1CRUdJ"), "{said}");
        }
    };
    check("cat key", 1);
    check("sed -n 2,3p key", 2);
    check("cat -n key", 12);
    check("tr '\\n' ' ' < key", 12);
    check("base64 -w0 key", 1);
    check("base64 key; true", key().len().div_ceil(57));
    check("printf '%q' \"$(cat key)\"", 1);
    check("x=$(<key); declare -p x", 1);
    check("python3 -c 'import json; print(json.dumps(open(\"key\").read()))'", 1);
    check("sed 's|/|\\\\/|g' key | sed -n 4p", 1);
}

#[test]
fn control_characters_do_not_hide_a_value() {
    for secret in [
        "first-secret-value\r",
        "left-part-of-it\u{1b}[31mright-part-of-it\u{1b}[0m",
        "abcdefghijklmnopqrstuvwxyz0123456789\rZYXWVUTSRQPO",
    ] {
        let home = home_with(secret);
        for script in ["cat key", "echo \"key is $(cat key)\""] {
            for args in [&["run", script][..], &["run", "--dialect", "pi", script]] {
                let said = said(&home, secret, args);
                assert!(said.contains(LABEL), "{args:?}: {said}");
            }
        }
    }
}

#[test]
fn parts_of_artifacts_and_jobs_show_no_piece_of_a_value() {
    let (secret, home) = (key(), home_with(&key()));
    said(&home, &secret, &["run", "--dialect", "native", "seq 1000; cat key; seq 100000"]);
    said(&home, &secret, &["run", "--mode", "background", "echo begin; cat key"]);
    said(&home, &secret, &["jobs", "wait", "1"]);
    let begin = (1..=1000).map(|number| format!("{number}\n").len()).sum::<usize>();
    for offset in [1, 30, 64, 70, 100, 500, 700] {
        let at = begin + offset;
        let bytes = format!("{at}-{}", at + 40);
        assert_eq!(said(&home, &secret, &["artifacts", "show", "1", "--bytes", &bytes]), LABEL);
        let since = (offset + 6).to_string();
        let shown = said(&home, &secret, &["jobs", "show", "1", "--since", &since]);
        assert!(shown.contains(&format!("{LABEL}\n")), "{shown}");
        assert!(said(&home, &secret, &["jobs", "logs", "1", "--since", &since]).starts_with(LABEL));
    }
    for (args, labels) in
        [(&["--lines", "1002-1004"][..], 1), (&["--grep", "MIIE"], 12), (&["--head", "1003"], 1), (&[], 1)]
    {
        let shown = said(&home, &secret, &[&["artifacts", "show", "1"], args].concat());
        assert_eq!(shown.matches(LABEL).count(), labels, "{args:?}");
    }
    let raw = home.command(&["artifacts", "show", "1", "--lines", "1002-1002", "--raw"]).output().expect("it runs");
    assert!(raw.stdout.starts_with(b"MIIE+00/"));
}

#[test]
fn a_proxy_reaches_commands_and_its_password_no_reader() {
    let home = Home::new(BASHFUL);
    let proxy = "http://me:pass%2Fword-1234@proxy.example.com:3128";
    let script = "echo $https_proxy | tr a-z A-Z | md5sum; echo $https_proxy; echo 'pass/word-1234'";
    let output = home.command(&["run", script]).env("https_proxy", proxy).output().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let label = "[withheld: https_proxy password]";
    assert!(shown.ends_with(&format!("http://me:{label}@proxy.example.com:3128\n{label}\n")), "{shown}");
    let plain = Command::new("bash").args(["-c", script]).env("https_proxy", proxy).output().expect("it runs");
    assert_eq!(shown.lines().next(), String::from_utf8_lossy(&plain.stdout).lines().next());
}

#[test]
fn a_command_that_fails_for_want_of_a_variable_is_told_why() {
    let home = Home::new(BASHFUL);
    let run = |args: &[&str]| {
        let output = home.command(args).env("OPENAI_API_KEY", "sk-12345678").env("GH_TOKEN", "ghp_12345678").output();
        let output = output.expect("it runs");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let notice =
        r#"[OPENAI_API_KEY is withheld from commands; the user can pass it: [environment] allow = ["OPENAI_API_KEY"]]"#;
    let fails = "echo 'the OPENAI_API_KEY environment variable is not set'; exit 1";
    for args in [&["run"][..], &["run", "--dialect", "native"], &["run", "--dialect", "pi"]] {
        let said = run(&[args, &[fails]].concat());
        assert_eq!(said.matches(notice).count(), 1, "{args:?}: {said}");
        assert_eq!(run(&[args, &[r#"test -n "$OPENAI_API_KEY""#]].concat()).matches(notice).count(), 1);
        for silent in ["echo $OPENAI_API_KEY", "exit 1", "echo sk-12345678; exit 1", "exit 1 # MY_OPENAI_API_KEY"] {
            assert!(!run(&[args, &[silent]].concat()).contains("allow ="), "{args:?} {silent}");
        }
    }
    let both = run(&["run", "--dialect", "native", "echo $GH_TOKEN $OPENAI_API_KEY; exit 1"]);
    assert!(both.contains(" are withheld from commands; the user can pass them: [environment] allow = "), "{both}");
    // The advice works, and earlier exceptions stay.
    let settings = home.path().join("settings.toml");
    write_settings(&settings, "[environment]\nallow = [\"OPENAI_API_KEY\"]\n");
    let settings = settings.to_string_lossy().into_owned();
    let script = "echo $OPENAI_API_KEY ${GH_TOKEN-gone} $GIT_ASKPASS";
    let mut command = home.command(&["--config", &settings, "run", script]);
    command.env("OPENAI_API_KEY", "sk-12345678").env("GH_TOKEN", "ghp_12345678").env("GIT_ASKPASS", "/bin/ask");
    assert_eq!(command.output().expect("it runs").stdout, b"sk-12345678 gone /bin/ask\n");
}

fn write_settings(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
}

#[test]
fn the_names_in_force_are_shown() {
    let home = Home::new(BASHFUL);
    for args in [&["config", "--defaults"][..], &["config"]] {
        let output = home.command(args).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        for name in bashful_engine::EnvironmentPolicy::WITHHELD.iter().chain(bashful_engine::EnvironmentPolicy::ALLOWED)
        {
            assert!(text.contains(&format!("\"{name}\"")), "{args:?}: {name}");
        }
    }
}
