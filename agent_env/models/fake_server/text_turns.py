"""Lets a policy that calls tools answer a client that has none: the calls stand in the text.

Written from the format in docs/models.md, apart from the adapter that the client uses. A
conversation is taken for one of these where its system text shows how a `tool_call` block looks,
or where the assistant has written one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_env.models.fake_server.talk import Answer, Call, Offer, Policy, Turn

FORBIDDEN = "Do not write a tool_call block in your next message."
OPENING = "```tool_call\n"
CALL = re.compile(r"^```tool_call\n(\{(?:(?!\n```).)*\})\n```$", re.M | re.S)
RESULT = re.compile(
    r"^(`{3,})tool_result (\d+) \S+\n((?:(?!\n\1tool_result ).)*?)\n\1$", re.M | re.S
)


def in_text(policy: Policy) -> Policy:
    """The policy, which hears and says calls in text where its client does."""

    async def spoken(turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        if offers or not any(
            t.role in ("system", "assistant") and OPENING in t.text for t in turns
        ):
            return await policy(turns, offers)
        return _written(await policy(list(_heard(turns)), list(_offered(turns))))

    return spoken


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


def _heard(turns: Sequence[Turn]) -> Iterator[Turn]:
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
    for place, written in enumerate(CALL.findall(text), start=1):
        wish = json.loads(written)
        yield Call(wish["name"], json.dumps(wish["arguments"]), f"text_{number}_{place}")


def _results(text: str, calls: Sequence[Call]) -> Iterator[Turn]:
    for found in RESULT.finditer(text):
        yield Turn("tool", found[3], call_id=calls[int(found[2]) - 1].id)
    if rest := RESULT.sub("", text).strip():
        yield Turn("user", rest)


def _written(answer: Answer) -> Answer:
    wishes = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in answer.calls]
    blocks = [f"{OPENING}{json.dumps(wish)}\n```" for wish in wishes]
    return replace(answer, text="\n\n".join(filter(None, [answer.text, *blocks])), calls=())
