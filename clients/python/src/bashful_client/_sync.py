"""The client for programs without asyncio.

It is the asyncio client in a thread of its own. Its methods can be called from any thread, also at the same time.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import Future
from typing import Any, Callable, Coroutine, Dict, Generic, Iterator, List, Mapping, Optional, Tuple, TypeVar

from ._aio import AsyncBashful, AsyncJob, AsyncSession, AsyncStream, AsyncTerminal, StrPath
from ._connection import EXIT_WITHIN
from .errors import ClosedError
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
)

T = TypeVar("T")
J = TypeVar("J", bound="Job")


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A daemon does not hold up the end of the program, and the service ends when the program does.
        self._thread = threading.Thread(target=self._loop.run_forever, name="bashful", daemon=True)
        self._thread.start()

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs a coroutine to its end. Ctrl-C cancels it, and a second one does not wait for its end."""
        if self._loop.is_closed():
            raise ClosedError("the client is closed")
        done: Future[T] = Future()
        task: List[asyncio.Task[T]] = []

        def begin() -> None:
            task.append(self._loop.create_task(work()))
            task[0].add_done_callback(lambda ended: _hand_over(ended, done))

        def cancel() -> None:
            task[0].cancel()

        self._loop.call_soon_threadsafe(begin)
        try:
            return done.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(cancel)
            try:
                done.exception()
            except KeyboardInterrupt:
                self._loop.call_soon_threadsafe(cancel)
            raise

    def do(self, work: Callable[[], T]) -> T:
        """Runs a function in the loop."""

        async def run() -> T:
            return work()

        return self.call(run)

    def end(self) -> None:
        """Ends the thread. The service has ended, so calls of other threads get their last answers now."""
        if self._loop.is_closed():
            return
        self.call(_others_have_ended)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _others_have_ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=EXIT_WITHIN)


def _hand_over(ended: asyncio.Task[T], done: Future[T]) -> None:
    if ended.cancelled():
        done.set_exception(ClosedError("the call was cancelled"))
        return
    error = ended.exception()
    if error is None:
        done.set_result(ended.result())
    else:
        done.set_exception(error)


async def _in_thread(approve: Callable[[Question], bool], question: Question) -> bool:
    """Asks in a thread of its own: people take their time, and the loop must not wait for them."""
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()

    def tell(approved: bool, error: Optional[BaseException]) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(approved)
        else:
            answer.set_exception(error)

    def ask() -> None:
        approved, error = False, None
        try:
            approved = approve(question)
        except BaseException as failure:
            error = failure
        try:
            loop.call_soon_threadsafe(tell, approved, error)
        except RuntimeError:
            pass  # The client was closed meanwhile.

    threading.Thread(target=ask, name="bashful-approve", daemon=True).start()
    return await answer


