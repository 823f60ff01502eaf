"""The client for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    Generator,
    Generic,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from . import messages
from ._connection import PROTOCOL, Connection, Request
from ._program import find_program
from ._streaming import ChunkQueue, UpdateBoard
from .errors import ClosedError, NotFoundError, ProtocolError, RefusedError, ServiceError, UnavailableError
from .messages import (
    JobInfo,
    JobOutput,
    Link,
    Part,
    Question,
    Result,
    Screen,
    ServiceInfo,
    SessionInfo,
    StreamItem,
    ToolResult,
    Update,
    build,
)

StrPath = Union[str, "os.PathLike[str]"]
Approve = Callable[[Question], Union[bool, Awaitable[bool]]]


def run_fields(
    command: str,
    cwd: Optional[StrPath],
    env: Optional[Mapping[str, str]],
    timeout: Optional[float],
    mode: Optional[str],
    session: Optional[str],
) -> Dict[str, Any]:
    return {
        "command": command,
        "cwd": None if cwd is None else os.fspath(cwd),
        "env": None if env is None else dict(env),
        "timeout": timeout,
        "mode": mode,
        "session": session,
    }


class AsyncBashful:
    """A service of bashful, for one event loop.

    `async with AsyncBashful() as client:` starts the service and ends it. All commands are stopped then with every process
    that they started, and the shells with them. Jobs go on, unless they were opened by `async with` of their own.

    `approve` is asked about commands that the guard lets run only with approval. It may be a coroutine function; a plain one
    runs in the event loop. Only `True` approves. An error, or any value that is not a bool, is reported to the event loop
    and counts as a no. Without `approve` such commands are refused.
    """

    def __init__(
        self,
        *,
        cwd: Optional[StrPath] = None,
        dialect: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        approve: Optional[Approve] = None,
        approve_seconds: Optional[float] = None,
        program: Optional[StrPath] = None,
    ) -> None:
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._dialect = dialect
        self._env = env
        self._approve = approve
        self._approve_seconds = approve_seconds
        self._program = program
        self._connection: Optional[Connection] = None
        self._info: Optional[ServiceInfo] = None

    async def open(self) -> AsyncBashful:
        """Starts the service. `async with` does it too."""
        if self._connection is not None:
            raise ClosedError("the client was opened before")
        command = [find_program(self._program), "rpc"]
        if self._dialect is not None:
            command += ["--dialect", self._dialect]
        connection = await Connection.open(command, self._env, self._cwd, self._ask if self._approve else None)
        self._connection = connection
        try:
            hello = {"approve": self._approve is not None, "approveSeconds": self._approve_seconds}
            info = build(ServiceInfo, await connection.request("hello", hello))
            if info.protocol != PROTOCOL:
                raise ProtocolError(f"the service speaks protocol {info.protocol}, and this client {PROTOCOL}")
        except BaseException:
            await connection.close()
            raise
        connection.longest_line = info.limits.get("lineBytes", connection.longest_line)
        self._info = info
        return self

    async def _ask(self, question: Question) -> object:
        assert self._approve is not None
        answer: object = self._approve(question)
        return await answer if inspect.isawaitable(answer) else answer

    async def close(self) -> None:
        """Ends the service. Returns when all its commands are stopped."""
        if self._connection is not None:
            await self._connection.close()

    async def __aenter__(self) -> AsyncBashful:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise ClosedError("the client is not open; use `async with`")
        return self._connection

    @property
    def info(self) -> ServiceInfo:
        """The version, abilities and limits of the service."""
        if self._info is None:
            raise ClosedError("the client is not open; use `async with`")
        return self._info

    @property
    def pid(self) -> int:
        """Process id of the service."""
        return self._open.pid

    # Commands

    async def run(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
        session: Optional[str] = None,
    ) -> Result:
        """Runs a command in the persistent shell of this client, or at once in one of its own if that is busy.

        Cancelling the task stops the command and waits until it is gone. A second cancellation kills it.
        """
        data = await self._open.request("bash", run_fields(command, cwd, env, timeout, mode, session))
        return messages.build_result(data)

    def stream(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
        session: Optional[str] = None,
        when_behind: str = "wait",
    ) -> AsyncStream:
        """Runs a command and gives its output while it runs: exact bytes, as an asynchronous iterator.

        A command waits for a slow reader, as at any pipe, and holds up nothing else. With `when_behind="drop"` it never
        waits, and a `Dropped` stands for the output that is missing. The result is whole in any case.
        """
        connection = self._open
        chunks = ChunkQueue(drops=when_behind == "drop")
        fields = {**run_fields(command, cwd, env, timeout, mode, session), "stream": True, "whenBehind": when_behind}
        return AsyncStream(connection, connection.send("bash", fields, chunks), chunks)

    async def cancel(self) -> int:
        """Aborts all commands of this client; their number. Each gives its result with `cancelled` set."""
        data = await self._open.request("abort_bash", {})
        return int(data["aborted"])

    # Tools

    async def tools(self, format: str = "anthropic") -> List[Dict[str, Any]]:
        """The definitions of the tools, for a request to a model: `anthropic`, `openai`, `gemini` or `mcp`."""
        tools: List[Dict[str, Any]] = (await self._open.request("tools", {"format": format}))["tools"]
        return tools

    async def tool(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        *,
        patience: Optional[float] = None,
        on_update: Optional[Callable[[Update], None]] = None,
    ) -> ToolResult:
        """Calls a tool with the arguments that a model gave. A refusal is a text for the model, not an error.

        A command that runs longer than `patience` seconds becomes a job. `on_update` gets its news until it is over.
        """
        updates = None if on_update else False
        fields = {"name": name, "arguments": dict(arguments or {}), "patience": patience, "updates": updates}
        data = await self._open.request("tool", fields, UpdateBoard(on_update) if on_update else None)
        return messages.build_tool_result(data)

    # Jobs, terminals and sessions

    def job(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        stdin: bool = False,
    ) -> Opening[AsyncJob]:
        """Starts a job, which outlives this client. `async with client.job(…) as job:` stops it at the end."""
        return Opening(self._start(AsyncJob, run_fields(command, cwd, env, timeout, None, None), {"stdin": stdin or None}))

    def terminal(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        size: Optional[Tuple[int, int]] = None,
    ) -> Opening[AsyncTerminal]:
        """Starts a job at a terminal. `size` is columns and rows. `async with` stops it at the end."""
        return Opening(self._open_terminal(run_fields(command, cwd, env, timeout, None, None), size))

    async def _open_terminal(self, fields: Dict[str, Any], size: Optional[Tuple[int, int]]) -> AsyncTerminal:
        terminal = await self._start(AsyncTerminal, fields, {"pty": True})
        if size is not None:
            try:
                await terminal.resize(*size)
            except BaseException:
                await terminal.close()
                raise
        return terminal

    async def _start(self, kind: Type[J], fields: Dict[str, Any], more: Dict[str, Any]) -> J:
        board = UpdateBoard()
        fields = {**fields, **more, "as": "tool", "mode": "background"}
        connection = self._open
        request = connection.send("bash", fields, updates=board)
        try:
            data = (await connection.answer(request))["data"]
        except asyncio.CancelledError:
            await connection.stop_job_of(request)
            raise
        answer = messages.build_tool_result(data)
        if answer.job is None:
            # As a tool, a refusal is a text.
            is_refusal = answer.facts.get("status") == "refused"
            raise RefusedError("refused", answer.text) if is_refusal else ServiceError("failed", answer.text)
        return kind(connection, answer.job, board)

    def get_job(self, id: int) -> AsyncJob:
        """A handle on any job of this user, also one of another program or of a tool call."""
        return AsyncJob(self._open, id, None)

    def get_terminal(self, id: int) -> AsyncTerminal:
        """A handle on any job with a terminal."""
        return AsyncTerminal(self._open, id, None)

    async def jobs(self, *, running: bool = False) -> List[JobInfo]:
        """All jobs of this user, the oldest first."""
        return [build(JobInfo, job) for job in (await self._open.request("jobs", {"running": running}))["jobs"]]

    def session(self, name: Optional[str] = None) -> AsyncSession:
        """Another persistent shell. It begins with its first command, and ends with `async with`, or with the client."""
        return AsyncSession(self, name or f"s-{secrets.token_hex(4)}")

    async def sessions(self) -> List[SessionInfo]:
        """The persistent shells of this client."""
        return [build(SessionInfo, session) for session in (await self._open.request("sessions", {}))["sessions"]]

    # Full outputs

    async def resources(self, *, first: int = 0, count: int = 100) -> List[Link]:
        """Artifacts and outputs of jobs, the newest first."""
        data = await self._open.request("resources", {"first": first, "count": count})
        return [build(Link, link) for link in data["resources"]]

    async def read(self, uri: str) -> Part:
        """Reads an artifact or the output of a job: `artifact://7`, `job://3`, also with `?lines=10-20` or `?tail=50`."""
        return build(Part, await self._open.request("read", {"uri": uri}))


class AsyncStream:
    """A running command, and its output as an asynchronous iterator of `Chunk` and `Dropped`.

    Leaving the loop or `async with` before the end stops the command.
    """

    def __init__(self, connection: Connection, request: Request, chunks: ChunkQueue) -> None:
        self._connection = connection
        self._request = request
        self._chunks = chunks
        self._dropped = 0

    async def __aiter__(self) -> AsyncIterator[StreamItem]:
        is_over = False
        try:
            while True:
                items = await self.take()
                if items is None:
                    break
                for item in items:
                    yield item
            is_over = True
        finally:
            if not is_over:
                self._leave()
        # An error of the service, after the last piece.
        await self._connection.answer(self._request)

    async def take(self) -> Optional[List[StreamItem]]:
        """All pieces that have come since the last time, at least one; None after the last."""
        items = await self._chunks.take()
        for item in items or ():
            if isinstance(item, messages.Dropped):
                self._dropped += item.bytes
        return items

    @property
    def dropped_bytes(self) -> int:
        """Bytes that this reader has missed so far. 0 for a command that waits, until the client is closed."""
        return self._dropped

    async def result(self) -> Result:
        """The end of the command. Pieces that were not read are dropped. Cancelling this stops the command."""
        self._chunks.discard()
        return messages.build_result((await self._connection.answer(self._request))["data"])

    def cancel(self) -> None:
        """Aborts the command. Its result has `cancelled` set. A second call kills it at once."""
        self._connection.abort(self._request)

    def _leave(self) -> None:
        if not self._request.future.done():
            self.cancel()
            self._chunks.discard()

    async def close(self) -> None:
        """Stops the command, if it still runs, and waits until it is gone."""
        if not self._request.future.done():
            self._leave()
            await self._connection.settle(self._request)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncJob:
    """A job: a command in the background. It outlives the client, unless it was opened by `async with`."""

    def __init__(self, connection: Connection, id: int, board: Optional[UpdateBoard]) -> None:
        self._connection = connection
        self._board = board
        self.id = id

    async def info(self) -> JobInfo:
        """The job as it is now."""
        return build(JobInfo, (await self._connection.request("job", {"job": self.id, "lines": 1}))["job"])

    async def output(self, *, since: Optional[int] = None, lines: Optional[int] = None) -> JobOutput:
        """The last lines, 20 unless given, or all since a byte. Continue with the `end` of the answer before."""
        data = await self._connection.request("job", {"job": self.id, "since": since, "lines": lines})
        return build(JobOutput, data["output"])

    async def wait(self, seconds: Optional[float] = None) -> JobInfo:
        """Waits for the end of the job. After `seconds`, it is returned as it is, running."""
        data = await self._connection.request("job_wait", {"jobs": [self.id], "seconds": seconds})
        return build(JobInfo, data["jobs"][0])

    async def updates(self) -> AsyncIterator[Update]:
        """News of the job until it is over. A slow reader misses some, never the last. Only where the job was started."""
        if self._board is None:
            raise UnavailableError("unavailable", "updates come to the client that started the job")
        async for update in self._board.follow():
            yield update

    async def send(self, text: Optional[str] = None, *, eof: bool = False) -> JobInfo:
        """Writes to the standard input of a job that was started with `stdin`. `eof` closes it."""
        return await self._change("job_send", {"text": text, "eof": eof or None})

    async def stop(self, signal: Optional[str] = None) -> JobInfo:
        """Stops the job with its whole process tree: SIGTERM, then SIGKILL. A `signal` is only sent."""
        return await self._change("job_stop", {"signal": signal})

    async def _change(self, kind: str, fields: Dict[str, Any]) -> JobInfo:
        return build(JobInfo, (await self._connection.request(kind, {"job": self.id, **fields}))["job"])

    async def close(self) -> None:
        """Stops the job, if it still runs, and waits until it is gone."""
        try:
            # The order goes out first: this may be cancelled while it waits for any answer.
            await self.stop()
        except ServiceError:
            if (await self.info()).live:
                raise

    async def __aenter__(self: J) -> J:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncTerminal(AsyncJob):
    """A job at a terminal: a program with a screen and a keyboard."""

    async def type(self, text: Optional[str] = None, *keys: str) -> JobInfo:
        """Types text, then keys by their names in tmux: `Enter`, `C-c`, `Up`, `F1`, `M-x`."""
        return await self._change("job_send", {"text": text, "keys": list(keys) or None})

    async def screen(
        self,
        *,
        until: Optional[str] = None,
        pattern: Optional[str] = None,
        seconds: Optional[float] = None,
        colors: bool = False,
    ) -> Screen:
        """The screen, at once or after an event: `settled`, `input`, `quiet`, `end`, or a regular expression that matches.

        After `seconds`, 5 unless given, it is returned as it is, with the state `busy`.
        """
        fields = {"job": self.id, "until": until, "pattern": pattern, "seconds": seconds, "colors": colors or None}
        return messages.build_screen(await self._connection.request("screen", fields))

    async def resize(self, columns: int, rows: int) -> JobInfo:
        """Changes the size of the screen."""
        return await self._change("resize", {"columns": columns, "rows": rows})


class AsyncSession:
    """A persistent shell with a name: its directory, variables and functions carry over to the next command."""

    def __init__(self, client: AsyncBashful, name: str) -> None:
        self._client = client
        self.name = name

    async def run(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
    ) -> Result:
        """Runs a command in this shell. See `AsyncBashful.run`."""
        return await self._client.run(command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=self.name)

    def stream(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
        when_behind: str = "wait",
    ) -> AsyncStream:
        """Runs a command in this shell, with live output. See `AsyncBashful.stream`."""
        return self._client.stream(
            command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=self.name, when_behind=when_behind
        )

    async def end(self) -> None:
        """Ends the shell and stops everything that runs in it."""
        await self._client._open.request("session_end", {"session": self.name})

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.end()
        except NotFoundError:
            pass  # It never began, or its shell has ended.


J = TypeVar("J", bound=AsyncJob)


class Opening(Generic[J]):
    """A job that is about to start: `await` it, or use `async with`, which stops it at the end."""

    def __init__(self, opening: Coroutine[Any, Any, J]) -> None:
        self._opening = opening
        self._opened: Optional[J] = None

    def __await__(self) -> Generator[Any, None, J]:
        return self._opening.__await__()

    async def __aenter__(self) -> J:
        self._opened = await self._opening
        return self._opened

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._opened is not None:
            await self._opened.close()
