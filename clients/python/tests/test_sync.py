"""`Bashful` against the real service: the same client in a thread of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

from bashful_client import Bashful, Chunk, ClosedError, Question, RefusedError, ServiceEndedError
from support import FAMILY, WIDE, Place

FORCE_PUSH = "git push --force 2>&1; echo ran"
ASK = {"BASHFUL_GUARD_LEVELS": '{"git/force-push"="ask"}'}


class Sync(Place):
    def open(self, **variables: str) -> Bashful:
        client = Bashful(**self.options(**variables)).open()
        self.addCleanup(client.close)
        return client

    def test_commands_run_and_keep_their_shell(self) -> None:
        with Bashful(**self.options()) as client:
            self.assertEqual(client.run("X=5; (exit 3)").exit_code, 3)
            self.assertEqual(client.run("echo $X").output, "5\n")
            self.assertEqual(client.info.protocol, 1)
        with self.assertRaises(ClosedError):
            client.run("true")

    def test_output_is_streamed_as_bytes(self) -> None:
        stream = self.open().stream(r"printf '\377'; seq 300000")
        whole = b"".join(item.data for item in stream if isinstance(item, Chunk))
        self.assertEqual(whole, b"\xff" + b"".join(b"%d\n" % number for number in range(1, 300_001)))
        self.assertEqual(stream.result().total_bytes, len(whole))

    def test_leaving_the_loop_leaves_no_process(self) -> None:
        for _ in self.open().stream(FAMILY):
            break
        self.assert_go_soon(*self.pids())

    def test_another_thread_cancels(self) -> None:
        client = self.open()
        with ThreadPoolExecutor() as threads:
            running = threads.submit(client.run, FAMILY)
            pids = self.pids()
            self.assertEqual(client.cancel(), 1)
            self.assertTrue(running.result(WIDE).cancelled)
        self.assert_gone(*pids)

    def test_a_thousand_commands_of_fifty_threads(self) -> None:
        client = self.open()

        def work(number: int) -> str:
            return client.run(f"echo {number}").output

        with ThreadPoolExecutor(50) as threads:
            self.assertEqual(list(threads.map(work, range(1000))), [f"{number}\n" for number in range(1000)])

    def test_ctrl_c_leaves_no_process(self) -> None:
        script = (
            "import bashful_client, sys\n"
            "with bashful_client.Bashful() as client:\n"
            "    try:\n"
            "        client.run(sys.argv[1])\n"
            "    except KeyboardInterrupt:\n"
            "        print(client.run('echo still here').output, end='')\n"
        )
        host = subprocess.Popen(
            [sys.executable, "-c", script, FAMILY], cwd=self.path, env=self.environment(), stdout=subprocess.PIPE, text=True
        )
        pids = self.pids()
        host.send_signal(signal.SIGINT)
        said, _ = host.communicate(timeout=WIDE)
        self.assertEqual((said, host.returncode), ("still here\n", 0))
        self.assert_gone(*pids)

    def test_a_person_is_asked_in_a_thread_that_may_use_the_client(self) -> None:
        threads = []

        def approve(question: Question) -> bool:
            threads.append(threading.current_thread())
            return client.run("echo yes").output == "yes\n"

        client = Bashful(approve=approve, **self.options(**ASK))
        with client:
            self.assertIn("ran", client.run(FORCE_PUSH).output)
        self.assertIsNot(threads[0], threading.main_thread())

    def test_only_true_is_a_yes(self) -> None:
        answers: List[Any] = ["n", 1, None]
        with Bashful(approve=lambda question: answers.pop(), **self.options(**ASK)) as client:
            while answers:
                with self.assertLogs("asyncio") as logged, self.assertRaises(RefusedError):
                    client.run(FORCE_PUSH)
                self.assertIn("the approve callback failed", logged.output[0])

    def test_a_refusal_is_an_error(self) -> None:
        with self.assertRaises(RefusedError):
            self.open().run(FORCE_PUSH)

    def test_jobs_terminals_and_sessions(self) -> None:
        client = self.open()
        with client.job(FAMILY) as job:
            pids = self.pids()
            self.assertIn(job.id, [known.id for known in client.jobs(running=True)])
        self.assert_gone(*pids)
        updates = list(client.job("echo news").updates())
        self.assertEqual(updates[-1].state, "completed")
        with client.terminal(f"{sys.executable} -q") as repl:
            repl.screen(until="input", seconds=WIDE)
            repl.type("6*7", "Enter")
            self.assertEqual(repl.screen(pattern="^42$", seconds=WIDE).state, "matched")
        with client.session() as session:
            session.run("X=7")
            self.assertEqual(session.run("echo $X").output, "7\n")
        self.assertEqual(client.tool("bash", {"command": "echo tool"}).text, "tool\n")

    def test_a_killed_service_is_an_error_and_no_hang(self) -> None:
        client = self.open()
        with ThreadPoolExecutor() as threads:
            running = threads.submit(client.run, FAMILY)
            pids = self.pids()
            os.kill(client.pid, signal.SIGKILL)
            with self.assertRaises(ServiceEndedError):
                running.result(WIDE)
        self.assert_go_soon(*pids)

    def test_leaving_the_client_leaves_no_process(self) -> None:
        client = self.open()
        with ThreadPoolExecutor() as threads:
            running = threads.submit(client.run, FAMILY)
            pids = self.pids()
            client.close()
            self.assertTrue(running.result(WIDE).cancelled)
        self.assert_gone(*pids, client.pid)
        client.close()


if __name__ == "__main__":
    unittest.main()
