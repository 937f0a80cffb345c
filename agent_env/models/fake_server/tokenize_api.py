"""POST /tokenize as vLLM has it, or as llama.cpp has it with POST /apply-template.

A token is four bytes of a text, as in the usage that the server reports; the tools' schemas are not
counted. llama.cpp's own marks stand around each message, so that its counts are a little higher.
"""

from __future__ import annotations

from typing import Any, Literal

from agent_env.models.fake_server.chat_api import read_turn
from agent_env.models.fake_server.talk import Object, Refusal, Turn, count_tokens, heard_texts

Tokenizing = Literal["vllm", "llama.cpp"]
LONGEST = 32_768


def tokenize(kind: Tokenizing, path: str, body: Object) -> dict[str, Any]:
    """The reply to a request at this path; raises Refusal where there is none."""
    if kind == "vllm" and path == "/tokenize":
        number = count_tokens(_vllm_texts(body))
        tokens = list(range(number))
        return {"count": number, "max_model_len": LONGEST, "tokens": tokens, "token_strs": None}
    if kind == "llama.cpp" and path == "/tokenize":
        content = body.get("content")  # without it there are no tokens, and no error
        return {"tokens": list(range(count_tokens([content] if content else [])))}
    if kind == "llama.cpp" and path == "/apply-template":
        return {"prompt": "".join(_worded(read_turn(message)) for message in body["messages"])}
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
