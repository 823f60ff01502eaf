"""An agent made with openai-agents. The scripted model makes its calls, and sees their results."""

import asyncio
import sys

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio


async def main(server):
    set_tracing_disabled(True)
    async with MCPServerStdio(params={"command": server, "args": ["mcp"]}, client_session_timeout_seconds=60) as served:
        agent = Agent(name="rig", model="gpt-5.4", mcp_servers=[served])
        print((await Runner.run(agent, "run the script")).final_output)


asyncio.run(main(sys.argv[1]))
