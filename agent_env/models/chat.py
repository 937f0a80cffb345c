"""The one codec of chat JSON: foreign JSON read and made fit for a trace, messages, tool calls and
tools of Chat Completions written and read, and what a server says beside them kept.

The model APIs, the agents' proxy, the exports, the readers of other tools' logs and `serve` use it;
items of the Responses API, which only a client writes and only a server reads, are in `apis.openai`
and the proxy. Reading is lenient: a field may be absent or of any type, a tool flat or
below `function`, a text in parts. A trace gets no key, no lone surrogates, no infinite numbers. Not
covered: a key shorter than eight characters counts as a placeholder and is not blotted out.

Thinking models want their own words back with the next request: `reasoning_content` (DeepSeek,
Kimi, GLM), `reasoning` (vLLM), `reasoning_details` (OpenRouter, MiniMax), `thinking_blocks`
(Anthropic through litellm), `extra_content.google.thought_signature` on a tool call (Gemini), and
whatever comes next. So no field is looked for by name: all are kept, of the message, of its calls
and of their functions.

Guarantees: a reasoning text is stored once, in Message.reasoning, however many fields repeat it, as
is a field that another one holds again; a name that is one of ours does no harm, for the fields
stand apart and ours are sent over them.
Bounds: MOST letters a message and DEEPEST_FIELD levels a field; what is beyond is in `left_out`.
Not kept: nulls, but for those of REASONING, which DeepSeek wants back; empty lists and objects, the
`index` of a call, and what is beside the message.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from agent_env.records.schema import (
    Message,
    ProviderFields,
    ReasoningSpan,
    ToolCall,
    ToolSpec,
)

DEEPEST = 64
"""Levels of nesting in a reply; pydantic itself gives up at 255."""

Json = dict[str, JsonValue]


_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')


def loaded(text: str) -> JsonValue:
    """The JSON; where it is nested beyond what Python reads, null for all below DEEPEST levels."""
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        value = json.loads("".join(_less_deep(text)))
    return value


def _less_deep(text: str) -> Iterator[str]:
    depth = start = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                yield text[start : mark.start()] + "null"
        elif mark[0] in "]}":
            if depth == DEEPEST + 1:
                start = mark.end()
            depth -= 1
    if depth <= DEEPEST:
        yield text[start:]


def encoded(body: Json) -> bytes:
    """The JSON of a request, cleaned; RecursionError where it is nested too deep. A quarter of the
    standard library's time: what a thinking model said is sent with every step."""
    try:
        return to_json(body, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate, or too deep
        return to_json(tree(body))


def tree(body: Json, key: str | None = None) -> Json:
    """The object, cleaned at every level; RecursionError where it is nested too deep."""
    return {name: _value(value, key, DEEPEST) for name, value in body.items()}


def _value(value: JsonValue, key: str | None, depth: int) -> JsonValue:
    if depth == 0:
        raise RecursionError
    match value:
        case str():
            return clean(value, key)
        case list():
            return [_value(item, key, depth - 1) for item in value]
        case dict():
            return {clean(k, key): _value(item, key, depth - 1) for k, item in value.items()}
        case float() if not math.isfinite(value):
            return None
    return value


def clean(text: str, key: str | None) -> str:
    """The text without the key and without lone surrogates."""
    if key is not None and len(key) >= 8:
        text = text.replace(key, "***")
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates; halves of one pair are joined on the way
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shallow(error: JsonValue, key: str | None) -> JsonValue:
    """The value, cleaned; None where it is nested too deep."""
    try:
        return _value(error, key, DEEPEST)
    except RecursionError:
        return None


def text(of: Json, *names: str) -> str:
    """The first of the fields that holds text; empty where none does."""
    return next((value for name in names if isinstance(value := of.get(name), str) and value), "")


def record(of: Json, name: str) -> Json:
    """The object in a field; empty where there is none."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def records(of: Json, name: str) -> list[Json]:
    """The objects of the list in a field; empty where there is none."""
    value = of.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def unique_id(proposed_id: str, taken: Collection[str], step: int) -> str:
    """`proposed_id`, or where it is empty or taken, an id that is not; found soon also for many
    that are the same, whichever others there are."""
    start, seed = proposed_id or f"call_{step}", len(taken)
    drawn = (sha256(f"{seed} {n}".encode()).hexdigest()[:16] for n in itertools.count())
    later = (f"{start}_{number}" for number in itertools.chain(range(2, 50), drawn))
    return next(name for name in itertools.chain([start], later) if name not in taken)


def ids_in(messages: Iterable[Message]) -> set[str]:
    """The ids of all tool calls so far; some servers count anew in each reply."""
    return {call.id for message in messages for call in message.tool_calls}


def with_unique_ids(
    items: Iterable[Json], kind: str, name: str, messages: Sequence[Message]
) -> list[Json]:
    """The items of a reply; each call among them, by its type and the name of its id, has an id
    that none of the messages has."""
    taken = ids_in(messages)
    result: list[Json] = []
    for item in items:
        if item.get("type") == kind:
            item = item | {name: unique_id(text(item, name), taken, len(messages))}
            taken.add(text(item, name))
        result.append(item)
    return result


ROLES = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool",
}  # fmt: skip
"""Roles of chat JSON as ours."""


def chat_message(message: Message, call_fields: Mapping[str, Json] | None = None) -> Json:
    """The message for a reader: reasoning is in `reasoning_content`, arguments as the model
    wrote them. For a server (`call_fields`: what goes with each call, by its id): no reasoning, and
    arguments that are an object."""
    fields: Json = {"role": message.role, "content": message.content}
    if message.reasoning is not None and call_fields is None:
        fields["reasoning_content"] = message.reasoning
    if message.tool_calls:
        fields["tool_calls"] = [
            chat_call(call, None if call_fields is None else call_fields.get(call.id, {}))
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    return fields


def chat_call(call: ToolCall, fields: Json | None = None) -> Json:
    """The call; `fields` go with it, for a server."""
    arguments = call.arguments if fields is None else arguments_as_object(call.arguments)
    fields = fields or {}
    function = record(fields, "function") | {"name": call.name, "arguments": arguments}
    return {"type": "function", **fields, "id": call.id, "function": function}


def chat_tool(spec: ToolSpec) -> dict[str, Any]:
    """A function tool as it is offered."""
    names = ("name", "description", "parameters")
    return {"type": "function", "function": {name: getattr(spec, name) for name in names}}


def read_message(data: Mapping[str, Any], between: str = "") -> Message | None:
    """The message, texts in parts joined by `between`; None for a role that is not known."""
    role = ROLES.get(str(data.get("role")))
    if role is None:
        return None
    reasoning = data.get("reasoning_content") or data.get("reasoning")
    answers = data.get("tool_call_id")
    return Message(
        role=role,
        content=text_in(data.get("content"), between),
        tool_calls=tuple(map(read_call, records(dict(data), "tool_calls"))),
        tool_call_id=str(answers) if role == "tool" and answers else None,
        reasoning=reasoning if isinstance(reasoning, str) else None,
    )


def text_in(content: Any, between: str = "", names: Sequence[str] = ("text",)) -> str:
    """Of a message's content: a text, or parts of which some hold a text under one of the names."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [{names[0]: part} if isinstance(part, str) else part for part in content]
    texts = (part.get(name) for part in parts if isinstance(part, dict) for name in names)
    return between.join(text for text in texts if isinstance(text, str))


def read_call(data: Mapping[str, Any]) -> ToolCall:
    """The call, flat or below `function`; without an id, one that is empty."""
    function = _function(data)
    return ToolCall(
        id=str(data.get("id") or ""),
        name=str(function.get("name") or ""),
        arguments=written(function.get("arguments", {})),
    )


def read_tool(data: Mapping[str, Any]) -> ToolSpec:
    """A tool's definition, flat or below `function`."""
    function = _function(data)
    parameters = function.get("parameters")
    return ToolSpec(
        name=str(function.get("name", "")),
        description=str(function.get("description") or ""),
        parameters=parameters if isinstance(parameters, dict) else {},
    )


def written(arguments: Any) -> str:
    """A call's arguments as text, which some send as an object; empty for none."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def read_arguments(text: str) -> Json | None:
    """The arguments; None where they are no JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def arguments_as_object(arguments: str) -> str:
    """What may be sent back: vLLM and llama.cpp refuse a history whose arguments are no object."""
    text = arguments or "{}"
    return json.dumps({"unreadable": arguments}) if read_arguments(text) is None else text


def _function(data: Mapping[str, Any]) -> Mapping[str, Any]:
    function = data.get("function")
    return function if isinstance(function, dict) and function else data


MOST = 2_000_000
DEEPEST_FIELD = 48
SPAN = 100
"""Letters from which on a part of the reasoning is not stored a second time."""
REASONING = ("reasoning", "reasoning_content")
OURS = frozenset({"role", "tool_calls"})
"""Of a message; always sent as we have them."""
OUR_CALL = frozenset({"id", "index", "function"})
OUR_FUNCTION = frozenset({"name", "arguments"})
LABELS = frozenset({"type", "format", "id", "role", "name", "object", "model", "status"})
"""Strings that a stream repeats; all others come in pieces."""
TEXTS = ("text", "thinking", "summary")
"""What items of a list hold that come in pieces without an index; all other items are whole."""


def merged(values: Sequence[JsonValue], name: str = "", depth: int = DEEPEST_FIELD) -> JsonValue:
    """One value of those that a stream sends for a field: texts are joined, objects merged, lists
    merged by the `index` or the type of their items; of anything else the last one stays."""
    values = [value for value in values if value is not None]
    if len(values) < 2 or depth == 0:
        return values[-1] if values else None
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return texts[0] if name in LABELS else "".join(texts)
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) == len(values):
        names = dict.fromkeys(key for each in objects for key in each)
        return {
            key: merged([each[key] for each in objects if key in each], key, depth - 1)
            for key in names
        }
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values):
        return _merged_lists(lists, depth - 1)
    return values[-1]


