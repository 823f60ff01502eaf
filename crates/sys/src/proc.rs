//! Reads `/proc`: processes, their children and sessions, and the umask.
//!
//! Every answer is a snapshot that may be out of date at once. Callers read again until nothing is left, and send
//! signals through handles that they opened before they read.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::Mode;
use rustix::process::Pid;

/// The working directory of a process, if it can be read.
pub fn directory_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// A process, as `/proc` showed it a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id, which the kernel may use again once the process was reaped.
    pub pid: Pid,
    /// Process id of the parent.
    pub parent: i32,
    /// The process group it belongs to.
    pub group: i32,
    /// Id of its session.
    pub session: i32,
    /// Start time, in clock ticks since boot. Together with the id it names a process for good.
    pub began: u64,
    ended: bool,
}

impl Process {
    /// Reads a process; none if it is gone.
    pub fn read(pid: Pid) -> Option<Self> {
        let stat = stat_fields(pid).ok()?;
        let fields: Vec<&str> = stat.split_ascii_whitespace().collect();
        let threads: u32 = fields.get(17)?.parse().ok()?;
        Some(Self {
            pid,
            // A program whose first thread has ended looks like a zombie while its other threads run.
            ended: *fields.first()? == "Z" && threads <= 1,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
        })
    }

    /// True if it is a zombie: it has ended, and nobody has reaped it.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The command line, or the name in brackets without one. At most `limit` characters, without control characters.
    pub fn command_line(&self, limit: usize) -> String {
        let id = self.pid.as_raw_nonzero();
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<_> =
            line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
        let text = if words.is_empty() {
            let name = fs::read(format!("/proc/{id}/comm")).unwrap_or_default();
            format!("[{}]", String::from_utf8_lossy(&name).trim_end())
        } else {
            words.join(" ")
        };
        let flat: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        if flat.chars().count() <= limit {
            return flat;
        }
        flat.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
    }
}

/// Every process below `root`, children before grandchildren, without zombies.
pub fn descendants(root: Pid) -> Vec<Process> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut next = vec![root];
    let mut table = None;
    while let Some(parent) = next.pop() {
        for pid in children(parent).unwrap_or_else(|| children_by_scan(parent, &mut table)) {
            let Some(process) = Process::read(pid).filter(|_| seen.insert(pid)) else { continue };
            next.push(pid);
            if !process.has_ended() {
                found.push(process);
            }
        }
    }
    found
}

/// The children of a process with one thread, for frequent checks. Quick, where [`descendants`] is thorough.
#[derive(Debug)]
pub struct Children(fs::File);

impl Children {
    /// Opens the list of children. Fails where the kernel has none.
    pub fn of(parent: Pid) -> io::Result<Self> {
        let id = parent.as_raw_nonzero();
        Ok(Self(fs::File::open(format!("/proc/{id}/task/{id}/children"))?))
    }

    /// True if the process has no child other than `child`; false if that cannot be read.
    pub fn are_none_but(&self, child: Option<Pid>) -> bool {
        let mut list = [0; 64];
        let Ok(count) = self.0.read_at(&mut list, 0) else { return false };
        // A list that does not fit has more than one child.
        let text = str::from_utf8(&list[..count]).unwrap_or("?");
        text.split_ascii_whitespace().all(|pid| parse_pid(pid) == child)
    }
}

/// Every process of a session, without zombies.
pub fn session(id: Pid) -> Vec<Process> {
    let mut found = all_processes();
    found.retain(|process| process.session == id.as_raw_nonzero().get() && !process.has_ended());
    found
}

/// Every process of this process group that has not ended.
pub fn group(id: Pid) -> Vec<Process> {
    let mut found = all_processes();
    found.retain(|process| process.group == id.as_raw_nonzero().get() && !process.has_ended());
    found
}

/// True if a signal has stopped a process, as `Ctrl-Z` does, or if it is gone.
pub fn is_stopped(pid: Pid) -> bool {
    stat_fields(pid).map_or(true, |stat| stat.trim_start().starts_with('T'))
}

/// True if another process traces this one, as a debugger does: signals do not reach it then.
pub fn is_traced(pid: Pid) -> bool {
    let status = fs::read(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    let mut lines = status.split(|byte| *byte == b'\n');
    let tracer = lines.find_map(|line| line.strip_prefix(b"TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim_ascii() != b"0")
}

/// The descriptor that a process is blocked reading from; none if it does anything else, or `/proc` does not tell.
pub fn blocked_read(pid: Pid) -> Option<i32> {
    let look = || fs::read_to_string(format!("/proc/{pid}/syscall")).ok();
    let call = look()?;
    // `/proc` shows a stopped process in its last system call, even if that is over.
    let sleeps = stat_fields(pid).ok()?.trim_start().starts_with('S');
    if !sleeps || look()? != call {
        return None;
    }
    let mut words = call.split_ascii_whitespace();
    let is_read = words.next()?.parse() == Ok(libc::SYS_read);
    let descriptor = i32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    is_read.then_some(descriptor)
}

/// File-creation mask of this process.
pub fn umask() -> io::Result<u32> {
    // The system call can only read the mask by changing it. Without other threads nobody notices, and it takes a tenth
    // of the time.
    if crate::threads()? == 1 {
        let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(mask);
        return Ok(mask.as_raw_mode());
    }
    // The mask is on the second line, so one read is enough.
    let mut status = [0; 256];
    let count = File::open("/proc/self/status")?.read(&mut status)?;
    String::from_utf8_lossy(&status[..count])
        .lines()
        .find_map(|line| line.strip_prefix("Umask:"))
        .and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .ok_or_else(|| io::Error::other("no umask in /proc/self/status"))
}

/// Returns the fields of `/proc/PID/stat` after the name.
///
/// The name may hold anything: brackets, spaces, and half a character where it was cut. The fields begin after the last
/// bracket, and only they are text.
pub(crate) fn stat_fields(pid: Pid) -> io::Result<String> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    let begin = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
    Ok(String::from_utf8_lossy(&stat[begin..]).into_owned())
}

/// The children of all threads of a process, including zombies; none if this kernel does not list them.
pub fn children(parent: Pid) -> Option<Vec<Pid>> {
    let threads = match fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())) {
        Ok(threads) => threads,
        // The process is gone, and its children have another parent now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let mut pids = Vec::new();
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => pids.extend(list.split_ascii_whitespace().filter_map(parse_pid)),
            Err(_) if !thread.path().exists() => {}
            Err(_) => return None,
        }
    }
    Some(pids)
}

fn children_by_scan(parent: Pid, table: &mut Option<HashMap<i32, Vec<Pid>>>) -> Vec<Pid> {
    let table = table.get_or_insert_with(|| {
        let mut table: HashMap<i32, Vec<Pid>> = HashMap::new();
        for process in all_processes() {
            table.entry(process.parent).or_default().push(process.pid);
        }
        table
    });
    table.get(&parent.as_raw_nonzero().get()).cloned().unwrap_or_default()
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| parse_pid(entry.file_name().to_str()?)).filter_map(Process::read).collect()
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}
