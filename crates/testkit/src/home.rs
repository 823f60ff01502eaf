//! A temporary home directory for one test of the program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::{MARK, eventually, restore_signals, survivors};

/// A home directory and the program that runs in it. All processes of the program carry a mark.
#[derive(Debug)]
pub struct Home {
    directory: TempDir,
    program: PathBuf,
    mark: String,
}

impl Home {
    /// A home for this program.
    ///
    /// # Panics
    ///
    /// Without a temporary directory there is no test.
    pub fn new(program: &str) -> Self {
        restore_signals();
        let directory = TempDir::with_prefix("bashful-home-").expect("a temporary directory");
        let mark = format!("mark-{}-end", directory.path().display());
        Self { directory, program: program.into(), mark }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory of the program, and of the puppet.
    pub(crate) fn program_directory(&self) -> &Path {
        self.program.parent().expect("a program is in a directory")
    }

    /// The state directory of the program.
    pub fn state(&self) -> PathBuf {
        self.path().join(".local/state/bashful")
    }

    /// A command for the program with these arguments.
    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        self.wrapped(&self.program, args)
    }

    /// A command for the program, or for another one that starts it.
    ///
    /// # Panics
    ///
    /// Without a `PATH` or the puppet, which cargo builds beside the program.
    pub fn wrapped(&self, program: impl AsRef<OsStr>, args: &[impl AsRef<OsStr>]) -> Command {
        let puppet = self.program.with_file_name("puppet");
        assert!(puppet.exists(), "no puppet beside {}: run the tests of the whole workspace", self.program.display());
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("tests have a PATH"))
            .env("HOME", self.path())
            .env("PUPPET", puppet)
            .env(MARK, OsString::from(&self.mark))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn run(&self, args: &[impl AsRef<OsStr>]) -> Output {
        self.command(args).output().expect("it runs")
    }

    /// Starts the program with its output in pipes.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn start(&self, args: &[impl AsRef<OsStr>]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    }

    /// Waits until this file exists.
    ///
    /// # Panics
    ///
    /// If the file never appears.
    #[track_caller]
    pub fn wait_for(&self, file: &str) {
        assert!(eventually(|| self.path().join(file).exists()), "{file} never came");
    }

    /// The running processes that were started here.
    pub fn survivors(&self) -> Vec<String> {
        survivors(&self.mark)
    }

    /// Waits until no process that was started here is left.
    ///
    /// # Panics
    ///
    /// If a process survives.
    #[track_caller]
    pub fn check_nothing_survives(&self) {
        crate::check_nothing_survives(&self.mark);
    }
}

/// Kills everything that the test started, also after a failure.
impl Drop for Home {
    fn drop(&mut self) {
        crate::end(&self.survivors());
    }
}