def _merged_lists(lists: Sequence[Sequence[JsonValue]], depth: int) -> list[JsonValue]:
    """Items of one index belong together unless their types differ (OpenRouter's may). One without
    index continues with the item that ended the list before, where both are texts of one type,
    until a signature closes it (litellm)."""
    groups: list[list[JsonValue]] = []
    latest: dict[int, tuple[list[JsonValue], JsonValue]] = {}
    for items in lists:
        is_first = True
        for item in items:
            index = item.get("index") if isinstance(item, dict) else None
            if not isinstance(item, dict) or not isinstance(index, int):
                if is_first and groups and _goes_on(groups[-1], item):
                    groups[-1].append(item)
                else:
                    groups.append([item])
                is_first = False
                continue
            group, kind = latest.get(index, ([], None))
            if not group or item.get("type", kind) != kind:
                group, kind = [], item.get("type")
                groups.append(group)
                latest[index] = group, kind
            group.append(item)
            is_first = False
    return [merged(group, "", depth) for group in groups]


def _goes_on(group: Sequence[JsonValue], item: JsonValue) -> bool:
    """Whether the item is the next piece of the group's."""
    last = group[-1]
    if not isinstance(last, dict) or not isinstance(item, dict) or "index" in last:
        return False
    is_text = any(name in last and name in item for name in TEXTS)
    return is_text and last.get("type") == item.get("type") and not last.get("signature")


