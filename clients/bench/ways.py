"""Measures a call of `true` by every way in which a program in Python or Node can embed bashful.

    python3 clients/bench/ways.py PROGRAM [--rounds N] [--node NODE --client DIST/index.js]

PROGRAM is an optimized build of `bashful`. All ways are measured in turn, round by round, so that a busy machine is the same
for all of them. The floor is a bare `posix_spawn` of `bash -c true`. Prints medians, and their ratio to the floor, as the
rows of the table in docs/library.md. With `--gigabyte` it streams 1 GB instead, and prints the growth of both processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python/src"))

from bashful_client import AsyncBashful, Bashful, Chunk

Way = Callable[[], Awaitable[None]]

#: Calls before the measurement: shells are started ahead, caches are filled.
WARM_UP = 20


async def floor() -> None:
    pid = os.posix_spawn("/bin/bash", ["bash", "-c", "true"], dict(os.environ))
    os.waitpid(pid, 0)


class Lines:
    """A child process that answers lines with lines: the same code for MCP and for the helper in Node."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self.process, self.input, self.output = process, process.stdin, process.stdout
        self.count = 0

    @classmethod
    async def start(cls, *command: str, env: Optional[Dict[str, str]] = None) -> Lines:
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=env, limit=1 << 22))

    async def ask(self, line: str) -> str:
        self.input.write(line.encode() + b"\n")
        return (await self.output.readline()).decode()

    async def request(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        self.count += 1
        answer = await self.ask(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        # A server may say something of its own in between.
        while json.loads(answer).get("id") != self.count:
            answer = (await self.output.readline()).decode()
        result: Dict[str, Any] = json.loads(answer)["result"]
        return result

    async def end(self) -> None:
        self.input.close()
        await self.process.wait()


async def start_mcp(program: str) -> Lines:
    server = await Lines.start(program, "mcp")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ways", "version": "1"}}
    await server.request("initialize", hello)
    server.input.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return server


async def measure(arguments: argparse.Namespace) -> None:
    program: str = arguments.program
    client = await AsyncBashful(program=program).open()
    blocking = Bashful(program=program).open()
    server = await start_mcp(program)
    node: Optional[Lines] = None
    if arguments.node:
        node = await Lines.start(arguments.node, str(Path(__file__).with_suffix(".mjs")), arguments.client, program)

    async def run() -> None:
        assert (await client.run("true")).ok

    async def run_blocking() -> None:
        assert blocking.run("true").ok

    async def tool() -> None:
        assert not (await client.tool("bash", {"command": "true"})).is_error

    async def mcp() -> None:
        result = await server.request("tools/call", {"name": "bash", "arguments": {"command": "true"}})
        assert not result.get("isError")

    async def run_json() -> None:
        subprocess.run([program, "run", "--json", "true"], stdout=subprocess.DEVNULL, check=True)

    ways: Dict[str, Way] = {
        "a bare `bash -c true`, the floor": floor,
        "Python, asyncio: `run`": run,
        "Python, blocking: `run`": run_blocking,
        "Python, asyncio: `tool`": tool,
        "Python, MCP over stdio: `tools/call`": mcp,
        "`bashful run --json`": run_json,
    }
    for way in ways.values():
        for _ in range(WARM_UP):
            await way()
    taken: Dict[str, List[float]] = {name: [] for name in ways}
    in_node: Dict[str, List[float]] = {"Node: `run`": [], "Node: `tool`": []}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            await way()
            taken[name].append(time.perf_counter() - begin)
        if node is not None:
            for name, verb in zip(in_node, ("run", "tool")):
                in_node[name].append(float(await node.ask(verb)) / 1000)
    if node is not None:
        taken.update(in_node)
        await node.end()
    await client.close()
    blocking.close()
    await server.end()
    least = statistics.median(taken["a bare `bash -c true`, the floor"])
    print(f"{arguments.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"| {name} | {median * 1000:.2f} ms | {median / least:.2f} × |")
    rpc, mcp_taken = taken["Python, asyncio: `tool`"], taken["Python, MCP over stdio: `tools/call`"]
    print(f"a tool call over rpc / over MCP: {statistics.median(rpc) / statistics.median(mcp_taken):.2f}")


def resident(pid: int) -> int:
    """Kilobytes of memory that a process has, without what it shares with files."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise RuntimeError("no RssAnon")


async def stream(program: str) -> None:
    async with AsyncBashful(program=program) as client:
        await client.run("true")
        most = [0, 0]
        first: Optional[List[int]] = None
        total, begin = 0, time.perf_counter()
        async for item in client.stream("head -c 1000000000 /dev/zero | tr '\\0' x", timeout=3600):
            assert isinstance(item, Chunk)
            total += len(item.data)
            now = [resident(os.getpid()), resident(client.pid)]
            first = first or now
            most = [max(pair) for pair in zip(most, now)]
        seconds = time.perf_counter() - begin
        assert total == 1_000_000_000 and first is not None
        grown = [after - before for before, after in zip(first, most)]
        print(f"1 GB in {seconds:.1f} s; grown since the first chunk: Python {grown[0]} KB, service {grown[1]} KB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--node")
    parser.add_argument("--client", help="dist/index.js of the built TypeScript client")
    parser.add_argument("--gigabyte", action="store_true")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"] = home
        asyncio.run(stream(arguments.program) if arguments.gigabyte else measure(arguments))


if __name__ == "__main__":
    main()
