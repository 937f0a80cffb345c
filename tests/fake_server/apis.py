"""OpenAI's APIs as the modes have them.

Over Chat Completions reasoning is sent as the mode's provider sends it. A stream has lists of
blocks item by item, anything else at once. Thinking blocks come as litellm sends them: in pieces
without index, each twice, and the signature with an empty text. Over Responses hosted tools are
played, and a reply holds encrypted content only where the request's `include` names it.
"""

from __future__ import annotations

from agent_env.features.agents.apis import chat, responses
from agent_env.features.agents.apis.exchange import slices
from tests.fake_server.channel import openai_error
from tests.fake_server.conversation import Refusal, with_more
from tests.fake_server.modes import check_reasoning, encrypt, item_id
from tests.fake_server.rules import (
    RESPONSES,
    check_chat,
    check_schema,
    check_turns,
    format_for,
    held,
    refuse_unknown,
)

LAST = ("refusal", "content", "annotations", "tool_calls")
HOSTED = ("web_search", "web_search_2025_08_26", "code_interpreter")


class ChatApi(chat.ChatApi):
    """Chat Completions by the rules of a mode."""

    def __init__(self, mode):
        self._mode = mode

    def read(self, body, http):
        mode = self._mode
        if mode.error_style == "mistral" and body.get("tool_choice") == "any":
            body = {**body, "tool_choice": "required"}  # Mistral's older word for it
        request = super().read(body, http)
        check_turns(mode, request.turns)
        check_chat(mode, body, request.choice)
        check_schema(mode, body, request.schema)
        reasoning_format = format_for(mode, body)
        is_ignored = mode.forced_choice == "ignored" and request.choice != "none"
        gaps = mode.has_gaps and reasoning_format is not None
        return with_more(
            held(request, mode),
            empty_reasoning={mode.field: None} if gaps else {},
            short_ids=mode.short_ids,
            caches=mode.cache != "none",
            wants_usage=request.wants_usage or "stream_options" in mode.forbids,
            choice="auto" if is_ignored else request.choice,
            thinks=reasoning_format is not None,
            reasoning_format=reasoning_format,
        )

    def whole(self, request, answer, number):
        if answer.hosted:
            raise Refusal(400, "this API has no hosted tools", "tools")
        return super().whole(request, answer, number)

    def error(self, refusal):
        return openai_error(self._mode.error_style, refusal)

    def message(self, request, answer):
        message = super().message(request, answer)
        if answer.cited:
            message["annotations"] = [
                {"type": "url_citation", "url_citation": _place(url)} for url in answer.cited
            ]
        if answer.reasoning is None:
            return message | request.empty_reasoning
        if request.reasoning_format is None:
            return message | {"reasoning": answer.reasoning}
        return request.reasoning_format.write(message, answer.reasoning, request.nonce)

    def deltas(self, message):
        """The pieces; for Gemini each call is one piece without index."""
        first = [name for name in message if name not in ("role", *LAST)]
        yield {"role": "assistant", "content": ""} | {n: None for n in first if message[n] is None}
        if "thinking_blocks" in message:
            yield from map(_repeated, _pieces_of("thinking_blocks", message["thinking_blocks"]))
            first = []
        for name in (*first, *LAST[:2]):
            yield from _pieces_of(name, message.get(name))
        if message.get("annotations"):
            yield {"annotations": message["annotations"]}
        for index, call in enumerate(message.get("tool_calls") or ()):
            if self._mode.error_style == "gemini":
                yield {"tool_calls": [call]}
            else:
                yield from chat.pieces_of_call(index, call)

    def usage(self, tokens):
        usage = super().usage(tokens)
        if tokens.written is not None:
            usage["prompt_tokens_details"]["cache_write_tokens"] = tokens.written
        if tokens.written is not None and self._mode.cache == "litellm":
            usage["prompt_tokens_details"]["cache_creation_tokens"] = tokens.written
            usage["cache_creation_input_tokens"] = tokens.written
            usage["cache_read_input_tokens"] = tokens.cached
        return usage


def _pieces_of(name, value):
    match value:
        case None:
            return
        case str():
            yield from ({name: piece} for piece in slices(value))
        case [dict(), *_]:
            for block in value:
                yield from ({name: [piece]} for piece in _pieces_of_block(block))
        case _:
            yield {name: value}


def _repeated(delta):
    """A piece of thinking blocks, as litellm writes it three times."""
    text = delta["thinking_blocks"][0].get("thinking")
    plain = {} if text is None else {"reasoning_content": text}
    return plain | delta | {"provider_specific_fields": delta}


