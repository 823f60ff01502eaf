"""The connection to one service process: requests, responses and events.

Everything here runs in one event loop. The connection always reads what the service sends, because answers and news come
the same way as the output of a stream. A stream whose reader is behind is paused at the service.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Sequence, Set

from . import errors
from ._streaming import ChunkQueue, UpdateBoard
from .errors import ClosedError, InvalidRequestError, ProtocolError, ServiceEndedError
from .messages import Question, build_chunk, build_question, build_update

#: Version of the messages that this client knows.
PROTOCOL = 1

#: Bytes that are read at once.
READ_SIZE = 1 << 18

#: Longest request line, until `hello` tells the limit of the service.
LONGEST_LINE = 16 << 20

#: Bytes of the service's standard error that an error shows.
STDERR_SHOWN = 4096

#: Seconds that an orderly end may take. Commands have a grace of 15 s in it.
END_WITHIN = 30.0

#: Seconds between the end of the output and that of the process. Only a service that closes its output early needs more.
EXIT_WITHIN = 2.0

Fields = Mapping[str, Any]

#: Asks about a command. Only `True` approves.
Ask = Callable[[Question], Awaitable[object]]


class Request:
    """A request that is on its way, and its answer."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.future: asyncio.Future[Dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.chunks: Optional[ChunkQueue] = None
        self.updates: Optional[UpdateBoard] = None
        # Nobody may be left who wants to know why it failed.
        self.future.add_done_callback(lambda future: future.cancelled() or future.exception())


