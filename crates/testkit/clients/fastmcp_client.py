"""The client of fastmcp: runs commands and prints the text of each result, as a JSON list."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(server, *commands):
    shown = []
    async with Client(StdioTransport(command=server, args=["mcp"])) as client:
        for command in commands:
            result = await client.call_tool("bash", {"command": command}, raise_on_error=False)
            if result.structured_content is not None:
                raise AssertionError("a client would show the facts instead of the text")
            shown.append("".join(part.text for part in result.content if part.type == "text"))
    print(json.dumps(shown))


asyncio.run(main(*sys.argv[1:]))
