"""Short calls that show which features a server has, for `check`: those of a preflight, and one or
two more for each feature.

A first call measures how fast the server writes, and the others ask for no more tokens than a check
of CHECK_S has time for; when that is over, what is left is reported as not asked.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from agent_env.episodes.calls.preflight import (
    AWAY,
    MOST_OUTPUT,
    QUESTION,
    REFUSED,
    ProbedModel,
    brief,
    preflight,
    short_call,
)
from agent_env.models.chat import REASONING
from agent_env.models.dialect import Rules
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.manifest import Preflight, Probe
from agent_env.records.schema import Condition, Message, Reply, ToolSpec
from agent_env.records.server_probe import Feature

Bodies = list[dict[str, Any]]
OpenModel = Callable[[Mapping[str, JsonValue]], AbstractAsyncContextManager[tuple[Model, Bodies]]]
"""A model with these parameters, and the bodies of its replies."""


def _tool_of_city(name: str, description: str) -> ToolSpec:
    city: JsonValue = {"type": "string", "description": "The name of a city."}
    parameters: dict[str, JsonValue] = {
        "type": "object", "properties": {"city": city}, "required": ["city"],
    }  # fmt: skip
    return ToolSpec(name=name, description=description, parameters=parameters)


WEATHER = _tool_of_city("get_weather", "The weather of a city, now.")
CLOCK = _tool_of_city("get_time", "The time of day in a city, now.")
CONDITIONS = (
    Condition(name="optional-call", tools=("get_weather",)),
    Condition(name="required-call", tools=("get_weather", "get_time"), first_step="required"),
)
OFFERS: dict[tuple[str, ...], Sequence[ToolSpec]] = {
    ("get_weather",): [WEATHER],
    ("get_weather", "get_time"): [WEATHER, CLOCK],
}
PARALLEL = Message(
    role="user",
    content="Find the weather in Oslo and the time in Lima. Call both tools in this one reply.",
)
PLAIN = Message(role="user", content="How many days has a week?")
SEVEN = ("seven", "Seven", "7")
"""What most models say to that."""
NOTICE = Message(role="user", content="You have 2 replies left.")
DIGITS = Message(role="user", content="Write ten random digits, and nothing else.")
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"days": {"type": "integer"}, "unit": {"enum": ["day", "week"]}},
    "required": ["days", "unit"],
    "additionalProperties": False,
}
SEED_OUTPUT = 32
CHECK_S = 45.0
"""After which no further call is made."""
FIRST_OUTPUT, LEAST_OUTPUT = 16, 40
"""Maximum output tokens of the first call, and of others at least: enough for a short call."""
PREFLIGHT_S, CALL_S = 5.0, 2.3
"""What a call of the preflight, and each of the about twenty others, may take to be written."""


OVER = "not asked: no time left"


@dataclass(slots=True)
class ServerCalls:
    """The calls of one check."""

    open_model: OpenModel
    has_seed: bool
    """Whether the API knows a seed and logprobs: Chat Completions does."""
    note: Callable[[str], None] = lambda text: None
    """Is told of each call."""
    clock: Callable[[], float] = time.monotonic
    count: int = 0
    speed: float | None = None
    """Output tokens a second; None where they are not known."""
    ends_at: float | None = None
    away: str | None = None
    """The error after which no further call is made."""
    rules: Rules = field(default_factory=Rules)
    """What the last call taught of the server."""

    async def measure(self) -> Probe:
        """The first call, by which the others are kept short."""
        self.ends_at = self.clock() + CHECK_S
        probe, _, _ = await self.call({"max_output_tokens": FIRST_OUTPUT})
        if probe.usage.output_tokens and probe.latency_s:
            self.speed = probe.usage.output_tokens / probe.latency_s
            self.note(f"it writes about {self.speed:,.0f} tokens a second")
        return probe

    def most_output(self, seconds: float) -> int:
        """The tokens that the server writes in this time, within what a probe needs."""
        if self.speed is None:
            return MOST_OUTPUT
        return max(LEAST_OUTPUT, min(MOST_OUTPUT, round(self.speed * seconds)))

    async def call(
        self,
        parameters: Mapping[str, JsonValue],
        question: Message | Sequence[Message] = PLAIN,
        specs: Sequence[ToolSpec] = (),
        options: ReplyOptions = ReplyOptions(),
    ) -> tuple[Probe, Reply | None, dict[str, Any]]:
        """One call: what it tells, its reply, and the body of it; `rules` has what it taught."""
        self.rules = Rules()
        messages = (question,) if isinstance(question, Message) else question
        if self.ends_at is not None and self.clock() > self.ends_at:
            self.away = OVER
        if self.away is not None:
            return Probe(error="not asked any more", error_kind=self.away), None, {}
        self.count += 1
        asked = {"max_output_tokens": self.most_output(CALL_S), **parameters}
        async with self.open_model(brief(asked)) as opened:
            model, bodies = opened
            probe, reply = await short_call(model, specs, options, messages)
            self.rules = getattr(model, "rules", Rules())
            self.away = probe.error_kind if probe.error_kind in AWAY else None
            return probe, reply, bodies[-1] if bodies else {}

    async def features(self, preflight: Preflight) -> AsyncIterator[Feature]:
        """What each further call shows, after those of the preflight."""
        probe, _, _ = await self.call({}, PARALLEL, [WEATHER, CLOCK])
        number = len(probe.calls)
        detail = f"{number} in one reply" if number else ""
        yield _feature("parallel calls", probe, True if number > 1 else None, detail)
        stream, plain, body = await self.call({"stream": True})
        notice = "not asked for" if "stream_options" in self.rules.refused else ""
        yield _answered("streaming", stream)
        yield _feature("usage in streams", stream, stream.usage.source == "provider", notice)
        options = ReplyOptions("required")
        probe, _, _ = await self.call({"stream": True}, PARALLEL, [WEATHER], options)
        seen = True if probe.calls else False if probe.call_in_text else None
        yield _feature("calls in streams", probe, seen)
        answers = body.get("choices") or [{}]
        message = answers[0].get("message") or {}
        names = (*REASONING, "reasoning_details", "thinking_blocks")
        fields = [name for name in names if message.get(name)]
        content = message.get("content") or ""
        if isinstance(content, list) and any(part.get("type") == "thinking" for part in content):
            fields.append("content")
        if isinstance(content, str) and content.startswith("<think>"):
            fields.append("<think>")
        fields += [
            "reasoning item"
            for item in body.get("output") or ()
            if isinstance(item, dict) and item.get("type") == "reasoning"
        ]
        yield Feature(name="reasoning", is_seen=True if fields else None, detail=", ".join(fields))
        yield await self._schema()
        if self.has_seed:
            extra: dict[str, JsonValue] = {"logprobs": True, "top_logprobs": 2}
            probe, _, answer = await self.call({"extra_body": extra})
            choices = answer.get("choices") or [{}]
            yield _feature("logprobs", probe, bool(choices[0].get("logprobs")))
            yield await self._seed()
            yield await self._stop(plain)
            async for feature in self._second_step():
                yield feature

    async def _stop(self, plain: Reply | None) -> Feature:
        """Whether stop sequences end a reply that would continue without."""
        goes_on = plain is not None and any(text in plain.message.content for text in SEVEN)
        probe, reply, _ = await self.call({}, PLAIN, (), ReplyOptions(stop=SEVEN))
        if "stop" in self.rules.refused:
            return Feature(name="stop sequences", is_seen=False, detail="refused")
        is_cut = reply is not None and not any(text in reply.message.content for text in SEVEN)
        return _feature("stop sequences", probe, is_cut if goes_on else None)

    async def _second_step(self) -> AsyncIterator[Feature]:
        """What the server wants of the request behind a tool's result."""
        probe, reply, _ = await self.call({}, QUESTION, [WEATHER])
        name = "max_completion_tokens" if "max_tokens" in self.rules.refused else ""
        yield _feature("max_tokens", probe, not name, name)
        written = probe.usage.cache_write_tokens
        yield Feature(name="cache writes told", is_seen=written is not None or None)
        unknown, _, _ = await self.call({"extra_body": {"agent_env_probe": True}})
        yield _answered("unknown fields", unknown)
        both, _, _ = await self.call({}, QUESTION, [WEATHER], ReplyOptions(schema=SCHEMA))
        yield _feature("schema beside tools", both, bool(both.calls) if probe.calls else None)
        if reply is None or not reply.message.tool_calls:
            return
        message = reply.message
        probe, _, _ = await self.call(
            {}, (QUESTION, message, *_results(message), NOTICE), [WEATHER]
        )
        yield _feature("user behind tool", probe, not self.rules.order)
        yield await self._reasoning_back(message)
        # The message with one call, under an id that is not the server's
        first, fields = message.tool_calls[0], message.provider_fields
        if fields is not None and first.id in fields.calls:
            fields = fields.model_copy(update={"calls": {"call_1": fields.calls[first.id]}})
        call = first.model_copy(update={"id": "call_1"})
        renamed = message.model_copy(update={"tool_calls": (call,), "provider_fields": fields})
        probe, _, _ = await self.call({}, (QUESTION, renamed, *_results(renamed)), [WEATHER])
        yield _answered("other call ids", probe)

    async def _reasoning_back(self, message: Message) -> Feature:
        """Whether the server wants its reasoning back, or refuses it (by the last call)."""
        refused = ", ".join(sorted(self.rules.refused - {"max_tokens"}))
        if refused:
            return Feature(name="reasoning back", is_seen=False, detail=f"refused: {refused}")
        content = message.content.rpartition("</think>")[2]
        if message.provider_fields is None and content == message.content:
            return Feature(name="reasoning back")
        bare = message.model_copy(update={"provider_fields": None, "content": content})
        messages = (QUESTION, bare, *_results(bare))
        probe, _, _ = await self.call({"echo_reasoning": "never"}, messages, [WEATHER])
        is_wanted = probe.error is not None and probe.error_kind in REFUSED
        detail = "required" if is_wanted else ""
        return Feature(name="reasoning back", is_seen=is_wanted or None, detail=detail)

    async def _schema(self) -> Feature:
        probe, reply, _ = await self.call({}, PLAIN, (), ReplyOptions(schema=SCHEMA))
        if probe.error is not None and "does not hold" in probe.error:
            return Feature(name="JSON schema", is_seen=False, detail="ignored")
        return _feature("JSON schema", probe, reply is not None and _fits(reply.message.content))

    async def _seed(self) -> Feature:
        """The same text for the same seed, another for another."""
        texts = []
        for seed in (1, 1, 2):
            parameters = {"temperature": 1.0, "max_output_tokens": SEED_OUTPUT, "seed": seed}
            probe, reply, _ = await self.call(parameters, DIGITS)
            if reply is None:
                return _feature("seed", probe, None)
            texts.append(reply.message.content)
        if len(set(texts)) == 1:
            return Feature(name="seed", detail="other seeds gave the same text")
        return Feature(name="seed", is_seen=texts[0] == texts[1])


