"""The tool loop of README.md, word for word, against a scripted model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Dict, List

from support import WIDE, Place

README = Path(__file__).resolve().parent.parent / "README.md"


def tool_loop() -> str:
    blocks = re.findall(r"## A tool loop\n.*?```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1, "one tool loop"
    return str(blocks[0])


class ScriptedModel(HTTPServer):
    """Answers each request with the next reply, and keeps the requests."""

    def __init__(self, replies: List[List[Dict[str, Any]]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies
        self.requests: List[Dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.path == "/v1/messages" and self.headers["x-api-key"] == "sk-test-0123456789abcdef"
        self.server.requests.append(json.loads(body))
        content = self.server.replies[len(self.server.requests) - 1]
        answer = json.dumps({"role": "assistant", "content": content}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def use(name: str, number: int, **arguments: Any) -> Dict[str, Any]:
    return {"type": "tool_use", "id": f"use_{number}", "name": name, "input": arguments}


class Readme(Place):
    def test_the_tool_loop_has_at_most_forty_lines(self) -> None:
        self.assertLessEqual(len(tool_loop().splitlines()), 40)

    def test_the_tool_loop_runs_what_the_model_asks_for(self) -> None:
        model = ScriptedModel(
            [
                [
                    {"type": "text", "text": "Let me see."},
                    use("bash", 1, command="echo $((6*7)) ${ANTHROPIC_API_KEY-hidden}; exit 3"),
                    use("bash", 2, command="git push --force"),
                    use("teleport", 3),
                ],
                [{"type": "text", "text": "It is 42."}],
            ]
        )
        self.addCleanup(model.server_close)
        thread = threading.Thread(target=model.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(model.shutdown)
        address = f"http://127.0.0.1:{model.server_port}"
        environment = self.environment(ANTHROPIC_BASE_URL=address, ANTHROPIC_API_KEY="sk-test-0123456789abcdef")
        done = subprocess.run(
            [sys.executable, "-c", tool_loop(), "What is 6*7?"],
            cwd=self.path,
            env=environment,
            timeout=WIDE,
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("Let me see.\nIt is 42.\n", "", 0))
        first, second = model.requests
        self.assertEqual([tool["name"] for tool in first["tools"]], ["bash", "job"])
        self.assertEqual(first["messages"], [{"role": "user", "content": "What is 6*7?"}])
        results = second["messages"][2]["content"]
        self.assertEqual([result["tool_use_id"] for result in results], ["use_1", "use_2", "use_3"])
        self.assertTrue(all(result["is_error"] for result in results))
        self.assertIn("42 hidden\n", results[0]["content"])
        self.assertIn("exit code 3", results[0]["content"])
        self.assertIn("force", results[1]["content"])
        self.assertIn("teleport", results[2]["content"])


if __name__ == "__main__":
    unittest.main()
