"""Measures `bashful rpc` from Python, beside `bashful mcp` with the same code around both.

Called with the program, the number of rounds and the number of parallel calls. Prints one JSON object.
"""

import json
import resource
import subprocess
import sys
import time

PROGRAM, ROUNDS, CALLS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

# Before every call, so that the work of the last one is done.
PAUSE = 0.005

STREAMED = 10**9

AT_ONCE = 50


class Child:
    """A service on standard input and output, one JSON object a line."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            [PROGRAM, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20
        )

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, message):
        self.send(message)
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def status(self, name):
        """A line of the process's status, in KB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def over_mcp(session=None):
    child = Child("mcp")
    client = {"name": "bench", "version": "1"}
    child.ask(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        }
    )
    arguments = {"command": "true"} | ({"session": session} if session else {})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "bash", "arguments": arguments}}
    return child, message, lambda answer: answer["result"]["isError"] is False


def over_rpc(fields):
    message = {"id": 1, "type": "bash", "command": "true"} | fields
    return Child("rpc"), message, lambda answer: answer["success"] is True


def latency():
    ways = {
        "mcp": over_mcp(),
        "rpc": over_rpc({"as": "tool"}),
        "mcp session": over_mcp("bench"),
        "rpc bang": over_rpc({}),
    }
    times = {way: [] for way in ways}
    for turn in range(ROUNDS + 1):
        for way, (child, message, is_right) in ways.items():
            time.sleep(PAUSE)
            began = time.perf_counter()
            answer = child.ask(message)
            took = time.perf_counter() - began
            if not is_right(answer):
                raise SystemExit(f"{way}: {answer}")
            # The first turn only warms up.
            if turn:
                times[way].append(took)
    for child, _, _ in ways.values():
        child.close()
    return {way: round(sorted(all)[len(all) // 2] * 1e6) for way, all in times.items()}


def stream(when_behind):
    """Streams a gigabyte; its time, and the memory of both sides.

    Held: what the service holds at its peak more than before, in queues of fixed size. Grown: what each side holds at its
    peak more than after the first tenth, when all queues have been full.
    """
    child = Child("rpc")
    child.ask({"id": 0, "type": "bash", "command": "true"})
    before = child.status("RssAnon")
    peak, chunks, tenth = before, 0, None
    began = time.perf_counter()
    command = f"yes 'a line of forty bytes, newline included.' | head -c {STREAMED}"
    child.send({"id": 1, "type": "bash", "command": command, "stream": True, "whenBehind": when_behind})
    received = 0
    while True:
        message = child.read()
        if message["type"] == "chunk":
            received += len(message["text"])
            chunks += 1
            if chunks % 32 == 0:
                peak = max(peak, child.status("RssAnon"))
            if tenth is None and received > STREAMED / 10:
                tenth = peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        elif message["type"] == "response":
            break
    took = time.perf_counter() - began
    figures = {
        "when_behind": when_behind,
        "bytes": received,
        "dropped_bytes": message["stream"]["droppedBytes"],
        "total_bytes": message["data"]["totalBytes"],
        "seconds": round(took, 2),
        "service_holds_kb": peak - before,
    }
    # With `drop`, the reader may see less than a tenth.
    if tenth:
        figures["service_grew_kb"] = peak - tenth[0]
        figures["reader_grew_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - tenth[1]
    child.close()
    return figures


def many():
    child = Child("rpc")
    began = time.perf_counter()
    sent = right = answered = 0
    while answered < CALLS:
        while sent < CALLS and sent - answered < AT_ONCE:
            child.send({"id": sent, "type": "bash", "command": f"echo {sent}"})
            sent += 1
        answer = child.read()
        answered += 1
        right += answer["success"] and answer["data"]["output"] == f"{answer['id']}\n"
    took = time.perf_counter() - began
    child.close()
    return {"calls": CALLS, "at_once": AT_ONCE, "right": right, "a_second": round(CALLS / took)}


print(json.dumps({"p50_us": latency(), "streams": [stream("wait"), stream("drop")], "many": many()}))
