//! A shell in a terminal, whose screen is read and whose keys are pressed.

use std::error::Error;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bashful_screen::{Budget, Keys, Screen, Size};
use bashful_sys::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use crate::Done;

/// Longest wait for output before the time is looked at again.
const STEP: Duration = Duration::from_millis(100);

/// The shell, until it is dropped.
pub(super) struct Stage {
    /// None once the terminal has been hung up.
    terminal: Option<std::fs::File>,
    screen: Screen,
    shell: Child,
    home: TempDir,
}

impl Stage {
    /// Starts a shell with a short prompt, in which `bashful` is this program. It has a home of its own.
    pub(super) fn new(program: &Path, size: Size) -> Result<Self, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let Terminal { outside, inside, .. } = Terminal::for_command(size.columns(), size.rows())?;
        let beside = program.parent().ok_or("the program is in no directory")?;
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", beside.display());
        let end = || inside.try_clone().map(Stdio::from);
        // `setsid --ctty` makes the terminal that of the session, so that the shell has jobs.
        let shell = Command::new("setsid")
            .args(["--ctty", "bash", "--norc", "--noprofile", "-i"])
            .env_clear()
            .envs([("PATH", path.as_str()), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("PS1", "$ ")])
            .env("HOME", home.path())
            .current_dir(home.path())
            .stdin(end()?)
            .stdout(end()?)
            .stderr(end()?)
            .spawn()?;
        Ok(Self { terminal: Some(outside.into()), screen: Screen::new(size), shell, home })
    }

    /// The directory in which the shell starts.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Types bytes. A terminal holds some thousands that nobody has read.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Done {
        let terminal = self.terminal.as_mut().ok_or("the terminal is gone")?;
        Ok(terminal.write_all(bytes)?)
    }

    pub(super) fn press(&mut self, keys: &[&str]) -> Done {
        let bytes = Keys::parse(keys.iter().copied())?.encode(self.screen.modes());
        self.write(&bytes)
    }

    /// Reads until the screen shows a text, and is not in the middle of being drawn.
    pub(super) fn wait_for(&mut self, text: &str, patience: Duration) -> Done {
        let until = Instant::now() + patience;
        loop {
            self.read()?;
            let now = Instant::now();
            if self.screen.snapshot().text().contains(text) && self.screen.is_settled(now) {
                return Ok(());
            }
            if now > until {
                return Err(format!("{text:?} never came:\n{}", self.screen.snapshot().text()).into());
            }
        }
    }

    /// Reads the next output, if some comes soon.
    fn read(&mut self) -> Done {
        let terminal = self.terminal.as_ref().ok_or("the terminal is gone")?;
        let timeout = Timespec::try_from(STEP)?;
        poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&timeout))?;
        let mut buffer = [0; 8192];
        let count = match rustix::io::read(terminal.as_fd(), &mut buffer) {
            Ok(count) => count,
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let _ = self.screen.feed(&buffer[..count], Budget::UNLIMITED);
        let answers = self.screen.take_answers(Instant::now());
        self.write(&answers)
    }
}

/// Hangs up, which ends the shell and everything in it.
impl Drop for Stage {
    fn drop(&mut self) {
        self.terminal = None;
        // A shell that ignores it would hold up everything.
        let until = Instant::now() + Duration::from_secs(10);
        while matches!(self.shell.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
