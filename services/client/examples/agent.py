"""An agent of the OpenAI Agents SDK that asks its memory: in the second conversation it knows what the first one said.

The model is scripted, so that no key is needed: leave `model` out, and the SDK asks the real one.

PYTHONPATH=services/client:. .venv-frameworks/bin/python services/client/examples/agent.py ann
"""

import asyncio
import sys
from uuid import uuid4

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from memorybus_client import AsyncMemory
from memorybus_client.openai_agents import INSTRUCTIONS, MemorybusSession, query_memory_tool

set_tracing_disabled(True)
PREFERENCE, QUESTION = "I prefer uv over pip.", "Should I use uv or pip?"
ASK = function_call("query_memory", {"query": QUESTION}, call_id="call_1")
SCRIPT = [[assistant_message("Noted.")], [ASK], [assistant_message("You said that you prefer uv.")]]


async def main() -> None:
    async with AsyncMemory(user=sys.argv[1] if len(sys.argv) > 1 else "me") as memory:
        tools = [query_memory_tool(memory)]
        agent = Agent(name="Helper", instructions=INSTRUCTIONS, model=ScriptedModel(SCRIPT), tools=tools)
        await Runner.run(agent, PREFERENCE, session=MemorybusSession(str(uuid4()), memory))
        while True:  # a moment later it is found
            if (await memory.recall(QUESTION)).items:
                break
            await asyncio.sleep(0.05)
        run = await Runner.run(agent, QUESTION)  # without a session: the next run is not to find the question itself
        print("memory:", next(item.output for item in run.new_items if item.type == "tool_call_output_item"))
        print("agent: ", run.final_output)


asyncio.run(main())
