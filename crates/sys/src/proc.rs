//! What `/proc` says about processes.
//!
//! Everything here is a snapshot that may be out of date before it is read. Callers look again until nothing is left,
//! and signal through handles that they opened before they looked.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use rustix::fs::Mode;
use rustix::process::Pid;

/// A process as it was a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its parent's id.
    pub parent: i32,
    /// The process group it belongs to.
    pub group: i32,
    /// The session it belongs to.
    pub session: i32,
    /// When it began, in clock ticks since the machine did: with the id, this names it for good.
    pub began: u64,
    ended: bool,
}

impl Process {
    /// Reads what there is to know of a process; none if it is gone.
    pub fn read(pid: Pid) -> Option<Self> {
        let stat = stat_fields(pid).ok()?;
        let fields: Vec<&str> = stat.split_ascii_whitespace().collect();
        let threads: u32 = fields.get(17)?.parse().ok()?;
        Some(Self {
            pid,
            // A program whose first thread has ended looks like a zombie while its other threads go on.
            ended: *fields.first()? == "Z" && threads <= 1,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether it has ended and only waits to be taken away.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The command line, or the name in brackets where there is none; at most `limit` characters.
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

/// Everything below `root`, children before grandchildren, without those that have ended already.
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

/// The children of a process with one thread, to be looked at often: a quick look, where [`descendants`] is a thorough one.
#[derive(Debug)]
pub struct Children(fs::File);

impl Children {
    /// Of this process. Fails where the kernel does not list them.
    pub fn of(parent: Pid) -> io::Result<Self> {
        let id = parent.as_raw_nonzero();
        Ok(Self(fs::File::open(format!("/proc/{id}/task/{id}/children"))?))
    }

    /// Whether there are none but this one; no, if that cannot be told.
    pub fn are_none_but(&self, child: Option<Pid>) -> bool {
        let mut list = [0; 64];
        let Ok(count) = self.0.read_at(&mut list, 0) else { return false };
        // More than fits are more than one.
        let text = str::from_utf8(&list[..count]).unwrap_or("?");
        text.split_ascii_whitespace().all(|pid| parse_pid(pid) == child)
    }
}

/// Everything in this session.
pub fn session(id: Pid) -> Vec<Process> {
    let mut found = everybody();
    found.retain(|process| process.session == id.as_raw_nonzero().get() && !process.has_ended());
    found
}

/// Every process of this process group that has not ended.
pub fn group(id: Pid) -> Vec<Process> {
    let mut found = everybody();
    found.retain(|process| process.group == id.as_raw_nonzero().get() && !process.has_ended());
    found
}

/// The descriptor from which a process is waiting to read; none if it does anything else, or we may not know.
pub fn reads_from(pid: Pid) -> Option<i32> {
    let look = || fs::read_to_string(format!("/proc/{pid}/syscall")).ok();
    let call = look()?;
    // One that was stopped is shown in its last call, even if it is through with that.
    let sleeps = stat_fields(pid).ok()?.trim_start().starts_with('S');
    if !sleeps || look()? != call {
        return None;
    }
    let mut words = call.split_ascii_whitespace();
    let is_read = words.next()?.parse() == Ok(libc::SYS_read);
    let descriptor = i32::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    is_read.then_some(descriptor)
}

/// The file-creation mask of this process.
pub fn umask() -> io::Result<u32> {
    // The system call can only read it by changing it. Without other threads nobody notices, and it takes a tenth of the time.
    if crate::threads()? == 1 {
        let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(mask);
        return Ok(mask.as_raw_mode());
    }
    // It is on the second line, so that one read is enough.
    let mut status = [0; 256];
    let count = File::open("/proc/self/status")?.read(&mut status)?;
    String::from_utf8_lossy(&status[..count])
        .lines()
        .find_map(|line| line.strip_prefix("Umask:"))
        .and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .ok_or_else(|| io::Error::other("no umask in /proc/self/status"))
}

/// What the system says of a process behind its name.
///
/// The name may hold anything, brackets, spaces, and half a character where it was cut: the fields begin behind the last
/// bracket, and only they are text.
pub(crate) fn stat_fields(pid: Pid) -> io::Result<String> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    let begin = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
    Ok(String::from_utf8_lossy(&stat[begin..]).into_owned())
}

/// The children of all threads of a process, zombies among them; none if this kernel does not list them.
pub fn children(parent: Pid) -> Option<Vec<Pid>> {
    let threads = match fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())) {
        Ok(threads) => threads,
        // It is gone, and its children have another parent now.
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
        for process in everybody() {
            table.entry(process.parent).or_default().push(process.pid);
        }
        table
    });
    table.get(&parent.as_raw_nonzero().get()).cloned().unwrap_or_default()
}

fn everybody() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| parse_pid(entry.file_name().to_str()?)).filter_map(Process::read).collect()
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}
