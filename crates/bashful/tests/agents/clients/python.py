"""The official MCP client, in one of its modes, against the program: what a model would do with it.

Called with the path of the program, a mode, `stdio` or `http`, and `text` or `structured` for the form of results. The client
itself checks every message against the schema of the protocol, and structured results against the tool's output schema.
"""

import asyncio
import os
import sys
import time

from contextlib import asynccontextmanager

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.client.subscriptions import ListenNotSupportedError, ResourcesListChanged, ResourceUpdated
from mcp_types import ElicitResult, ResourceListChangedNotification, ResourceUpdatedNotification


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


def facts(result):
    return result.meta["bashful/facts"]


STRUCTURED = sys.argv[4] == "structured"


async def tools(client):
    listed = (await client.list_tools()).tools
    check([tool.name for tool in listed] == ["bash", "job"], listed)
    check(listed[0].annotations.destructive_hint, listed[0])
    check((listed[0].output_schema is not None) == STRUCTURED, listed[0])


async def calls(client):
    result = await client.call_tool("bash", {"command": "echo out; echo err >&2"})
    check(text(result) == "out\nerr\n" and not result.is_error, result)
    check(facts(result)["status"] == "exited", result)
    check((result.structured_content or {}).get("output") == ("out\nerr\n" if STRUCTURED else None), result)
    result = await client.call_tool("bash", {"command": "echo no; exit 3"})
    check(text(result) == "[command failed: exit code 3]\nno\n" and result.is_error, result)
    check(facts(result)["exit_code"] == 3, result)
    result = await client.call_tool("bash", {"command": "true", "timout": 3})
    check("unknown field `timout`" in text(result) and result.is_error, result)
    result = await client.call_tool("bash", {"command": "sleep 1000", "timeout": 1})
    check(text(result) == "[command timed out after 1s]\n(no output)" and result.is_error, result)
    result = await client.call_tool("bash", {"command": "seq 100000"})
    check(len(result.content) == 1 and "artifact://1" in text(result), result)
    check(facts(result)["artifact"]["bytes"] == 588895, result)
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
    await until(lambda: len(told) >= 3)
    open("progress.go", "w").close()
    check(text(await call) == "one\n")
    check(told[0][1].startswith("$ echo one; until"), told)
    check(told[1][0] < told[2][0] and told[1][1].endswith("4 bytes: one"), told)


async def cancel(client):
    command = "trap 'touch cancel.asked' TERM; touch cancel.begun; sleep 1000 & wait"
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
    job = facts(result)["job"]["id"]
    check("<pid>" in text(result) and f"<job>{job}</job>" in text(result), result)
    result = await client.call_tool("job", {"action": "kill", "ids": [job]})
    check(facts(result)["jobs"][0]["status"] == "cancelled", result)
    result = await client.call_tool("job", {"action": "show", "ids": [job]})
    check("begun\n" in text(result), result)


class User:
    """Answers questions as told, and hears what the server says by itself."""

    def __init__(self):
        self.answer = None
        self.questions = []
        self.heard = []

    async def ask(self, context, params):
        self.questions.append(params)
        # Longer than a client takes that answers by itself.
        await asyncio.sleep(0.4)
        return ElicitResult(action=self.answer, content={} if self.answer == "accept" else None)

    async def hear(self, message):
        self.heard.append(message)


async def asking(client, user):
    command = "touch asked.ran; git push --force 2>/dev/null; echo over"
    for answer, said in (("decline", "said no"), ("cancel", "dismissed the question")):
        user.answer = answer
        result = await client.call_tool("bash", {"command": command})
        check(result.is_error and said in text(result), result)
        check(not os.path.exists("asked.ran"))
    user.answer = "accept"
    result = await client.call_tool("bash", {"command": command})
    check(text(result) == "over\n" and os.path.exists("asked.ran"), result)
    check(len(user.questions) == 3 and f"| {command}" in user.questions[0].message, user.questions)
    result = await client.call_tool("bash", {"command": "git add -A"})
    check(result.is_error and len(user.questions) == 3, "what is refused is not asked about")


async def start(client, name):
    command = f"until [ -e {name}.go ]; do sleep 0.01; done; echo gone"
    result = await client.call_tool("bash", {"command": command, "mode": "background"})
    return facts(result)["job"]["uri"]


async def subscribing(client, user):
    uri = await start(client, "ear")
    try:
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as events:
            check(events.honored.resource_subscriptions == [uri] and events.honored.resources_list_changed, events)
            open("ear.go", "w").close()
            other = await start(client, "other")
            wanted = {ResourceUpdated(uri=uri), ResourcesListChanged()}
            async for event in events:
                wanted.discard(event)
                if not wanted:
                    break
    except ListenNotSupportedError:
        await client.subscribe_resource(uri)
        open("ear.go", "w").close()
        other = await start(client, "other")
        updated = lambda message: isinstance(message, ResourceUpdatedNotification) and message.params.uri == uri
        await until(lambda: any(updated(message) for message in user.heard))
        await until(lambda: any(isinstance(message, ResourceListChangedNotification) for message in user.heard))
        await client.unsubscribe_resource(uri)
    open("other.go", "w").close()
    read = await client.read_resource(uri)
    check(read.contents[0].text.startswith("gone\n"), read)
    await client.call_tool("job", {"action": "wait", "ids": [int(other.removeprefix("job://"))]})


def surroundings(**more):
    structured = "true" if STRUCTURED else "false"
    levels = '{"git/force-push"="ask"}'
    patience = "{mcp={patience_seconds=50}}"
    settings = dict(BASHFUL_GUARD_LEVELS=levels, BASHFUL_MCP_STRUCTURED=structured, BASHFUL_MCP_CLIENTS=patience)
    return dict(os.environ, **settings, **more)


@asynccontextmanager
async def over_stdio(program):
    yield StdioServerParameters(command=program, args=["mcp"], env=surroundings())


@asynccontextmanager
async def over_http(program):
    token = "known-to-both-0123456789"
    server = await asyncio.create_subprocess_exec(
        program, "mcp", "--http", ":0", env=surroundings(BASHFUL_MCP_TOKEN=token), stderr=asyncio.subprocess.PIPE
    )
    try:
        url = (await server.stderr.readline()).decode().split()[-1]
        async with create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http:
            yield streamable_http_client(url, http_client=http)
    finally:
        server.terminate()
        check(await server.wait() == 0)


async def main(program, mode, way):
    user = User()
    async with {"stdio": over_stdio, "http": over_http}[way](program) as server:
        async with Client(server, mode=mode, elicitation_callback=user.ask, message_handler=user.hear) as client:
            for part in (asking, subscribing):
                await part(client, user)
            for part in (tools, calls, resources, many, progress, cancel, jobs):
                await part(client)
            leaving = time.monotonic()
    print(f"{mode}, {way}: well, and gone in {time.monotonic() - leaving:.2f} s")


asyncio.run(main(*sys.argv[1:4]))
