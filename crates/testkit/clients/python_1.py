"""The official Python client, version 1: runs commands and prints the text of each result, as a JSON list."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(server, *commands):
    shown = []
    async with stdio_client(StdioServerParameters(command=server, args=["mcp"])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            for command in commands:
                result = await session.call_tool("bash", {"command": command})
                if result.structuredContent is not None:
                    raise AssertionError("a client would show the facts instead of the text")
                shown.append("".join(part.text for part in result.content if part.type == "text"))
    print(json.dumps(shown))


asyncio.run(main(*sys.argv[1:]))
