"""Policies that play the model: a script, or any Model.

Calls in text are written from the format in docs/models.md, independently of the client's adapter.
A conversation uses that protocol where its system text or an assistant's message holds a
`tool_call` block, or the object of a step, where a schema holds the replies.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict

from agent_env.features.agents.apis.exchange import count_tokens, tool_call
from agent_env.models.chat import written
from agent_env.sdk.errors import ModelError
from agent_env.sdk.models import read_tool
from agent_env.sdk.records import Message, ToolCall
from tests.fake_server.conversation import HostedCall, HostedKind, Refusal, ScriptedAnswer, Tokens

FORBIDDEN = "Do not write a tool_call block in your next message."
OPENING = "```tool_call\n"
STEP = '{"step": {"tool":'
ANSWER_ONLY = "Your next message must be the answer."
CALL = re.compile(r"^```tool_call\n(\{(?:(?!\n```).)*\})\n```$", re.M | re.S)
RESULT = re.compile(
    r"^(`{3,})tool_result (\d+) \S+\n((?:(?!\n\1tool_result ).)*?)\n\1$", re.M | re.S
)


def in_text(policy):
    """The policy, reading and writing calls in text where its client does."""

    async def policy_in_text(turns, offers):
        texts = [t.content for t in turns if t.role in ("system", "assistant")]
        has_steps = any(STEP in text for text in texts)
        if offers or not (has_steps or any(OPENING in text for text in texts)):
            return await policy(turns, offers)
        answer = await policy(list(_without_blocks(turns)), list(_offered(turns)))
        return _with_step(answer) if has_steps else _with_blocks(answer)

    return policy_in_text


def _offered(turns):
    if turns and turns[-1].content.endswith((FORBIDDEN, ANSWER_ONLY)):
        return
    for line in (line for t in turns if t.role == "system" for line in t.content.splitlines()):
        try:
            tool = json.loads(line)
        except ValueError:
            continue
        if isinstance(tool, dict) and {"name", "description", "parameters"} == set(tool):
            yield read_tool(tool)


def _without_blocks(turns):
    calls = ()
    for number, turn in enumerate(turns):
        if turn.role == "user" and calls:
            yield from _results(turn.content, calls)
            calls = ()
        elif turn.role == "assistant":
            calls = tuple(_calls(turn.content, number))
            rest = "" if turn.content.startswith(STEP) else CALL.sub("", turn.content).strip()
            yield turn.model_copy(update={"content": rest, "tool_calls": calls})
        else:
            yield turn


def _calls(text, number):
    if text.startswith(STEP):
        step = json.loads(text)["step"]
        yield tool_call(step["tool"], json.dumps(step["arguments"]), f"text_{number}_1")
        return
    for place, block in enumerate(CALL.findall(text), start=1):
        call = json.loads(block)
        yield tool_call(call["name"], json.dumps(call["arguments"]), f"text_{number}_{place}")


def _results(text, calls):
    for match in RESULT.finditer(text):
        yield Message(role="tool", content=match[3], tool_call_id=calls[int(match[2]) - 1].id)
    if rest := RESULT.sub("", text).strip():
        yield Message(role="user", content=rest)


def _with_step(answer):
    """The first call as the one object of a step; an answer stays text, for the schema to shape."""
    if not answer.calls:
        return answer
    call = answer.calls[0]
    step = {"tool": call.name, "arguments": json.loads(call.arguments)}
    return replace(answer, text=json.dumps({"step": step}), calls=())


def _with_blocks(answer):
    calls = [{"name": call.name, "arguments": json.loads(call.arguments)} for call in answer.calls]
    blocks = [f"{OPENING}{json.dumps(call)}\n```" for call in calls]
    return replace(answer, text="\n\n".join(filter(None, [answer.text, *blocks])), calls=())


def script_policy(file):
    """Plays the replies of a file, one JSON object a line.

    The first line whose `match` occurs in the last message answers it. Otherwise line k of those
    without `match` answers a conversation with k replies so far, so that concurrent and repeated
    requests get the same answers as single ones.
    """
    rows = file.read_text(encoding="utf-8").splitlines()
    lines = [ScriptLine.model_validate_json(row) for row in rows]
    conditional = [line for line in lines if line.match is not None]
    ordered = [line for line in lines if line.match is None]

    async def policy(turns, offers):
        for line in conditional:
            if re.search(line.match or "", turns[-1].content):
                return line.answer()
        replies = sum(turn.role == "assistant" for turn in turns)
        if replies < len(ordered):
            return ordered[replies].answer()
        raise Refusal(400, f"{file.name} has no reply for step {replies + 1}")

    return policy


def model_policy(model):
    """Plays a model of this package; tool descriptions count as input, as at real servers."""

    async def policy(turns, offers):
        try:
            answer = scripted(await model.generate(turns, offers))
        except ModelError as exc:
            raise Refusal(exc.status or 500, str(exc)) from exc
        if not isinstance(answer.usage, Tokens):
            return answer
        descriptions = [o.name + o.description + json.dumps(o.parameters) for o in offers]
        more = count_tokens(descriptions)
        return replace(answer, usage=replace(answer.usage, input=answer.usage.input + more))

    return in_text(policy)


def _call(value):
    """A script's call, whose arguments may be an object; text is sent as it is."""
    if not isinstance(value, dict):
        return value
    return {"id": "", **value, "arguments": written(value.get("arguments", {}))}


def _hosted_call(value):
    """A script's call of a hosted tool: its kind names the field that says what it is about."""
    if not isinstance(value, dict):
        return value
    kinds = [kind for kind in get_args(HostedKind) if value.get(kind) is not None]
    if len(kinds) != 1:
        raise ValueError(f"write one of {', '.join(get_args(HostedKind))}")
    rest = {name: each for name, each in value.items() if name not in get_args(HostedKind)}
    return {"kind": kinds[0], "about": value[kinds[0]], **rest}


class ScriptLine(BaseModel):
    """One reply of a script; the fields are those of ScriptedAnswer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: str | None = None
    """A regular expression that is searched for in the last message."""
    text: str = ""
    calls: tuple[Annotated[ToolCall, BeforeValidator(_call)], ...] = ()
    reasoning: str | None = None
    usage: Tokens | Literal["counted", "absent"] = "counted"
    finish: Literal["length", "refused"] | None = None
    hosted: tuple[Annotated[HostedCall, BeforeValidator(_hosted_call)], ...] = ()
    cited: tuple[str, ...] = ()

    def answer(self):
        """The line as the server takes it."""
        return ScriptedAnswer(**{f.name: getattr(self, f.name) for f in fields(ScriptedAnswer)})


def scripted(reply):
    """A reply of a model of this package, as the server takes it."""
    message, usage = reply.message, reply.usage
    is_complete = usage.input_tokens is not None and usage.output_tokens is not None
    has_usage = is_complete and usage.source != "estimate"  # our own estimate counts tools too
    return ScriptedAnswer(
        text=message.content,
        calls=message.tool_calls,
        reasoning=message.reasoning,
        usage=Tokens(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cached_tokens,
            usage.reasoning_tokens,
        )
        if has_usage
        else "counted",
        finish=reply.finish_reason if reply.finish_reason in ("length", "refused") else None,
    )
