//! Tells if a program waits for input from its terminal.
//!
//! No system call tells. `/proc` shows in which call each process of the foreground group sleeps: a read of the terminal is
//! certain, a wait for several descriptors is likely if the terminal is in raw mode. Reading `/proc/PID/syscall` takes the
//! rights of a debugger; without them `/proc/PID/wchan` gives a hint.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::proc::{self, Process};
use crate::terminal::{self, LineModes};

/// A thread looks at no more tasks of one program: the reader of a terminal is among the first.
const TASKS_LOOKED_AT: usize = 32;

/// The kernel's name for the wait of a terminal's reader. Readers of sockets wait there too.
const TERMINAL_WAIT: &str = "wait_woken";

/// The answer to whether a program reads from its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// No program of the foreground group reads.
    No,
    /// The system does not tell.
    Unknown,
    /// A program waits for one of several events, and keys may be one of them.
    Perhaps,
    /// A program waits for input.
    Yes,
}

/// Looks at every process of the foreground group of a terminal, by its outside end.
pub fn reading(outside: impl AsFd, modes: LineModes) -> Reading {
    let Some(group) = terminal::foreground_group(&outside) else { return Reading::Unknown };
    let path = terminal::inside_path(&outside).ok();
    let members = proc::group(group);
    let best = members.iter().map(|process| reading_of(process, path.as_deref(), modes)).max();
    best.unwrap_or(Reading::No)
}

fn reading_of(process: &Process, terminal: Option<&Path>, modes: LineModes) -> Reading {
    // A stopped process is shown in its last call, and reads nothing.
    if proc::stat_fields(process.pid).is_ok_and(|fields| fields.trim_start().starts_with(['T', 't'])) {
        return Reading::No;
    }
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", process.pid)) else { return Reading::No };
    let looks = tasks.flatten().take(TASKS_LOOKED_AT).map(|task| {
        let read = |name: &str| fs::read_to_string(task.path().join(name));
        match read("syscall") {
            Ok(call) => of_call(process.pid, &call, terminal, modes),
            Err(_) if read("wchan").is_ok_and(|wait| wait == TERMINAL_WAIT) => Reading::Perhaps,
            Err(_) => Reading::Unknown,
        }
    });
    looks.max().unwrap_or(Reading::No)
}

/// The meaning of one line of `/proc/PID/syscall`: a number and its arguments, `running`, or `-1` outside of any call.
fn of_call(pid: Pid, line: &str, terminal: Option<&Path>, modes: LineModes) -> Reading {
    let mut words = line.split_ascii_whitespace();
    let Some(Ok(call)) = words.next().map(str::parse::<i64>) else { return Reading::No };
    if call == libc::SYS_read || call == libc::SYS_readv {
        let descriptor = words.next().and_then(|word| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok());
        let file = descriptor.and_then(|number| fs::read_link(format!("/proc/{pid}/fd/{number}")).ok());
        return match file {
            Some(file) if terminal == Some(&file) || file == Path::new("/dev/tty") => Reading::Yes,
            Some(_) => Reading::No,
            None => Reading::Unknown,
        };
    }
    // A server in canonical mode waits for its sockets, and not for keys.
    if !modes.canonical && is_wait_for_several(call) { Reading::Perhaps } else { Reading::No }
}

fn is_wait_for_several(call: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    const OLD: &[i64] = &[libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD: &[i64] = &[];
    let new = [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];
    OLD.contains(&call) || new.contains(&call)
}

/// A program that runs at a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramAt {
    /// The file name of the program, without its directory.
    pub name: String,
    /// Its arguments, without its own name.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// True if it belongs to the foreground group, which gets what is typed.
    pub is_foreground: bool,
}

/// The programs whose controlling terminal this is, as far as they can be read.
pub fn programs_at(outside: impl AsFd) -> Vec<ProgramAt> {
    let Ok(session) = rustix::termios::tcgetsid(&outside) else { return Vec::new() };
    let foreground = terminal::foreground_group(&outside).map(|group| group.as_raw_nonzero().get());
    let program = |process: &Process| {
        let of = |name: &str| format!("/proc/{}/{name}", process.pid);
        let executable = fs::read_link(of("exe")).ok()?;
        let line = fs::read(of("cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut arguments: Vec<String> = words.skip(1).collect();
        // Behind the last NUL there is nothing.
        arguments.pop();
        Some(ProgramAt {
            name: executable.file_name()?.to_string_lossy().trim_end_matches(" (deleted)").to_owned(),
            arguments,
            directory: fs::read_link(of("cwd")).ok()?,
            is_foreground: Some(process.group) == foreground,
        })
    };
    proc::session(session).iter().filter_map(program).collect()
}
