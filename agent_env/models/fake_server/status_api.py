"""What a server says of itself: GET /health, /v1/models, and llama.cpp's /props."""

from __future__ import annotations

from typing import Any

from agent_env.models.fake_server.hosting import Hosting
from agent_env.models.fake_server.modes import Mode

LONGEST = 32_768


def models(hosting: Hosting, mode: Mode, name: str) -> dict[str, Any]:
    """The list of models, with the context's length where the mode's server tells it."""
    length = hosting.context_tokens or LONGEST
    model: dict[str, Any] = {
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


def props(hosting: Hosting, name: str) -> dict[str, Any]:
    """llama.cpp's properties: the context of a slot, and what the chat template takes."""
    tools = not hosting.drops_tools
    return {
        "default_generation_settings": {"n_ctx": hosting.context_tokens or LONGEST},
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
