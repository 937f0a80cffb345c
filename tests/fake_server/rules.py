"""What requests are refused for, and how a request's options shape an answer.

Refused: unknown fields, what a mode's rules forbid. Shaped:
tool choice, stop, length limit, JSON schema. OpenAI's strict mode of schemas: the root is an object
and no `anyOf`; every object is closed and requires all of its properties; some keywords, such as
`allOf` and lengths of texts, are refused. DeepSeek has no JSON schema. llama.cpp and vLLM hold the
whole reply, so that no tool is called; llama.cpp ignores `text.format` over Responses.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from agent_env.features.agents.apis.chat import format_in
from agent_env.features.agents.apis.exchange import count_tokens, tool_call
from tests.fake_server.conversation import Refusal, Tokens, output_texts


def apply_tool_choice(request, answer):
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


def stop(request, answer):
    """The answer up to the first stop sequence in its text."""
    ends = [at for text in request.stop if (at := answer.text.find(text)) >= 0]
    return replace(answer, text=answer.text[: min(ends)]) if ends else answer


def truncate(request, answer):
    """The answer cut at the token limit; reasoning comes first, then text, then calls,
    which are whole or left out."""
    limit = request.max_tokens
    if limit is None or count_tokens(output_texts(answer)) <= limit:
        return answer
    reasoning, rest = _first(answer.reasoning or "", limit)
    text, rest = _first(answer.text, rest)
    usage = answer.usage
    return replace(
        answer,
        reasoning=reasoning if answer.reasoning is not None else None,
        text=text,
        calls=answer.calls if rest > 0 else (),
        finish="length",
        usage=replace(usage, output=limit) if isinstance(usage, Tokens) else usage,
    )


def _first(text, tokens):
    head = text.encode(errors="replace")[: 4 * tokens].decode(errors="ignore")
    return head, tokens - count_tokens([head])


def _any_call(request, offer):
    question = next((turn.content for turn in reversed(request.turns) if turn.role == "user"), "")
    value = _smallest(offer.parameters, " ".join(question.split())[:60])
    return tool_call(offer.name, json.dumps(value, ensure_ascii=False))


def _smallest(schema, text):
    """The smallest value that a JSON schema allows; texts are the beginning of the question."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            names = schema.get("required", ())
            return {name: _smallest(schema["properties"][name], text) for name in names}
        case "string":
            return text
    return schema.get("minimum", 0)


_REFUSED_KEYWORDS = frozenset(
    "allOf not if then else dependentRequired dependentSchemas patternProperties minLength"
    " maxLength oneOf uniqueItems".split()
)
_DEEPEST_SCHEMA = 10
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"-?\d+")
_SPARE = ("2000-01-01", "2000-01", "2000", "Jan, 2000", "January 2000", "00:00:00")
"""Texts of which one matches most patterns."""


def check_schema(mode, body, schema):
    """Raises Refusal where the mode does not take the request's schema."""
    given, at_chat = format_in(body), "response_format" in body
    if given.get("type") != "json_schema" or schema is None:
        return
    field = "response_format" if at_chat else "text.format"
    if mode.structured == "refused":
        raise Refusal(400, "This response_format type is unavailable now", field)
    named = given["json_schema"] if at_chat else given
    if named.get("strict") is True and mode.structured == "strict":
        for fault in schema_faults(schema, (), is_root=True):
            text = f"Invalid schema for {field} '{named['name']}': {fault}"
            raise Refusal(400, text, field, code="invalid_json_schema")


def schema_faults(schema, path, is_root=False):
    context = f"In context={path}, "
    if is_root and (schema.get("type") != "object" or "anyOf" in schema):
        yield "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
    if len(path) > _DEEPEST_SCHEMA * 2:
        yield f"{context}schema exceeds {_DEEPEST_SCHEMA} levels of nesting."
    for keyword in sorted(_REFUSED_KEYWORDS & set(schema)):
        yield f"{context}'{keyword}' is not permitted."
    if schema.get("type") == "object":
        inner = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield f"{context}'additionalProperties' is required to be supplied and to be false."
        if missing := [name for name in inner if name not in schema.get("required", ())]:
            yield (
                f"{context}'required' is required to be supplied and to be an array including every"
                f" key in properties. Missing '{missing[0]}'."
            )
        for name, each in inner.items():
            yield from schema_faults(each, (*path, "properties", name))
    if isinstance(schema.get("items"), dict):
        yield from schema_faults(schema["items"], (*path, "items"))
    for number, each in enumerate(schema.get("anyOf", ())):
        yield from schema_faults(each, (*path, "anyOf", str(number)))


def held(request, mode):
    """The request; under a schema without its tools in the modes that hold the whole reply."""
    is_whole = mode.structured in ("whole reply", "unread") and request.choice == "auto"
    return replace(request, offers=()) if request.schema is not None and is_whole else request


