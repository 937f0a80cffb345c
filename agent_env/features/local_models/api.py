"""Models of which we start the server: llama.cpp, which speaks Chat Completions."""

from __future__ import annotations

from dataclasses import replace

from agent_env.sdk.inside import API as COMPATIBLE

API = replace(
    COMPATIBLE,
    key_variable="",
    forms="local[/FILE.gguf]",
    without_url=(
        "is not served here: start it by agent-env serve model, and name it compatible/NAME@URL as "
        "that says"
    ),
)
