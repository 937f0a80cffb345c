"""What the user asks of a run, and of a run that was recorded: resumed, replayed, forked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue

from agent_env.episodes.calls.options import CallOptions
from agent_env.wiring.web_options import WebOptions

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunLimits


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asks of a run."""

    task: str
    model: str = "reference"
    conditions: tuple[str, ...] = ()
    """Names; empty takes the task's own, without those that cannot run here."""
    cited_from: tuple[str, ...] = ()
    """Context files, FILE or NAME=FILE each."""
    limit: int | None = None
    seed: int = 1
    dataset: Path | None = None
    out: Path | None = None
    concurrency: int = 8
    repeats: int = 1
    where: tuple[str, ...] = ()
    prompt: str = "default"
    options: tuple[str, ...] = ()
    """The family's options, as KEY=VALUE."""
    base_url: str | None = None
    """Of compatible/ models that name no address of their own."""
    api_key_envs: tuple[str, ...] = ()
    """Variables that hold keys: NAME or MODEL=NAME."""
    sandbox: str = "auto"
    fsync: Literal["replies", "all", "none"] = "replies"
    """When traces are forced to the disk."""
    tokenizer: str = "estimate"
    web: WebOptions = field(default_factory=WebOptions)
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    strategy: str | None = None
    """For all conditions; None leaves each its own."""
    system: Path | None = None
    """A file with a system text."""
    first_steps: tuple[str, ...] = ()
    """Whether the first step must, may or must not call a tool where there are some: CHOICE or
    CONDITION=CHOICE; `required` where nothing is said."""
    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    time_s: float | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Further limits of an episode, by their names in protocols.Limits."""
    calls: CallOptions = field(default_factory=CallOptions)
    preflight: Literal["off", "on", "anyway"] = "off"
    """Whether the server is tried before the first episode; `anyway` runs what cannot mean
    anything, and marks it."""


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """How a run shall go on; None is as it began."""

    concurrency: int | None = None
    accept_changes: bool = False
    model: str | None = None
    base_url: str | None = None
    """Where the model's server is now; the same server, so it gets back what it said."""
    api_key_env: str | None = None
    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    time_s: float | None = None
    run: RunLimits | None = None
    """Other limits of the whole run."""
    trust_run: bool = False
    """Whether what the folder says may reach outside it, though this user did not make it."""
    anyway: bool = False
    """Whether another server may drop the tools of the conditions."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is live in a replay, and how much may differ."""

    strict: bool = True
    tools_live: bool = False
    model_live: bool = False
    out: Path | None = None
    """Where the traces of a live model go; None: RUN/replays/TIME."""
    trust_run: bool = False
    """As for a resumed run; what is not live needs no trust."""


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """From where an episode is forked, and into what; None is as in the parent."""

    at: int
    """The last step that is taken over; 0 takes over the prompt alone."""
    out: Path
    repeats: int = 1
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    condition: str | None = None
    edit: Path | None = None
    """New tool results for that step."""
    sandbox: str = "auto"
    trust_run: bool = False
    """As for a resumed run."""
