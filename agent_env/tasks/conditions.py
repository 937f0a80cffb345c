"""Conditions by name: parts joined by `+`, such as `web+ci`."""

from __future__ import annotations

from agent_env.errors import ConfigError
from agent_env.schema import Condition

PARTS = ("base", "explicit", "web", "web-once", "cal", "ci")
"""Known parts, in the order in which a condition's name gives them; `base` stands alone."""

TOOLS = {
    "web": ("web_search", "open_page"),
    "web-once": ("web_search", "open_page"),
    "cal": ("calendars",),
    "ci": ("python",),
}


def parse_condition(text: str) -> Condition:
    """The condition of this name; ConfigError names the part that is wrong."""
    parts = [part.strip() for part in text.split("+")]
    for part in parts:
        if part not in PARTS:
            raise ConfigError(
                f"unknown condition '{text}': no part '{part}'; join these by +: {', '.join(PARTS)}"
            )
    if len(set(parts)) < len(parts):
        raise ConfigError(f"condition '{text}' names a part twice")
    if "base" in parts and len(parts) > 1:
        raise ConfigError(f"condition '{text}': base means without anything, so it stands alone")
    if {"web", "web-once"} <= set(parts):
        raise ConfigError(f"condition '{text}': web and web-once exclude each other")
    return Condition(
        name="+".join(_ordered(parts)),
        wording="explicit" if "explicit" in parts else "implicit",
        tools=tuple(tool for part in _ordered(parts) for tool in TOOLS.get(part, ())),
        strategy="one-round" if "web-once" in parts else "tool-loop",
    )


def _ordered(parts: list[str]) -> list[str]:
    return sorted(parts, key=PARTS.index)
