//! `bashful mcp install`: the settings of clients, changed in their own places and nowhere else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use bashful_testkit::{Home, Terminal};
use serde_json::{Value, json};

use crate::BASHFUL;

fn home() -> Home {
    Home::new(BASHFUL)
}

fn install(home: &Home, args: &[&str]) -> Output {
    home.run(&[&["mcp", "install"], args].concat())
}

#[track_caller]
fn installs(home: &Home, args: &[&str]) -> String {
    let output = install(home, args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The message of a run that writes nothing; checks that nothing was written.
#[track_caller]
fn refuses(home: &Home, client: &str, file: &str, text: &[u8], says: &str) {
    let path = home.path().join(file);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(&path, text).expect("written");
    let output = install(home, &[client, "--yes"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(says), "{said}");
    assert_eq!(fs::read(&path).expect("there"), text);
}

fn read(home: &Home, file: &str) -> String {
    fs::read_to_string(home.path().join(file)).expect(file)
}

fn write(home: &Home, file: &str, text: &str) -> PathBuf {
    let path = home.path().join(file);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(&path, text).expect("written");
    path
}

/// The whole way: put in, found there, taken out.
#[track_caller]
fn check(client: &str, file: &str, args: &[&str], pointer: &str, entry: &Value) {
    let home = home();
    let said = installs(&home, &[&[client, "--yes"], args].concat());
    assert!(said.contains("[written; "), "{said}");
    let written: Value = serde_json::from_str(&read(&home, file)).expect("JSON");
    assert_eq!(written.pointer(pointer), Some(entry), "{written}");
    let said = installs(&home, &[&[client, "--yes"], args].concat());
    assert!(said.contains("has it already: bashful"), "{said}");
    let place: Vec<&str> = args.iter().filter(|arg| **arg == "--project").copied().collect();
    installs(&home, &[&[client, "--yes", "--remove"], place.as_slice()].concat());
    assert!(!home.path().join(file).exists(), "a file that was made for it goes with it");
    let said = installs(&home, &[&[client, "--yes", "--remove"], place.as_slice()].concat());
    assert!(said.contains("has no bashful"), "{said}");
}

fn stdio() -> Value {
    json!({ "type": "stdio", "command": BASHFUL, "args": ["mcp"] })
}

fn bare() -> Value {
    json!({ "command": BASHFUL, "args": ["mcp"] })
}

#[test]
fn every_client_is_told_in_its_own_file_and_form() {
    check("claude", ".claude.json", &[], "/mcpServers/bashful", &stdio());
    check("claude-desktop", ".config/Claude/claude_desktop_config.json", &[], "/mcpServers/bashful", &bare());
    check("gemini", ".gemini/settings.json", &[], "/mcpServers/bashful", &bare());
    check("qwen", ".qwen/settings.json", &[], "/mcpServers/bashful", &bare());
    check("vscode", ".config/Code/User/mcp.json", &[], "/servers/bashful", &stdio());
    check("cursor", ".cursor/mcp.json", &[], "/mcpServers/bashful", &bare());
    check("windsurf", ".codeium/windsurf/mcp_config.json", &[], "/mcpServers/bashful", &bare());
    check("zed", ".config/zed/settings.json", &[], "/context_servers/bashful", &bare());
    let copilot = json!({ "type": "local", "command": BASHFUL, "args": ["mcp"], "tools": ["*"] });
    check("copilot", ".copilot/mcp-config.json", &[], "/mcpServers/bashful", &copilot);
    let opencode = json!({ "type": "local", "command": [BASHFUL, "mcp"], "enabled": true });
    check("opencode", ".config/opencode/opencode.json", &[], "/mcp/bashful", &opencode);
}

#[test]
fn a_project_has_settings_of_its_own() {
    let project: &[&str] = &["--project"];
    check("claude", ".mcp.json", project, "/mcpServers/bashful", &stdio());
    check("gemini", ".gemini/settings.json", project, "/mcpServers/bashful", &bare());
    check("qwen", ".qwen/settings.json", project, "/mcpServers/bashful", &bare());
    check("vscode", ".vscode/mcp.json", project, "/servers/bashful", &stdio());
    check("cursor", ".cursor/mcp.json", project, "/mcpServers/bashful", &bare());
    check("zed", ".zed/settings.json", project, "/context_servers/bashful", &bare());
    let home = home();
    installs(&home, &["codex", "--project", "--yes"]);
    assert!(read(&home, ".codex/config.toml").starts_with("[mcp_servers.bashful]\n"));
    let output = install(&home, &["windsurf", "--project", "--yes"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("leave out --project"), "{output:?}");
}

/// The variables of every test, as Codex is told to pass them on.
const PASSED: &str = "env_vars = [\"PUPPET\", \"TEST_MARK\"]";

/// Clients that keep variables from servers are told which ones the server is to have, by name alone.
#[test]
fn a_server_gets_the_variables_of_the_shell_that_its_client_would_keep_from_it() {
    let home = home();
    let in_shell = |args: &[&str], name: &str| {
        let variables =
            [("SSH_AUTH_SOCK", "/s"), (name, "/j"), ("GITHUB_TOKEN", "ghp_1"), ("https_proxy", "http://me:pw@p")];
        let output = home.command(args).envs(variables).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
    };
    let file = ".codex/config.toml";
    write(&home, file, "[mcp_servers.bashful]\nenv_vars = [\"MINE\"]\n");
    in_shell(&["mcp", "install", "codex", "--yes"], "JAVA_HOME");
    let passed = |names: &str| {
        let written = read(&home, file);
        assert!(written.contains(&format!("\nenv_vars = [{names}]\n")), "{written}");
    };
    let first = r#""MINE", "JAVA_HOME", "PUPPET", "SSH_AUTH_SOCK", "TEST_MARK", "https_proxy""#;
    passed(first);
    // Another shell adds its own.
    in_shell(&["mcp", "install", "codex", "--yes"], "KUBECONFIG");
    passed(&format!("{first}, \"KUBECONFIG\""));

    write(&home, ".gemini/settings.json", "{ \"mcpServers\": { \"bashful\": { \"env\": { \"A\": \"1\" } } } }");
    in_shell(&["mcp", "install", "gemini", "--yes"], "JAVA_HOME");
    let gemini: Value = serde_json::from_str(&read(&home, ".gemini/settings.json")).expect("JSON");
    let expected = json!({ "A": "1", "SSH_AUTH_SOCK": "$SSH_AUTH_SOCK" });
    assert_eq!(gemini["mcpServers"]["bashful"]["env"], expected);
    in_shell(&["mcp", "install", "claude", "--yes"], "JAVA_HOME");
    check("claude", ".claude.json", &[], "/mcpServers/bashful", &stdio());
}

#[test]
fn codex_is_told_in_toml() {
    let home = home();
    let before = "# mine\nmodel = \"x\" # this one\n\n[mcp_servers.other]\ncommand = 'o'\n";
    write(&home, ".codex/config.toml", before);
    installs(&home, &["codex", "--yes", "--dialect", "pi"]);
    let section = format!(
        "\n[mcp_servers.bashful]\ncommand = \"{BASHFUL}\"\nargs = [\"mcp\", \"--dialect\", \"pi\"]\n{PASSED}\n"
    );
    assert_eq!(read(&home, ".codex/config.toml"), format!("{before}{section}"));
    installs(&home, &["codex", "--yes", "--remove"]);
    assert_eq!(read(&home, ".codex/config.toml"), before);
    refuses(&home, "codex", ".codex/config.toml", b"mcp_servers = {}\n", "[mcp_servers.bashful]\ncommand = ");
    refuses(&home, "codex", ".codex/config.toml", b"a = \n", "it is not TOML: line 1");
}

#[test]
fn what_is_given_is_passed_on_with_whole_names() {
    let home = home();
    fs::create_dir(home.path().join("project")).expect("made");
    write(&home, "mine.toml", "[output]\nclean = true\n");
    let args = ["--name", "my-shell", "--dialect", "plain", "--cwd", "project", "--config", "mine.toml"];
    installs(&home, &[&["cursor", "--yes"], args.as_slice()].concat());
    let written: Value = serde_json::from_str(&read(&home, ".cursor/mcp.json")).expect("JSON");
    let at = home.path().canonicalize().expect("there");
    let (cwd, config) = (at.join("project"), at.join("mine.toml"));
    let expected = json!(["mcp", "--dialect", "plain", "--cwd", cwd, "--config", config]);
    assert_eq!(written["mcpServers"]["my-shell"]["args"], expected);
    for wrong in [["--cwd", "nowhere"], ["--config", "nowhere"], ["--name", "a b"], ["--dialect", "x"]] {
        let output = install(&home, &[&["cursor", "--yes"], wrong.as_slice()].concat());
        assert_eq!(output.status.code(), Some(125), "{output:?}");
    }
}

#[test]
fn everything_else_in_a_file_stays_as_it_was() {
    let home = home();
    let before = "// Zed\r\n{\r\n\t\"theme\": \"One\", // nice\r\n\t\"context_servers\": {\r\n\t\t\"other\": { \"command\": \"o\", },\r\n\
                  \t\t/* \"old\": {} */\r\n\t},\r\n}\r\n";
    let path = write(&home, ".config/zed/settings.json", &format!("\u{feff}{before}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("allowed");
    installs(&home, &["zed", "--yes"]);
    let after = read(&home, ".config/zed/settings.json");
    assert!(after.starts_with("\u{feff}// Zed\r\n") && !after.replace("\r\n", "").contains('\n'), "{after:?}");
    let ours = format!(
        "\t\t\"bashful\": {{\r\n\t\t\t\"command\": \"{BASHFUL}\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}},\r\n\t\t/* \"old\""
    );
    assert!(after.contains(&ours), "{after}");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
    installs(&home, &["zed", "--yes", "--remove"]);
    assert_eq!(read(&home, ".config/zed/settings.json"), format!("\u{feff}{before}"));
}

#[test]
fn an_entry_of_the_same_name_is_replaced_and_the_difference_shown() {
    let home = home();
    write(&home, ".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"bashful\": { \"url\": \"http://x\" }\n  }\n}\n");
    let output = install(&home, &["cursor", "--yes"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("-     \"bashful\": { \"url\": \"http://x\" }\n+     \"bashful\": {\n"), "{shown}");
    let written: Value = serde_json::from_str(&read(&home, ".cursor/mcp.json")).expect("JSON");
    assert_eq!(written["mcpServers"]["bashful"], bare());
}

#[test]
fn without_a_yes_nothing_is_written() {
    let home = home();
    let output = install(&home, &["claude"]);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("add --yes"), "{output:?}");
    let output = install(&home, &["claude", "--dry-run"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("+   \"mcpServers\": {"));
    assert!(!home.path().join(".claude.json").exists());
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    for (key, is_written) in [("n", false), ("y", true)] {
        let home = home();
        let terminal = Terminal::run(&home, &format!("{BASHFUL} mcp install cursor; echo \"ended $?\"; sleep 1000"));
        let screen = terminal.shows("write it? [y/N]");
        assert!(screen.contains("is not there yet; has Cursor been installed?"), "{screen}");
        assert!(!home.path().join(".cursor").exists(), "not before the answer");
        terminal.types(&[key, "Enter"]);
        terminal.shows(if is_written { "ended 0" } else { "ended 1" });
        assert_eq!(home.path().join(".cursor/mcp.json").exists(), is_written);
    }
}

#[test]
fn a_link_is_followed_and_stays_one() {
    let home = home();
    let real = write(&home, "dotfiles/claude.json", "{}\n");
    let link = home.path().join(".claude.json");
    symlink(&real, &link).expect("made");
    installs(&home, &["claude", "--yes"]);
    assert!(link.is_symlink() && fs::read_to_string(&real).expect("there").contains("bashful"));
    let left: Vec<_> = fs::read_dir(home.path().join("dotfiles")).expect("there").collect();
    assert_eq!(left.len(), 1, "nothing is left beside it");
    fs::remove_file(&real).expect("removed");
    let output = install(&home, &["claude", "--yes"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("which is not there"), "{output:?}");
    assert!(!real.exists());
}

#[test]
fn what_cannot_be_understood_is_left_alone_and_the_lines_to_paste_are_shown() {
    let home = home();
    let paste = "what belongs into it:\n{\n  \"mcpServers\": {\n    \"bashful\": {\n";
    refuses(&home, "cursor", ".cursor/mcp.json", b"{\n  \"mcpServers\": {\n", paste);
    refuses(&home, "cursor", ".cursor/mcp.json", b"{\n  \"mcpServers\": {\n", "it is not JSON: line 3, column 1");
    refuses(&home, "cursor", ".cursor/mcp.json", b"[]", "should be a group");
    refuses(&home, "cursor", ".cursor/mcp.json", b"{\"mcpServers\": []}", "should be a group");
    refuses(&home, "cursor", ".cursor/mcp.json", b"{\"mcpServers\": {}, \"mcpServers\": {}}", "there twice");
    refuses(&home, "cursor", ".cursor/mcp.json", b"\xff\xfe{\x00}\x00", "is not UTF-8");
    refuses(&home, "cursor", ".cursor/mcp.json", b"{\0}", "it is not JSON");
}

#[test]
fn a_file_that_is_none_or_is_not_to_be_written_is_left_alone() {
    let home = home();
    fs::create_dir_all(home.path().join(".cursor/mcp.json")).expect("made");
    let output = install(&home, &["cursor", "--yes"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("mcp.json is not a file"), "{output:?}");
    write(&home, ".gemini", "a file in the way");
    let output = install(&home, &["gemini", "--yes"]);
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(".gemini/settings.json"), "{output:?}");
    let path = write(&home, ".claude.json", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("allowed");
    let output = install(&home, &["claude", "--yes"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("not to be written (mode 444)"), "{output:?}");
    assert_eq!(read(&home, ".claude.json"), "{}");
}

#[test]
fn what_a_client_is_told_starts_the_server() {
    let home = home();
    installs(&home, &["claude", "--yes"]);
    let written: Value = serde_json::from_str(&read(&home, ".claude.json")).expect("JSON");
    let entry = &written["mcpServers"]["bashful"];
    let args: Vec<&str> = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // Without any input, it ends at once.
    let output = home.wrapped(entry["command"].as_str().expect("a path"), &args).output().expect("it runs");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn of_many_at_once_none_is_lost_without_a_word() {
    let home = home();
    let names: Vec<String> = (0..12).map(|number| format!("server-{number}")).collect();
    let started: Vec<_> =
        names.iter().map(|name| home.start(&["mcp", "install", "cursor", "--yes", "--name", name])).collect();
    let done: Vec<Output> = started.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    let written: Value = serde_json::from_str(&read(&home, ".cursor/mcp.json")).expect("JSON");
    for (name, output) in names.iter().zip(&done) {
        let is_there = written["mcpServers"][name].is_object();
        assert_eq!(is_there, output.status.success(), "{name}: {output:?}");
        assert!(is_there || String::from_utf8_lossy(&output.stderr).contains("try again"), "{output:?}");
    }
}

#[test]
fn a_disk_that_takes_nothing_leaves_the_file_as_it_was() {
    let home = home();
    write(&home, ".cursor/mcp.json", "{ \"mine\": 1 }");
    let line = format!("ulimit -f 0; exec {BASHFUL} mcp install cursor --yes");
    let output = home.wrapped("bash", &["-c", &line]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert_eq!(read(&home, ".cursor/mcp.json"), "{ \"mine\": 1 }");
    assert_eq!(fs::read_dir(home.path().join(".cursor")).expect("there").count(), 1, "nothing is left beside it");
}

/// A user who is not root.
const NOBODY: u32 = 65534;

/// Gives a home to another user, if this is root. Returns the owner, and true if that is another user. Root of a user
/// namespace can be the only user that there is.
fn give_away(home: &Path) -> (u32, bool) {
    let us = home.metadata().expect("facts").uid();
    let is_other = us == 0 && lchown(home, Some(NOBODY), Some(NOBODY)).is_ok();
    (if is_other { NOBODY } else { us }, is_other)
}

/// An ordinary user cannot give a home away, and installs to the own one.
#[test]
fn everything_that_root_makes_in_the_home_of_another_belongs_to_that_user() {
    let home = home();
    let (owner, _) = give_away(home.path());
    let kept = write(&home, ".claude.json", "{}");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).expect("ours");
    lchown(&kept, Some(owner), home.path().metadata().ok().map(|facts| facts.gid())).expect("given");
    for client in ["claude", "codex", "opencode", "gemini"] {
        installs(&home, &[client, "--yes"]);
    }
    let output = home.run(&["hook", "install", "qwen", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    for made in [
        ".claude.json",
        ".codex",
        ".codex/config.toml",
        ".config",
        ".config/opencode",
        ".config/opencode/opencode.json",
        ".gemini/settings.json",
        ".qwen",
        ".qwen/settings.json",
    ] {
        assert_eq!(home.path().join(made).metadata().expect(made).uid(), owner, "{made}");
    }
    assert_eq!(kept.metadata().expect("facts").permissions().mode() & 0o777, 0o640);
    assert!(read(&home, ".claude.json").contains("bashful"));
    installs(&home, &["codex", "--remove", "--yes"]);
}

/// An ordinary user writes where the own links lead.
#[test]
fn root_follows_no_link_of_another_user_to_a_place_that_is_not_theirs() {
    let (elsewhere, home) = (home(), home());
    let (owner, is_other) = give_away(home.path());
    let victim = write(&elsewhere, "victim.json", "{}");
    let directory = elsewhere.path().join("directory");
    fs::create_dir(&directory).expect("made");
    for (link, target) in [(".claude.json", &victim), (".codex", &directory)] {
        let link = home.path().join(link);
        symlink(target, &link).expect("a link");
        lchown(&link, Some(owner), None).expect("given");
    }
    for client in ["claude", "codex"] {
        let output = install(&home, &[client, "--yes"]);
        assert_eq!(output.status.code(), Some(if is_other { 125 } else { 0 }), "{output:?}");
    }
    assert_eq!(fs::read_to_string(&victim).expect("there") == "{}", is_other);
    assert_eq!(fs::read_dir(&directory).expect("there").count(), usize::from(!is_other));
}
