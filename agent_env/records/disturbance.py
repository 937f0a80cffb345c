"""What is done on purpose to the world of a condition."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

WebAblation = Literal["blocked", "shifted"]
FaultKind = Literal[
    "error",
    "timeout",
    "rate-limit",
    "truncated",
    "malformed",
    "crash",
    "empty",
    "stale",
    "other",
    "wrong",
]
"""Up to `crash` the model is told of the fault; `empty` and what follows look like results."""


class Fault(BaseModel):
    """A fault of a tool, drawn for each call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    """As models call it, or `calendars`-like part of a condition that stands for it."""
    kind: FaultKind
    rate: float = Field(gt=0, le=1)
    """Share of the tool's calls that it is drawn for."""


class Disturbance(BaseModel):
    """One way in which a condition differs from the plain one; its suffix stands in the name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suffix: str = Field(pattern=r"^[a-z][a-z0-9.-]{0,39}$")
    """Behind `~`: `blocked`, `shifted`, `faults`, `attacked`, or one of these with a number."""
    ablation: WebAblation | None = None
    """Whether the proving pages are gone, or say other dates."""
    faults: tuple[Fault, ...] = ()
    attacks: tuple[str, ...] = ()
    """Names of the attacks on the pages."""
