"""What requests are refused for: unknown fields, the order of calls and results, a mode's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NoReturn

from agent_env.extensions.fake_server.conversation import (
    Json,
    Object,
    ReasoningFormat,
    Refusal,
    Turn,
)
from agent_env.extensions.fake_server.modes import Mode

CHAT = frozenset(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens"
    " max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction"
    " presence_penalty prompt_cache_key prompt_cache_retention reasoning_effort response_format"
    " safety_identifier seed service_tier stop store stream stream_options temperature tool_choice"
    " tools top_logprobs top_p user verbosity web_search_options".split()
)
RESPONSES = frozenset(
    "background context_management conversation include input instructions max_output_tokens"
    " max_tool_calls metadata model parallel_tool_calls previous_response_id prompt"
    " prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store"
    " stream stream_options temperature text tool_choice tools top_logprobs top_p truncation"
    " user".split()
)
MESSAGE = frozenset(
    "annotations audio content function_call name refusal role tool_call_id tool_calls".split()
)
CALL = frozenset({"custom", "function", "id", "type"})
FUNCTION = frozenset({"arguments", "name"})
STRAY = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
    " 'tool_calls'."
)
NOT_THERE = (
    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
)
TWICE = "Invalid parameter: 'tool_call_id' of '{id}' has more than one response message."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)
SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
FORBIDDEN = "property '{where}' is unsupported"


def check_chat(mode: Mode, body: Object, choice: str) -> None:
    """Raises Refusal as the mode's server would."""
    if mode.strict_fields:
        refuse_unknown(body, CHAT)
    for name in sorted(mode.forbids & set(body)):
        _refuse_extra(["body", name])
    if mode.stop == "refused" and body.get("stop") is not None:
        text = "Unsupported parameter: 'stop' is not supported with this model."
        raise Refusal(400, text, "stop", code="unsupported_parameter")
    if mode.token_limit != "any" and body.get("max_tokens") is not None:
        text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        text += " 'max_completion_tokens' instead."
        raise Refusal(400, text, "max_tokens", code="unsupported_parameter")
    reasoning_format = format_for(mode, body)
    if mode.refuses_echo:
        _refuse_echo(mode, body)
    if reasoning_format is None:
        return
    if mode.refuses_forced and choice not in ("auto", "none"):
        label = "required" if choice == "required" else "specified"
        raise Refusal(400, mode.refuses_forced.format(choice=label), "tool_choice")
    _check_reasoning(mode, reasoning_format, body)


