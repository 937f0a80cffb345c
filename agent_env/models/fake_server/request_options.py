"""Reads a request's options and applies them to an answer: the tool choice and the length limit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_env.models.fake_server.conversation import (
    Answer,
    Call,
    ModelRequest,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    count_tokens,
    output_texts,
)


def request_of(
    body: Object,
    turns: Sequence[Turn],
    functions: Sequence[Object],
    offers: Sequence[Offer],
    *limits: str,
) -> ModelRequest:
    """The request with the options that both APIs share; `limits` name the fields of the length
    limit. Raises Refusal where an option is invalid."""
    choice = choice_in(body)
    return ModelRequest(
        model=str(body.get("model", "")),
        turns=tuple(turns),
        offers=() if choice == "none" else tuple(offers),
        stream=body.get("stream") is True,
        wants_usage=True,
        choice=choice,
        parallel=body.get("parallel_tool_calls") is not False,
        max_tokens=_limit_in(body, *limits),
        tool_texts=tuple(json.dumps(tool) for tool in functions),
    )


def choice_in(body: Object) -> str:
    """The tool choice; raises Refusal where it is not valid for the request's tools."""
    choice, tools = body.get("tool_choice"), body.get("tools") or ()
    if choice is None:
        return "auto"
    if isinstance(choice, Mapping):
        return _tool_in(choice, tools)
    if choice not in ("auto", "required", "none"):
        raise Refusal(400, f"tool_choice {choice!r} is unknown", "tool_choice")
    if not tools:
        raise Refusal(400, "tool_choice is only allowed when tools are specified", "tool_choice")
    return str(choice)


def _tool_in(choice: Object, tools: Sequence[Object]) -> str:
    if choice.get("type", "function") != "function":
        return "auto"  # a hosted tool, or a choice among several
    name = (choice.get("function") or choice).get("name")
    if name not in [(tool.get("function") or tool).get("name") for tool in tools]:
        text = f"Tool choice '{name}' not found in 'tools' parameter."
        raise Refusal(400, text, "tool_choice")
    return str(name)


def _limit_in(body: Object, *names: str) -> int | None:
    """The limit of output tokens; raises Refusal where it is no positive number."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if type(value) is not int or value < 1:
            text = f"Invalid '{name}': integer below minimum value. Expected a value >= 1."
            raise Refusal(400, text, name, code="integer_below_min_value")
        return value
    return None


def apply_tool_choice(request: ModelRequest, answer: Answer) -> Answer:
    """The answer with only the calls that the tool choice allows, or one call that it requires."""
    calls = answer.calls
    if request.choice == "none":
        calls = ()
    elif request.choice == "required" and not (calls or answer.hosted) and request.offers:
        calls = (_any_call(request, request.offers[0]),)
    elif request.choice not in ("auto", "required"):
        offer = next(offer for offer in request.offers if offer.name == request.choice)
        calls = tuple(c for c in calls if c.name == offer.name) or (_any_call(request, offer),)
    if not request.parallel:
        calls = calls[:1]
    return answer if calls == answer.calls else replace(answer, calls=calls)


def stop(request: ModelRequest, answer: Answer) -> Answer:
    """The answer up to the first stop sequence in its text."""
    ends = [at for text in request.stop if (at := answer.text.find(text)) >= 0]
    return replace(answer, text=answer.text[: min(ends)]) if ends else answer


def truncate(request: ModelRequest, answer: Answer) -> Answer:
    """The answer cut at the token limit; reasoning comes first, then text, then calls."""
    limit = request.max_tokens
    if limit is None or count_tokens(output_texts(answer)) <= limit:
        return answer
    reasoning, rest = _first(answer.reasoning or "", limit)
    text, rest = _first(answer.text, rest)
    calls: list[Call] = []
    for call in answer.calls:
        rest -= count_tokens([call.name])
        if rest <= 0:
            break
        arguments, rest = _first(call.arguments, rest)
        calls.append(replace(call, arguments=arguments))
    usage = answer.usage
    return replace(
        answer,
        reasoning=reasoning if answer.reasoning is not None else None,
        text=text,
        calls=tuple(calls),
        finish="length",
        usage=replace(usage, output=limit) if isinstance(usage, Tokens) else usage,
    )


def _first(text: str, tokens: int) -> tuple[str, int]:
    head = text.encode(errors="replace")[: 4 * tokens].decode(errors="ignore")
    return head, tokens - count_tokens([head])


def _any_call(request: ModelRequest, offer: Offer) -> Call:
    question = next((turn.text for turn in reversed(request.turns) if turn.role == "user"), "")
    value = _smallest(offer.parameters, " ".join(question.split())[:60])
    return Call(offer.name, json.dumps(value, ensure_ascii=False))


def _smallest(schema: Mapping[str, Any], text: str) -> Any:
    """The smallest value that a JSON schema allows; texts are the beginning of the question."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            names = schema.get("required", ())
            return {name: _smallest(schema["properties"][name], text) for name in names}
        case "array":
            return [_smallest(schema.get("items", {}), text)] * schema.get("minItems", 0)
        case "string":
            return text
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return None
