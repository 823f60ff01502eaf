//! The filter of system calls.
//!
//! It is a second wall: namespaces and missing capabilities refuse nearly all of this anyway. What it adds are parts of the kernel
//! that no namespace separates, and that ordinary programs do not use.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare, SeccompCondition as Condition,
    SeccompFilter, SeccompRule,
};

/// An instruction of the filter: operation, the two jumps, operand.
pub type Instruction = (u16, u8, u8, u32);

/// Calls that no fenced command may make: keys, programs in the kernel, its modules, and handles that lead past every mount.
const ALWAYS: [libc::c_long; 14] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_acct,
];

/// Calls that could open sockets past the rule about sockets.
const WITHOUT_NETWORK: [libc::c_long; 3] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Requests that type into the terminal of somebody else.
const TERMINAL_REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The highest address family that may be used, apart from `AF_NETLINK`: `AF_UNIX`, `AF_INET` and `AF_INET6` are below. The others, such
/// as virtual sockets to the host, belong to no network namespace.
const HIGHEST_FAMILY: u64 = libc::AF_INET6 as u64;

/// The filter for commands, with or without the network of the host. None on a machine whose system calls are not known.
pub fn filter(has_host_network: bool) -> Option<Vec<Instruction>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    let is = |argument, compare, value| Condition::new(argument, Length::Dword, compare, value);
    let types = |request| SeccompRule::new(vec![is(1, Compare::Eq, request).ok()?]).ok();
    rules.insert(libc::SYS_ioctl, TERMINAL_REQUESTS.into_iter().map(types).collect::<Option<_>>()?);
    if !has_host_network {
        rules.extend(WITHOUT_NETWORK.iter().map(|call| (*call, Vec::new())));
        let beyond = is(0, Compare::Gt, HIGHEST_FAMILY).ok()?;
        let no_netlink = is(0, Compare::Ne, libc::AF_NETLINK as u64).ok()?;
        rules.insert(libc::SYS_socket, vec![SeccompRule::new(vec![beyond, no_netlink]).ok()?]);
    }
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, machine).ok()?;
    let program: BpfProgram = filter.try_into().ok()?;
    Some(program.iter().map(|step| (step.code, step.jt, step.jf, step.k)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_filter_for_this_machine_and_it_is_stricter_without_a_network() {
        let (strict, open) = (filter(false).expect("a filter"), filter(true).expect("a filter"));
        assert!(strict.len() > open.len());
    }
}
