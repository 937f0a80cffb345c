"""What the options of a request make of an answer: the tool choice and the limit of its length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_env.models.fake_server.talk import (
    Answer,
    Asked,
    Call,
    Object,
    Offer,
    Refusal,
    Tokens,
    count_tokens,
    output_texts,
)


def limit_in(body: Object, *names: str) -> int | None:
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


def obey(asked: Asked, answer: Answer) -> Answer:
    """The answer with the calls that the tool choice allows, or one call that it demands."""
    calls = answer.calls
    if asked.choice == "none":
        calls = ()
    elif asked.choice == "required" and not (calls or answer.hosted) and asked.offers:
        calls = (_any_call(asked, asked.offers[0]),)
    elif asked.choice not in ("auto", "required"):
        offer = next(offer for offer in asked.offers if offer.name == asked.choice)
        calls = tuple(c for c in calls if c.name == offer.name) or (_any_call(asked, offer),)
    if not asked.parallel:
        calls = calls[:1]
    return answer if calls == answer.calls else replace(answer, calls=calls)


def cut(asked: Asked, answer: Answer) -> Answer:
    """The answer up to the limit of tokens, first its reasoning, then its text, then its calls."""
    limit = asked.max_tokens
    if limit is None or count_tokens(output_texts(answer)) <= limit:
        return answer
    reasoning, left = _first(answer.reasoning or "", limit)
    text, left = _first(answer.text, left)
    calls: list[Call] = []
    for call in answer.calls:
        left -= count_tokens([call.name])
        if left <= 0:
            break
        arguments, left = _first(call.arguments, left)
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


def _any_call(asked: Asked, offer: Offer) -> Call:
    question = next((turn.text for turn in reversed(asked.turns) if turn.role == "user"), "")
    value = _smallest(offer.parameters, " ".join(question.split())[:60])
    return Call(offer.name, json.dumps(value, ensure_ascii=False))


def _smallest(schema: Mapping[str, Any], text: str) -> Any:
    """The least that a JSON schema takes; texts are the question's beginning."""
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