class Connection:
    """One service process. Made by `open`, ended by `close`."""

    def __init__(self, process: asyncio.subprocess.Process, ask: Optional[Ask]) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._stderr = process.stderr
        self._ask = ask
        self._count = 0
        self._requests: Dict[int, Request] = {}
        #: Answered requests whose jobs still send updates.
        self._followed: Dict[int, Request] = {}
        #: Answers of aborted starts that nobody waits for. Each may name a job to stop.
        self._unclaimed: Set[asyncio.Future[Dict[str, Any]]] = set()
        self._questions: Dict[str, asyncio.Task[None]] = {}
        self._said = bytearray()
        self._ended: Optional[errors.BashfulError] = None
        self._draining = asyncio.Lock()
        self.longest_line = LONGEST_LINE
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen())
        self._exited = loop.create_task(process.wait())
        self._reading = loop.create_task(self._read())

    @classmethod
    async def open(
        cls, command: Sequence[str], env: Optional[Mapping[str, str]], cwd: Optional[str], ask: Optional[Ask]
    ) -> Connection:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                limit=READ_SIZE,
                # Ctrl-C at the host's terminal is for the host. It ends the service by hanging up.
                start_new_session=True,
            )
        except OSError as error:
            raise _why_not_started(command[0], cwd, error) from error
        return cls(process, ask)

    @property
    def pid(self) -> int:
        return self._process.pid

    # Requests

    async def request(self, kind: str, fields: Fields, updates: Optional[UpdateBoard] = None) -> Dict[str, Any]:
        """The data of the response. Cancelling this aborts the request, and waits for its end."""
        data: Dict[str, Any] = (await self.answer(self.send(kind, fields, updates=updates)))["data"]
        return data

    def send(
        self,
        kind: str,
        fields: Fields,
        chunks: Optional[ChunkQueue] = None,
        updates: Optional[UpdateBoard] = None,
    ) -> Request:
        """Sends a request. Fields that are None are left out."""
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        self._count += 1
        given = {name: value for name, value in fields.items() if value is not None}
        line = self._encode({"id": self._count, "type": kind, **given})
        request = Request(self._count)
        request.chunks, request.updates = chunks, updates
        if chunks is not None:
            chunks.on_pause = lambda is_paused: self._pause(request, is_paused)
        self._requests[request.id] = request
        self._stdin.write(line)
        return request

    def _pause(self, request: Request, is_paused: bool) -> None:
        """Makes the service hold back the output of one stream, or send it again."""
        if self._ended is None and not request.future.done():
            self.send("stream_pause" if is_paused else "stream_resume", {"target": request.id})

    def _encode(self, message: Fields) -> bytes:
        # The service cannot tell the id of a line that it cannot parse, so such a line must never be sent.
        try:
            line = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"
        except (TypeError, ValueError) as error:
            raise InvalidRequestError("invalid_field", f"not a JSON value: {error}") from error
        if len(line) > self.longest_line:
            text = f"a request has at most {self.longest_line} bytes, and this {len(line)}"
            raise InvalidRequestError("line_too_long", text)
        return line

    async def answer(self, request: Request) -> Dict[str, Any]:
        """Waits for the response. A first cancellation aborts the request, and a second does not wait for its end."""
        try:
            await self._drain()
            return await asyncio.shield(request.future)
        except asyncio.CancelledError:
            self.abort(request)
            await self.settle(request)
            raise

    async def settle(self, request: Request) -> None:
        """Waits for the end of a request that was aborted. A cancellation kills its command and waits no longer."""
        try:
            await asyncio.wait([request.future])
        except asyncio.CancelledError:
            self.abort(request)
            raise

    async def _drain(self) -> None:
        if self._stdin.transport.get_write_buffer_size() == 0:
            return
        async with self._draining:
            try:
                await self._stdin.drain()
            except ConnectionError:
                pass  # The end of the service's output tells more.

    def abort(self, request: Request) -> None:
        """Aborts a request, if it is not answered yet. A second abort kills its command at once."""
        if self._ended is None and not request.future.done():
            self.send("abort_bash", {"target": request.id})

    async def stop_job_of(self, request: Request) -> None:
        """Stops the job of a request that was aborted too late: now, or when the answer names it."""
        if request.future.done():
            stop = self._stop_job(request.future)
            if stop is not None:
                await self.settle(stop)
        else:
            self._unclaimed.add(request.future)
            request.future.add_done_callback(self._stop_job)

    def _stop_job(self, future: asyncio.Future[Dict[str, Any]]) -> Optional[Request]:
        self._unclaimed.discard(future)
        if self._ended is not None or future.exception() is not None:
            return None
        job = future.result()["data"].get("job")
        return None if job is None else self.send("job_stop", {"job": job})

    # Messages of the service

    async def _read(self) -> None:
        error: Optional[errors.BashfulError] = None
        rest = b""
        try:
            while True:
                data = await self._stdout.read(READ_SIZE)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n") if rest else data.split(b"\n")
                for line in lines:
                    self._accept(line)
        except errors.BashfulError as failure:
            error = failure
        except (ValueError, KeyError, TypeError) as failure:
            error = ProtocolError(f"the service sent an unknown message: {failure!r}")
        await self._end(error)

    def _accept(self, line: bytes) -> None:
        message = json.loads(line)
        kind = message["type"]
        if kind == "response":
            self._accept_response(message)
        elif kind in ("chunk", "dropped"):
            request = self._requests.get(message["id"])
            if request is not None and request.chunks is not None:
                request.chunks.put(build_chunk(message))
        elif kind == "update":
            self._accept_update(message)
        elif kind == "approve" and self._ask is not None:
            name: str = message["question"]
            answering = self._answer(name, build_question(message), self._ask)
            self._questions[name] = asyncio.get_running_loop().create_task(answering)
        elif kind == "approve_closed":
            closed = self._questions.pop(message["question"], None)
            if closed is not None:
                closed.cancel()

    def _accept_response(self, message: Dict[str, Any]) -> None:
        request = self._requests.pop(message.get("id"), None)  # type: ignore[arg-type]
        if request is None:
            raise ProtocolError(f"the service answered a request that nobody made: {message.get('error') or message}")
        if message["success"]:
            if request.updates is not None and message["data"].get("job") is not None:
                self._followed[request.id] = request
            request.future.set_result(message)
        else:
            request.future.set_exception(errors.from_wire(message["error"]))
        if request.chunks is not None:
            request.chunks.finish()

    def _accept_update(self, message: Dict[str, Any]) -> None:
        number = message.get("id")
        request = self._requests.get(number) or self._followed.get(number)  # type: ignore[arg-type]
        if request is None or request.updates is None:
            return
        update = build_update(message)
        if update.is_last:
            self._followed.pop(request.id, None)
        request.updates.put(update)

    # Questions

    async def _answer(self, name: str, question: Question, ask: Ask) -> None:
        approve = False
        try:
            answer = await ask(question)
            # A text such as "n" is true for Python, and no yes.
            if not isinstance(answer, bool):
                raise TypeError(f"the approve callback must return True or False, not {answer!r}")
            approve = answer
        except asyncio.CancelledError:
            return
        except Exception as error:
            context = {"message": "the approve callback failed; the command is refused", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        # A question that was closed meanwhile has no answer.
        if self._questions.pop(name, None) is not None and self._ended is None:
            self.send("answer", {"question": name, "approve": approve})

    # The end

    async def _listen(self) -> None:
        """Keeps the last part of the service's standard error."""
        while True:
            data = await self._stderr.read(READ_SIZE)
            if not data:
                return
            self._said += data
            del self._said[:-STDERR_SHOWN]

    async def _end(self, error: Optional[errors.BashfulError]) -> None:
        if error is None:
            # The reason is on standard error, and the process about to exit.
            await asyncio.wait([self._listening, self._exited], timeout=EXIT_WITHIN)
            error = ServiceEndedError(self._process.returncode, self._said.decode("utf-8", "replace"))
        elif self._process.returncode is None:
            # Nothing that follows can be trusted. The keepers of its commands stop them then.
            self._process.kill()
        if self._ended is None:
            self._ended = error
        for task in self._questions.values():
            task.cancel()
        unanswered, followed = [*self._requests.values()], [*self._followed.values()]
        self._requests.clear()
        self._followed.clear()
        for request in unanswered:
            request.future.set_exception(self._ended)
            if request.chunks is not None:
                request.chunks.finish()
        for request in followed:
            if request.updates is not None:
                request.updates.fail(self._ended)

    async def close(self) -> None:
        """Ends the service: its commands are stopped with all their processes. Jobs go on."""
        try:
            if self._ended is None and self._unclaimed:
                await asyncio.wait(self._unclaimed, timeout=END_WITHIN)
            if self._ended is None:
                self.send("shutdown", {})
                self._ended = ClosedError("the client is closed")
                # The service sends the rest of every stream now, paused or not.
                for request in self._requests.values():
                    if request.chunks is not None:
                        request.chunks.drop_from_now_on()
            self._stdin.close()
            await asyncio.wait([self._reading, self._exited], timeout=END_WITHIN)
        finally:
            # Also after a cancellation: the keepers of its commands stop them then.
            if self._process.returncode is None:
                self._process.kill()
            for task in (self._reading, self._listening, self._exited):
                task.cancel()


def _why_not_started(program: str, cwd: Optional[str], error: OSError) -> errors.BashfulError:
    # The error of the system does not tell which of the two is missing.
    if cwd is not None and not os.path.isdir(cwd):
        return InvalidRequestError("invalid_field", f"cwd is not a directory: {cwd}", "cwd")
    if cwd is not None and not os.access(cwd, os.X_OK):
        return InvalidRequestError("invalid_field", f"cwd cannot be entered: {cwd}", "cwd")
    return errors.ProgramNotFoundError(f"cannot start {program}: {error.strerror}")
