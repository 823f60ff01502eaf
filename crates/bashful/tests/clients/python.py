"""The official MCP client, in one of its modes, against the program: what a model would do with it.

Called with the path of the program, a mode, and `stdio` or `http`. The client itself checks every message against the schema of the protocol, and
the facts of every answer against the tool's output schema.
"""

import asyncio
import os
import sys
import time

from contextlib import asynccontextmanager

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def check(is_right, *about):
    if not is_right:
        raise AssertionError(about)


def text(result):
    return result.content[0].text


async def until(happened):
    for _ in range(6000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


async def tools(client):
    listed = (await client.list_tools()).tools
    check([tool.name for tool in listed] == ["bash", "job"], listed)
    check(listed[0].annotations.destructive_hint and listed[0].output_schema["required"] == ["status"], listed[0])


async def calls(client):
    result = await client.call_tool("bash", {"command": "echo out; echo err >&2"})
    check(text(result) == "out\nerr\n" and not result.is_error, result)
    check(result.structured_content["status"] == "exited", result)
    result = await client.call_tool("bash", {"command": "echo no; exit 3"})
    check(text(result) == "[command failed: exit code 3]\nno\n" and result.is_error, result)
    check(result.structured_content["exit_code"] == 3, result)
    result = await client.call_tool("bash", {"command": "true", "timout": 3})
    check("unknown field `timout`" in text(result) and result.is_error, result)
    result = await client.call_tool("bash", {"command": "sleep 1000", "timeout": 1})
    check(text(result) == "[command timed out after 1s]\n(no output)" and result.is_error, result)
    result = await client.call_tool("bash", {"command": "seq 100000"})
    check(result.content[1].type == "resource_link" and result.content[1].size == 588895, result.content[1])
    try:
        await client.call_tool("fly", {})
        raise AssertionError("there is no such tool")
    except MCPError as error:
        check("fly" in str(error), error)


async def many(client):
    results = await asyncio.gather(*(client.call_tool("bash", {"command": f"echo {n}"}) for n in range(50)))
    check([text(result) for result in results] == [f"{n}\n" for n in range(50)], results)


async def progress(client):
    told = []

    async def tell(far, total, message):
        told.append((far, message))

    command = "echo one; until [ -e progress.go ]; do sleep 0.01; done"
    call = asyncio.create_task(client.call_tool("bash", {"command": command, "timeout": 300}, progress_callback=tell))
    await until(lambda: len(told) >= 2)
    open("progress.go", "w").close()
    check(text(await call) == "one\n")
    check(told[0][0] < told[1][0] and told[0][1].endswith("4 bytes: one"), told)


async def cancel(client):
    command = "touch cancel.begun; trap 'touch cancel.asked' TERM; sleep 1000 & wait"
    call = asyncio.create_task(client.call_tool("bash", {"command": command, "timeout": 300}))
    await until(lambda: os.path.exists("cancel.begun"))
    call.cancel()
    await until(lambda: os.path.exists("cancel.asked"))


async def resources(client):
    listed = (await client.list_resources()).resources
    check("artifact://1" in [resource.uri for resource in listed], listed)
    check(len((await client.list_resource_templates()).resource_templates) == 2)
    read = await client.read_resource("artifact://1?lines=99999-")
    check(read.contents[0].text == "99999\n100000\n", read)
    check((await client.list_prompts()).prompts == [])
    try:
        await client.read_resource("artifact://99")
        raise AssertionError("there is no such resource")
    except MCPError as error:
        check("artifact://99" in str(error), error)


async def jobs(client):
    command = "echo begun; touch job.begun; sleep 1000"
    result = await client.call_tool("bash", {"command": command, "mode": "background"})
    await until(lambda: os.path.exists("job.begun"))
    job = result.structured_content["job"]["id"]
    check("<pid>" in text(result) and f"<job>{job}</job>" in text(result), result)
    result = await client.call_tool("job", {"action": "kill", "ids": [job]})
    check(result.structured_content["jobs"][0]["status"] == "cancelled", result)
    result = await client.call_tool("job", {"action": "show", "ids": [job]})
    check("begun\n" in text(result), result)


@asynccontextmanager
async def over_stdio(program):
    yield StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))


@asynccontextmanager
async def over_http(program):
    token = "known-to-both-0123456789"
    server = await asyncio.create_subprocess_exec(
        program, "mcp", "--http", ":0", env=dict(os.environ, BASHFUL_MCP_TOKEN=token), stderr=asyncio.subprocess.PIPE
    )
    try:
        url = (await server.stderr.readline()).decode().split()[-1]
        async with create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http:
            yield streamable_http_client(url, http_client=http)
    finally:
        server.terminate()
        check(await server.wait() == 0)


async def main(program, mode, way):
    async with {"stdio": over_stdio, "http": over_http}[way](program) as server:
        async with Client(server, mode=mode) as client:
            for part in (tools, calls, resources, many, progress, cancel, jobs):
                await part(client)
            leaving = time.monotonic()
    print(f"{mode}, {way}: well, and gone in {time.monotonic() - leaving:.2f} s")


asyncio.run(main(*sys.argv[1:]))
