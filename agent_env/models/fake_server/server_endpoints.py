"""The server's facts (GET /v1/models, llama.cpp's /props) and its tokenizer.

POST /tokenize is as vLLM has it, or as llama.cpp has it with POST /apply-template. A token is four
bytes of a text, as in the usage that the server reports, tool schemas included. llama.cpp's marks
around each message make its counts a little higher.
"""

from __future__ import annotations

import json
from typing import Literal

from agent_env.models.fake_server.chat_api import read_turn
from agent_env.models.fake_server.conversation import (
    Json,
    Object,
    Refusal,
    Turn,
    count_tokens,
    texts_of,
)
from agent_env.models.fake_server.hosting import Hosting
from agent_env.models.fake_server.modes import Mode

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
