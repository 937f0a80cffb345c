"""Tool calls in the text, for clients of the text protocol.

Written from the format in docs/models.md, independently of the client's adapter. A conversation
uses the protocol where its system text or an assistant's message holds a `tool_call` block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_env.models.fake_server.conversation import Answer, Call, Offer, Policy, Turn

FORBIDDEN = "Do not write a tool_call block in your next message."
OPENING = "```tool_call\n"
CALL = re.compile(r"^```tool_call\n(\{(?:(?!\n```).)*\})\n```$", re.M | re.S)
RESULT = re.compile(
    r"^(`{3,})tool_result (\d+) \S+\n((?:(?!\n\1tool_result ).)*?)\n\1$", re.M | re.S
)


def in_text(policy: Policy) -> Policy:
    """The policy, reading and writing calls in text where its client does."""

    async def policy_in_text(turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        if offers or not any(
            t.role in ("system", "assistant") and OPENING in t.text for t in turns
        ):
            return await policy(turns, offers)
        return _with_blocks(await policy(list(_without_blocks(turns)), list(_offered(turns))))

    return policy_in_text


def _offered(turns: Sequence[Turn]) -> Iterator[Offer]:
    if any(t.role == "system" and FORBIDDEN in t.text for t in turns):
        return
    for line in (line for t in turns if t.role == "system" for line in t.text.splitlines()):
        try:
            tool = json.loads(line)
        except ValueError:
            continue
        if isinstance(tool, dict) and {"name", "description", "parameters"} == set(tool):
            yield Offer(tool["name"], tool["description"], tool["parameters"])


def _without_blocks(turns: Sequence[Turn]) -> Iterator[Turn]:
    calls: tuple[Call, ...] = ()
    for number, turn in enumerate(turns):
        if turn.role == "user" and calls:
            yield from _results(turn.text, calls)
            calls = ()
        elif turn.role == "assistant":
            calls = tuple(_calls(turn.text, number))
            yield replace(turn, text=CALL.sub("", turn.text).strip(), calls=calls)
        else:
            yield turn


def _calls(text: str, number: int) -> Iterator[Call]:
    for place, block in enumerate(CALL.findall(text), start=1):
        call = json.loads(block)
        yield Call(call["name"], json.dumps(call["arguments"]), f"text_{number}_{place}")


def _results(text: str, calls: Sequence[Call]) -> Iterator[Turn]:
    for match in RESULT.finditer(text):
        yield Turn("tool", match[3], call_id=calls[int(match[2]) - 1].id)
    if rest := RESULT.sub("", text).strip():
        yield Turn("user", rest)


def _with_blocks(answer: Answer) -> Answer:
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in answer.calls]
    blocks = [f"{OPENING}{json.dumps(call)}\n```" for call in calls]
    return replace(answer, text="\n\n".join(filter(None, [answer.text, *blocks])), calls=())
