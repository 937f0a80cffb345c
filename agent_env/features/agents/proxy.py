"""What an agent's HTTP calls reach: four model APIs, the tools by MCP and by plain POST.

POST /v1/chat/completions, /v1/responses, /v1/messages and /v1beta/models/NAME:generateContent (or
:streamGenerateContent) are read as their providers document them, and asked of the episode's model
whichever API that has itself. Tools of the provider's own are taken out of a request: what they do
would be done outside of the condition. POST /tools/NAME takes an object of arguments and answers
with text; /mcp is an MCP server over streamable HTTP.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent_env.features.agents.apis import chat, generate_content, messages, responses
from agent_env.features.agents.apis.exchange import (
    EVENTS,
    JSON,
    Answer,
    ApiCodec,
    HttpRequest,
    Json,
    ModelRequest,
    Refusal,
    Tokens,
    as_json,
    call_texts,
    count_tokens,
    input_tokens,
    openai_error,
    slices,
)
from agent_env.features.agents.desk import Desk
from agent_env.sdk.models import LISTENER
from agent_env.sdk.records import Reply, Usage, writable

MARK = "TEXT-GOES-HERE"
"""Stands for a piece of the text in an event that is made beforehand; short enough for one."""


class LiveReply:
    """The events of one reply: text as it comes, calls and the end when it is whole."""

    def __init__(self, api: ApiCodec, request: ModelRequest, number: int) -> None:
        self._api, self._request, self._number = api, request, number
        empty = Answer(text=MARK, usage=Tokens(0, 0))
        events = [bytes(event) for event in api.stream(request, empty, number)]
        at = next(n for n, event in enumerate(events) if MARK.encode() in event)
        self._opening, self._delta = events[:at], events[at]
        self.sent = ""
        """The text that is on its way."""
        self._again: str | None = None
        """What a second attempt at the reply has said so far; None in the first."""
        self.is_broken = False
        """Whether a second attempt says something else than what was sent."""

    def add(self, piece: str | None) -> Iterator[bytes]:
        """The events for a piece of text; for None, the reply begins anew."""
        if piece is None:
            self._again = "" if self.sent else None
            return
        if self._again is not None:
            self._again += piece
            longer, shorter = sorted((self._again, self.sent), key=len, reverse=True)
            self.is_broken |= not longer.startswith(shorter)
            piece = self._again[len(self.sent) :]
        if piece and not self.is_broken:
            yield from () if self.sent else self._opening
            yield self._event(piece)
            self.sent += piece

    def rest(self, answer: Answer) -> Iterator[bytes]:
        """The events behind those that were sent."""
        events = list(self._api.stream(self._request, answer, self._number))
        if not self.sent:
            yield from events
            return
        if not answer.text.startswith(self.sent):  # a thought, or a call in text, was taken out
            yield from events[len(self._opening) + len(slices(answer.text)) :]
            return
        if more := answer.text[len(self.sent) :]:
            yield self._event(more)
        yield from events[len(self._opening) + len(slices(answer.text)) :]

    def _event(self, piece: str) -> bytes:
        return self._delta.replace(MARK.encode(), json.dumps(piece)[1:-1].encode())


MEDIA = frozenset(
    "image image_url input_image input_audio input_file file document video_url inlineData"
    " inline_data fileData file_data".split()
)
"""Types of content, or their fields, that are not text."""
CHOOSING = ("tools", "tool_choice", "toolConfig", "tool_config", "parallel_tool_calls")


MOST_AT_ONCE = 64 << 20
"""Bytes of all requests of a run that are being read or answered."""
MOST_VALUES = 400_000
"""Lists, objects and entries of a body: each takes up to a hundred bytes when it is parsed."""


@dataclass(slots=True)
class Room:
    """The bytes of a run's requests that are being read or answered; one for all its agents."""

    taken: int = 0

    def take(self, count: int) -> None:
        """Refusal where that is too much at once."""
        if self.taken + count > MOST_AT_ONCE:
            raise Refusal(429, "too many large requests at once; send them one after another")
        self.taken += count


