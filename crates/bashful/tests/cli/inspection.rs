//! A command cannot read the memory or the environment of the program that runs it.
//!
//! The superuser reads everything, so where the tests run as that, the program runs as nobody.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::BASHFUL;

/// Somebody who owns nothing.
const NOBODY: u32 = 65534;

const SECRET: &str = "do-not-tell-anybody";

/// A home for somebody who is not the superuser, with a copy of the program in it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let directory = TempDir::with_prefix("bashful-home-").expect("a temporary directory");
        std::fs::copy(BASHFUL, directory.path().join("bashful")).expect("a copy");
        if is_superuser() {
            std::os::unix::fs::chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("the superuser may");
        }
        Self(directory)
    }

    /// Writes a file that the commands of this home can read, whatever the umask.
    fn write(&self, name: &str, text: &str) {
        let file = self.0.path().join(name);
        std::fs::write(&file, text).expect("a file");
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("its own file");
    }

    fn run(&self, args: &[&str]) -> Output {
        let program: OsString = self.0.path().join("bashful").into();
        let mut command = if is_superuser() {
            let mut command = Command::new("setpriv");
            command
                .args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(args).env_clear().env("PATH", std::env::var_os("PATH").expect("tests have a PATH"));
        command.env("HOME", self.0.path()).env("MY_TOKEN", SECRET).current_dir(self.0.path());
        command.output().expect("it runs")
    }

    /// The output of a script that ends well.
    #[track_caller]
    fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

/// The keeper is the parent of the shell, and the program is the parent of the keeper.
const PARENTS: &str = "keeper=$PPID; program=$(ps -o ppid= -p $keeper); program=${program// /}; ";

#[test]
fn a_command_does_not_find_in_proc_what_is_withheld_from_it() {
    let home = Home::new();
    let script = format!(
        "{PARENTS} tr '\\0' '\\n' 2>&1 </proc/$program/environ | grep -c MY_TOKEN=; \
         cat /proc/$program/maps >/dev/null 2>&1 || echo unreadable; ls /proc/$program/fd >/dev/null 2>&1 || echo closed; \
         wc -c </proc/$keeper/environ; cat /proc/self/environ >/dev/null && echo own"
    );
    assert_eq!(home.says(&["run", "--split", &script]), "0\nunreadable\nclosed\n0\nown\n");
}

#[test]
fn everything_that_goes_through_proc_works_all_the_same() {
    let home = Home::new();
    home.write(".bashrc", "f() { echo from rc; }\n");
    // A script that is too long for an argument.
    let long = format!("echo long # {}", "x".repeat(100_000));
    home.write("long.sh", &format!("{long}{long}\n"));
    let program = home.0.path().join("bashful");
    let nested = format!("{} run - <long.sh", program.display());
    assert_eq!(home.says(&["run", &nested]), "long\n");
    // A session, its directory, and its list.
    home.says(&["run", "--session", "s", "x=kept; cd /usr"]);
    assert_eq!(home.says(&["run", "--session", "s", "echo $x; pwd"]), "kept\n/usr\n");
    assert!(home.says(&["sessions", "list"]).contains(" /usr\n"));
    home.says(&["sessions", "end", "s"]);
    // The rc files.
    home.write("on.toml", "[shell]\nsnapshot = \"on\"\n");
    assert_eq!(home.says(&["--config", "on.toml", "run", "f"]), "from rc\n");
    // A job, and its end.
    home.says(&["run", "--mode", "background", "sleep 1000"]);
    home.says(&["jobs", "kill", "1"]);
    assert!(home.says(&["jobs", "list"]).contains("cancelled"));
    // Leftover processes, and waiting shells.
    let doctor = home.says(&["doctor"]);
    for promise in ["catches_daemons", "survives_keeper_death", "survives_own_death", "leftovers_keep_writing"] {
        assert!(doctor.lines().any(|line| line.contains(promise) && line.contains("yes")), "{promise}: {doctor}");
    }
}