def format_for(mode: Mode, body: Object) -> ReasoningFormat | None:
    """How reasoning is written in this exchange; None where thinking is switched off."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    return mode.split if mode.split and body.get("reasoning_split") is True else mode.reasoning


def _refuse_echo(mode: Mode, body: Object) -> None:
    for number, message in enumerate(body["messages"]):
        if message.get("role") == "assistant" and mode.field in message:
            where = f"messages.{number}.assistant.{mode.field}"
            if mode.refuses_echo == "422":
                _refuse_extra(["body", "messages", number, "assistant", mode.field])
            text = f"{where}: {FORBIDDEN.format(where=where)}"
            raise Refusal(400, text, where, code="wrong_api_format")


def _refuse_extra(place: Sequence[str | int]) -> NoReturn:
    text = "Extra inputs are not permitted"
    detail = [{"type": "extra_forbidden", "loc": list(place), "msg": text}]
    raise Refusal(422, text, ".".join(map(str, place[1:])), extra={"detail": detail})


def _check_reasoning(mode: Mode, reasoning_format: ReasoningFormat, body: Object) -> None:
    messages: Sequence[Object] = body["messages"]
    for index in _indices_with_reasoning(mode, body, messages):
        fault = reasoning_format.fault(messages[index])
        if fault is not None:
            calls = messages[index].get("tool_calls") or [{}]
            name = (calls[0].get("function") or {}).get("name")
            text = mode.missing if fault == "missing" else mode.altered
            what = text.format(
                field=mode.field, index=index, fault=fault, name=name, position=index + 1
            )
            raise Refusal(400, what, f"messages[{index}]")


def _indices_with_reasoning(mode: Mode, body: Object, messages: Sequence[Object]) -> list[int]:
    """The assistant messages that must carry their reasoning."""
    replies = [n for n, message in enumerate(messages) if message.get("role") == "assistant"]
    with_calls = [n for n in replies if messages[n].get("tool_calls")]
    match mode.demand:
        case "tools":
            return replies if body.get("tools") else []
        case "calls":
            return with_calls
        case "calls of this turn":
            users = [n for n, message in enumerate(messages) if message.get("role") == "user"]
            return [n for n in with_calls if n > max(users, default=-1)]
    return []


def refuse_unknown(body: Object, known: frozenset[str]) -> None:
    """Raises Refusal for the first field that is not known."""
    for name, where in _unknown(body, known):
        text = f"Unknown parameter: '{where}{name}'."
        raise Refusal(400, text, f"{where}{name}", code="unknown_parameter")


def _unknown(body: Object, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in body if name not in known)
    for number, message in enumerate(body.get("messages") or ()):
        where = f"messages[{number}]."
        yield from ((name, where) for name in message if name not in MESSAGE)
        for place, call in enumerate(message.get("tool_calls") or ()):
            yield from _unknown_of_call(call, f"{where}tool_calls[{place}].")


def _unknown_of_call(call: Json, where: str) -> Iterator[tuple[str, str]]:
    yield from ((name, where) for name in call if name not in CALL)
    inner = f"{where}function."
    yield from ((name, inner) for name in call.get("function") or {} if name not in FUNCTION)


def check_turns(mode: Mode, turns: Sequence[Turn]) -> None:
    """Raises Refusal for an order of messages or an id of a call that the mode does not take."""
    if mode.strict_order:
        check_messages(turns)
    for one, two in pairwise(turns):
        if mode.user_after_tool and (one.role, two.role) == ("tool", "user"):
            raise Refusal(400, mode.user_after_tool, code="3230")
    for call in (call for turn in turns for call in turn.calls):
        if mode.short_ids and not SHORT_ID.fullmatch(call.id):
            text = f"Tool call id was {call.id} but must be a-z, A-Z, 0-9, with a length of 9."
            raise Refusal(400, text, code="3280")


def check_messages(turns: Sequence[Turn]) -> None:
    """Raises Refusal where Chat Completions would not take the order of messages."""
    open_ids: list[str] = []
    answered_ids: set[str] = set()
    after_calls = False
    for number, turn in enumerate(turns):
        if turn.role == "tool":
            field = f"messages.[{number}].tool_call_id"
            if not after_calls:
                raise Refusal(400, STRAY, f"messages.[{number}].role")
            if turn.call_id in answered_ids:
                raise Refusal(400, TWICE.format(id=turn.call_id), field)
            if turn.call_id not in open_ids:
                raise Refusal(400, NOT_THERE.format(id=turn.call_id), field)
            open_ids.remove(turn.call_id)
            answered_ids.add(turn.call_id)
            continue
        _refuse_unanswered_ids(open_ids, number)
        open_ids, answered_ids = [call.id for call in turn.calls], set()
        after_calls = bool(turn.calls)
    _refuse_unanswered_ids(open_ids, len(turns))


def check_items(turns: Sequence[Turn]) -> None:
    """Raises Refusal where a call of the Responses API lacks its result, or a result its call."""
    calls = [call.id for turn in turns for call in turn.calls]
    outputs = [str(turn.call_id) for turn in turns if turn.role == "tool"]
    for number, id_ in enumerate(outputs):
        if id_ not in calls:
            text = f"No tool call found for function call output with call_id {id_}."
            raise Refusal(400, text, "input")
        if id_ in outputs[:number]:
            raise Refusal(400, f"Duplicate function call output with call_id {id_}.", "input")
    for id_ in calls:
        if id_ not in outputs:
            raise Refusal(400, f"No tool output found for function call {id_}.", "input")


def _refuse_unanswered_ids(ids: Sequence[str], number: int) -> None:
    if ids:
        text = UNANSWERED.format(ids=", ".join(ids))
        raise Refusal(400, text, f"messages.[{number}].role")
