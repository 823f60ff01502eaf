"""Becomes a program for which the kernel refuses some system calls with EPERM: refuse_calls.py NAME,NAME PROGRAM [ARG]..."""

import ctypes
import os
import platform
import struct
import sys

NUMBERS = {"kill": {"x86_64": 62, "aarch64": 129}, "pidfd_send_signal": 424, "pidfd_open": 434}
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2


def number(name):
    known = NUMBERS[name]
    return known[platform.machine()] if isinstance(known, dict) else known


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


steps = [struct.pack("HBBI", LOAD_NUMBER, 0, 0, 0)]
for name in sys.argv[1].split(","):
    steps.append(struct.pack("HBBI", IF_EQUAL, 0, 1, number(name)))
    steps.append(struct.pack("HBBI", RETURN, 0, 0, REFUSE))
steps.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
code = ctypes.create_string_buffer(b"".join(steps))
program = Program(len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(program)) == 0
os.execvp(sys.argv[2], sys.argv[2:])
