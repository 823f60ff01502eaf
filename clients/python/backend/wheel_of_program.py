"""Builds the wheel: the package, and the program if BASHFUL_PROGRAM names one.

A build backend of its own, because a wheel is a zip file with two lists, and the only thing that others would add is the
wrong tag: the program is static, so it runs on every Linux of its architecture.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"

#: Machines by their number in an ELF file.
MACHINES = {62: "x86_64", 183: "aarch64"}

#: Every file has the same time, so that the same program gives the same wheel.
TIME = (1980, 1, 1, 0, 0, 0)


def build_wheel(
    wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None
) -> str:
    project = read_project()
    program = os.environ.get("BASHFUL_PROGRAM")
    tags = platform_tags(Path(program)) if program else ["any"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    name = f"{stem}-py3-none-{'.'.join(tags)}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        record: List[str] = []
        for path in sorted(SOURCES.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.parent.name != "bin":
                add(archive, record, path.relative_to(SOURCES).as_posix(), path.read_bytes())
        if program:
            add(archive, record, "bashful_client/bin/bashful", Path(program).read_bytes(), 0o755)
        for license in ("LICENSE-MIT", "LICENSE-APACHE"):
            text = (ROOT / license).read_bytes()
            add(archive, record, f"{stem}.dist-info/licenses/{license}", text)
        add(archive, record, f"{stem}.dist-info/METADATA", metadata(project).encode())
        add(archive, record, f"{stem}.dist-info/WHEEL", wheel_facts(tags, bool(program)).encode())
        listed = f"{stem}.dist-info/RECORD"
        add(archive, [], listed, "".join(f"{line}\n" for line in [*record, f"{listed},,"]).encode())
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    project = read_project()
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    with tarfile.open(Path(sdist_directory, f"{stem}.tar.gz"), "w:gz", dereference=True) as archive:
        for entry in ("pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "backend", "src"):
            archive.add(ROOT / entry, f"{stem}/{entry}", filter=leave_out_caches)
    return f"{stem}.tar.gz"


def leave_out_caches(member: tarfile.TarInfo) -> Optional[tarfile.TarInfo]:
    return None if "__pycache__" in member.name else member


def read_project() -> Dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project: Dict[str, Any] = tomllib.load(file)["project"]
    return project


def add(archive: zipfile.ZipFile, record: List[str], name: str, data: bytes, mode: int = 0o644) -> None:
    entry = zipfile.ZipInfo(name, TIME)
    entry.external_attr = (0o100000 | mode) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(data)}")


def metadata(project: Dict[str, Any]) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        f"Keywords: {','.join(project['keywords'])}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        "Description-Content-Type: text/markdown",
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + readme


def wheel_facts(tags: List[str], has_program: bool) -> str:
    lines = ["Wheel-Version: 1.0", "Generator: wheel_of_program", f"Root-Is-Purelib: {str(not has_program).lower()}"]
    return "".join(f"{line}\n" for line in [*lines, *(f"Tag: py3-none-{tag}" for tag in tags)])


def platform_tags(program: Path) -> List[str]:
    """The tags of a static program for Linux: it needs neither glibc nor musl, so both may install it."""
    machine, needs_loader = read_elf(program.read_bytes())
    if needs_loader:
        raise ValueError(f"{program} is linked dynamically, and would not run everywhere")
    return [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]


def read_elf(data: bytes) -> Tuple[str, bool]:
    """The machine of an ELF file, and whether it names a dynamic loader (`PT_INTERP`)."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("the program is no 64-bit little-endian ELF file")
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine not in MACHINES:
        raise ValueError(f"the program is for the unknown machine {machine}")
    offset = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    kinds = [struct.unpack_from("<I", data, offset + index * size)[0] for index in range(count)]
    return MACHINES[machine], 3 in kinds
