//! The rights that a process gives up for good before it runs a command.

#![expect(unsafe_code, reason = "these calls happen between `clone` and `exec`, where nothing may allocate")]

use std::ffi::c_int;
use std::io;

/// Capabilities that a command of root keeps inside of a fence, as bits: those over files, ids and signals, without which root's
/// ordinary work fails. None reaches beyond the mounts and processes of the fence.
pub const KEPT_BY_ROOT: u64 = 1 << CHOWN
    | 1 << DAC_OVERRIDE
    | 1 << DAC_READ_SEARCH
    | 1 << FOWNER
    | 1 << FSETID
    | 1 << KILL
    | 1 << SETGID
    | 1 << SETUID
    | 1 << NET_BIND_SERVICE;

const CHOWN: u32 = 0;
const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;
const FOWNER: u32 = 3;
const FSETID: u32 = 4;
const KILL: u32 = 5;
const SETGID: u32 = 6;
const SETUID: u32 = 7;
const NET_BIND_SERVICE: u32 = 10;

/// One more than the highest capability that any kernel has.
const CAPABILITIES: libc::c_ulong = 64;

/// Version of `capset` with 64 bits.
const CAPSET_VERSION: u32 = 0x2008_0522;

/// An instruction of a filter of system calls, as the kernel has it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct FilterInstruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip if a test holds.
    pub jump_true: u8,
    /// Instructions to skip if it does not.
    pub jump_false: u8,
    /// Operand.
    pub operand: u32,
}

/// The rights that a process gives up.
#[derive(Debug, Default)]
pub struct Confinement {
    /// Capabilities that it keeps, as bits. None if capabilities stay as they are.
    pub capabilities: Option<u64>,
    /// Filter of system calls.
    pub filter: Vec<FilterInstruction>,
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapabilityHalf {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[repr(C)]
struct FilterProgram {
    length: u16,
    instructions: *const FilterInstruction,
}

impl Confinement {
    /// Gives it all up. Calls the system only, and allocates nothing.
    pub fn apply(&self) -> io::Result<()> {
        if let Some(kept) = self.capabilities {
            keep_capabilities(kept)?;
        }
        // SAFETY: takes numbers only.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        if !self.filter.is_empty() {
            let length = u16::try_from(self.filter.len()).unwrap_or(u16::MAX);
            let program = FilterProgram { length, instructions: self.filter.as_ptr() };
            // SAFETY: the kernel copies the program, which outlives the call.
            check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) })?;
        }
        Ok(())
    }
}

/// Drops every other capability, also for programs that this one executes.
fn keep_capabilities(kept: u64) -> io::Result<()> {
    for number in (0..CAPABILITIES).filter(|number| kept & (1 << number) == 0) {
        // A number beyond those of this kernel is an error, and needs nothing.
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
    }
    let header = CapabilityHeader { version: CAPSET_VERSION, pid: 0 };
    let half = |bits: u64| {
        let bits = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
        CapabilityHalf { effective: bits, permitted: bits, inheritable: 0 }
    };
    let halves = [half(kept), half(kept >> 32)];
    // SAFETY: the kernel reads a header and two halves, which outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) })
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
