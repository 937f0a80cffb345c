"""Tool calls in the text, for clients of the text protocol.

Written from the format in docs/models.md, independently of the client's adapter. A conversation
uses the protocol where its system text or an assistant's message holds a `tool_call` block, or the
object of a step, where a schema holds the replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_env.models.fake_server.conversation import Answer, Call, Offer, Policy, Turn

FORBIDDEN = "Do not write a tool_call block in your next message."
OPENING = "```tool_call\n"
STEP = '{"step": {"tool":'
ANSWER_ONLY = "Your next message must be the answer."
CALL = re.compile(r"^```tool_call\n(\{(?:(?!\n```).)*\})\n```$", re.M | re.S)
RESULT = re.compile(
    r"^(`{3,})tool_result (\d+) \S+\n((?:(?!\n\1tool_result ).)*?)\n\1$", re.M | re.S
)


def in_text(policy: Policy) -> Policy:
    """The policy, reading and writing calls in text where its client does."""

    async def policy_in_text(turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        texts = [t.text for t in turns if t.role in ("system", "assistant")]
        has_steps = any(STEP in text for text in texts)
        if offers or not (has_steps or any(OPENING in text for text in texts)):
            return await policy(turns, offers)
        answer = await policy(list(_without_blocks(turns)), list(_offered(turns)))
        return _with_step(answer) if has_steps else _with_blocks(answer)

    return policy_in_text


def _offered(turns: Sequence[Turn]) -> Iterator[Offer]:
    system = [t.text for t in turns if t.role == "system"]
    if any(FORBIDDEN in text or ANSWER_ONLY in text for text in system):
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
            rest = "" if turn.text.startswith(STEP) else CALL.sub("", turn.text).strip()
            yield replace(turn, text=rest, calls=calls)
        else:
            yield turn


def _calls(text: str, number: int) -> Iterator[Call]:
    if text.startswith(STEP):
        step = json.loads(text)["step"]
        yield Call(step["tool"], json.dumps(step["arguments"]), f"text_{number}_1")
        return
    for place, block in enumerate(CALL.findall(text), start=1):
        call = json.loads(block)
        yield Call(call["name"], json.dumps(call["arguments"]), f"text_{number}_{place}")


def _results(text: str, calls: Sequence[Call]) -> Iterator[Turn]:
    for match in RESULT.finditer(text):
        yield Turn("tool", match[3], call_id=calls[int(match[2]) - 1].id)
    if rest := RESULT.sub("", text).strip():
        yield Turn("user", rest)


def _with_step(answer: Answer) -> Answer:
    """The first call as the one object of a step; an answer stays text, for the schema to shape."""
    if not answer.calls:
        return answer
    call = answer.calls[0]
    step = {"tool": call.name, "arguments": json.loads(call.arguments)}
    return replace(answer, text=json.dumps({"step": step}), calls=())


def _with_blocks(answer: Answer) -> Answer:
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in answer.calls]
    blocks = [f"{OPENING}{json.dumps(call)}\n```" for call in calls]
    return replace(answer, text="\n\n".join(filter(None, [answer.text, *blocks])), calls=())
