"""The official Python client, version 2: runs commands and prints the text of each result, as a JSON list."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(server, *commands):
    shown = []
    async with Client(StdioServerParameters(command=server, args=["mcp"])) as client:
        for command in commands:
            result = await client.call_tool("bash", {"command": command})
            if result.structured_content is not None:
                raise AssertionError("a client would show the facts instead of the text")
            shown.append("".join(part.text for part in result.content if part.type == "text"))
    print(json.dumps(shown))


asyncio.run(main(*sys.argv[1:]))
