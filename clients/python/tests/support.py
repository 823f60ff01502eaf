"""Shared by the tests: a home directory of their own, and a look at processes."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List

#: Seconds that only a hang exceeds.
WIDE = 60.0

#: A command with a child and a grandchild. Their process ids are in the file `pids` before its first output.
FAMILY = "bash -c 'sleep 1000 & echo $! $$ >p; mv p pids; echo ready; wait'"


class Place(unittest.TestCase):
    """A test with a temporary home directory, and options for clients in it."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="bashful-python-")
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)

    def environment(self, **more: str) -> Dict[str, str]:
        left_out = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        return {**kept, "HOME": str(self.path), **more}

    def options(self, **more: str) -> Dict[str, Any]:
        return {"cwd": str(self.path), "env": self.environment(**more)}

    def pids(self) -> List[int]:
        """The processes of `FAMILY`, once it is ready."""
        self.assertTrue(eventually(lambda: (self.path / "pids").exists()), "the command did not begin")
        return [int(pid) for pid in (self.path / "pids").read_text().split()]

    async def pids_async(self) -> List[int]:
        return await asyncio.get_running_loop().run_in_executor(None, self.pids)

    def assert_gone(self, *pids: int) -> None:
        left = [pid for pid in pids if is_running(pid)]
        self.assertEqual(left, [], "processes are left")

    def assert_go_soon(self, *pids: int) -> None:
        self.assertTrue(eventually(lambda: not any(map(is_running, pids))), f"processes are left: {pids}")


def is_running(pid: int) -> bool:
    """True for a process that is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + WIDE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
