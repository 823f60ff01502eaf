//! Abilities of this machine, for reports to people. Nothing here changes what the engine does.

use std::fs;

use rustix::process::getpid;

/// True if a process can adopt orphans (Linux 3.4).
pub fn subreaper() -> bool {
    rustix::process::child_subreaper().is_ok()
}

/// True if children can be listed without reading all of `/proc`.
pub fn children_lists() -> bool {
    fs::metadata("/proc/self/task").is_ok()
        && fs::read(format!("/proc/self/task/{}/children", getpid().as_raw_nonzero())).is_ok()
}

/// Version of Landlock; none without it.
pub fn landlock() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with a null pointer, size zero and this flag, the call only returns its version.
    #[expect(unsafe_code, reason = "there is no safe way to ask")]
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// True if users may create namespaces of their own.
pub fn user_namespaces() -> bool {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    number("/proc/sys/user/max_user_namespaces").is_some_and(|most| most > 0)
        && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
        && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").is_none_or(|on| on == 0)
}

/// Mount point of version 2 of control groups; none if it is not mounted.
pub fn cgroup_v2() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let place = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| place.to_owned())
    })
}

/// Release of the kernel, as `uname -r` prints it.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
