//! `bashful mcp install --approve`, `--replace` and `--remove`: settings before, settings after, and the same settings again.

use std::fs;
use std::path::Path;
use std::process::Output;

use bashful_testkit::{Home, Terminal};
use serde_json::{Value, json};

use crate::BASHFUL;

/// A home with a project in it, from which everything is installed.
struct Setting {
    home: Home,
}

impl Setting {
    fn new() -> Self {
        let home = Home::new(BASHFUL);
        fs::create_dir(home.path().join("project")).expect("made");
        Self { home }
    }

    fn project(&self) -> String {
        self.home.path().join("project").canonicalize().expect("there").display().to_string()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.home.command(&[&["mcp", "install"], args].concat());
        command.current_dir(self.home.path().join("project")).output().expect("it runs")
    }

    #[track_caller]
    fn installs(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.home.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.home.path().join(file)).expect(file)
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).expect("JSON")
    }

    /// All directories and files, our own state among them, and what is in the files.
    fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(self.home.path(), &mut files);
        files.sort();
        files
    }
}

fn collect(directory: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).expect("there").flatten() {
        if entry.path().is_dir() {
            files.push((format!("{}/", entry.path().display()), String::new()));
            collect(&entry.path(), files);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push((entry.path().display().to_string(), text));
        }
    }
}

/// Settings as somebody may have them, for every client with approvals.
fn with_settings() -> Setting {
    let setting = Setting::new();
    setting.write(".claude.json", "{\n  \"numStartups\": 3\n}\n");
    setting.write(".claude/settings.json", "{\n  \"permissions\": {\n    \"deny\": [\"WebFetch\"] // mine\n  }\n}\n");
    setting.write(".codex/config.toml", "# mine\nmodel = \"x\"\n\n[features]\nhooks = true # on\n\n[tui]\na = 1\n");
    setting.write(".gemini/settings.json", "{ \"security\": {} }\n");
    setting.write(".gemini/trustedFolders.json", "{\n  \"/elsewhere\": \"DO_NOT_TRUST\"\n}\n");
    setting.write(".qwen/settings.json", "{\r\n\t\"permissions\": {\"deny\": [\"a\"]}\r\n}\r\n");
    setting.write(".copilot/permissions-config.json", "{\"locations\":{\"/elsewhere\":{\"tool_approvals\":[]}}}");
    setting.write(".config/opencode/opencode.jsonc", "{\n  // mine\n  \"tools\": { \"write\": false },\n}\n");
    setting
}

#[test]
fn approvals_are_written_where_each_client_reads_them() {
    let setting = Setting::new();
    let here = setting.project();
    for client in ["claude", "codex", "gemini", "qwen", "copilot", "opencode"] {
        let said = setting.installs(&[client, "--approve", "--yes"]);
        assert!(said.contains("will run every command of this tool without asking you"), "{said}");
    }
    assert_eq!(setting.json(".claude.json")["mcpServers"]["bashful"]["alwaysLoad"], true);
    assert_eq!(setting.json(".claude/settings.json"), json!({ "permissions": { "allow": ["mcp__bashful"] } }));
    let codex = setting.read(".codex/config.toml");
    assert!(
        codex.contains("\ndefault_tools_approval_mode = \"approve\"\nsupports_parallel_tool_calls = true\n"),
        "{codex}"
    );
    assert_eq!(setting.json(".gemini/settings.json")["mcpServers"]["bashful"]["trust"], true);
    assert_eq!(setting.json(".gemini/trustedFolders.json"), json!({ &here: "TRUST_FOLDER" }));
    let qwen = &setting.json(".qwen/settings.json")["mcpServers"]["bashful"];
    assert_eq!((&qwen["trust"], &qwen["alwaysLoadTools"]), (&json!(true), &json!(true)));
    assert_eq!(setting.json(".qwen/trustedFolders.json"), json!({ &here: "TRUST_FOLDER" }));
    let approval = json!([{ "kind": "mcp", "serverName": "bashful", "toolName": null }]);
    assert_eq!(setting.json(".copilot/permissions-config.json")["locations"][&here]["tool_approvals"], approval);
    assert_eq!(setting.json(".config/opencode/opencode.json")["permission"], json!({ "bashful_*": "allow" }));
}