def without_excess(message: Json) -> tuple[Json, dict[str, str]]:
    """The message without fields that are too long or too deep, and what was left out and why."""
    excess: dict[str, str] = {}
    room = [MOST]
    reasoning_name = next((name for name in REASONING if isinstance(message.get(name), str)), "")

    def bounded(of: Json, exempt: frozenset[str], where: str) -> Json:
        result = {}
        for name, value in of.items():
            size = 0 if name in exempt or name == reasoning_name else _size(value, DEEPEST_FIELD)
            if size is None:
                excess[where + name] = f"nested more than {DEEPEST_FIELD} levels deep"
            elif size > room[0]:
                excess[where + name] = f"{size} characters"
            else:
                room[0] -= size
                result[name] = value
        return result

    message_part = bounded(message, frozenset({"role", "content", "tool_calls"}), "")
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message_part["tool_calls"] = [
            _bounded_call(call, bounded) if isinstance(call, dict) else None for call in calls
        ]
    return message_part, excess


def _bounded_call(call: Json, bounded: Any) -> JsonValue:
    result: Json = bounded(call, OUR_CALL, "tool_calls.")
    function = result.get("function")
    if isinstance(function, dict):
        result["function"] = bounded(function, OUR_FUNCTION, "tool_calls.function.")
    return result


def _size(value: JsonValue, depth: int) -> int | None:
    """Letters, about as in JSON; None for what is nested too deeply."""
    if isinstance(value, str):
        return len(value) + 2
    if not isinstance(value, list | dict):
        return 8
    if depth == 0:
        return None
    inner = value.values() if isinstance(value, dict) else value
    total = sum(len(name) + 4 for name in value) if isinstance(value, dict) else len(value)
    for each in inner:
        size = _size(each, depth - 1)
        if size is None:
            return None
        total += size
    return total


def reasoning_in(message: Mapping[str, JsonValue]) -> str | None:
    """The reasoning text, under whichever name it came; of details, the parts that are text."""
    for name in REASONING:
        if isinstance(text := message.get(name), str) and text:
            return text
    for name in ("reasoning_details", "thinking_blocks", "content"):
        texts = TEXTS if name != "content" else ("thinking",)
        parts = records(dict(message), name)
        if thoughts := "".join(_text_of(part, texts) for part in parts):
            return thoughts
    return None


def _text_of(part: Json, names: Sequence[str]) -> str:
    """The first of the texts that the part holds; Mistral's are lists of parts."""
    value = next((part[name] for name in names if part.get(name)), "")
    if isinstance(value, list):
        return "".join(_text_of(inner, TEXTS) for inner in records(part, "thinking"))
    return value if isinstance(value, str) else ""


