"""POST /tokenize as vLLM has it, or as llama.cpp has it with POST /apply-template.

A token is four bytes of a text, as in the usage that the server reports, tools' schemas included.
llama.cpp's own marks stand around each message, so that its counts are a little higher.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from agent_env.models.fake_server.chat_api import read_turn
from agent_env.models.fake_server.hosting import Hosting
from agent_env.models.fake_server.status_api import LONGEST
from agent_env.models.fake_server.talk import Object, Refusal, Turn, count_tokens, heard_texts

Tokenizing = Literal["vllm", "llama.cpp"]


def tokenize(
    kind: Tokenizing, path: str, body: Object, hosting: Hosting = Hosting()
) -> dict[str, Any]:
    """The reply to a request at this path; raises Refusal where there is none."""
    tools = [] if hosting.drops_tools else [json.dumps(tool) for tool in body.get("tools") or ()]
    if kind == "vllm" and path == "/tokenize":
        length = hosting.context_tokens or LONGEST
        number = count_tokens(_vllm_texts(body) + tools)
        tokens = list(range(number))
        return {"count": number, "max_model_len": length, "tokens": tokens, "token_strs": None}
    if kind == "llama.cpp" and path == "/tokenize":
        content = body.get("content")  # without it there are no tokens, and no error
        return {"tokens": list(range(count_tokens([content] if content else [])))}
    if kind == "llama.cpp" and path == "/apply-template":
        said = [_worded(read_turn(message)) for message in body["messages"]]
        return {"prompt": "".join([*tools, *said])}
    raise Refusal(404, f"nothing at POST {path}")


def _vllm_texts(body: Object) -> list[str]:
    if isinstance(body.get("prompt"), str):
        return [body["prompt"]]
    if isinstance(body.get("messages"), list):
        return heard_texts([read_turn(message) for message in body["messages"]])
    raise Refusal(400, "prompt or messages must be given", "prompt")


def _worded(turn: Turn) -> str:
    said = "".join(heard_texts([turn]))
    return f"<|im_start|>{turn.role}\n{said}<|im_end|>\n"