def hold(request, answer):
    """The answer with a text of the request's schema, made of what it says."""
    if request.schema is None or answer.calls or answer.finish == "refused":
        return answer
    try:
        value = json.loads(answer.text)
    except ValueError:
        value = None
    if isinstance(value, dict) and set(value) == set(request.schema.get("properties", value)):
        return answer
    text = answer.text.rpartition("ANSWER:")[2].strip()
    return replace(answer, text=json.dumps(_value(request.schema, text), ensure_ascii=False))


def _value(schema, text):
    """A value of the schema, with what the text says of it."""
    if "anyOf" in schema:
        answers = [each for each in schema["anyOf"] if "answer" in each.get("properties", ())]
        return _value((answers or schema["anyOf"])[0], text)
    if "enum" in schema:
        return next((each for each in schema["enum"] if str(each) in text), schema["enum"][0])
    match schema.get("type"):
        case "object":
            inner = schema.get("properties", {})
            return {name: _value(each, text) for name, each in inner.items()}
        case "array":
            return _values(schema["items"], text)[: schema.get("maxItems", 10)]
        case "integer" | "number":
            return int(found[0]) if (found := _NUMBER.search(text)) else 0
        case "string":
            return _text(schema, text)
    return None


def _values(item, text):
    if item.get("format") == "date":
        return _DATE.findall(text)
    if "enum" in item:
        return [each for each in item["enum"] if re.search(rf"\b{re.escape(each)}\b", text)]
    return [_value(item, part.strip()) for part in text.split(",") if part.strip()]


def _text(schema, text):
    if schema.get("format") == "date":
        return found[0] if (found := _DATE.search(text)) else _SPARE[0]
    pattern = str(schema.get("pattern", ""))
    if not pattern:
        return text
    if found := re.search(pattern.removeprefix("^").removesuffix("$"), text):
        return found[0]
    return next((each for each in _SPARE if re.fullmatch(pattern, each)), text)


FIELDS = tomllib.loads(Path(__file__).with_name("fields.toml").read_text(encoding="utf-8"))
CHAT, RESPONSES, MESSAGE = (
    frozenset(FIELDS[name].split()) for name in ("chat", "responses", "message")
)
CALL = frozenset({"custom", "function", "id", "type"})
FUNCTION = frozenset({"arguments", "name"})
SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
FORBIDDEN = "property '{where}' is unsupported"


def check_chat(mode, body, choice):
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


def format_for(mode, body):
    """How reasoning is written in this exchange; None where thinking is switched off."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return None
    return mode.split if mode.split and body.get("reasoning_split") is True else mode.reasoning


def _refuse_echo(mode, body):
    for number, message in enumerate(body["messages"]):
        if message.get("role") == "assistant" and mode.field in message:
            where = f"messages.{number}.assistant.{mode.field}"
            if mode.refuses_echo == "422":
                _refuse_extra(["body", "messages", number, "assistant", mode.field])
            text = f"{where}: {FORBIDDEN.format(where=where)}"
            raise Refusal(400, text, where, code="wrong_api_format")


def _refuse_extra(place):
    text = "Extra inputs are not permitted"
    detail = [{"type": "extra_forbidden", "loc": list(place), "msg": text}]
    raise Refusal(422, text, ".".join(map(str, place[1:])), extra={"detail": detail})


def _check_reasoning(mode, reasoning_format, body):
    messages = body["messages"]
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


def _indices_with_reasoning(mode, body, messages):
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


def refuse_unknown(body, known):
    """Raises Refusal for the first field that is not known."""
    for name, where in _unknown(body, known):
        text = f"Unknown parameter: '{where}{name}'."
        raise Refusal(400, text, f"{where}{name}", code="unknown_parameter")


def _unknown(body, known):
    yield from ((name, "") for name in body if name not in known)
    for number, message in enumerate(body.get("messages") or ()):
        where = f"messages[{number}]."
        yield from ((name, where) for name in message if name not in MESSAGE)
        for place, call in enumerate(message.get("tool_calls") or ()):
            outer = f"{where}tool_calls[{place}]."
            yield from ((name, outer) for name in call if name not in CALL)
            function = call.get("function") or {}
            yield from ((name, f"{outer}function.") for name in function if name not in FUNCTION)


def check_turns(mode, turns):
    """Raises Refusal for an order of messages or an id of a call that the mode does not take."""
    for one, two in pairwise(turns):
        if mode.user_after_tool and (one.role, two.role) == ("tool", "user"):
            raise Refusal(400, mode.user_after_tool, code="3230")
    for call in (call for turn in turns for call in turn.tool_calls):
        if mode.short_ids and not SHORT_ID.fullmatch(call.id):
            text = f"Tool call id was {call.id} but must be a-z, A-Z, 0-9, with a length of 9."
            raise Refusal(400, text, code="3280")
