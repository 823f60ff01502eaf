"""An agent made with pydantic-ai. The scripted model makes its calls, and sees their results."""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset


async def main(server):
    agent = Agent("openai-chat:scripted", toolsets=[MCPToolset(StdioTransport(command=server, args=["mcp"]))])
    async with agent:
        print((await agent.run("run the script")).output)


asyncio.run(main(sys.argv[1]))
