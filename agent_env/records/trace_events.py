"""What is written while an episode runs: one event a line of its trace."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, TypeAdapter

from agent_env.records.imported import ImportedResult
from agent_env.records.reach import Plain
from agent_env.records.schema import (
    Condition,
    JudgeCall,
    Message,
    ModelFacts,
    Reply,
    Seconds,
    StopReason,
    Stored,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    Verdict,
)

TRACE_VERSION = 2
"""Of a trace and of run.json."""


class Event(Stored):
    """One line of a trace."""

    v: Plain[int] = TRACE_VERSION
    episode: Plain[str]
    """CONDITION/SAMPLE.REPEAT"""
    seq: Plain[int]
    """0, 1, 2, … within the episode."""
    at: Plain[str]
    """ISO 8601, UTC."""
    texts: Plain[dict[str, str] | None] = None
    """Fields that are elsewhere, by the digest of their text in RUN/texts.db."""


class Drift(Stored):
    """Where an episode that was run again parted from its recording."""

    step: Plain[int]
    """1 for the first model call that gave a reply; 0 for what comes before it."""
    what: Plain[str]
    """`request`, `reply`, `tools`, or the name of the tool whose result differs."""
    diff: Plain[str]
    """What was recorded and what came now, as a unified diff."""


class Parent(Stored):
    """The episode that a fork was made from."""

    run: Plain[str]
    """The run's identity; its folder's name where it has none."""
    episode: Plain[str]
    step: Plain[int]
    """The last step that was taken over."""
    edited: Plain[tuple[str, ...]] = ()
    """Ids of the calls whose results were replaced."""


class EpisodeStarted(Event):
    kind: Plain[Literal["episode_started"]] = "episode_started"
    run: Plain[str | None] = None
    """The run's identity, as in run.json."""
    limits: Plain[dict[str, bool | float | int | dict[str, int] | None] | None] = None
    """What the episode may use."""
    parent: Parent | None = None
    """Where it was forked from."""
    sample: Plain[str]
    condition: Condition
    repeat: Plain[int]
    model: Plain[str]
    messages: tuple[Message, ...] = ()
    """What the strategy sends first."""
    tools: tuple[ToolSpec, ...] = ()
    context: Plain[str | None] = None
    """SHA-256 of the pages' text that is before the question; None where none could."""
    imported: ImportedResult | None = None
    """What another tool says of the episode; None for one of our own."""


class ModelCalled(Event):
    kind: Plain[Literal["model_called"]] = "model_called"
    request: Plain[str]
    """Digest of the messages and tool specs that were sent."""
    added: tuple[Message, ...] = ()
    """Messages that the harness itself put in since the last call; of an outside agent,
    all that are behind those it `keeps`."""
    keeps: Plain[int | None] = None
    """How many messages of the conversation, as the last reply left it, an outside agent
    sent again; None in our own loop, which sends all."""
    offers: tuple[ToolSpec, ...] | None = None
    """The tools of an agent's request, where they are not those of the one before."""
    kept: Plain[dict[str, int] | None] = None
    """Tool outputs that were sent cut, to fit into the context: by call, the letters that are left.
    The trajectory has them whole."""
    reply: Reply | None = None
    error: Plain[str | None] = None
    error_kind: Plain[str | None] = None
    """The error's class; see errors.ModelErrorKind."""
    status: Plain[int | None] = None
    """The error's HTTP status."""
    partial: Plain[str | None] = None
    """The end of what a stream had said before it broke off; no part of the trajectory."""
    usage: Usage | None = None
    """What a failed call cost, where the server says so."""
    charged: Usage | None = None
    """What the run's limits were charged, where nobody told the tokens: letters / 4 for a reply,
    its share for a call that failed on the way. In no reported sum."""
    wait_s: Plain[Seconds | None] = None
    """Wait before the next attempt; None where this was the last one, or the server was away."""
    away_s: Plain[Seconds | None] = None
    """How long the server was away after this call; no time of the episode."""
    queued_s: Plain[Seconds | None] = None
    """Wait for a place among the calls in flight; None where there was none."""
    latency_s: Plain[Seconds | None] = None
    """None where the source of an imported episode does not tell it."""
    attempt: Plain[int] = 1
    batched: Plain[bool | None] = None
    """Whether it went by batch; the wait for it is not a time of the episode, and its latency is
    unknown."""
    replayed: Plain[bool | None] = None
    """Whether this was taken over from a parent, and not asked for."""

    def paid_usd(self, facts: ModelFacts | None) -> float | None:
        """What it cost: nothing for a reply of the cache, or of a fork's parent."""
        if self.replayed or (self.reply is not None and self.reply.cached_at is not None):
            return 0.0
        usage = self.usage if self.reply is None else self.reply.usage
        return (usage or Usage()).cost_usd(facts)


