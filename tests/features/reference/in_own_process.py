"""Runs the reference model on messages from standard input, and nothing else.

No table, no page and no puzzle is reachable from here: the process gets messages and tool specs,
and may import the model alone.
"""

import asyncio
import json
import sys

from agent_env.features.reference.policy import Reference
from agent_env.records.schema import Message, ToolSpec

reference = Reference(["agent_env.families.time_puzzles.reference:next_step"])
for line in sys.stdin:
    asked = json.loads(line)
    messages = [Message.model_validate(message) for message in asked["messages"]]
    tools = [ToolSpec.model_validate(tool) for tool in asked["tools"]]
    reply = asyncio.run(reference.generate(messages, tools))
    loaded = sorted(name for name in sys.modules if name.startswith("agent_env."))
    print(json.dumps({"reply": reply.model_dump(mode="json"), "loaded": loaded}), flush=True)
