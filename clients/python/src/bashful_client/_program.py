"""Finds the program `bashful`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional, Union

from .errors import ProgramNotFoundError

#: The program that a wheel for one platform contains.
PACKAGED = Path(__file__).with_name("bin") / "bashful"


def find_program(given: Optional[Union[str, "os.PathLike[str]"]]) -> str:
    """The program that the caller names, else the one in this package, else that on the `PATH`."""
    if given is not None:
        path = os.fspath(given)
        # The service may start in another directory than the caller's.
        return os.path.abspath(path) if os.sep in path else path
    if PACKAGED.exists():
        return str(PACKAGED)
    found = shutil.which("bashful")
    if found is None:
        raise ProgramNotFoundError("this package has no program for this platform, and `bashful` is not on the PATH")
    return os.path.abspath(found)
