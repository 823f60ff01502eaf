//! The notes at the end of the document.

use serde_json::json;

use super::{INTERCEPTOR, Pi};

#[test]
fn a_rule_whose_tool_is_missing_is_disabled() {
    let mut pi = Pi::with(&[INTERCEPTOR[0], ("BASHFUL_INTERCEPTOR_TOOLS", r#"["write"]"#)]);
    pi.write("file", "text\n");
    assert_eq!(pi.output(&json!({ "command": "cat file" })), "text");
    assert!(pi.refused(&json!({ "command": "echo x > file" })).starts_with("Blocked: Use the `write` tool"));
    pi.end();
}

#[test]
fn without_the_setting_nothing_is_intercepted() {
    let mut pi = Pi::with(&INTERCEPTOR[1..]);
    pi.write("file", "text\n");
    assert_eq!(pi.output(&json!({ "command": "cat file" })), "text");
    pi.end();
}

#[test]
fn the_default_rules_lead_to_the_tools_that_do_better() {
    let mut pi = Pi::with(&INTERCEPTOR);
    for (tool, commands) in [
        ("read", &["cat a", "head -5 a", "tail a", "less a", "more a"][..]),
        ("search", &["grep x a", "rg x", "ripgrep x", "ag x", "ack x"]),
        ("find", &["find . -name a", "find . -type f", "fd --type f a", "locate -iname a", "find . -iname a"]),
        ("edit", &["sed -i s/a/b/ f", "sed --in-place s/a/b/ f", "perl -pi -e s/a/b/ f", "awk -i inplace 1 f"]),
        ("write", &["echo x > f", "printf x >> f", "cat <<E > f\nx\nE"]),
    ] {
        for command in commands {
            let refused = pi.refused(&json!({ "command": command }));
            assert!(refused.starts_with(&format!("Blocked: Use the `{tool}` tool")), "{command}: {refused}");
            assert!(refused.ends_with(&format!("\n\nOriginal command: {command}")), "{refused}");
        }
    }
    for command in ["echo x | cat", "seq 3 | grep 2", "echo 'cat a'", "echo x > /dev/null"] {
        assert!(!pi.bash(&json!({ "command": command })).text.starts_with("Blocked"), "{command}");
    }
    pi.end();
}

#[test]
fn commands_get_the_non_interactive_environment_and_the_callers_wins() {
    let mut pi = Pi::new();
    let script = "echo $PAGER $GIT_PAGER $EDITOR $GIT_EDITOR $GIT_TERMINAL_PROMPT $SSH_ASKPASS $CI $npm_config_yes";
    assert_eq!(pi.output(&json!({ "command": script })), "cat cat true true 0 /bin/false 1 true");
    let given = json!({ "command": "echo $PAGER $GIT_PAGER", "env": { "PAGER": "mine" } });
    assert_eq!(pi.output(&given), "mine cat");
    pi.end();
}

#[test]
fn minimized_output_has_a_footer_that_names_the_original() {
    let mut pi = Pi::new();
    pi.write("makefile", "all: $(addprefix step,$(shell seq 10 49))\nstep%:; @echo '  CC      $@.o'\n");
    let result = pi.bash(&json!({ "command": "make" }));
    assert!(result.text.contains("\n[raw output: artifact://1]\n\nWall time: "), "{}", result.text);
    assert_eq!(result.details["meta"]["condensed"]["artifactType"], "bash-original");
    let original = pi.output(&json!({ "command": "grep -c CC artifact://1" }));
    assert_eq!(original, "40");
    pi.end();
}
