//! One script, in a world of its own: the first process of a new pid and mount namespace, which becomes unable to harm anything
//! before it starts bash.
//!
//! Invariant: bash starts only after the host's files are unmounted from this namespace, every capability is gone, and a look
//! at the mounts has confirmed it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::{Resource, Rlimit, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde_json::{Value, json};

use super::label::{self, BLIND_ADD, CRITICAL_RM, FORCE_PUSH, HOME, PROJECT};
use super::recorder::{self, EVENTS, TRACE};
use crate::{Done, print};

/// The whole environment of a script. The guard is told its names.
pub(super) const ENVIRONMENT: [(&str, &str); 9] = [
    ("HOME", HOME),
    ("USER", "dev"),
    ("LOGNAME", "dev"),
    ("SHELL", "/bin/bash"),
    ("TERM", "dumb"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
    ("TMPDIR", "/tmp"),
    ("PWD", PROJECT),
];
/// A script that is still running then is stopped. Most are over within 50 ms; a busy machine must not change a label.
const LIFETIME: Duration = Duration::from_secs(15);
/// Processes that a script leaves in the background may finish their work for this long.
const AFTERMATH: Duration = Duration::from_secs(3);

/// Runs `DIRECTORY/script` and prints its outcome. With `build`, the world is not a throw-away copy.
pub(super) fn main(directory: &str, build: bool) -> Done {
    if std::process::id() != 1 {
        return Err("a cell has to be the first process of its own namespace".into());
    }
    let directory = Path::new(directory);
    let script = fs::read_to_string(directory.join("script"))?;
    let mut errors =
        File::options().read(true).write(true).create(true).truncate(true).open(directory.join("stderr"))?;
    // Capabilities could be had again in a further user namespace.
    fs::write("/proc/sys/user/max_user_namespaces", "0")?;
    enter(directory, build)?;
    confine(build)?;
    let mut bash = Command::new("/bin/bash");
    bash.arg("-c").arg(script).current_dir(if build { "/" } else { PROJECT }).process_group(0);
    bash.env_clear().envs(ENVIRONMENT);
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let (code, timed_out) = outlast(&mut bash, if build { LIFETIME * 10 } else { LIFETIME })?;
    errors.seek(SeekFrom::Start(0))?;
    let mut said = Vec::new();
    errors.take(4 << 10).read_to_end(&mut said)?;
    let found = if build { Vec::new() } else { found() };
    let said = String::from_utf8_lossy(&said);
    print::data(&json!({ "found": found, "code": code, "timed_out": timed_out, "stderr": said }).to_string());
    Ok(())
}

/// Makes the little world the root, and the host's files unreachable.
fn enter(directory: &Path, build: bool) -> Done {
    let stage = directory.parent().ok_or("a cell needs a stage")?;
    let root = directory.join("root");
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    if build {
        rustix::mount::mount_bind(stage.join("base"), &root)?;
    } else {
        let parts = [
            ("lowerdir", stage.join("base")),
            ("upperdir", directory.join("upper")),
            ("workdir", directory.join("work")),
        ];
        let options: Vec<String> = parts.iter().map(|(name, path)| format!("{name}={}", path.display())).collect();
        let options = CString::new(format!("{},userxattr", options.join(",")))?;
        rustix::mount::mount("overlay", &root, "overlay", safe, options.as_c_str())?;
    }
    rustix::mount::mount_bind_recursive(stage.join("dev"), root.join("dev"))?;
    rustix::mount::mount_remount(root.join("dev"), MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID, "")?;
    rustix::mount::mount("proc", root.join("proc"), "proc", safe | MountFlags::NOEXEC, c"subset=pid")?;
    std::env::set_current_dir(&root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    Ok(())
}

/// Gives up every privilege, limits resources, and makes sure that nothing of the host is left.
fn confine(build: bool) -> Done {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let point = |line: &str| line.split(' ').nth(4).unwrap_or("?").to_owned();
    if let Some(strange) = mounts.lines().map(point).find(|at| at != "/" && at != "/proc" && !at.starts_with("/dev")) {
        return Err(format!("{strange} is mounted in a cell").into());
    }
    if !Path::new(recorder::RECORDER).exists() {
        return Err("the root of a cell is not the little world".into());
    }
    let limit =
        |resource, most| rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, if build { 60 } else { 4 })?;
    limit(Resource::Fsize, 64 << 20)?;
    limit(Resource::Nofile, 256)?;
    limit(Resource::Nproc, 400)?;
    limit(Resource::Data, 1 << 30)?;
    for bit in 0..64 {
        // Kernels know different numbers of capabilities; the first unknown one ends the row.
        let Some(capability) = CapabilitySet::from_bits(1 << bit) else { break };
        if rustix::thread::remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_no_new_privs(true)?;
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let status = fs::read_to_string("/proc/self/status")?;
    if !only_zero(&status) {
        return Err("a cell could not drop its capabilities".into());
    }
    Ok(())
}

/// Says whether each set of capabilities in a `status` file of a process is empty.
fn only_zero(status: &str) -> bool {
    let mut sets = status.lines().filter_map(|line| line.strip_prefix("Cap")?.split_once(':'));
    sets.all(|(_, digits)| digits.trim().bytes().all(|digit| digit == b'0'))
}

/// Waits for bash and, for a while, for the processes that it leaves. Orphans become children of this process.
fn outlast(bash: &mut Command, lifetime: Duration) -> Result<(i32, bool), Box<dyn std::error::Error>> {
    let mut deadline = Instant::now() + lifetime;
    let shell = bash.spawn()?.id();
    let mut code = None;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == shell => {
                code = Some(status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0)));
                deadline = deadline.min(Instant::now() + AFTERMATH);
            }
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() > deadline => return Ok((code.unwrap_or(124), code.is_none())),
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            Err(_) => return Ok((code.unwrap_or(124), code.is_none())),
        }
    }
}

