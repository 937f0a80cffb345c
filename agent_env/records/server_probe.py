"""What `check` found out about a server of a model."""

from __future__ import annotations

from typing import Literal

from agent_env.records.schema import Stored


class Feature(Stored):
    """One thing that a server does or does not."""

    name: str
    is_seen: bool | None = None
    """None where the calls did not tell."""
    detail: str = ""
    """What was seen, in a few words."""

    @property
    def line(self) -> str:
        """It in a line of progress."""
        seen = "unknown" if self.is_seen is None else "yes" if self.is_seen else "no"
        return f"{self.name}: {seen}{f' ({self.detail})' if self.detail else ''}"


class ServerProbe(Stored):
    """One server with one model; holds no address and no key."""

    v: int = 1
    at: str
    """ISO 8601, UTC."""
    agent_env: str
    """The version that asked."""
    api: Literal["chat", "responses"]
    server: str | None = None
    """The server's name, as it says itself."""
    version: str | None = None
    model: str
    """As asked for."""
    served_model: str | None = None
    context_tokens: int | None = None
    template_digest: str | None = None
    """SHA-256 of the chat template."""
    features: tuple[Feature, ...]
    calls: int
    """Calls that were made."""
    note: str = ""
    """The user's own words, such as the server's flags."""
