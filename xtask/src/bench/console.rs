//! The console: its memory and processor time when idle, and the time from a key to the screen.
//!
//! The console runs at a terminal that this part reads. A key is on the screen when the bytes after it have its character.

use std::error::Error;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use bashful_sys::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::figures::Times;
use super::host::Host;
use super::output;

/// Time over which the idle console is watched.
const IDLE: Duration = Duration::from_secs(5);

/// Longest wait for anything. Only a hang takes as long.
const WIDE: Duration = Duration::from_mins(1);

/// Commands that run beside the typing person.
const RUNNING: usize = 100;

/// Bytes of the long output.
const FLOOD: u64 = 1 << 30;

/// Measures the console when it is idle, with many commands, and with a long output.
pub(crate) fn all(host: &Host, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let mut console = OpenConsole::start(host)?;
    console.wait_for("Enter run")?;
    std::thread::sleep(Duration::from_secs(1));
    let (ticks, began) = (console.processor_ticks()?, Instant::now());
    std::thread::sleep(IDLE);
    let busy =
        Duration::from_millis((console.processor_ticks()? - ticks) * 1000 / rustix::param::clock_ticks_per_second());
    let idle_share = 100.0 * busy.as_secs_f64() / began.elapsed().as_secs_f64();
    let drawn = console.read_now()?;
    let idle_kb = console.resident_kb()?;
    let idle_keys = console.keys(rounds)?;
    for _ in 0..RUNNING {
        console.write(b"sleep 1000\r")?;
    }
    console.wait_for(&format!("{RUNNING} running"))?;
    let busy_keys = console.keys(rounds)?;
    console.write(format!("{} lines {FLOOD} 65536\r", output::writer()?).as_bytes())?;
    console.wait_for(&format!("{} running", RUNNING + 1))?;
    let flood_keys = console.keys(rounds)?;
    let after_kb = console.resident_kb()?;
    Ok(json!({
        "idle_percent": idle_share,
        "idle_bytes_drawn": drawn.len(),
        "idle_kb": idle_kb,
        "idle_key": idle_keys.as_json(),
        "running": RUNNING,
        "running_key": busy_keys.as_json(),
        "flood_key": flood_keys.as_json(),
        "after_kb": after_kb,
    }))
}

/// A console at a terminal. Dropping it ends the console.
struct OpenConsole {
    child: Child,
    terminal: std::fs::File,
    _home: tempfile::TempDir,
}

impl OpenConsole {
    fn start(host: &Host) -> Result<Self, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let Terminal { outside, inside, .. } = Terminal::for_command(120, 40)?;
        let [stdin, stdout]: [OwnedFd; 2] = [inside.try_clone()?, inside];
        let mut command = Command::new(&host.program);
        command.arg("console").current_dir(home.path()).env("HOME", home.path()).env("LANG", "C.UTF-8");
        command.env("TERM", "xterm-256color").env_remove("XDG_STATE_HOME").stdin(stdin).stdout(stdout);
        let child = command.spawn()?;
        drop(command);
        Ok(Self { child, terminal: outside.into(), _home: home })
    }

    fn write(&mut self, keys: &[u8]) -> Result<(), Box<dyn Error>> {
        self.terminal.write_all(keys)?;
        self.read_now()?;
        Ok(())
    }

    /// All bytes that are there already.
    fn read_now(&mut self) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut all = Vec::new();
        while let Some(bytes) = self.read_within(Duration::ZERO)? {
            all.extend(bytes);
        }
        Ok(all)
    }

    /// The next bytes; none if none come in time.
    fn read_within(&mut self, at_most: Duration) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
        let mut ready = [PollFd::from_borrowed_fd(self.terminal.as_fd(), PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::try_from(at_most)?))? == 0 {
            return Ok(None);
        }
        let mut buffer = vec![0; 64 * 1024];
        let count = self.terminal.read(&mut buffer)?;
        buffer.truncate(count);
        Ok(Some(buffer))
    }

    /// Waits for a text that the console writes in one piece.
    fn wait_for(&mut self, wanted: &str) -> Result<(), Box<dyn Error>> {
        let began = Instant::now();
        let mut seen = Vec::new();
        while began.elapsed() < WIDE {
            seen.extend(self.read_within(Duration::from_millis(100))?.unwrap_or_default());
            if seen.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
                return Ok(());
            }
            // Only the cells that change are written, so a count may come in parts. A full frame has all of it.
            self.terminal.write_all(b"\x0c")?;
        }
        Err(format!("{wanted:?} never came").into())
    }

    /// Times from a key to its character on the screen.
    ///
    /// Each character differs from the one before it: a console that draws a deletion and a new character in one frame
    /// writes only cells that change.
    fn keys(&mut self, rounds: usize) -> Result<Times, Box<dyn Error>> {
        let mut times = Times::default();
        for round in 0..rounds {
            let character = ["ß", "ö"][round % 2];
            self.read_now()?;
            let began = Instant::now();
            self.terminal.write_all(character.as_bytes())?;
            self.read_until(character, WIDE)?;
            times.add(began.elapsed());
            self.terminal.write_all(b"\x7f")?;
            std::thread::sleep(Duration::from_millis(40));
        }
        Ok(times)
    }

    /// Reads until a text has come.
    fn read_until(&mut self, wanted: &str, at_most: Duration) -> Result<(), Box<dyn Error>> {
        let until = Instant::now() + at_most;
        let mut seen = Vec::new();
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            seen.extend(self.read_within(left)?.unwrap_or_default());
            if seen.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
                return Ok(());
            }
        }
        Err(format!("{wanted:?} never came").into())
    }

    /// Processor time of the console so far, in ticks of the clock.
    fn processor_ticks(&self) -> Result<u64, Box<dyn Error>> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
        Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
    }

    fn resident_kb(&self) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for OpenConsole {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
