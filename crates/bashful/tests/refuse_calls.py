"""Becomes a program for which the kernel refuses some system calls: refuse_calls.py NAME[:ERROR],NAME[:ERROR]... PROGRAM [ARG]...

The error is EPERM, as seccomp filters of containers have it, unless another one is named. `clone_pidfd` and `waitid_pidfd` are
uses of calls that old kernels have without them.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# Number, and for some the test of the first argument: an instruction and its operand.
LOAD, IF_EQUAL, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
CALLS = {
    "kill": ({"x86_64": 62, "aarch64": 129}, None),
    "socketpair": ({"x86_64": 53, "aarch64": 199}, None),
    "pidfd_send_signal": (424, None),
    "pidfd_open": (434, None),
    "clone3": (435, None),
    "close_range": (436, None),
    "clone_pidfd": ({"x86_64": 56, "aarch64": 220}, (IF_ANY_BIT, 0x1000)),
    "waitid_pidfd": ({"x86_64": 247, "aarch64": 95}, (IF_EQUAL, 3)),
}
NUMBER, FIRST_ARGUMENT = 0, 16
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2


def step(code, operand, otherwise=0):
    return struct.pack("HBBI", code, 0, otherwise, operand)


def rule(text):
    name, _, error = text.partition(":")
    number, argument = CALLS[name]
    number = number[platform.machine()] if isinstance(number, dict) else number
    steps = [step(RETURN, REFUSE | getattr(errno, error or "EPERM"))]
    if argument:
        steps = [step(LOAD, FIRST_ARGUMENT), step(*argument, otherwise=len(steps))] + steps
    return [step(LOAD, NUMBER), step(IF_EQUAL, number, otherwise=len(steps))] + steps


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


steps = [step for text in sys.argv[1].split(",") for step in rule(text)] + [step(RETURN, ALLOW)]
code = ctypes.create_string_buffer(b"".join(steps))
program = Program(len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(program)) == 0
os.execvp(sys.argv[2], sys.argv[2:])
