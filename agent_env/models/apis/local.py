"""Models of which we start the server: llama.cpp, which speaks Chat Completions."""

from __future__ import annotations

from dataclasses import replace

from agent_env.models.apis import compatible

API = replace(compatible.API, key_variable="")