class Proxy:
    """An ASGI app for one agent. Bodies are bounded, and read and parsed one after another."""

    def __init__(self, desk: Desk, model: str, token: str, mcp: Any, room: Room) -> None:
        """`model`: its name where models are listed; `mcp`: the app of the tools."""
        self._desk, self._model, self._token, self._mcp = desk, model, token, mcp
        self._room, self._turn = room, asyncio.Lock()
        self._apis: dict[str, ApiCodec] = {
            chat.PATH: chat.ChatApi(),
            responses.PATH: responses.ResponsesApi(),
            messages.PATH: messages.MessagesApi(),
            generate_content.PATH: generate_content.GeminiApi(),
        }
        self._number = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or scope["path"].startswith("/mcp"):
            await self._mcp(scope, receive, send)
            return
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        http = HttpRequest(scope["method"], scope["path"], b"", headers)
        # from its version on, once: agents join base addresses and paths in several ways
        path = re.sub(r"^(/v1)+(?=/v1)", "", http.path.replace("//", "/"))
        api = next((a for form, a in self._apis.items() if re.fullmatch(form, path)), None)
        size = 0
        try:
            if self._token not in http.keys:
                raise Refusal(401, "Incorrect API key provided.", code="invalid_api_key")
            async with self._turn:
                body = await _body(receive)
                self._room.take(len(body))
                size = len(body)
            await self._route(replace(http, path=path, body=body), api, receive, send)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as exc:
            refusal = Refusal(400, f"a field is missing or of the wrong type: {exc!r}")
            await _refuse(send, refusal, api)
        except Refusal as refusal:
            await _refuse(send, refusal, api)
        finally:
            self._room.taken -= size

    async def _route(
        self, http: HttpRequest, api: ApiCodec | None, receive: Any, send: Any
    ) -> None:
        listed = {"id": self._model, "object": "model", "created": 0, "owned_by": "agent-env"}
        match http.method, http.path.split("/"):
            case "GET", ["", "v1", "models"]:
                await _send(send, 200, as_json({"object": "list", "data": [listed]}))
            case "GET", ["", "v1" | "v1beta", "models", _]:
                await _send(send, 200, as_json(listed))
            case "POST", ["", "tools", name]:
                arguments = _parsed(http.body)
                if not isinstance(arguments, dict):
                    raise Refusal(400, f"the arguments are an object, and not {arguments!r}")
                text = json.dumps(arguments, ensure_ascii=False)
                result = await self._desk.call(name, text)
                status = 200 if result.error is None else 422
                await _send(send, status, result.output.encode(), "text/plain; charset=utf-8")
            case "POST", ["", "v1", "messages", "count_tokens"]:
                body = _parsed(http.body) | {"max_tokens": 1}
                codec = self._apis[messages.PATH]
                request = self._read(codec, replace(http, path=messages.PATH), body)
                await _send(send, 200, as_json({"input_tokens": input_tokens(request)}))
            case "POST", _ if http.path.endswith(":countTokens"):
                path = http.path.replace(":countTokens", ":generateContent")
                body = _parsed(http.body)
                body = body.get("generateContentRequest", body)
                body.pop("model", None)
                codec = self._apis[generate_content.PATH]
                request = self._read(codec, replace(http, path=path), body)
                await _send(send, 200, as_json({"totalTokens": input_tokens(request)}))
            case "POST", _ if api is not None:
                await self._generate(api, http, receive, send)
            case _:
                raise Refusal(404, f"nothing at {http.method} {http.path}")

    def _read(self, api: ApiCodec, http: HttpRequest, body: Json) -> ModelRequest:
        """The request without what is not passed on; Refusal for media."""
        spoken = body.get("messages") or body.get("input") or body.get("contents")
        if (kind := next(_media(spoken), None)) is not None:
            raise Refusal(400, f"'{kind}' is not passed on: agents read and write text here")
        if body.get("previous_response_id") or body.get("conversation"):
            raise Refusal(400, "replies are not stored: send the whole conversation", "input")
        tools = [tool for tool in map(_function, body.get("tools") or ()) if tool]
        body = {**body, "tools": tools}
        if not tools:
            body = {name: body[name] for name in body if name not in CHOOSING}
        return replace(api.read(body, http), model=self._model)

    async def _generate(self, api: ApiCodec, http: HttpRequest, receive: Any, send: Any) -> None:
        body, spaces = _flat(_parsed(http.body))
        request = self._read(api, http, body)
        self._number += 1
        live = LiveReply(api, request, self._number) if request.stream else None
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        context = contextvars.copy_context()
        if live is not None:
            context.run(LISTENER.set, pieces.put_nowait)
        asked = asyncio.create_task(self._desk.reply(request), context=context)
        gone = asyncio.create_task(_gone(receive))
        try:
            has_head = live is not None and await _pass_on(send, live, pieces, asked, gone)
            if has_head and asked.exception() is not None:
                return  # too late for an error: the connection ends in mid-stream
            reply = await asked
            answer = answer_of(request, reply)
            if gone.done():
                return
            if live is None:
                whole = as_json(api.whole(request, answer, self._number))
                await _send(send, 200, _spaced(whole, spaces))
            elif live.is_broken:
                return  # the connection ends in mid-stream; the reply is there when asked again
            else:
                if not has_head:
                    await _begin(send, 200, EVENTS)
                await _pieces(send, (_spaced(event, spaces) for event in live.rest(answer)))
                await send({"type": "http.response.body", "body": b""})
            if not gone.done():
                self._desk.deliver()
        finally:
            gone.cancel()


