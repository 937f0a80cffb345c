"""A set of questions as its family makes it, the task that asks them, and one talk in memory."""

import asyncio

from agent_env.features.reference.policy import Reference
from agent_env.records.schema import Message
from agent_env.tools.toolbox import ToolSet
from agent_env.wiring.registry import load_family


def questions(name, count=1, seed=1, difficulty=None, **options):
    """The set of the family with these options or of this level of difficulty, and its task."""
    family = load_family(name)
    chosen = family.checked_options(options)
    if difficulty is not None:
        chosen = family.read_options([], difficulty)
    made = family.make_samples(count, seed, chosen)
    return made, family.make_task("default", chosen, made.tables_by_digest)


def talked(messages, tools=(), model=None):
    """The last text of the scripted model, which may use the tools; the messages grow by all."""

    async def talk():
        box = ToolSet(tools)
        names = frozenset(spec.name for spec in box.specs)
        for _ in range(60):
            reply = (await (model or Reference()).generate(messages, box.specs)).message
            messages.append(reply)
            if not reply.tool_calls:
                return reply.content
            for call in reply.tool_calls:
                output = (await box.run(call, names)).output
                messages.append(Message(role="tool", content=output, tool_call_id=call.id))
        raise AssertionError("no answer")

    return asyncio.run(talk())
