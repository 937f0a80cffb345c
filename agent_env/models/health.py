"""Whether a model's server is up, asked without a key and without asking its model anything."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import httpx2

from agent_env.models.bounded import hooks
from agent_env.permits import Permit
from agent_env.records.reach import Reach

AWAY = (502, 503, 504)
TIMEOUT_S = 5.0


class Health:
    """Asks the list of models, which costs nothing at any server; any answer but 502 to 504 means
    that it is up. llama.cpp lists models while it loads one, so its own `/health` is asked too; at
    others that address may call paid models."""

    def __init__(self, base_url: str, *, permit: Permit) -> None:
        permit.check(Reach.ADDRESS, base_url)
        self.address = base_url
        self._models = f"{base_url.rstrip('/')}/models"
        parts = urlsplit(base_url)
        root = parts.path.rstrip("/").removesuffix("/v1")
        self._health = f"{parts.scheme}://{parts.netloc}{root}/health"

    async def is_up(self) -> bool:
        """Whether calls are worth a try."""
        try:
            async with (
                asyncio.timeout(2 * TIMEOUT_S),  # httpx bounds each read alone
                httpx2.AsyncClient(timeout=TIMEOUT_S, event_hooks=hooks()) as http,
            ):
                listed = await http.get(self._models)
                if listed.status_code in AWAY:
                    return False
                if "llamacpp" in listed.text[:100_000]:
                    return (await http.get(self._health)).status_code not in AWAY
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError):
            return False
        return True
