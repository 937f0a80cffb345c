"""Where `agent-env serve http` is, and clients for it."""

from __future__ import annotations

import os
from typing import Any

import httpx

DEFAULT = "http://127.0.0.1:8322"
TIMEOUT = httpx.Timeout(30, read=600)
"""A step waits for the tools that it calls."""


def settings(url: str | None, token_var: str) -> dict[str, Any]:
    """Of an httpx client; without a URL that of AGENT_ENV_URL, or the server's default one."""
    token = os.environ.get(token_var)
    return {
        "base_url": url or os.environ.get("AGENT_ENV_URL") or DEFAULT,
        "timeout": TIMEOUT,
        "headers": {"authorization": f"Bearer {token}"} if token else {},
        "trust_env": False,
    }


def body(answer: httpx.Response) -> dict[str, Any]:
    """The answer's body; RuntimeError with the server's own words where it refused."""
    if answer.is_success:
        return dict(answer.json())
    try:
        message = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = answer.text[:200]
    raise RuntimeError(f"agent-env serve http answered {answer.status_code}: {message}")
