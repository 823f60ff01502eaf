"""The build backend: tags that keep their promise."""

from __future__ import annotations

import os
import struct
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

BACKEND = Path(__file__).resolve().parent.parent / "backend"
sys.path.insert(0, str(BACKEND))

import wheel_of_program  # noqa: E402


def elf(machine: int, *kinds: int) -> bytes:
    """An ELF file with these program headers."""
    header = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, len(kinds))
    return header.ljust(64, b"\0") + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in kinds)


class Wheel(unittest.TestCase):
    def build(self, program: bytes) -> zipfile.ZipFile:
        directory = Path(self.temporary_directory())
        path = directory / "program"
        path.write_bytes(program)
        with mock.patch.dict("os.environ", BASHFUL_PROGRAM=str(path)):
            name = wheel_of_program.build_wheel(str(directory))
        wheel = zipfile.ZipFile(directory / name)
        self.addCleanup(wheel.close)
        return wheel

    def temporary_directory(self) -> str:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return directory.name

    def test_a_static_program_gets_the_tags_of_its_machine(self) -> None:
        for machine, name in ((62, "x86_64"), (183, "aarch64")):
            wheel = self.build(elf(machine, 1, 1))
            assert wheel.filename is not None
            self.assertIn(f"-py3-none-manylinux_2_17_{name}.manylinux2014_{name}.musllinux_1_1_{name}.whl", wheel.filename)
            program = wheel.getinfo("bashful_client/bin/bashful")
            self.assertEqual(program.external_attr >> 16, 0o100755)
            self.assertIn("bashful_client/py.typed", wheel.namelist())
            self.assertIsNone(wheel.testzip())

    def test_a_program_that_needs_a_loader_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "dynamically"):
            self.build(elf(62, 1, 3))
        with self.assertRaisesRegex(ValueError, "ELF"):
            self.build(b"#!/bin/sh\n")
        with self.assertRaisesRegex(ValueError, "machine"):
            self.build(elf(8, 1))

    def test_the_same_program_gives_the_same_wheel(self) -> None:
        first, second = (self.build(elf(62, 1)) for _ in range(2))
        assert first.filename is not None and second.filename is not None
        self.assertEqual(Path(first.filename).read_bytes(), Path(second.filename).read_bytes())

    def test_without_a_program_the_wheel_is_for_all_platforms(self) -> None:
        directory = self.temporary_directory()
        with mock.patch.dict("os.environ"):
            os.environ.pop("BASHFUL_PROGRAM", None)
            name = wheel_of_program.build_wheel(directory)
        self.assertTrue(name.endswith("-py3-none-any.whl"), name)


if __name__ == "__main__":
    unittest.main()