async def probe_features(
    calls: ServerCalls, target: ProbedModel, at: str
) -> tuple[Preflight, tuple[Feature, ...]]:
    """The preflight of the server, and its features; no further ones where it does not answer."""
    await calls.measure()
    most = calls.most_output(PREFLIGHT_S)
    async with calls.open_model(brief({"max_output_tokens": most})) as (model, _):
        result = await preflight(model, target, CONDITIONS, OFFERS, at)
    calls.count += len(result.probes)
    if result.probes[0].error is not None:
        return result, ()
    features = _of_preflight(result, most)
    for feature in features:
        calls.note(feature.line)
    async for feature in calls.features(result):
        calls.note(feature.line)
        features.append(feature)
    return result, tuple(features)


def _of_preflight(preflight: Preflight, most: int) -> list[Feature]:
    auto, required = preflight.conditions
    forms = [probe.call_in_text for probe in preflight.probes if probe.call_in_text]
    as_text = f"as text: {forms[0]}" if forms else ""
    added = auto.added_input_tokens
    last = next(each for each in reversed(preflight.probes) if each.tool_choice == "required")
    cut = last.finish_reason == "length" and not last.calls
    refuses = last.error_kind in REFUSED and last.tool_choice == "required"
    parsed = [check.calls_parsed for check in (auto, required)]
    return [
        Feature(name="usage", is_seen=preflight.tells_usage),
        Feature(name="ends by itself", is_seen=preflight.stops),
        Feature(
            name="tools", is_seen=auto.is_reached,
            detail="" if added is None else f"{added:+d} input tokens",
        ),
        Feature(
            name="calls parsed", detail=as_text,
            is_seen=False if False in parsed else True if True in parsed else None,
        ),
        Feature(
            name="required", is_seen=False if refuses else required.required_obeyed,
            detail="refused" if refuses else f"cut at {most} tokens" if cut else "",
        ),
    ]  # fmt: skip


def _results(reply: Message) -> list[Message]:
    return [
        Message(role="tool", tool_call_id=call.id, content="Sunny, 20 degrees.")
        for call in reply.tool_calls
    ]


def _answered(name: str, probe: Probe) -> Feature:
    return _feature(name, probe, True)


def _feature(name: str, probe: Probe, seen: bool | None, detail: str = "") -> Feature:
    """What was seen; no where the server refused the call or its reply cannot be read."""
    if probe.error is None:
        return Feature(name=name, is_seen=seen, detail=detail)
    word = "refused" if probe.error_kind in REFUSED else probe.error_kind or "failed"
    known = word in ("refused", "unreadable")
    return Feature(name=name, is_seen=False if known else None, detail=word)


def _fits(text: str) -> bool:
    """Whether the text is an object of SCHEMA, which the question says nothing of."""
    try:
        value = json.loads(text.rpartition("</think>")[2])
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) == {"days", "unit"} and type(value["days"]) is int