class ToolCalled(Event):
    kind: Plain[Literal["tool_called"]] = "tool_called"
    call: ToolCall
    result: ToolResult
    output_tokens: Plain[int | None] = None
    """What the output adds to the context."""
    tokens_source: Plain[Literal["server tokenizer", "tokenizer", "estimate"] | None] = None
    duration_s: Plain[Seconds | None] = None
    """None as for `latency_s`."""
    ended: Plain[Literal["failed", "cancelled"] | None] = None
    """Set where the call gave nothing that the model could read."""
    replayed: Plain[bool | None] = None
    """Whether this was taken over from a parent, and not run."""

    @property
    def gave_nothing(self) -> bool:
        """Whether the call failed or was cancelled, so that the model read no result."""
        return self.ended is not None


class EpisodeResumed(Event):
    """From here on the episode continues live; what is above was replayed."""

    kind: Plain[Literal["episode_resumed"]] = "episode_resumed"
    steps: Plain[int]
    """Recorded replies that were used again."""
    model: Plain[str | None] = None
    """The model asked from here on."""
    tools: tuple[ToolSpec, ...] | None = None
    """What is offered from here on, where that is not what was offered before."""
    drift: tuple[Drift, ...] = ()
    """What came out otherwise than recorded while the state was rebuilt."""


class EpisodeFinished(Event):
    kind: Plain[Literal["episode_finished"]] = "episode_finished"
    answer: Plain[str | None] = None
    """The text that holds the answer; None where no reply stood when a limit was reached."""
    stop_reason: Plain[StopReason]
    citations: Plain[tuple[str, ...]] = ()
    added: tuple[Message, ...] = ()
    """Messages after the last reply, of an imported episode."""


class EpisodeFailed(Event):
    kind: Plain[Literal["episode_failed"]] = "episode_failed"
    error: Plain[str]
    """The error's class name."""
    message: Plain[str]
    added: tuple[Message, ...] = ()
    """As of EpisodeFinished."""


class Judged(Event):
    """A verdict on a finished episode; is behind its end, and is not a part of what it used."""

    kind: Plain[Literal["judged"]] = "judged"
    judge: Plain[str]
    """A model's name, as on the command line."""
    verdict: Plain[dict[str, JsonValue]]
    """`metric` and `says`, as of schema.Verdict."""
    request: Plain[str | None] = None
    """Digest of the messages that were sent."""
    messages: tuple[Message, ...] = ()
    parameters: Plain[dict[str, JsonValue]] = Field(default_factory=dict)
    """What the judge was made with, its base URL included, its key never."""
    calls: tuple[JudgeCall, ...] = ()

    @property
    def as_verdict(self) -> Verdict:
        """What an episode keeps of it."""
        return Verdict(
            judge=self.judge,
            metric=str(self.verdict.get("metric")),
            says=str(self.verdict.get("says")),
            request=self.request,
            calls=self.calls,
        )


TraceEvent = Annotated[
    EpisodeStarted
    | ModelCalled
    | ToolCalled
    | EpisodeResumed
    | EpisodeFinished
    | EpisodeFailed
    | Judged,
    Field(discriminator="kind"),
]
trace_event: TypeAdapter[Any] = TypeAdapter(TraceEvent)