def fields_of(
    message: Json,
    calls: Sequence[tuple[ToolCall, Json]],
    reasoning: str | None,
    origin: str,
    left_out: Mapping[str, JsonValue],
) -> ProviderFields | None:
    """What the message and its calls hold beside what we know; None where that is nothing."""
    spans: list[ReasoningSpan] = []
    fields = {n: message[n] for n in message if _is_kept(n, message[n])}
    copies = tuple(_copies_in(fields))
    extras = {
        name: _without(_less_copies(name, fields[name], copies), reasoning or "", (name,), spans)
        for name in fields
    }
    of_calls = {call.id: extra for call, sent in calls if (extra := _extra_of_call(sent))}
    if not (extras or of_calls or left_out):
        return None
    return ProviderFields(
        origin=origin,
        message=extras,
        calls=of_calls,
        reasoning_at=tuple(spans),
        copies=copies,
        left_out={name: str(why) for name, why in left_out.items()},
    )


def _is_kept(name: str, value: JsonValue) -> bool:
    if value in (None, [], {}):
        return value is None and name in REASONING
    # Known are texts, and parts that are nothing but text
    if name == "role":
        return value != "assistant"
    if name == "tool_calls":
        return not isinstance(value, list)
    if name != "content":
        return True
    parts = value if isinstance(value, list) else []
    return any(not isinstance(part, dict) or part.keys() - {"type", "text"} for part in parts)


def _copies_in(message: Json) -> Iterator[tuple[str, str]]:
    """Where an object of the message repeats a field of the message."""
    for name, value in message.items():
        for inner, content in value.items() if isinstance(value, dict) else ():
            if inner != name and inner in message and content == message[inner]:
                yield name, inner


def _less_copies(name: str, value: JsonValue, copies: Sequence[tuple[str, str]]) -> JsonValue:
    inner_names = {inner for outer, inner in copies if outer == name}
    if not inner_names or not isinstance(value, dict):
        return value
    return {inner: value[inner] for inner in value if inner not in inner_names}


def _extra_of_call(call: Json) -> Json:
    extras = {name: call[name] for name in call if name not in OUR_CALL and call[name] is not None}
    if extras.get("type") == "function":
        del extras["type"]
    function = call.get("function")
    inner = function if isinstance(function, dict) else {}
    if more := {name: inner[name] for name in inner if name not in OUR_FUNCTION}:
        extras["function"] = more
    return extras


def _without(
    value: JsonValue, reasoning: str, path: tuple[str | int, ...], spans: list[ReasoningSpan]
) -> JsonValue:
    """The value with empty texts where parts of the reasoning stood; `spans` says which."""
    if isinstance(value, str):
        start = _start(value, reasoning, spans[-1].end if spans else 0)
        if start is None:
            return value
        spans.append(ReasoningSpan(path=path, start=start, end=start + len(value)))
        return ""
    if isinstance(value, dict):
        return {name: _without(value[name], reasoning, (*path, name), spans) for name in value}
    if isinstance(value, list):
        return [_without(item, reasoning, (*path, n), spans) for n, item in enumerate(value)]
    return value


def _start(value: str, reasoning: str, after: int) -> int | None:
    """Where the text is in the reasoning: it is the whole, its beginning, or goes on `after`
    the last one. (A search would cost a millisecond.)"""
    if not value or (len(value) < SPAN and value != reasoning):
        return None
    return next((start for start in (after, 0) if reasoning.startswith(value, start)), None)


def echo_fields(message: Message, refused: frozenset[str]) -> tuple[Json, dict[str, Json]]:
    """The fields as they came: of the message, and of each call by its id; without those of the
    names that the server refused."""
    stored = message.provider_fields
    if stored is None:
        return {}, {}
    is_whole = not (stored.reasoning_at or stored.copies)
    whole: Any = stored.message if is_whole else copy.deepcopy(stored.message)
    for span in stored.reasoning_at:
        place = whole
        for step in span.path[:-1]:
            place = place[step]
        place[span.path[-1]] = (message.reasoning or "")[span.start : span.end]
    for outer, inner in stored.copies:
        whole[outer][inner] = whole[inner]
    taken_out = OURS | refused
    fields = {name: value for name, value in whole.items() if name not in taken_out}
    return fields, {id_: _less(stored.calls[id_], refused) for id_ in stored.calls}


def _less(call: Json, refused: frozenset[str]) -> Json:
    result = {name: value for name, value in call.items() if name not in refused}
    if isinstance(function := result.get("function"), dict):
        result["function"] = {n: v for n, v in function.items() if n not in refused}
    return result


def names_in(fields: ProviderFields) -> Iterator[str]:
    """The names of all fields that would go back."""
    yield from (name for name in fields.message if name not in OURS)
    for call in fields.calls.values():
        yield from call
        if isinstance(function := call.get("function"), dict):
            yield from function
