//! A client that moves to another directory, and commands that follow it.

use std::path::{Path, PathBuf};

use bashful_testkit::{Home, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::server::{Server, text};
use super::{BASHFUL, home};

/// A client that starts the server, and goes where `there` points to with each signal.
const CLIENT: &str = r#"trap 'cd "$HOME" && cd -P there' USR1; "$@" <&0 & until wait $!; do kill -0 $! || exit; done"#;

struct Moving {
    home: Home,
    server: Server,
}

impl Moving {
    fn new(args: &[&str]) -> Self {
        let home = home();
        let client = [&["-c", CLIENT, "client", BASHFUL, "mcp"], args].concat();
        let mut server = Server::by(&mut home.wrapped("bash", &client));
        server.greet("test");
        Self { home, server }
    }

    /// Lets the client go to a directory, which may not be there.
    fn go(&mut self, to: &str) -> PathBuf {
        let to = self.home.path().join(to);
        let link = self.home.path().join("there");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&to, link).expect("a link");
        self.server.signal(Signal::USR1);
        let is_there = || std::fs::read_link(format!("/proc/{}/cwd", self.server.pid())).expect("it runs") == to;
        assert!(eventually(is_there));
        to
    }

    fn run(&mut self, arguments: &Value) -> String {
        text(&self.server.call("bash", arguments)).to_owned()
    }

    fn end(mut self) {
        self.server.close();
        self.server.end();
        self.home.check_nothing_survives();
    }
}

fn told(place: &Path) -> String {
    let place = place.display();
    format!(
        "[the client is in {place} now, so commands that name no directory run there; sessions stay where they are]"
    )
}

#[test]
fn commands_follow_a_client_that_moves_and_it_is_said_once() {
    let mut moving = Moving::new(&[]);
    let start = moving.home.path().to_owned();
    std::fs::create_dir_all(start.join("tree/sub")).expect("directories");
    assert_eq!(moving.run(&json!({ "command": "pwd" })), format!("{}\n", start.display()));
    assert_eq!(moving.run(&json!({ "command": "cd /usr; pwd", "session": "old" })), "/usr\n");
    let tree = moving.go("tree");
    let pwd = json!({ "command": "pwd" });
    assert_eq!(moving.run(&pwd), format!("{}\n{}", tree.display(), told(&tree)));
    assert_eq!(moving.run(&pwd), format!("{}\n", tree.display()), "once");
    assert_eq!(moving.run(&json!({ "command": "pwd", "cwd": "sub" })), format!("{}\n", tree.join("sub").display()));
    let in_sub = moving.run(&json!({ "command": "cd sub && pwd" }));
    assert!(in_sub.starts_with(&format!("{}\n", tree.join("sub").display())), "{in_sub}");
    assert_eq!(moving.run(&json!({ "command": "pwd", "session": "old" })), "/usr\n");
    assert_eq!(moving.run(&json!({ "command": "pwd", "session": "new" })), format!("{}\n", tree.display()));
    moving.go("");
    assert_eq!(moving.run(&pwd), format!("{}\n{}", start.display(), told(&start)));
    moving.end();
}

#[test]
fn a_directory_of_the_client_that_is_gone_is_named() {
    let mut moving = Moving::new(&[]);
    let tree = moving.home.path().join("tree");
    std::fs::create_dir(&tree).expect("a directory");
    moving.go("tree");
    std::fs::remove_dir(&tree).expect("it was there");
    let refused = moving.run(&json!({ "command": "pwd" }));
    assert!(refused.contains(&tree.display().to_string()), "{refused}");
    assert_eq!(moving.run(&json!({ "command": "pwd", "cwd": "/usr" })).lines().next(), Some("/usr"));
    moving.end();
}

#[test]
fn a_directory_that_a_person_named_is_not_left() {
    let mut moving = Moving::new(&["--cwd", "/usr"]);
    std::fs::create_dir(moving.home.path().join("tree")).expect("a directory");
    moving.go("tree");
    assert_eq!(moving.run(&json!({ "command": "pwd" })), "/usr\n");
    moving.end();
}
