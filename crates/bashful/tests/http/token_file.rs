//! `--token-file`: a server does not start with a file that protects nothing.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};

use bashful_testkit::Home;
use rustix::process::geteuid;

use super::server::Server;
use super::{ends_well, home};

const TOKEN: &[u8] = b"0123456789abcdef\n";

/// Writes a file of this mode, whatever the umask is.
pub(crate) fn write(home: &Home, name: &str, mode: u32, text: &[u8]) {
    let path = home.path().join(name);
    std::fs::write(&path, text).expect("it is written");
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Checks that the server does not start, and says this.
#[track_caller]
fn check_refused(home: &Home, name: &str, part: &str) {
    let output = home.run(&["mcp", "--http", ":0", "--token-file", name]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(part), "{part}: {said}");
}

#[test]
fn a_file_that_others_can_read_or_change_is_refused() {
    let home = home();
    for (mode, shown) in [(0o644, "0644"), (0o640, "0640"), (0o604, "0604"), (0o620, "0620"), (0o602, "0602")] {
        write(&home, "open", mode, TOKEN);
        check_refused(&home, "open", &format!("the token file open has mode {shown}"));
        check_refused(&home, "open", "run `chmod 600 open`");
    }
    // A link does not hide what it leads to.
    std::os::unix::fs::symlink("open", home.path().join("link")).expect("it is made");
    check_refused(&home, "link", "has mode 0602");
    for mode in [0o600, 0o400, 0o700] {
        write(&home, "good", mode, TOKEN);
        let mut server = Server::with(&home, &["--token-file", "good"], &[]);
        "0123456789abcdef".clone_into(&mut server.token);
        ends_well(server, &home);
        std::fs::remove_file(home.path().join("good")).expect("it is there");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    let home = home();
    let name = if geteuid().is_root() {
        write(&home, "other", 0o600, TOKEN);
        chown(home.path().join("other"), Some(12_345), None).expect("root may give files away");
        "other".to_owned()
    } else {
        // Only root can make such a file, but this process' own user does not own every directory either: a file of root
        // that cannot be read is told as that.
        "/etc/shadow".to_owned()
    };
    let part = if geteuid().is_root() { "belongs to user 12345" } else { "cannot read the token" };
    check_refused(&home, &name, part);
}

#[test]
fn a_file_that_holds_no_token_is_refused() {
    let home = home();
    write(&home, "short", 0o600, b"secret\n");
    write(&home, "two", 0o600, b"a token of several words\n");
    write(&home, "raw", 0o600, &[0xff; 16]);
    write(&home, "empty", 0o600, b"");
    write(&home, "blank", 0o600, b" \n\n");
    write(&home, "large", 0o600, &[b'x'; 5000]);
    std::fs::create_dir(home.path().join("directory")).expect("it is made");
    let fifo = std::process::Command::new("mkfifo").arg(home.path().join("fifo")).status().expect("it runs");
    assert!(fifo.success());
    for (name, part) in [
        ("nowhere", "cannot read the token in nowhere"),
        ("short", "at least 16 characters"),
        ("two", "one word"),
        ("raw", "cannot read the token in raw"),
        ("empty", "the token file empty is empty"),
        ("blank", "the token file blank is empty"),
        ("large", "has 5000 bytes"),
        ("directory", "is a directory"),
        // Nobody will ever write to it.
        ("fifo", "is a pipe"),
        ("/dev/zero", "is a device"),
    ] {
        check_refused(&home, name, part);
    }
}
