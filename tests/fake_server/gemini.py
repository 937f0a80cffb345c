"""Gemini's generateContent as Google documents it; a stream's events end with the signature on an
empty text.

In mode `gemini` replies have thoughts where a request asks for them; the first call of each step of
this turn must carry its signature, and none may be changed. The cache is implicit: usage tells what
an earlier request of the conversation had.
Not covered: media, cached contents, further candidates, hosted tools, which are taken and never
called.
"""

from __future__ import annotations

from dataclasses import replace

from agent_env.features.agents.apis import generate_content
from agent_env.features.agents.apis.exchange import count_tokens
from agent_env.features.agents.apis.generate_content import inner
from tests.fake_server.conversation import Refusal, with_more
from tests.fake_server.modes import CallSignature, binding, signature

STANDARD = str.maketrans("-_", "+/")
"""From the alphabet of base64 in which the SDK sends a signature back."""
UNCHECKED = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Taken for the signature of a call that another model made."""
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{name}` , position {position}."
)


class GeminiApi(generate_content.GeminiApi):
    """Reads requests and writes replies of this API."""

    def __init__(self, mode):
        self._signs = isinstance(mode.reasoning, CallSignature)

    def read(self, body, http):
        body = generate_content.known(body, "request")
        request = super().read(body, http)
        if self._signs:
            _check_signatures(generate_content.joined(body["contents"]))
        thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
        return with_more(
            request,
            thinks=self._signs and thinking.get("includeThoughts") is True,
            reasoning_format=CallSignature() if self._signs else None,
            caches=True,
        )

    def whole(self, request, answer, number):
        body = super().whole(request, _with_thoughts(answer), number)
        parts = body["candidates"][0]["content"]["parts"]
        if parts and not answer.calls and self._signs:
            parts[-1]["thoughtSignature"] = _text_signature(parts)
        return body

    def stream(self, request, answer, number):
        return super().stream(request, _with_thoughts(answer), number)

    def parts(self, request, answer):
        """The parts without the signature of a text, which stands elsewhere in a stream."""
        parts = super().parts(request, answer)
        if answer.calls and request.reasoning_format is not None:
            parts[-len(answer.calls)]["thoughtSignature"] = signature(answer.calls[0].id)
        thought = {"text": answer.reasoning, "thought": True}
        return [thought, *parts] if answer.reasoning else parts

    def end(self, answer, parts):
        signed = self._signs and not answer.calls
        return {"text": ""} | ({"thoughtSignature": _text_signature(parts)} if signed else {})


def _with_thoughts(answer):
    """The answer with the tokens of its thoughts in its usage."""
    usage = answer.usage
    if usage is None or usage.reasoning:
        return answer
    thoughts = count_tokens([answer.reasoning or ""])
    return replace(answer, usage=replace(usage, reasoning=thoughts))


def _check_signatures(turns):
    """Refusal for a signature that lacks on a call of this turn, or was changed."""
    users = [n for n, turn in enumerate(turns) if turn["role"] == "user" and inner(turn, "text")]
    for number, turn in enumerate(turns):
        calls = [part for part in turn["parts"] if "functionCall" in part]
        if calls and number > max(users, default=-1) and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise Refusal(400, UNSIGNED.format(name=name, position=number + 1))
        id_ = str(calls[0]["functionCall"].get("id")) if calls else ""
        if calls and binding({"tool_calls": [{"id": id_}]}) is None:
            continue  # another model's call
        right = signature(id_) if calls else _text_signature(turn["parts"])
        marks = frozenset(inner(turn, "thoughtSignature")) - UNCHECKED
        if {mark.translate(STANDARD) for mark in marks} - {right}:
            raise Refusal(400, "Corrupted thought signature.")


def _text_signature(parts):
    return signature("text", *(part["text"] for part in parts if part.get("text")))
