"""The server's configuration by its owner, its facts (/v1/models, /props), and its tokenizer.

POST /tokenize is as vLLM has it, or as llama.cpp has it with POST /apply-template. A token is four
bytes of a text, as in the usage that the server reports, tool schemas included. llama.cpp's marks
around each message make its counts a little higher.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from agent_env.extensions.fake_server.chat_api import read_turn
from agent_env.extensions.fake_server.conversation import (
    Json,
    ModelRequest,
    Object,
    Refusal,
    Turn,
    count_tokens,
    input_tokens,
    texts_of,
)
from agent_env.extensions.fake_server.modes import FULL_VLLM_BOTH, Mode
from agent_env.sdk.commands import Opt

FULL_RESPONSES = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


@dataclass(frozen=True, slots=True)
class Hosting:
    """The configuration; by default a server without limits that serves any model."""

    key: Annotated[str | None, Opt("The only API key that is taken.")] = None
    """None accepts any key, or none."""
    serves: Annotated[
        str | None,
        Opt(
            "The one model: others are refused, by lenient and llama.cpp replaced.",
            flag="--serve-model",
        ),
    ] = None
    answers_as: Annotated[
        str | None,
        Opt("The model's name in replies, whatever the request names.", flag="--answer-as"),
    ] = None
    context_tokens: Annotated[
        int | None, Opt("Tokens of prompt and reply; more is an error.", flag="--context", min=1)
    ] = None
    drops_tools: Annotated[
        bool, Opt("Drop tools from the prompt without an error.", flag="--drop-tools")
    ] = False
    loading_s: Annotated[float, Opt("Answer 503 `Loading model` for so many seconds.", min=0.0)] = (
        0.0
    )
    piece_delay_s: Annotated[
        float, Opt("Seconds before each piece of a streamed reply.", min=0.0)
    ] = 0.0
    redirects_to: Annotated[
        str | None,
        Opt("Redirect each request, such as to http://127.0.0.1:9999.", flag="--redirect-to"),
    ] = None
    hides_truncation: Annotated[
        bool,
        Opt("Responses: report truncated replies as `completed`.", flag="--hide-truncation"),
    ] = False


def admit(
    hosting: Hosting, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    """The request as the model gets it; raises Refusal where the configuration does."""
    if hosting.serves is not None and request.model != hosting.serves:
        if mode.checks_model:
            text = f"The model `{request.model}` does not exist."
            raise Refusal(404, text, "model", code="model_not_found")
        request = replace(request, model=hosting.serves)
    if hosting.drops_tools:
        request = replace(request, offers=(), tool_texts=(), choice="auto")
    if hosting.context_tokens is None:
        return request
    return _fit_context(hosting.context_tokens, mode, request, over_responses)


def _fit_context(
    limit: int, mode: Mode, request: ModelRequest, over_responses: bool
) -> ModelRequest:
    tokens, most = input_tokens(request), request.max_tokens
    if tokens >= limit:
        words = FULL_RESPONSES if over_responses and mode.error_style == "openai" else mode.overflow
        extra = {}
        if mode.error_style == "llama.cpp":
            kind = "exceed_context_size_error"
            extra = {"type": kind, "n_prompt_tokens": tokens, "n_ctx": limit}
        text = words.format(limit=limit, tokens=tokens)
        field = "input_tokens" if mode.error_style == "vllm" else "messages"
        raise Refusal(400, text, field, code="context_length_exceeded", extra=extra)
    if mode.error_style == "vllm" and most is not None and tokens + most > limit:
        raise Refusal(400, FULL_VLLM_BOTH.format(limit=limit, tokens=tokens, wanted=most))
    return replace(request, max_tokens=min(most or limit, limit - tokens))


DEFAULT_CONTEXT = 32_768
Tokenizing = Literal["vllm", "llama.cpp"]


def models(hosting: Hosting, mode: Mode, name: str) -> Json:
    """The list of models, with the context length where the mode's server reports it."""
    length = hosting.context_tokens or DEFAULT_CONTEXT
    model: Json = {
        "id": hosting.serves or name,
        "object": "model",
        "created": 0,
        "owned_by": "agent-env",
    }
    if mode.error_style == "vllm":
        model |= {"owned_by": "vllm", "root": model["id"], "max_model_len": length}
    if mode.error_style == "llama.cpp":
        model |= {"owned_by": "llamacpp", "meta": {"n_ctx_train": length}}
    return {"object": "list", "data": [model]}


def props(hosting: Hosting, name: str) -> Json:
    """llama.cpp's properties: the context of a slot and the chat template's capabilities."""
    tools = not hosting.drops_tools
    return {
        "default_generation_settings": {"n_ctx": hosting.context_tokens or DEFAULT_CONTEXT},
        "total_slots": 1,
        "model_alias": hosting.serves or name,
        "model_path": f"{hosting.serves or name}.gguf",
        "chat_template": "{{ tools }}{{ messages }}" if tools else "{{ messages }}",
        "chat_template_caps": {
            "supports_parallel_tool_calls": tools,
            "supports_system_role": True,
            "supports_tool_calls": tools,
            "supports_tools": tools,
        },
        "modalities": {"vision": False, "audio": False},
        "build_info": "fake",
    }


def tokenize(kind: Tokenizing, path: str, body: Object, hosting: Hosting = Hosting()) -> Json:
    """The reply to a request at this path; raises Refusal where there is none."""
    tools = [] if hosting.drops_tools else [json.dumps(tool) for tool in body.get("tools") or ()]
    if kind == "vllm" and path == "/tokenize":
        length = hosting.context_tokens or DEFAULT_CONTEXT
        number = count_tokens(_vllm_texts(body) + tools)
        tokens = list(range(number))
        return {"count": number, "max_model_len": length, "tokens": tokens, "token_strs": None}
    if kind == "llama.cpp" and path == "/tokenize":
        content = body.get("content")  # without it there are no tokens, and no error
        return {"tokens": list(range(count_tokens([content] if content else [])))}
    if kind == "llama.cpp" and path == "/apply-template":
        prompts = [_prompt_of(read_turn(message)) for message in body["messages"]]
        return {"prompt": "".join([*tools, *prompts])}
    raise Refusal(404, f"nothing at POST {path}")


def _vllm_texts(body: Object) -> list[str]:
    if isinstance(body.get("prompt"), str):
        return [body["prompt"]]
    if isinstance(body.get("messages"), list):
        return texts_of([read_turn(message) for message in body["messages"]])
    raise Refusal(400, "prompt or messages must be given", "prompt")


def _prompt_of(turn: Turn) -> str:
    return f"<|im_start|>{turn.role}\n{''.join(texts_of([turn]))}<|im_end|>\n"
