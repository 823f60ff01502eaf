"""Data of the service, as Python values.

The fields are those of docs/rpc.md in Python's spelling: `exitCode` is `exit_code`. Unknown fields are ignored.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from .errors import CommandFailedError, ProtocolError


@dataclass(frozen=True)
class ServiceInfo:
    """The service, its abilities and its limits."""

    version: str
    protocol: int
    dialect: str
    cwd: str
    requests: List[str]
    abilities: Dict[str, bool]
    limits: Dict[str, int]


@dataclass(frozen=True)
class Result:
    """The end of a command. `output` is clean text: the beginning and the end of a long output, the whole of which is `artifact_id`."""

    output: str
    cancelled: bool
    timed_out: bool
    truncated: bool
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    working_dir: str
    #: 128+N after signal N. None if the command was stopped.
    exit_code: Optional[int] = None
    #: The full output on disk, for `read` as `artifact://ID`. None if `output` has everything.
    artifact_id: Optional[str] = None
    wall_time_ms: int = 0
    notices: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with exit code 0."""
        return self.exit_code == 0

    def check(self) -> Result:
        """This result, or a `CommandFailedError` with the end of the output if the command failed."""
        if self.ok:
            return self
        how = "timed out" if self.timed_out else "was cancelled" if self.cancelled else f"failed: exit code {self.exit_code}"
        raise CommandFailedError(f"the command {how}\n{self.output[-2000:]}")


@dataclass(frozen=True)
class Chunk:
    """A piece of a command's output, exactly as the command wrote it. A character is never split between two chunks."""

    data: bytes

    @property
    def text(self) -> str:
        """The piece as text. Bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Dropped:
    """Output is missing here, because the reader was too slow. Only with `when_behind="drop"`."""

    bytes: int


StreamItem = Union[Chunk, Dropped]


@dataclass(frozen=True)
class Link:
    """An artifact or the output of a job, for `read`."""

    uri: str
    name: str
    size: int


@dataclass(frozen=True)
class ToolResult:
    """The answer to a tool call: `text` and `is_error` are for the model, and `facts` for programs."""

    text: str
    is_error: bool
    #: `result`, `error` (the command did not run, or was stopped) or `abort`.
    conclusion: str
    facts: Dict[str, Any]
    links: Tuple[Link, ...] = ()
    #: Id of the job that the command became.
    job: Optional[int] = None


@dataclass(frozen=True)
class Update:
    """News of a job. `text` is the end of its output, and at the end the final text."""

    text: str
    bytes: int
    elapsed_ms: int
    facts: Dict[str, Any]
    #: `running`, `completed` (exit code 0) or `failed`; None while the call that may become a job waits.
    state: Optional[str] = None
    job: Optional[int] = None

    @property
    def is_last(self) -> bool:
        """True if no other update follows."""
        return self.state in ("completed", "failed")


@dataclass(frozen=True)
class Finding:
    """A concern of the guard."""

    rule: str
    text: str


@dataclass(frozen=True)
class Question:
    """A command that needs approval. Show `text` to a person."""

    text: str
    command: str
    cwd: str
    findings: Tuple[Finding, ...] = ()
    answer_within_ms: int = 0


@dataclass(frozen=True)
class JobInfo:
    """A job, as it is at one moment."""

    id: int
    uri: str
    kind: str
    #: `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed`, `lost` or `unknown`.
    status: str
    live: bool
    command: str
    cwd: str
    output_file: str
    output_bytes: int
    duration_ms: int
    exit_code: Optional[int] = None
    signal: Optional[Dict[str, Any]] = None
    pid: Optional[int] = None
    takes_input: bool = False
    has_terminal: bool = False
    lifetime_ms: int = 0
    began_unix_ms: int = 0
    ended_unix_ms: Optional[int] = None
    leftover: Optional[List[Dict[str, Any]]] = None


@dataclass(frozen=True)
class JobOutput:
    """A part of a job's output. Give `end` as `since` to continue."""

    text: str
    begin: int
    end: int
    total_bytes: int


@dataclass(frozen=True)
class Screen:
    """The screen of a terminal. Rows and columns count from 1."""

    text: str
    rows: List[str]
    columns: int
    cursor_row: int
    cursor_column: int
    cursor_visible: bool
    full_screen: bool
    #: `matched`, `input`, `password`, `quiet`, `ended`, `running`, or `busy` if the event did not come in time.
    state: str
    waited_ms: int
    job: JobInfo
    title: Optional[str] = None


@dataclass(frozen=True)
class SessionInfo:
    """A persistent shell of this service."""

    name: str
    busy: bool
    since_ms: int
    pid: int
    commands: int
    cwd: Optional[str] = None


@dataclass(frozen=True)
class Part:
    """A resource, or a part of it. `next` is the address of the rest."""

    text: str
    cut: bool
    next: Optional[str] = None


T = TypeVar("T")

_WIRE_NAMES: Dict[type, List[Tuple[str, str]]] = {}


def build(kind: Type[T], data: Mapping[str, Any]) -> T:
    """A value from the object of a message."""
    names = _WIRE_NAMES.get(kind)
    if names is None:
        fields = dataclasses.fields(kind)  # type: ignore[arg-type]
        names = [(field.name, _camel_case(field.name)) for field in fields]
        _WIRE_NAMES[kind] = names
    try:
        return kind(**{name: data[wire] for name, wire in names if wire in data})
    except TypeError as error:
        raise ProtocolError(f"the service left out a field: {error}") from error


def _camel_case(name: str) -> str:
    return re.sub("_(.)", lambda match: match[1].upper(), name)


def build_result(data: Mapping[str, Any]) -> Result:
    return build(Result, {**data, "notices": tuple(data.get("notices", ()))})


def build_tool_result(data: Mapping[str, Any]) -> ToolResult:
    return build(ToolResult, {**data, "links": tuple(build(Link, link) for link in data.get("links", ()))})


def build_screen(data: Mapping[str, Any]) -> Screen:
    return build(Screen, {**data, "job": build(JobInfo, data["job"])})


def build_question(event: Mapping[str, Any]) -> Question:
    findings = tuple(build(Finding, finding) for finding in event.get("findings", ()))
    return build(Question, {**event, "findings": findings})


def build_update(event: Mapping[str, Any]) -> Update:
    state = event.get("async") or {}
    return build(Update, {**event, "state": state.get("state"), "job": state.get("job")})


def build_chunk(event: Mapping[str, Any]) -> StreamItem:
    if event["type"] == "dropped":
        return Dropped(event["bytes"])
    text = event.get("text")
    return Chunk(base64.b64decode(event["base64"]) if text is None else text.encode("utf-8"))