class Bashful:
    """A service of bashful.

    `with Bashful() as client:` starts the service and ends it. All commands are stopped then with every process that they
    started, and the shells with them. Jobs go on, unless they were opened by `with` of their own.

    `approve` is asked about commands that the guard lets run only with approval, in a thread of its own. Only `True`
    approves. An error, or any value that is not a bool, is logged and counts as a no. Without `approve` such commands are
    refused.
    """

    def __init__(
        self,
        *,
        cwd: Optional[StrPath] = None,
        dialect: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        approve: Optional[Callable[[Question], bool]] = None,
        approve_seconds: Optional[float] = None,
        program: Optional[StrPath] = None,
    ) -> None:
        if approve is not None and inspect.iscoroutinefunction(approve):
            raise TypeError("a coroutine function can approve only for AsyncBashful")
        ask = None if approve is None else lambda question: _in_thread(approve, question)
        self._client = AsyncBashful(
            cwd=cwd, dialect=dialect, env=env, approve=ask, approve_seconds=approve_seconds, program=program
        )
        self._thread: Optional[LoopThread] = None

    def open(self) -> Bashful:
        """Starts the service. `with` does it too."""
        if self._thread is not None:
            raise ClosedError("the client was opened before")
        self._thread = LoopThread()
        try:
            self._thread.call(self._client.open)
        except BaseException:
            self._thread.end()
            raise
        return self

    def close(self) -> None:
        """Ends the service. Returns when all its commands are stopped."""
        if self._thread is not None and not self._thread._loop.is_closed():
            try:
                self._thread.call(self._client.close)
            finally:
                self._thread.end()

    def __enter__(self) -> Bashful:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _loop(self) -> LoopThread:
        if self._thread is None:
            raise ClosedError("the client is not open; use `with`")
        return self._thread

    @property
    def info(self) -> ServiceInfo:
        """The version, abilities and limits of the service."""
        return self._client.info

    @property
    def pid(self) -> int:
        """Process id of the service."""
        return self._client.pid

    def run(
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

        Ctrl-C stops the command and waits until it is gone. A second Ctrl-C kills it.
        """
        return self._loop.call(
            lambda: self._client.run(command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=session)
        )

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
    ) -> Stream:
        """Runs a command and gives its output while it runs: exact bytes, as an iterator.

        A command waits for a slow reader, as at any pipe, and holds up nothing else. With `when_behind="drop"` it never
        waits, and a `Dropped` stands for the output that is missing. The result is whole in any case.
        """
        loop = self._loop
        stream = loop.do(
            lambda: self._client.stream(
                command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=session, when_behind=when_behind
            )
        )
        return Stream(loop, stream)

    def cancel(self) -> int:
        """Aborts all commands of this client; their number. Each gives its result with `cancelled` set."""
        return self._loop.call(self._client.cancel)

    def tools(self, format: str = "anthropic") -> List[Dict[str, Any]]:
        """The definitions of the tools, for a request to a model: `anthropic`, `openai`, `gemini` or `mcp`."""
        return self._loop.call(lambda: self._client.tools(format))

    def tool(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        *,
        patience: Optional[float] = None,
        on_update: Optional[Callable[[Update], None]] = None,
    ) -> ToolResult:
        """Calls a tool with the arguments that a model gave. A refusal is a text for the model, not an error.

        A command that runs longer than `patience` seconds becomes a job. `on_update` gets its news until it is over, in the
        thread of the client: it must return soon, and call nothing of this client.
        """
        return self._loop.call(lambda: self._client.tool(name, arguments, patience=patience, on_update=on_update))

    def job(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        stdin: bool = False,
    ) -> Job:
        """Starts a job, which outlives this client. `with client.job(…) as job:` stops it at the end."""

        async def start() -> AsyncJob:
            return await self._client.job(command, cwd=cwd, env=env, timeout=timeout, stdin=stdin)

        return Job(self._loop, self._loop.call(start))

    def terminal(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        size: Optional[Tuple[int, int]] = None,
    ) -> Terminal:
        """Starts a job at a terminal. `size` is columns and rows. `with` stops it at the end."""

        async def start() -> AsyncTerminal:
            return await self._client.terminal(command, cwd=cwd, env=env, timeout=timeout, size=size)

        return Terminal(self._loop, self._loop.call(start))

    def get_job(self, id: int) -> Job:
        """A handle on any job of this user, also one of another program or of a tool call."""
        return Job(self._loop, self._client.get_job(id))

    def get_terminal(self, id: int) -> Terminal:
        """A handle on any job with a terminal."""
        return Terminal(self._loop, self._client.get_terminal(id))

    def jobs(self, *, running: bool = False) -> List[JobInfo]:
        """All jobs of this user, the oldest first."""
        return self._loop.call(lambda: self._client.jobs(running=running))

    def session(self, name: Optional[str] = None) -> Session:
        """Another persistent shell. It begins with its first command, and ends with `with`, or with the client."""
        return Session(self, self._client.session(name))

    def sessions(self) -> List[SessionInfo]:
        """The persistent shells of this client."""
        return self._loop.call(self._client.sessions)

    def resources(self, *, first: int = 0, count: int = 100) -> List[Link]:
        """Artifacts and outputs of jobs, the newest first."""
        return self._loop.call(lambda: self._client.resources(first=first, count=count))

    def read(self, uri: str) -> Part:
        """Reads an artifact or the output of a job: `artifact://7`, `job://3`, also with `?lines=10-20` or `?tail=50`."""
        return self._loop.call(lambda: self._client.read(uri))


class Stream:
    """A running command, and its output as an iterator of `Chunk` and `Dropped`.

    Leaving the loop or `with` before the end stops the command.
    """

    def __init__(self, loop: LoopThread, stream: AsyncStream) -> None:
        self._loop = loop
        self._stream = stream

    def __iter__(self) -> Iterator[StreamItem]:
        is_over = False
        try:
            while True:
                items = self._loop.call(self._stream.take)
                if items is None:
                    break
                yield from items
            is_over = True
        finally:
            if not is_over:
                self.close()
        # An error of the service, after the last piece.
        self.result()

    @property
    def dropped_bytes(self) -> int:
        """Bytes that this reader has missed so far. 0 for a command that waits, until the client is closed."""
        return self._stream.dropped_bytes

    def result(self) -> Result:
        """The end of the command. Pieces that were not read are dropped."""
        return self._loop.call(self._stream.result)

    def cancel(self) -> None:
        """Aborts the command. Its result has `cancelled` set. A second call kills it at once."""
        self._loop.do(self._stream.cancel)

    def close(self) -> None:
        """Stops the command, if it still runs, and waits until it is gone."""
        self._loop.call(self._stream.close)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


A = TypeVar("A", bound=AsyncJob)


class JobHandle(Generic[A]):
    """The methods that every job has."""

    def __init__(self, loop: LoopThread, job: A) -> None:
        self._loop = loop
        self._job = job

    @property
    def id(self) -> int:
        """Id of the job, never used for another one."""
        return self._job.id

    def info(self) -> JobInfo:
        """The job as it is now."""
        return self._loop.call(self._job.info)

    def output(self, *, since: Optional[int] = None, lines: Optional[int] = None) -> JobOutput:
        """The last lines, 20 unless given, or all since a byte. Continue with the `end` of the answer before."""
        return self._loop.call(lambda: self._job.output(since=since, lines=lines))

    def wait(self, seconds: Optional[float] = None) -> JobInfo:
        """Waits for the end of the job. After `seconds`, it is returned as it is, running."""
        return self._loop.call(lambda: self._job.wait(seconds))

    def updates(self) -> Iterator[Update]:
        """News of the job until it is over. A slow reader misses some, never the last. Only where the job was started."""
        updates = self._job.updates()

        async def follow() -> Optional[Update]:
            async for update in updates:
                return update
            return None

        while True:
            update = self._loop.call(follow)
            if update is None:
                return
            yield update

    def send(self, text: Optional[str] = None, *, eof: bool = False) -> JobInfo:
        """Writes to the standard input of a job that was started with `stdin`. `eof` closes it."""
        return self._loop.call(lambda: self._job.send(text, eof=eof))

    def stop(self, signal: Optional[str] = None) -> JobInfo:
        """Stops the job with its whole process tree: SIGTERM, then SIGKILL. A `signal` is only sent."""
        return self._loop.call(lambda: self._job.stop(signal))

    def close(self) -> None:
        """Stops the job, if it still runs, and waits until it is gone."""
        self._loop.call(self._job.close)

    def __exit__(self, *_: object) -> None:
        self.close()


class Job(JobHandle[AsyncJob]):
    """A job: a command in the background. It outlives the client, unless it was opened by `with`."""

    def __enter__(self) -> Job:
        return self


class Terminal(JobHandle[AsyncTerminal]):
    """A job at a terminal: a program with a screen and a keyboard."""

    def __enter__(self) -> Terminal:
        return self

    def type(self, text: Optional[str] = None, *keys: str) -> JobInfo:
        """Types text, then keys by their names in tmux: `Enter`, `C-c`, `Up`, `F1`, `M-x`."""
        return self._loop.call(lambda: self._job.type(text, *keys))

    def screen(
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
        return self._loop.call(
            lambda: self._job.screen(until=until, pattern=pattern, seconds=seconds, colors=colors)
        )

    def resize(self, columns: int, rows: int) -> JobInfo:
        """Changes the size of the screen."""
        return self._loop.call(lambda: self._job.resize(columns, rows))


class Session:
    """A persistent shell with a name: its directory, variables and functions carry over to the next command."""

    def __init__(self, client: Bashful, session: AsyncSession) -> None:
        self._client = client
        self._session = session

    @property
    def name(self) -> str:
        """Name of the session."""
        return self._session.name

    def run(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
    ) -> Result:
        """Runs a command in this shell. See `Bashful.run`."""
        return self._client.run(command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=self.name)

    def stream(
        self,
        command: str,
        *,
        cwd: Optional[StrPath] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        mode: Optional[str] = None,
        when_behind: str = "wait",
    ) -> Stream:
        """Runs a command in this shell, with live output. See `Bashful.stream`."""
        return self._client.stream(
            command, cwd=cwd, env=env, timeout=timeout, mode=mode, session=self.name, when_behind=when_behind
        )

    def end(self) -> None:
        """Ends the shell and stops everything that runs in it."""
        self._client._loop.call(self._session.end)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._client._loop.call(lambda: self._session.__aexit__())