#[test]
fn replacing_turns_the_clients_own_shell_off() {
    let setting = Setting::new();
    for client in ["claude", "codex", "gemini", "qwen", "copilot", "opencode"] {
        let said = setting.installs(&[client, "--replace", "--yes"]);
        assert!(said.contains("without asking you"), "it includes --approve: {said}");
        assert_eq!(said.contains("copilot --excluded-tools=bash,"), client == "copilot", "{said}");
    }
    let claude = json!({ "permissions": { "allow": ["mcp__bashful"], "deny": ["Bash"] } });
    assert_eq!(setting.json(".claude/settings.json"), claude);
    assert!(setting.read(".codex/config.toml").ends_with("\n[features]\nshell_tool = false\n"));
    assert!(
        setting
            .read(".gemini/policies/bashful.toml")
            .contains("toolName = \"run_shell_command\"\ndecision = \"deny\"\n")
    );
    assert_eq!(setting.json(".qwen/settings.json")["permissions"]["deny"], json!(["run_shell_command"]));
    assert_eq!(setting.json(".qwen/settings.json")["tools"]["exclude"], json!(["run_shell_command"]));
    assert_eq!(setting.json(".config/opencode/opencode.json")["tools"], json!({ "bash": false }));
}

#[test]
fn yes_alone_approves_nothing() {
    for client in ["claude", "codex", "gemini", "qwen", "copilot", "opencode"] {
        let setting = Setting::new();
        let said = setting.installs(&[client, "--yes"]);
        assert!(!said.contains("without asking you"), "{said}");
        let mut files = setting.files();
        files.retain(|(name, _)| !name.ends_with('/') && !name.contains("/.local/state/"));
        assert_eq!(files.len(), 1, "the server's file alone");
        let text = files.remove(0).1;
        for word in ["approve", "trust", "allow", "alwaysLoad", "permission", "parallel"] {
            assert!(!text.contains(word), "{text}");
        }
        assert_eq!(said.contains("--approve"), client != "opencode", "what is left to do is said: {said}");
    }
}

#[test]
fn removing_gives_the_files_back_byte_for_byte() {
    for client in ["claude", "codex", "gemini", "qwen", "copilot", "opencode"] {
        for project in [&[][..], &["--project"]] {
            for steps in [&[&["--replace"][..]][..], &[&[], &["--approve"], &["--replace"]], &[&["--approve"], &[]]] {
                for setting in [with_settings(), Setting::new()] {
                    let before = setting.files();
                    for step in steps {
                        setting.installs(&[&[client, "--yes"], project, step].concat());
                        assert_ne!(setting.files(), before);
                    }
                    setting.installs(&[&[client, "--yes", "--remove"], project].concat());
                    assert_eq!(setting.files(), before, "{client} {project:?} {steps:?}");
                }
            }
        }
    }
}

#[test]
fn removing_leaves_everything_that_the_user_had() {
    let setting = Setting::new();
    let settings = "{\n  \"permissions\": {\n    \"allow\": [\"mcp__bashful\"],\n    \"deny\": [\"Bash\"]\n  }\n}\n";
    setting.write(".claude/settings.json", settings);
    setting.write(".codex/config.toml", "[features]\nshell_tool = false\n");
    setting.write(".config/opencode/opencode.json", "{ \"tools\": { \"bash\": true } }\n");
    let before = setting.files();
    for client in ["claude", "codex", "opencode"] {
        setting.installs(&[client, "--replace", "--yes"]);
    }
    assert_eq!(setting.json(".config/opencode/opencode.json")["tools"]["bash"], false);
    for client in ["opencode", "codex", "claude"] {
        setting.installs(&[client, "--remove", "--yes"]);
    }
    assert_eq!(setting.files(), before, "a value that was replaced comes back");
}