def answer_of(request: ModelRequest, reply: Reply) -> Answer:
    """The reply as the codecs write it; thoughts stay with us."""
    calls = tuple(
        call if _is_object(call.arguments) else call.model_copy(update={"arguments": "{}"})
        for call in reply.message.tool_calls
    )
    finish = reply.finish_reason if reply.finish_reason in ("length", "refused") else None
    answer = Answer(reply.message.content, calls, finish=finish)
    return replace(answer, usage=_usage(request, answer, reply.usage))


def _usage(request: ModelRequest, answer: Answer, usage: Usage) -> Tokens:
    """What the model's server told, or our count: ours of a reply has its tools too."""
    read, written = usage.input_tokens, usage.output_tokens
    if read is not None and written is not None and usage.source != "estimate":
        return Tokens(read, written, usage.cached_tokens, usage.reasoning_tokens)
    output = count_tokens([answer.text, *call_texts(answer.calls)])
    if answer.finish == "length" and request.max_tokens is not None:
        output = max(output, request.max_tokens)
    return Tokens(input_tokens(request), output)


async def _pass_on(
    send: Any,
    live: LiveReply,
    pieces: asyncio.Queue[str | None],
    asked: asyncio.Task[Reply],
    gone: asyncio.Task[None],
) -> bool:
    """Sends text as it comes, until the reply is whole; whether anything was sent."""
    has_head = False
    while not asked.done() or not pieces.empty():
        if pieces.empty():
            got = asyncio.ensure_future(pieces.get())
            await asyncio.wait({got, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not got.done():
                got.cancel()
                continue
            piece = got.result()
        else:
            piece = pieces.get_nowait()
        events = list(live.add(piece))
        if events and not gone.done():
            if not has_head:
                await _begin(send, 200, EVENTS)
                has_head = True
            await _pieces(send, events)
    return has_head


def _parsed(body: bytes) -> Any:
    """The JSON, without halves of surrogate pairs, which no trace could hold."""
    value = json.loads(body or b"{}")
    if b"\\ud" in body.lower():
        return json.loads(writable(json.dumps(value, ensure_ascii=False)))
    return value


async def _body(receive: Any) -> bytes:
    """The whole body; Refusal, before it is parsed, for one that would take too much memory."""
    body, more = bytearray(), True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    if sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
        raise Refusal(413, f"the request has more than {MOST_VALUES:,} lists, objects and entries")
    return bytes(body)


async def _gone(receive: Any) -> None:
    """Returns when the agent has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _begin(send: Any, status: int, kind: str, length: int | None = None) -> None:
    headers = [(b"content-type", kind.encode())]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _send(send: Any, status: int, body: bytes, kind: str = JSON) -> None:
    await _begin(send, status, kind, len(body))
    await send({"type": "http.response.body", "body": body})


async def _pieces(send: Any, events: Iterable[bytes]) -> None:
    for event in events:
        await send({"type": "http.response.body", "body": event, "more_body": True})


async def _refuse(send: Any, refusal: Refusal, api: ApiCodec | None) -> None:
    body = openai_error(refusal) if api is None else api.error(refusal)
    await _send(send, refusal.status, as_json(body))


Spaces = dict[str, tuple[str, str]]
"""Namespace and name in it of a tool, by its whole name."""


def _flat(body: Json) -> tuple[Json, Spaces]:
    """A request to Responses with tools in namespaces as plain tools, `SPACE__NAME`, which every
    API has."""
    tools, spaces = list[Json](), Spaces()
    for tool in body.get("tools") or ():
        if tool.get("type") != "namespace":
            tools.append(tool)
            continue
        for inner in tool["tools"]:
            whole = f"{tool['name']}__{inner['name']}"
            spaces[whole] = tool["name"], inner["name"]
            tools.append({**inner, "name": whole})
    if not spaces:
        return body, spaces
    items = [
        {**item, "name": f"{item['namespace']}__{item['name']}"} if item.get("namespace") else item
        for item in body["input"]
    ]
    return {**body, "tools": tools, "input": items}, spaces


def _spaced(data: bytes, spaces: Spaces) -> bytes:
    """A reply, or an event of it, with calls as the agent knows their tools; in texts the quotes of
    such names are escaped."""
    for whole, (space, name) in spaces.items():
        split = f'"namespace": "{space}", "name": "{name}"'
        data = data.replace(f'"name": "{whole}"'.encode(), split.encode())
    return data


def _function(tool: Json) -> Json:
    """The tool, without what the provider would do itself; empty where nothing is left."""
    if isinstance(tool.get("functionDeclarations", tool.get("function_declarations")), list):
        return {name: each for name, each in tool.items() if name.startswith("function")}
    return tool if tool.get("type") == "function" or "input_schema" in tool else {}


def _media(value: Any) -> Iterator[str]:
    """Kinds of media in a conversation."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            kinds = MEDIA & {str(each.get("type")), *each}
            yield from kinds
            yield from _media(each.get("content", each.get("parts", each.get("output"))))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        return False