def _pieces_of_block(block):
    name = next((n for n in ("text", "thinking") if n in block), None)
    if name is None:
        yield block
        return
    late = {each: value for each, value in block.items() if each == "signature"}
    frame = {each: value for each, value in block.items() if each not in (name, *late)}
    if isinstance(block[name], list):
        for inner in block[name]:
            yield from (frame | {name: [piece]} for piece in _pieces_of_block(inner))
        return
    for piece in slices(block[name]):
        yield frame | {name: piece}
    if late:
        yield frame | ({name: ""} if name == "thinking" else {}) | late


def _place(url):
    return {"start_index": 0, "end_index": 0, "title": url, "url": url}


class ResponsesApi(responses.ResponsesApi):
    """Responses by the rules of a mode."""

    opening = responses.ResponsesApi.opening | {
        "summary": [], "code": "", "encrypted_content": "", "action": {}, "outputs": None
    }  # fmt: skip

    def __init__(self, mode):
        self._mode = mode

    def read(self, body, http):
        is_strict = self._mode.strict_fields
        if is_strict:
            refuse_unknown(body, RESPONSES)
        if self._mode.structured == "unread":
            body = {name: value for name, value in body.items() if name != "text"}
        request = super().read(body, http)
        if isinstance(body["input"], list):
            check_reasoning(body["input"], is_required=is_strict)
        check_schema(self._mode, body, request.schema)
        others = [tool for tool in body.get("tools") or () if tool.get("type") != "function"]
        return with_more(
            held(request, self._mode),
            thinks=is_strict,
            hosted=frozenset(map(_hosted, others)),
            include=frozenset(body.get("include") or ()),
        )

    def error(self, refusal):
        return openai_error(self._mode.error_style, refusal)

    def items(self, request, answer, number):
        if answer.reasoning is not None:
            yield _reasoning(request, answer.reasoning)
        for place, call in enumerate(answer.hosted):
            yield _hosted_call(request, call, f"{number}_{place}")
        if answer.text or not answer.calls:
            yield self.message(answer, number)
        for place, call in enumerate(answer.calls):
            id_ = item_id(request.nonce, answer.reasoning is not None, place)
            yield responses.call_item(call, id_)

    def message(self, answer, number):
        item = super().message(answer, number)
        notes = [{"type": "url_citation"} | _place(url) for url in answer.cited]
        for part in item["content"] if notes else ():
            part |= {"annotations": notes}
        return item

    def item_events(self, item):
        kind, stages = item["type"], ("in_progress", "interpreting", "completed")
        if kind == "web_search_call":
            for stage in ("in_progress", "searching", "completed"):
                yield {"type": f"response.{kind}.{stage}"}
        if kind == "code_interpreter_call":
            yield {"type": f"response.{kind}.{stages[0]}"}
            for piece in slices(item["code"]):
                yield {"type": f"response.{kind}_code.delta", "delta": piece}
            yield {"type": f"response.{kind}_code.done", "code": item["code"]}
            yield from ({"type": f"response.{kind}.{stage}"} for stage in stages[1:])
        yield from super().item_events(item)


def _hosted(tool):
    if tool.get("type") not in HOSTED:
        raise Refusal(400, f"tool type {tool.get('type')!r} is not served here", "tools")
    if tool["type"] == "code_interpreter" and not tool.get("container"):
        raise Refusal(400, "code_interpreter needs a container", "tools")
    return str(tool["type"])


def _reasoning(request, text):
    summary = [{"type": "summary_text", "text": text}]
    item = {"type": "reasoning", "id": f"rs_{request.nonce}", "summary": summary}
    if "reasoning.encrypted_content" in request.include:
        item["encrypted_content"] = encrypt(request.nonce, text)
    return item


def _hosted_call(request, call, id_):
    if call.tool not in request.hosted:
        raise Refusal(400, f"the reply uses {call.tool}, which was not offered", "tools")
    item = {"type": "web_search_call", "id": f"ws_{id_}", "status": "completed"}
    if call.kind == "code":
        logs = [{"type": "logs", "logs": text} for text in call.gave]
        is_included = "code_interpreter_call.outputs" in request.include
        about = {"container_id": f"cntr_{id_.partition('_')[0]}", "code": call.about}
        outputs = {"outputs": logs if is_included else None}
        return item | {"type": "code_interpreter_call", "id": f"ci_{id_}"} | about | outputs
    action = {"type": call.kind, "url": call.about}
    if call.kind == "find_in_page":
        action["pattern"] = call.pattern
    if call.kind == "search":
        action = {"type": "search", "query": call.about, "queries": [call.about]}
        if "web_search_call.action.sources" in request.include:
            action["sources"] = [{"type": "url", "url": url} for url in call.gave]
    return item | {"action": action}