#[test]
fn removing_spares_changes_that_were_made_since() {
    let setting = Setting::new();
    for client in ["claude", "codex", "gemini"] {
        setting.installs(&[client, "--replace", "--yes"]);
    }
    // As the client itself writes them, in another order and with more in them.
    let claude =
        json!({ "model": "x", "permissions": { "deny": ["Bash", "WebFetch"], "allow": ["mcp__bashful", "Read"] } });
    setting.write(".claude/settings.json", &claude.to_string());
    let codex = setting.read(".codex/config.toml").replace("shell_tool = false", "shell_tool = true\nhooks = true");
    setting.write(".codex/config.toml", &codex);
    let policy = format!("{}\n[[rule]]\n", setting.read(".gemini/policies/bashful.toml"));
    setting.write(".gemini/policies/bashful.toml", &policy);
    for (client, is_left) in [("claude", false), ("codex", true), ("gemini", true)] {
        let said = setting.installs(&[client, "--remove", "--yes"]);
        assert_eq!(said.contains("was changed since, and is left as it is"), is_left, "{said}");
    }
    let left = json!({ "model": "x", "permissions": { "deny": ["WebFetch"], "allow": ["Read"] } });
    assert_eq!(setting.json(".claude/settings.json"), left);
    assert_eq!(setting.read(".codex/config.toml"), "[features]\nshell_tool = true\nhooks = true\n");
    assert_eq!(setting.read(".gemini/policies/bashful.toml"), policy);
}

#[test]
fn an_entry_keeps_the_keys_that_others_have_added() {
    let setting = Setting::new();
    setting.installs(&["gemini", "--yes"]);
    let text = setting.read(".gemini/settings.json");
    setting.write(".gemini/settings.json", &text.replace("\"args\":", "\"timeout\": 5,\n      \"args\":"));
    setting.installs(&["gemini", "--approve", "--yes"]);
    let entry = &setting.json(".gemini/settings.json")["mcpServers"]["bashful"];
    assert_eq!((&entry["timeout"], &entry["trust"]), (&json!(5), &json!(true)));
}

#[test]
fn an_entry_of_the_users_own_comes_back() {
    let setting = Setting::new();
    let own = "{\n  \"mcpServers\": {\n    \"bashful\": {\n      \"command\": \"/my/wrapper\",\n      \"env\": {}\n    }\n  }\n}\n";
    setting.write(".gemini/settings.json", own);
    setting.write(".codex/config.toml", "[mcp_servers.bashful]\nurl = \"http://x\"\n");
    setting.write(
        ".qwen/settings.json",
        "{ \"mcpServers\": { \"bashful\": { \"command\": \"bashful\", \"args\": [\"mcp\"] } } }\n",
    );
    for client in ["gemini", "codex", "qwen"] {
        setting.installs(&[client, "--yes"]);
        setting.installs(&[client, "--approve", "--yes"]);
        setting.installs(&[client, "--remove", "--yes"]);
    }
    assert_eq!(setting.read(".gemini/settings.json"), own);
    assert_eq!(setting.read(".codex/config.toml"), "[mcp_servers.bashful]\nurl = \"http://x\"\n");
    let qwen = setting.read(".qwen/settings.json");
    assert_eq!(qwen, "{ \"mcpServers\": {} }\n", "an earlier installation goes as a whole");
}

#[test]
fn a_project_is_approved_for_one_person() {
    let setting = Setting::new();
    let here = setting.project();
    setting.installs(&["claude", "--project", "--approve", "--yes"]);
    assert_eq!(setting.json("project/.mcp.json")["mcpServers"]["bashful"]["alwaysLoad"], true);
    let local = json!({ "permissions": { "allow": ["mcp__bashful"] }, "enabledMcpjsonServers": ["bashful"] });
    assert_eq!(setting.json("project/.claude/settings.local.json"), local);
    setting.installs(&["codex", "--project", "--replace", "--yes"]);
    assert!(setting.read("project/.codex/config.toml").contains("[features]\nshell_tool = false\n"));
    assert_eq!(setting.read(".codex/config.toml"), format!("[projects.\"{here}\"]\ntrust_level = \"trusted\"\n"));
    setting.installs(&["gemini", "--project", "--replace", "--yes"]);
    assert_eq!(setting.json("project/.gemini/settings.json")["tools"]["exclude"], json!(["run_shell_command"]));
    assert!(!setting.home.path().join(".gemini/policies").exists(), "that would hold for every project");
    setting.installs(&["copilot", "--project", "--approve", "--yes"]);
    assert_eq!(setting.json(".copilot/config.json"), json!({ "trustedFolders": [here] }));
}

