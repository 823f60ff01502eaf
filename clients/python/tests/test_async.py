"""`AsyncBashful` against the real service."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tracemalloc
import unittest
from typing import Any, List

from bashful_client import (
    AsyncBashful,
    AsyncStream,
    BashfulError,
    Chunk,
    ClosedError,
    CommandFailedError,
    Dropped,
    InvalidRequestError,
    NotFoundError,
    ProgramNotFoundError,
    Question,
    RefusedError,
    ServiceEndedError,
    ServiceError,
    UnavailableError,
    Update,
)
from bashful_client._program import find_program
from bashful_client._streaming import MOST_WAITING
from support import FAMILY, WIDE, Place

#: More than pipes and queues hold.
FLOOD = 32_000_000
FLOODS = f"head -c {FLOOD} /dev/zero | tr '\\0' x; touch over"

FORCE_PUSH = "git push --force 2>&1; echo ran"
ASK = {"BASHFUL_GUARD_LEVELS": '{"git/force-push"="ask"}'}


class AsyncPlace(Place, unittest.IsolatedAsyncioTestCase):
    """A test with a client that is open."""

    async def asyncSetUp(self) -> None:
        # The debug mode of these tests reports every slow step, and is slow itself.
        asyncio.get_running_loop().set_debug(False)
        self.client = await self.open()

    async def open(self, approve: Any = None, **variables: str) -> AsyncBashful:
        client = await AsyncBashful(approve=approve, **self.options(**variables)).open()
        self.addAsyncCleanup(client.close)
        return client


class Running(AsyncPlace):
    async def test_a_command_gives_its_output_and_exit_code(self) -> None:
        result = await self.client.run("echo out; echo err >&2")
        self.assertEqual((result.output, result.exit_code, result.ok), ("out\nerr\n", 0, True))
        self.assertEqual((result.total_bytes, result.total_lines, result.truncated), (8, 2, False))
        self.assertEqual(result.working_dir, str(self.path))
        self.assertIs(result.check(), result)

    async def test_a_failed_command_is_an_answer(self) -> None:
        result = await self.client.run("echo why; (exit 7)")
        self.assertEqual((result.output, result.exit_code, result.ok), ("why\n", 7, False))
        with self.assertRaisesRegex(CommandFailedError, "exit code 7\nwhy"):
            result.check()

    async def test_a_command_that_a_signal_ended_says_so(self) -> None:
        result = await self.client.run("bash -c 'kill -KILL $$'")
        self.assertEqual((result.exit_code, result.cancelled), (137, False))

    async def test_a_timeout_stops_the_whole_tree(self) -> None:
        result = await self.client.run(FAMILY, timeout=3)
        self.assertEqual((result.exit_code, result.timed_out, result.cancelled), (None, True, True))
        self.assertIn("ready", result.output)
        self.assert_gone(*self.pids())

    async def test_the_shell_of_the_client_persists(self) -> None:
        await self.client.run("mkdir d; cd d; X=5")
        result = await self.client.run("echo $X; pwd")
        self.assertEqual(result.output, f"5\n{self.path}/d\n")

    async def test_options_are_for_one_command(self) -> None:
        result = await self.client.run("pwd; echo $A", cwd="/", env={"A": "b c"}, mode="slow")
        self.assertEqual(result.output, "/\nb c\n")
        self.assertEqual((await self.client.run("echo $A")).output, "\n")

    async def test_a_long_output_is_whole_in_its_artifact(self) -> None:
        result = await self.client.run("seq 100000")
        self.assertTrue(result.truncated)
        self.assertEqual((result.total_lines, result.output.splitlines()[-1]), (100_000, "100000"))
        part = await self.client.read(f"artifact://{result.artifact_id}?lines=1-3")
        self.assertEqual(part.text, "1\n2\n3\n")

    async def test_a_thousand_commands_at_fifty_in_parallel(self) -> None:
        numbers = iter(range(1000))

        async def work() -> int:
            done = 0
            for number in numbers:
                result = await self.client.run(f"echo {number}")
                self.assertEqual((result.output, result.exit_code), (f"{number}\n", 0))
                done += 1
            return done

        self.assertEqual(sum(await asyncio.gather(*(work() for _ in range(50)))), 1000)

    async def test_the_service_says_what_it_is(self) -> None:
        self.assertEqual((self.client.info.protocol, self.client.info.dialect), (1, "native"))
        self.assertTrue(self.client.info.abilities["jobs"])


class Cancelling(AsyncPlace):
    async def test_a_cancelled_task_leaves_no_process(self) -> None:
        task = asyncio.ensure_future(self.client.run(FAMILY))
        pids = await self.pids_async()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        # At once: the cancellation has waited for it.
        self.assert_gone(*pids)
        self.assertEqual((await self.client.run("echo next")).output, "next\n")

    async def test_a_second_cancellation_kills(self) -> None:
        task = asyncio.ensure_future(self.client.run("bash -c 'trap \"\" TERM; echo $$ >p; mv p pids; while :; do sleep 0.1; done'"))
        pids = await self.pids_async()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assert_go_soon(*pids)

    async def test_a_time_limit_of_asyncio_stops_the_command(self) -> None:
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.client.run(FAMILY), 3)
        self.assert_gone(*self.pids())

    async def test_cancel_gives_every_command_its_result(self) -> None:
        streams = [self.client.stream("echo begun; sleep 1000") for _ in range(3)]
        for stream in streams:
            self.assertEqual((await stream.take())[0].data, b"begun\n")  # type: ignore[index, union-attr]
        self.assertEqual(await self.client.cancel(), 3)
        for stream in streams:
            result = await stream.result()
            self.assertEqual((result.cancelled, result.timed_out, result.exit_code), (True, False, None))
            self.assertIn("begun", result.output)

    async def test_one_of_two_is_cancelled(self) -> None:
        await self.client.run("mkfifo fifo")
        doomed = self.client.stream("sleep 1000")
        other = self.client.stream("read <fifo; echo went on")
        doomed.cancel()
        self.assertTrue((await doomed.result()).cancelled)
        await self.client.run("echo >fifo")
        self.assertIn("went on", (await other.result()).output)


class Streaming(AsyncPlace):
    async def test_chunks_have_the_exact_bytes(self) -> None:
        stream = self.client.stream(r"printf 'a\377\303\251\000b'; printf '\033[1mé'")
        items = [item async for item in stream]
        self.assertTrue(all(isinstance(item, Chunk) for item in items))
        whole = b"".join(item.data for item in items if isinstance(item, Chunk))
        self.assertEqual(whole, b"a\xff\xc3\xa9\x00b\x1b[1m\xc3\xa9")
        # The result is clean text.
        self.assertEqual((await stream.result()).output, "a\ufffdé␀bé")

    async def test_output_comes_while_the_command_runs(self) -> None:
        seen: List[str] = []
        async for item in self.client.stream("echo first; until [ -e go ]; do sleep 0.01; done; echo last"):
            assert isinstance(item, Chunk)
            seen.append(item.text)
            (self.path / "go").touch()
        self.assertEqual(seen, ["first\n", "last\n"])

    async def test_a_command_waits_for_a_slow_reader_and_nothing_is_lost(self) -> None:
        stream = self.client.stream("seq 2000000")
        first = await stream.take()
        # Other commands are answered, although nobody reads this one.
        self.assertEqual((await self.client.run("echo quick")).output, "quick\n")
        whole = bytearray()
        for item in first or ():
            assert isinstance(item, Chunk)
            whole += item.data
        async for item in stream:
            assert isinstance(item, Chunk)
            whole += item.data
        self.assertEqual(bytes(whole), b"".join(b"%d\n" % number for number in range(1, 2_000_001)))
        self.assertEqual(stream.dropped_bytes, 0)

    async def test_a_reader_that_is_behind_holds_up_its_command_alone_and_memory_stays_flat(self) -> None:
        await self.client.run("mkfifo fifo")
        other = asyncio.ensure_future(self.client.run("read <fifo; echo went on"))
        tracemalloc.start()
        try:
            unread = self.client.stream(FLOODS)
            # As much comes through for somebody else meanwhile.
            self.assertEqual(await self.count(self.client.stream(FLOODS.replace("over", "other"))), FLOOD)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertLess(most, 16 << 20)
        self.assertFalse((self.path / "over").exists())
        await self.client.run("echo >fifo")
        self.assertEqual((await other).output, "went on\n")
        self.assertEqual((await self.count(unread), unread.dropped_bytes), (FLOOD, 0))

    async def test_news_of_a_job_come_while_a_reader_is_behind(self) -> None:
        job = await self.client.job("until [ -e go ]; do sleep 0.01; done; echo done")
        async with self.client.stream(FLOODS) as unread:
            await self.fall_behind(unread)

            async def follow() -> Update:
                return [update async for update in job.updates()][-1]

            (self.path / "go").touch()
            self.assertEqual((await asyncio.wait_for(follow(), WIDE)).state, "completed")

    async def test_a_stream_that_is_behind_is_stopped_as_any_other(self) -> None:
        async with self.client.stream(FLOODS) as unread:
            await self.fall_behind(unread)
        self.assertTrue((await unread.result()).cancelled)
        unread = self.client.stream(FLOODS)
        await self.fall_behind(unread)
        await self.client.close()
        # In order, and not by force after a time limit.
        self.assertTrue((await unread.result()).cancelled)

    async def fall_behind(self, stream: AsyncStream) -> None:
        while stream._chunks._bytes < MOST_WAITING:
            await asyncio.sleep(0.01)

    async def count(self, stream: AsyncStream) -> int:
        return sum([len(item.data) async for item in stream if isinstance(item, Chunk)])

    async def test_a_reader_that_does_not_want_to_hold_up_the_command_is_told_what_is_missing(self) -> None:
        stream = self.client.stream("seq 2000000; touch over", when_behind="drop")
        # The command ends, although nobody reads.
        await asyncio.get_running_loop().run_in_executor(None, self.wait_for_over)
        self.assertEqual((await self.client.run("echo quick")).output, "quick\n")
        items = [item async for item in stream]
        shown = sum(len(item.data) for item in items if isinstance(item, Chunk))
        dropped = sum(item.bytes for item in items if isinstance(item, Dropped))
        result = await stream.result()
        self.assertEqual((shown + dropped, stream.dropped_bytes), (result.total_bytes, dropped))
        self.assertGreater(dropped, 0)
        last = items[-1]
        assert isinstance(last, Chunk)
        self.assertTrue(last.data.endswith(b"2000000\n"))

    def wait_for_over(self) -> None:
        from support import eventually

        self.assertTrue(eventually(lambda: (self.path / "over").exists()))

    async def test_the_result_can_be_awaited_while_another_task_reads(self) -> None:
        stream = self.client.stream("echo begun; until [ -e go ]; do sleep 0.01; done; echo last")

        async def read() -> int:
            return len([item async for item in stream])

        reading = asyncio.ensure_future(read())
        waiting = asyncio.ensure_future(stream.result())
        await asyncio.sleep(0)
        (self.path / "go").touch()
        result = await asyncio.wait_for(waiting, WIDE)
        await asyncio.wait_for(reading, WIDE)
        self.assertEqual((result.exit_code, result.output), (0, "begun\nlast\n"))

    async def test_leaving_the_loop_stops_the_command(self) -> None:
        async for item in self.client.stream(FAMILY):
            break
        self.assert_go_soon(*await self.pids_async())

    async def test_leaving_the_context_leaves_no_process(self) -> None:
        async with self.client.stream(FAMILY) as stream:
            self.assertIsNotNone(await stream.take())
            pids = self.pids()
        self.assert_gone(*pids)

    async def test_nothing_of_a_stream_is_held_after_its_reader_has_had_it(self) -> None:
        total = 0
        tracemalloc.start()
        try:
            async for item in self.client.stream("head -c 64000000 /dev/zero | tr '\\0' x"):
                assert isinstance(item, Chunk)
                total += len(item.data)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        self.assertEqual(total, 64_000_000)
        self.assertLess(most, 8 << 20)


class Refusing(AsyncPlace):
    async def test_a_refused_command_is_an_error_of_its_own(self) -> None:
        with self.assertRaisesRegex(RefusedError, "force") as caught:
            await self.client.run(FORCE_PUSH)
        self.assertEqual(caught.exception.code, "refused")
        with self.assertRaises(RefusedError):
            await self.client.job(FORCE_PUSH)
        with self.assertRaises(RefusedError):
            async for _ in self.client.stream(FORCE_PUSH):
                self.fail("nothing runs")

    async def test_a_yes_lets_it_run_once(self) -> None:
        asked: List[Question] = []

        async def approve(question: Question) -> bool:
            asked.append(question)
            return len(asked) == 1

        client = await self.open(approve, **ASK)
        self.assertIn("ran", (await client.run(FORCE_PUSH)).output)
        with self.assertRaises(RefusedError):
            await client.run(FORCE_PUSH)
        self.assertEqual([question.command for question in asked], [FORCE_PUSH] * 2)
        self.assertEqual(asked[0].findings[0].rule, "git/force-push")
        self.assertIn(FORCE_PUSH, asked[0].text)

    async def test_a_plain_function_may_answer(self) -> None:
        client = await self.open(lambda question: True, **ASK)
        self.assertIn("ran", (await client.run(FORCE_PUSH)).output)

    async def test_an_error_in_the_callback_is_a_no(self) -> None:
        reported: List[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

        def approve(question: Question) -> bool:
            raise ValueError("no idea")

        client = await self.open(approve, **ASK)
        with self.assertRaises(RefusedError):
            await client.run(FORCE_PUSH)
        self.assertIsInstance(reported[0], ValueError)

    async def test_only_true_is_a_yes(self) -> None:
        reported: List[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        no_answers = ["n", "yes", 1, None]
        answers = iter(no_answers * 2)

        def at_once(question: Question) -> Any:
            return next(answers)

        async def later(question: Question) -> Any:
            return next(answers)

        for approve in (at_once, later):
            client = await self.open(approve, **ASK)
            for answer in no_answers:
                with self.assertRaises(RefusedError, msg=repr(answer)):
                    await client.run(FORCE_PUSH)
        self.assertEqual([type(error) for error in reported], [TypeError] * 8)
        self.assertIn("'n'", str(reported[0]))

    async def test_a_cancelled_command_closes_its_question(self) -> None:
        began, closed = asyncio.Event(), asyncio.Event()

        async def approve(question: Question) -> bool:
            began.set()
            try:
                await asyncio.sleep(WIDE)
            finally:
                closed.set()
            return True

        client = await self.open(approve, **ASK)
        task = asyncio.ensure_future(client.run(FORCE_PUSH))
        await asyncio.wait_for(began.wait(), WIDE)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), WIDE)


class Tools(AsyncPlace):
    async def test_definitions_have_the_form_of_the_model_api(self) -> None:
        self.assertEqual([tool["name"] for tool in await self.client.tools()], ["bash", "job"])
        self.assertIn("input_schema", (await self.client.tools("anthropic"))[0])
        self.assertEqual((await self.client.tools("openai"))[0]["type"], "function")
        with self.assertRaises(InvalidRequestError):
            await self.client.tools("none")

    async def test_a_call_gives_the_text_for_the_model(self) -> None:
        answer = await self.client.tool("bash", {"command": "echo hi; exit 3"})
        self.assertIn("hi\n", answer.text)
        self.assertEqual((answer.is_error, answer.conclusion, answer.facts["exit_code"]), (True, "result", 3))

    async def test_a_refusal_is_a_text_for_the_model(self) -> None:
        answer = await self.client.tool("bash", {"command": FORCE_PUSH})
        self.assertEqual((answer.is_error, answer.conclusion), (True, "error"))
        self.assertIn("force", answer.text)

    async def test_an_unknown_tool_is_not_found(self) -> None:
        with self.assertRaises(NotFoundError):
            await self.client.tool("teleport", {})

    async def test_a_command_that_outlasts_the_call_becomes_a_job_that_sends_news(self) -> None:
        last: asyncio.Future[Update] = asyncio.get_running_loop().create_future()

        def on_update(update: Update) -> None:
            if update.is_last:
                last.set_result(update)

        command = "until [ -e go ]; do sleep 0.01; done; echo done"
        answer = await self.client.tool("bash", {"command": command}, patience=0.1, on_update=on_update)
        assert answer.job is not None
        (self.path / "go").touch()
        update = await asyncio.wait_for(last, WIDE)
        self.assertEqual((update.state, update.job), ("completed", answer.job))
        self.assertIn("done", update.text)
        self.assertEqual((await self.client.get_job(answer.job).wait()).exit_code, 0)


class Jobs(AsyncPlace):
    async def test_a_job_is_read_written_to_and_waited_for(self) -> None:
        job = await self.client.job("echo ready; read x; echo got $x", stdin=True)
        self.assertEqual((await job.info()).status, "running")
        await job.send("a line\n")
        info = await job.wait(WIDE)
        self.assertEqual((info.id, info.status, info.exit_code), (job.id, "exited", 0))
        output = await job.output(since=0)
        self.assertTrue(output.text.startswith("ready\ngot a line\n"), output)
        self.assertIn(job.id, [known.id for known in await self.client.jobs()])

    async def test_a_job_sends_news_until_it_is_over(self) -> None:
        job = await self.client.job("echo one; (exit 3)")
        updates = [update async for update in job.updates()]
        self.assertEqual((updates[-1].state, updates[-1].job), ("failed", job.id))
        self.assertIn("one", updates[-1].text)
        with self.assertRaises(UnavailableError):
            async for _ in self.client.get_job(job.id).updates():
                self.fail("there are none")

    async def test_leaving_the_context_leaves_no_process(self) -> None:
        async with self.client.job(FAMILY) as job:
            pids = await self.pids_async()
        self.assert_gone(*pids)
        self.assertFalse((await job.info()).live)

    async def test_a_block_that_is_cancelled_leaves_no_job(self) -> None:
        async def open_and_leave(client: AsyncBashful) -> None:
            async with client.job("sleep 1000"):
                pass

        # From before the start to behind the end, by one cancellation or two.
        for moment in range(40):
            client = await self.open()
            task = asyncio.ensure_future(open_and_leave(client))
            await asyncio.wait([task], timeout=moment / 2000)
            task.cancel()
            if moment % 2:
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait([task])
            await client.close()

        for job in await self.client.jobs(running=True):
            self.assertEqual((await self.client.get_job(job.id).wait(WIDE)).status, "cancelled")

    async def test_a_job_outlives_the_client(self) -> None:
        job = await self.client.job(FAMILY)
        await self.pids_async()
        await self.client.close()
        client = await self.open()
        self.assertTrue((await client.get_job(job.id).info()).live)
        await client.get_job(job.id).stop()
        self.assert_gone(*self.pids())

    async def test_a_missing_job_is_not_found(self) -> None:
        with self.assertRaises(NotFoundError):
            await self.client.get_job(4711).info()


class Terminals(AsyncPlace):
    async def test_a_program_with_a_screen_is_driven(self) -> None:
        async with self.client.terminal(f"{sys.executable} -q", size=(80, 24)) as repl:
            self.assertEqual((await repl.screen(until="input", seconds=WIDE)).columns, 80)
            await repl.type("6*7", "Enter")
            screen = await repl.screen(pattern="^42$", seconds=WIDE)
            self.assertEqual(screen.state, "matched")
            self.assertIn("42", screen.rows)
            await repl.resize(100, 30)
            self.assertEqual((await repl.screen()).columns, 100)
            pid = screen.job.pid
        assert pid is not None
        self.assert_gone(pid)


class Sessions(AsyncPlace):
    async def test_a_session_keeps_its_state_apart(self) -> None:
        async with self.client.session("build") as session:
            await session.run("X=session")
            self.assertEqual((await session.run("echo $X")).output, "session\n")
            self.assertEqual((await self.client.run("echo $X")).output, "\n")
            named = {known.name: known for known in await self.client.sessions()}
            self.assertEqual(named["build"].commands, 2)
        self.assertNotIn("build", [known.name for known in await self.client.sessions()])
        self.assert_gone(named["build"].pid)

    async def test_a_session_without_a_command_ends_too(self) -> None:
        async with self.client.session() as session:
            pass
        with self.assertRaises(NotFoundError):
            await session.end()


class Ending(AsyncPlace):
    async def test_leaving_the_client_leaves_no_process(self) -> None:
        task = asyncio.ensure_future(self.client.run(FAMILY))
        pids = await self.pids_async()
        await self.client.close()
        self.assert_gone(*pids, self.client.pid)
        self.assertTrue((await task).cancelled)
        with self.assertRaises(ClosedError):
            await self.client.run("true")

    async def test_a_killed_service_fails_every_call(self) -> None:
        tasks = [asyncio.ensure_future(self.client.run(FAMILY if first else "sleep 1000")) for first in (True, False)]
        stream = self.client.stream("echo begun; sleep 1000")
        pids = await self.pids_async()
        await stream.take()
        os.kill(self.client.pid, signal.SIGKILL)
        for task in tasks:
            with self.assertRaises(ServiceEndedError) as caught:
                await asyncio.wait_for(task, WIDE)
            self.assertEqual(caught.exception.exit_code, -signal.SIGKILL)
        with self.assertRaises(ServiceEndedError):
            async for _ in stream:
                pass
        with self.assertRaises(ServiceEndedError):
            await self.client.run("true")
        self.assert_go_soon(*pids)

    async def test_a_killed_host_leaves_no_process(self) -> None:
        script = (
            "import asyncio, bashful_client, sys\n"
            "async def main():\n"
            "    async with bashful_client.AsyncBashful() as client:\n"
            "        print(client.pid, flush=True)\n"
            "        await client.run(sys.argv[1])\n"
            "asyncio.run(main())\n"
        )
        host = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, FAMILY, cwd=self.path, env=self.environment(), stdout=asyncio.subprocess.PIPE
        )
        assert host.stdout is not None
        service = int(await host.stdout.readline())
        pids = await self.pids_async()
        host.kill()
        await host.wait()
        self.assert_go_soon(*pids, service)

    async def test_requests_that_the_service_could_not_answer_are_not_sent(self) -> None:
        for wrong in ({"timeout": float("nan")}, {"env": {"A": "\ud800"}}):
            with self.assertRaises(InvalidRequestError):
                await self.client.run("true", **wrong)
        with self.assertRaises(InvalidRequestError) as caught:
            await self.client.run("x" * (17 << 20))
        self.assertEqual(caught.exception.code, "line_too_long")
        self.assertTrue((await self.client.run("true")).ok)

    async def test_a_wrong_value_names_its_field(self) -> None:
        with self.assertRaises(InvalidRequestError) as caught:
            await self.client.run("true", timeout="5m")  # type: ignore[arg-type]
        self.assertEqual(caught.exception.field, "timeout")
        with self.assertRaises(ServiceError):
            await self.client.run("true", cwd="/nowhere")

    async def test_a_program_that_does_not_start_says_why(self) -> None:
        with self.assertRaises(ProgramNotFoundError):
            await AsyncBashful(program="/nowhere/bashful").open()
        with self.assertRaisesRegex(ServiceEndedError, "dialect") as caught:
            await AsyncBashful(dialect="klingon", **self.options()).open()
        self.assertNotEqual(caught.exception.exit_code, 0)
        self.assertIsInstance(caught.exception, BashfulError)

    async def test_a_directory_that_does_not_exist_is_named(self) -> None:
        program = find_program(None)
        plain_file = self.path / "file"
        plain_file.touch()
        for cwd in (self.path / "nowhere", plain_file):
            with self.assertRaisesRegex(InvalidRequestError, f"cwd is not a directory: {cwd}") as caught:
                await AsyncBashful(program=program, cwd=cwd).open()
            self.assertEqual(caught.exception.field, "cwd")
        with self.assertRaisesRegex(ProgramNotFoundError, f"cannot start {plain_file}: Permission denied"):
            await AsyncBashful(program=plain_file, cwd=self.path).open()

    async def test_a_relative_program_is_that_of_the_caller(self) -> None:
        program = os.path.relpath(find_program(None))
        # So deep that the path leads nowhere from there.
        deep = self.path.joinpath(*["deep"] * 20)
        deep.mkdir(parents=True)
        async with AsyncBashful(program=program, cwd=deep, env=self.environment()) as client:
            self.assertEqual((await client.run("pwd")).output, f"{deep}\n")

    async def test_a_program_that_speaks_something_else_is_a_protocol_error(self) -> None:
        program = self.path / "other"
        program.write_text("#!/bin/sh\necho hello there\nexec sleep 1000\n")
        program.chmod(0o755)
        with self.assertRaises(BashfulError) as caught:
            await asyncio.wait_for(AsyncBashful(program=program).open(), WIDE)
        self.assertEqual(type(caught.exception).__name__, "ProtocolError")


if __name__ == "__main__":
    unittest.main()