/// The rules that the script broke, with details: by the recorders' events, and by the files that are left.
fn found() -> Vec<Value> {
    let events = fs::read_to_string(EVENTS).unwrap_or_default();
    let mut found: Vec<(String, String)> =
        events.lines().filter_map(|line| line.split_once('\t')).map(|(rule, why)| (rule.into(), why.into())).collect();
    let trace = fs::read_to_string(TRACE).unwrap_or_default();
    let pushes = git_words(&trace);
    let forced = pushes.iter().find(|words| label::is_forced_push(words));
    // A lease that was up to date overwrites, too, and is allowed.
    let leased =
        pushes.iter().flatten().any(|word| word.starts_with("--force-with-lease") || word == "--force-if-includes");
    let seen = found.iter().position(|(rule, _)| rule.ends_with("/seen")).map(|at| found.remove(at));
    found.retain(|(rule, _)| !rule.ends_with("/seen"));
    if let Some(words) = forced {
        found.push((FORCE_PUSH.into(), format!("git {}", words.join(" "))));
    } else if let Some((_, detail)) = seen.filter(|_| !leased) {
        found.push((FORCE_PUSH.into(), detail));
    }
    if recorder::everything_is_staged() && !found.iter().any(|(rule, _)| rule == BLIND_ADD) {
        found.push((BLIND_ADD.into(), "seen in the index".into()));
    }
    found.extend(recorder::losses().into_iter().map(|loss| (CRITICAL_RM.into(), loss)));
    found.into_iter().map(|(rule, why)| json!([rule, why])).collect()
}

/// The words of each git process, and those that its aliases became.
fn git_words(trace: &str) -> Vec<Vec<String>> {
    let events = trace.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let wanted = events.filter(|event| matches!(event["event"].as_str(), Some("start" | "alias")));
    wanted
        .map(|event| {
            let words = event["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let skipped = usize::from(event["event"] == "start");
            words.skip(skipped).map(str::to_owned).collect()
        })
        .collect()
}