#[test]
fn the_home_directory_and_folders_that_are_not_trusted_stay_so() {
    let home = Home::new(BASHFUL);
    for (client, file) in [("gemini", ".gemini/trustedFolders.json"), ("copilot", ".copilot/permissions-config.json")] {
        let output = home.run(&["mcp", "install", client, "--approve", "--yes"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("that would trust everything in it"), "{said}");
        assert!(!home.path().join(file).exists());
    }
    let setting = Setting::new();
    let distrusted = json!({ setting.project(): "DO_NOT_TRUST" }).to_string();
    setting.write(".gemini/trustedFolders.json", &distrusted);
    let said = setting.installs(&["gemini", "--approve", "--yes"]);
    assert!(said.contains("you have told Gemini CLI not to trust"), "{said}");
    assert_eq!(setting.read(".gemini/trustedFolders.json"), distrusted);
}

#[test]
fn copilot_is_approved_for_the_repository_that_holds_the_directory() {
    let setting = Setting::new();
    fs::create_dir_all(setting.home.path().join("project/.git")).expect("made");
    fs::create_dir_all(setting.home.path().join("project/sub")).expect("made");
    let mut command = setting.home.command(&["mcp", "install", "copilot", "--approve", "--yes"]);
    let output = command.current_dir(setting.home.path().join("project/sub")).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let locations = &setting.json(".copilot/permissions-config.json")["locations"];
    assert!(locations.as_object().is_some_and(|all| all.keys().eq([&setting.project()])), "{locations}");
}

#[test]
fn codex_users_are_told_that_the_sandbox_does_not_hold_the_server() {
    let setting = Setting::new();
    for args in [&["codex", "--yes"][..], &["codex", "--approve", "--yes"], &["codex", "--replace", "--dry-run"]] {
        let said = setting.installs(args);
        assert!(said.contains("Codex's sandbox does not hold MCP servers"), "{said}");
    }
}

#[test]
fn users_of_claude_code_are_told_of_its_auto_mode_and_its_sandbox() {
    let setting = Setting::new();
    for (args, check) in [
        (&["claude", "--dry-run"][..], "decides about each command"),
        (&["claude", "--approve", "--dry-run"], "skips every command"),
    ] {
        let said = setting.installs(args);
        assert!(said.contains(&format!("[auto mode: Claude Code's safety check {check} of this tool")), "{said}");
        assert!(said.contains("Claude Code's sandbox holds its own shell alone"), "{said}");
    }
}

#[test]
fn clients_that_keep_approvals_to_themselves_are_named() {
    let setting = Setting::new();
    let said = setting.installs(&["cursor", "--replace", "--yes"]);
    assert!(
        said.contains("--approve writes nothing for Cursor") && said.contains("--replace writes nothing"),
        "{said}"
    );
    assert!(!said.contains("without asking you"), "{said}");
}

#[test]
fn all_changes_are_shown_before_one_question() {
    let setting = Setting::new();
    let project = setting.project();
    let line = format!("cd {project}; {BASHFUL} mcp install gemini --replace; echo \"ended $?\"; sleep 1000");
    let terminal = Terminal::run(&setting.home, &line);
    let screen = terminal.shows("write it? [y/N]");
    for shown in ["trustedFolders.json", "policies/bashful.toml", "\"trust\": true", "without asking you"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    assert!(!setting.home.path().join(".gemini").exists(), "not before the answer");
    terminal.types(&["n", "Enter"]);
    terminal.shows("ended 1");
    assert!(!setting.home.path().join(".gemini").exists());
}

#[test]
fn a_file_that_cannot_be_changed_leaves_all_others_alone() {
    let setting = Setting::new();
    setting.write(".claude/settings.json", "{ \"permissions\": { \"allow\": \"all\" } }");
    let before = setting.files();
    let output = setting.run(&["claude", "--approve", "--yes"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains("permissions.allow should be a list"), "{said}");
    assert!(said.contains("\"allow\": [\"mcp__bashful\"]"), "the lines to paste: {said}");
    assert_eq!(setting.files(), before);
}
