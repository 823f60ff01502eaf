//! A home directory of its own for one test of the program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::{MARK, eventually, survivors};

/// A home, and the program that is run in it. What it starts carries a mark.
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
        let directory = TempDir::with_prefix("bashful-home-").expect("a temporary directory");
        let mark = format!("mark-{}-end", directory.path().display());
        Self { directory, program: program.into(), mark }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the program keeps its state.
    pub fn state(&self) -> PathBuf {
        self.path().join(".local/state/bashful")
    }

    /// The program, about to run.
    pub fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        self.wrapped(&self.program, args)
    }

    /// The program, or another one that ends in running it.
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

    /// Starts the program, with its output in pipes.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn start(&self, args: &[impl AsRef<OsStr>]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    }

    /// Waits until something has made this file.
    ///
    /// # Panics
    ///
    /// If nothing ever does.
    #[track_caller]
    pub fn wait_for(&self, file: &str) {
        assert!(eventually(|| self.path().join(file).exists()), "{file} never came");
    }

    /// What still runs of all that was started here.
    pub fn survivors(&self) -> Vec<String> {
        survivors(&self.mark)
    }

    /// Waits until nothing of it is left.
    ///
    /// # Panics
    ///
    /// If something is.
    #[track_caller]
    pub fn check_nothing_survives(&self) {
        crate::check_nothing_survives(&self.mark);
    }
}

/// Nothing that a test started outlives it, whatever the test has found.
impl Drop for Home {
    fn drop(&mut self) {
        crate::end(&self.survivors());
    }
}
