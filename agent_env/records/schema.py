"""The records that reach a file or the network: the nouns of the system.

Trace events are in trace_events, the fields of run.json in manifest, what the web gives in pages.

We or a user write a Record: it refuses unknown fields, for they are mistakes.
A Stored record is read back from traces, perhaps of a later version: it keeps unknown fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from agent_env.records.disturbance import (
    CallFault,
    Disturbance,
    DrawnFault,
    SampleAblation,
    SampleAttack,
)
from agent_env.records.escaping import writable
from agent_env.records.imported import ImportedResult
from agent_env.records.reach import Code, Money, Plain
from agent_env.records.tier import Tier
from agent_env.records.tool_traits import AgentUse, ToolTraits


class Record(BaseModel):
    """A frozen value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stored(BaseModel):
    """A frozen value of a trace; unknown fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


Seconds = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
"""A time that something took: one that can be added to others, and to a date."""


# Questions --------------------------------------------------------------------------------------


Wording = Literal["implicit", "facts", "explicit", "explicit-paper"]


class Proof(Record):
    """The evidence for one constraint of a sample that must be looked up."""

    constraint: Plain[int]
    """Index in the sample's list of constraints, from 0."""
    urls: Plain[tuple[str, ...]]
    """Pages each of which states all of `dates`."""
    dates: Plain[tuple[str, ...]]
    """The dates to read there: YYYY, YYYY-MM or YYYY-MM-DD; never sent to a model."""
    used: Plain[tuple[str, ...] | None] = None
    """The dates that the model must write down to count as having used them; None: all of them, or
    an answer that agrees with them."""
    shares: Plain[Literal["year", "month", "day", "years", "span"]]
    """What a right answer has in common with `dates`: the year, month or day of the month of the
    one date; a year between the first and the last, or one of those listed; or it lies between the
    first and the second, the third and the fourth, and so on."""


@dataclass(frozen=True, slots=True)
class World:
    """The world in which a sample is asked; by default the plain one."""

    today: str | None = None
    """The day that it is there, YYYY-MM-DD; None for the real one."""
    is_shifted: bool = False
    """Whether the same things have other dates."""
    wording: Wording = "implicit"


class Sample(Record):
    """One question with its gold answer. Families add their own typed fields."""

    id: Plain[str] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")
    """Unique within a file; also the name of the episode's trace file."""
    task: Plain[str]
    """The task's name, as on the command line."""
    gold: Plain[tuple[str, ...]]
    """The right answer; never sent to a model."""
    evidence: Plain[tuple[str, ...]] = ()
    """URLs of the pages that prove the facts to look up."""
    proofs: tuple[Proof, ...] = ()
    """The evidence by constraint; empty where it is not recorded."""
    materials: Plain[tuple[str, ...]] = ()
    """Digests of the tables for the tools; in the prompt only where the condition says so."""
    ablation: SampleAblation | None = Field(default=None, exclude_if=lambda value: value is None)
    """What the run's web ablations change for it; None in a run without any."""
    attacks: tuple[SampleAttack, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The attacks of the run's pages on it."""
    tier: Tier | None = Field(default=None, exclude_if=lambda value: value is None)
    """The level of difficulty that it was made for; None for the family's defaults."""
    by_day: Plain[dict[str, dict[str, JsonValue]]] = Field(
        default_factory=dict, exclude_if=lambda days: not days
    )
    """By day, YYYY-MM-DD, the fields that are others where that is today."""

    @model_validator(mode="after")
    def _check_twin(self) -> Self:
        self.in_world(World(is_shifted=True))
        return self

    def worded(self, wording: Wording) -> Self:
        """The sample as conditions of this wording ask it, with the gold of that wording."""
        return self

    def in_world(self, world: World) -> Self:
        """The sample as it is asked there: with the gold and texts of that world, of its day, and
        of its wording."""
        its: Self = self
        if world.is_shifted and self.ablation is not None and self.ablation.shifted is not None:
            its = self._with(self.ablation.shifted.sample, "ablation")
        if fields := its.by_day.get(world.today or ""):
            its = its._with(fields, "by_day")
        return its.worded(world.wording)

    def _with(self, fields: Mapping[str, JsonValue], kept: str) -> Self:
        """The sample with these fields, checked as any other; `kept` stays as it is."""
        plain = self.model_dump(mode="json", exclude={kept})
        twin = type(self).model_validate(plain | dict(fields) | {"id": self.id})
        return twin.model_copy(update={kept: getattr(self, kept)})


class MaterialTable(Record):
    """A table that samples share: wiring hands it to tools, a prompt may render it."""

    name: Plain[str] = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    columns: Plain[tuple[str, ...]]
    rows: Plain[tuple[tuple[str | int | float | None, ...], ...]]
    """Cells in the columns' order; days as YYYY-MM-DD, None where a cell is empty."""

    @property
    def digest(self) -> str:
        """SHA-256 of its JSON, in hexadecimal."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    @property
    def is_temporal(self) -> bool:
        """Whether its rows say from when to when they held."""
        return {"start", "end"} <= {column.lower() for column in self.columns}


class Condition(Record):
    """A named way of answering: wording of the constraints, tools, context, strategy."""

    name: Plain[str] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:+~-]{0,199}$")
    """Parts joined by `+`, then `~` and each thing that is special; also its folder's name."""
    wording: Plain[Wording] = "implicit"
    """Whether the constraints spell their dates out; `explicit-paper` leaves those of other
    calendars to the model. `facts` says beside implicit constraints what a look-up gives."""
    tools: Code[tuple[str, ...]] = ()
    """Names of the tools offered."""
    own_tools: tuple[ToolTraits, ...] = Field(default=(), exclude_if=lambda tools: not tools)
    """Traits of those tools that are not built in."""
    strategy: Code[str] = "tool-loop"
    context: Plain[str | None] = None
    """The pages put before the question: `cited` or `cited:NAME`; None for no pages."""
    first_step: Plain[Literal["auto", "required", "none"]] = "auto"
    """Whether the first step may, must or must not call a tool; later steps are free."""
    answer_format: Plain[Literal["free", "schema", "schema-last"]] = Field(
        default="free", exclude_if=lambda name: name == "free"
    )
    """Whether the server holds the final answer to a JSON schema; see `tasks.answer_forms`."""
    disturbance: Disturbance | None = Field(default=None, exclude_if=lambda value: value is None)
    today: Plain[str | None] = Field(
        default=None, pattern=r"^\d{4}-\d{2}-\d{2}$", exclude_if=lambda day: day is None
    )
    """The day that it is in its world: for its web, the clock of its tools and gold answers that
    depend on it. None: tools have the real clock."""
    says_today: Plain[bool] = Field(default=False, exclude_if=lambda value: not value)
    """Whether the prompt says that day."""
    agent: AgentUse | None = Field(default=None, exclude_if=lambda agent: agent is None)
    """Whose loop it is; None for our own."""
    features: Plain[tuple[str, ...]] = Field(default=(), exclude_if=lambda texts: not texts)
    """What modifiers without a field of their own say, as the name has it."""

    @property
    def world(self) -> World:
        """In which it asks samples."""
        ablation = None if self.disturbance is None else self.disturbance.ablation
        return World(self.today, ablation == "shifted", self.wording)


# Messages between model and harness ---------------------------------------------------------------


class ToolSpec(Stored):
    """A tool as it is described to a model."""

    name: Plain[str]
    description: Plain[str]
    parameters: Plain[dict[str, JsonValue]]
    """JSON schema of the arguments object."""
    hosted: Plain[str | None] = None
    """The provider's own tool that runs in its place at the provider; None for our tools."""

    @cached_property
    def letters(self) -> int:
        """Of its description and schema; each step's estimate needs them."""
        return len(self.description) + len(str(self.parameters))


class ToolCall(Stored):
    """A tool call that a model requests."""

    id: Plain[str]
    name: Plain[str]
    arguments: Code[str]
    """JSON as the model wrote it, valid or not."""
    problem: Plain[str | None] = None
    """Why the call cannot be run, as the model is told; None for a valid call."""
    written_name: Plain[str | None] = Field(default=None, exclude_if=lambda name: name is None)
    """The name as the server sent it, where a parser left something around a tool's name."""

    @property
    def plain_arguments(self) -> str:
        """Equal for arguments that differ in the order of names and in white space alone."""
        try:
            return json.dumps(json.loads(self.arguments), sort_keys=True, ensure_ascii=False)
        except (ValueError, RecursionError):
            return " ".join(self.arguments.split())


class ReasoningSpan(Stored):
    """Where a part of the reasoning is in a server's message."""

    path: Plain[tuple[str | int, ...]]
    """Names and list indices, from the message down."""
    start: Plain[int]
    """Offset in Message.reasoning, in characters; like `end`."""
    end: Plain[int]


class ProviderFields(Stored):
    """Fields of a server's message beyond our own; sent back to that server alone."""

    origin: Plain[str]
    """The sender: MODEL at BASE_URL."""
    message: Plain[dict[str, JsonValue]] = {}
    """Fields of the message; empty texts where `reasoning_at` says so."""
    calls: Plain[dict[str, dict[str, JsonValue]]] = {}
    """Fields of its tool calls, by call id."""
    reasoning_at: tuple[ReasoningSpan, ...] = ()
    copies: Plain[tuple[tuple[str, str], ...]] = Field(default=(), exclude_if=lambda seq: not seq)
    """Objects of the message that hold another field of it again, and that field's name."""
    left_out: Plain[dict[str, str]] = {}
    """Fields that were too large to keep, with the reason."""


class Message(Stored):
    """One message of a trajectory."""

    role: Plain[Literal["system", "user", "assistant", "tool"]]
    content: Plain[str] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls that an assistant message requests."""
    tool_call_id: Plain[str | None] = None
    """The call that a tool message answers."""
    kept: Plain[int | None] = None
    """Characters left of a tool's output that was cut to fit into the context."""
    reasoning: Plain[str | None] = None
    provider_items: Plain[tuple[dict[str, JsonValue], ...]] = ()
    """Opaque items that the same provider wants back on the next call (Responses API)."""
    provider_fields: ProviderFields | None = None
    """Further fields of the server's message; None where there are none."""


class Prices(Record):
    """Prices of one service tier of a model; None for unknown."""

    input_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million input tokens."""
    cached_input_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million cached input tokens; None: the price of the others."""
    cache_write_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million input tokens written to the cache; None: the price of the others."""
    hour_cache_write_per_million: Money[float | None] = Field(default=None, ge=0)
    """The same for those that are kept for an hour; None: the price of other writes."""
    output_per_million: Money[float | None] = Field(default=None, ge=0)
    """USD for a million output tokens, reasoning included."""


class ModelFacts(Prices):
    """Prices and knowledge cutoff of one model; None for unknown."""

    tiers: dict[str, Prices] = Field(default_factory=dict, exclude_if=lambda tiers: not tiers)
    """The prices of other service tiers, such as flex, priority and batch."""
    date: Plain[str] = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """When these figures were looked up."""
    source: Plain[str] = Field(min_length=1)
    """Where these figures were looked up."""
    snapshot: Plain[str | None] = None
    """The exact version that the name stood for on `date`."""
    released: Plain[str | None] = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    knowledge_cutoff: Plain[str | None] = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    """The last day, month or year in its training data."""

    def prices_of(self, tier: str | None) -> Prices | None:
        """Of a service tier, None for the standard one; None where the table has none for it."""
        return self if tier is None else self.tiers.get(tier)


class Usage(Stored):
    """Tokens of one model call; an unknown count is None, never 0."""

    input_tokens: Plain[int | None] = None
    """All input tokens, cached ones included."""
    cached_tokens: Plain[int | None] = None
    """Those that the provider's prompt cache held."""
    cache_write_tokens: Plain[int | None] = Field(default=None, exclude_if=lambda n: n is None)
    """Those that were written to it, at a price of their own; None where the server tells none."""
    hour_cache_write_tokens: Plain[int | None] = Field(default=None, exclude_if=lambda n: n is None)
    """Those of `cache_write_tokens` that are kept for an hour; None where the server tells none."""
    output_tokens: Plain[int | None] = None
    """All output tokens, reasoning included."""
    reasoning_tokens: Plain[int | None] = None
    source: Plain[Literal["provider", "server tokenizer", "tokenizer", "estimate"] | None] = None
    """Where the figures come from; all but `provider` are our own counts or estimates."""
    hosted_calls: Plain[dict[str, int] | None] = None
    """Calls that the provider's own tools made within the reply, by kind."""
    tier: Plain[str | None] = Field(default=None, exclude_if=lambda tier: tier is None)
    """The service tier that the reply names; None for the standard one."""
    by_tier: tuple[Usage, ...] = Field(default=(), exclude_if=lambda parts: not parts)
    """Of a sum over calls of several service tiers: its part in each."""

    @field_validator(
        "input_tokens", "cached_tokens", "cache_write_tokens", "hour_cache_write_tokens",
        "output_tokens", "reasoning_tokens",
    )  # fmt: skip
    @classmethod
    def _count(cls, value: int | None) -> int | None:
        """Less than nothing is not a count, and would give limits back what was spent."""
        return None if value is None or value < 0 else value

    def cost_usd(self, facts: ModelFacts | None) -> float | None:
        """What it costs at the prices of its tier; None where a price or a count is unknown.

        Tokens of a cache that the server does not tell apart, or that the table has no price
        for, cost as much as the others: an upper bound for those that the cache held, a lower one
        for those written to it, where they cost more.
        """
        if self.by_tier:
            costs = [part.cost_usd(facts) for part in self.by_tier]
            known = [cost for cost in costs if cost is not None]
            return sum(known) if len(known) == len(costs) else None
        return self._cost_at(None if facts is None else facts.prices_of(self.tier))

    def charged_usd(self, facts: ModelFacts | None) -> float:
        """What limits count: its cost, at the dearest prices of the table where its tier has none;
        0 where no price is known."""
        if (cost := self.cost_usd(facts)) is not None or facts is None:
            return cost or 0.0
        costs = [self._cost_at(prices) for prices in (facts, *facts.tiers.values())]
        return max((cost for cost in costs if cost is not None), default=0.0)

    def _cost_at(self, prices: Prices | None) -> float | None:
        if prices is None or prices.input_per_million is None or prices.output_per_million is None:
            return None
        if self.input_tokens is None or self.output_tokens is None:
            return None
        plain, rest = prices.input_per_million, self.input_tokens
        spent = self.input_tokens * plain + self.output_tokens * prices.output_per_million
        short, hour = prices.cache_write_per_million, prices.hour_cache_write_per_million
        written = self.cache_write_tokens or 0
        kept = min(self.hour_cache_write_tokens or 0, written)
        for count, price in (
            (self.cached_tokens, prices.cached_input_per_million),
            (written - kept, short),
            (kept, short if hour is None else hour),
        ):
            count = min(count or 0, rest)  # a server or trace could name more than there is
            rest -= count
            spent += count * (0.0 if price is None else price - plain)
        return spent / 1_000_000


class Repetition(Stored):
    """A loop at the end of a reply: one unit over and over."""

    unit: Plain[str]
    """At most 200 characters of it."""
    times: Plain[int]
    place: Plain[Literal["content", "reasoning"]]
    was_cut: Plain[bool]
    """Whether the stream was closed at that point; false for a reply that ran to its limit."""
    saved_tokens: Plain[int | None] = None
    """Estimate: the output limit less what was written; None without a limit."""


class InventedResults(Stored):
    """Results of tools that a model wrote itself, under the text protocol."""

    count: Plain[int]
    """Blocks that begin like a result."""
    text: Plain[str]
    """What was cut off the reply's end, from the first of them on; at most 2,000 characters."""


class PageRef(Stored):
    """A page that a tool result showed to the model."""

    url: Plain[str]
    how: Plain[Literal["returned", "opened", "blocked"]]
    """Only listed by a search, opened, or blocked by a guard."""
    digest: Plain[str | None] = None
    """Digest of the bytes of an opened page."""
    flags: Plain[tuple[str, ...] | None] = None
    """Findings of the guards, as docs/web.md lists them; None for none."""


class Reply(Stored):
    """The result of one model call."""

    message: Message
    finish_reason: Plain[
        Literal["stop", "tool_calls", "length", "refused", "repetition", "paused"] | None
    ] = None
    """`paused`: the provider's own tools take long; it goes on when the message comes back."""
    usage: Usage = Usage()
    model: Plain[str | None] = None
    """The model's name as the server reports it."""
    citations: Plain[tuple[str, ...]] = ()
    """URLs that the reply cites."""
    hosted_pages: tuple[PageRef, ...] = ()
    """Pages that the provider's own tools opened or consulted; their bytes are not known."""
    repetition: Repetition | None = Field(default=None, exclude_if=lambda loop: loop is None)
    """The loop in which it ends; None for none."""
    invented: InventedResults | None = Field(default=None, exclude_if=lambda value: value is None)
    """What was cut off its end; None for nothing."""
    cached_at: Plain[str | None] = None
    """When the reply was first received, if it comes from the reply cache and so cost nothing."""


class ToolResult(Stored):
    """The result of a tool call."""

    output: Plain[str]
    """The text that the model reads, errors included."""
    error: Plain[str | None] = None
    """Why the call failed; also in `output`."""
    pages: tuple[PageRef, ...] = ()
    duration_s: Plain[Seconds | None] = None
    """The tool's own time, if it measures it; calls of one step may wait for each other."""
    fault: DrawnFault | None = Field(default=None, exclude_if=lambda value: value is None)
    """What was done to it on purpose; in the trace only."""

    @classmethod
    def failure(cls, problem: object) -> ToolResult:
        """What the model reads of a call that gave nothing but this problem."""
        error = writable(str(problem))
        return cls(output=f"Error: {error}", error=error)


# Results of episodes ----------------------------------------------------------------------------

StopReason = Literal[
    "answered", "steps", "tool_calls", "tokens", "input_tokens", "output_tokens", "cost", "time",
    "context", "truncated", "refused", "repetition", "crashed", "other",
]  # fmt: skip
"""Why an episode ended; after all but `answered` the last answer stands, if any. `context`: the
conversation exceeded the context window. `crashed`: an outside agent ended with an error
or was killed. `other`: an imported log's. Failures are counted apart."""


class JudgeCall(Stored):
    """One call of a judge; fields as in `model_called`."""

    attempt: Plain[int] = 1
    latency_s: Plain[Seconds]
    queued_s: Plain[Seconds | None] = None
    reply: Reply | None = None
    error: Plain[str | None] = None
    error_kind: Plain[str | None] = None
    status: Plain[int | None] = None
    usage: Usage | None = None
    wait_s: Plain[Seconds | None] = None


class Verdict(Stored):
    """A judge's verdict on a finished episode."""

    judge: Plain[str]
    """The model's name, as on the command line."""
    metric: Plain[str]
    """The scorer's metric that it is compared with."""
    says: Plain[str]
    """`right`, `wrong`, `unparsable`, or `failed` without a reply."""
    request: Plain[str | None] = None
    """Digest of the messages sent."""
    calls: tuple[JudgeCall, ...] = ()


class Episode(Stored):
    """One attempt at one sample under one condition: the fold of its trace."""

    sample: Plain[str]
    condition: Plain[str]
    repeat: Plain[int]
    model: Plain[str]
    status: Plain[Literal["finished", "failed", "unfinished"]]
    messages: tuple[Message, ...] = ()
    answer: Plain[str | None] = None
    stop_reason: Plain[StopReason | None] = None
    failure: Plain[str | None] = None
    citations: Plain[tuple[str, ...]] = ()
    pages: tuple[PageRef, ...] = ()
    faults: tuple[CallFault, ...] = Field(default=(), exclude_if=lambda drawn: not drawn)
    """Faults of tools that were drawn for its calls."""
    steps: Plain[int] = 0
    """Model calls that returned a reply."""
    tool_calls: Plain[int] = 0
    tool_errors: Plain[int] = 0
    tools: Plain[tuple[str, ...]] = ()
    """Names of the tools offered."""
    hosted_calls: Plain[int] = 0
    """Calls of the provider's own tools."""
    input_tokens: Plain[int | None] = None
    """Sum over the model calls; None where any of them is unknown, like the three below."""
    cached_tokens: Plain[int | None] = None
    repeated_tokens: Plain[int | None] = Field(default=None, exclude_if=lambda n: n is None)
    """Input tokens that the request before had, too: what a prompt cache could hold. None where the
    server tells nothing of its cache."""
    output_tokens: Plain[int | None] = None
    reasoning_tokens: Plain[int | None] = None
    failed_calls: Plain[int] = 0
    """Model calls without a reply; the sums include their tokens where the server reported them."""
    uncounted_calls: Plain[int] = 0
    """Failed calls of unknown token counts; they are in no sum."""
    cache_hits: Plain[int] = 0
    """Replies that came from the reply cache."""
    cut_outputs: Plain[int] = 0
    """Tool outputs that were cut to fit into the context."""
    renamed_calls: Plain[int] = Field(default=0, exclude_if=lambda number: not number)
    """Calls with something of a parser around the tool's name, which were run."""
    invented_results: Plain[int] = 0
    """Results of tools that the model wrote itself, cut off its replies."""
    repairs: Plain[int] = Field(default=0, exclude_if=lambda number: not number)
    """Calls that could not be read and were answered with the right form."""
    own_calls: Plain[int] = Field(default=0, exclude_if=lambda number: not number)
    """Calls that tools of an agent's own answered: their results are in what it said next, if
    anywhere."""
    saved_tokens: Plain[int | None] = 0
    """Estimate: output tokens that were not written as looping replies were cut; None where a reply
    had no limit."""
    paid: Usage = Usage()
    """Sums over the calls that cost money: all but the replies from the reply cache."""
    tiers: Plain[dict[str, int]] = Field(default_factory=dict, exclude_if=lambda tiers: not tiers)
    """Replies by service tier, `standard` too; empty where all are of that one."""
    charged: Usage = Usage()
    """Tokens charged to the run's limits for calls of unknown counts; in no other sum."""
    usage_sources: Plain[tuple[str, ...]] = ()
    duration_s: Plain[Seconds | None] = None
    first_input_tokens: Plain[int | None] = None
    """Of the first reply, tool descriptions included; None where not counted."""
    required_call: Plain[bool | None] = None
    """Whether the first reply called a tool; None if it had not to."""
    served_models: Plain[tuple[str, ...]] = ()
    """The models that replied, as the server names them."""
    judged: tuple[Verdict, ...] = ()
    """Verdicts of judges; their calls are in no sum above."""
    imported: ImportedResult | None = None

    @property
    def usage(self) -> Usage:
        """The sums of tokens over its model calls."""
        return Usage(
            input_tokens=self.input_tokens,
            cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens,
            reasoning_tokens=self.reasoning_tokens,
            tier="several" if self.paid.by_tier else self.paid.tier,
        )


class Score(Record):
    """One episode measured against its sample's gold."""

    sample: Plain[str]
    condition: Plain[str]
    repeat: Plain[int]
    outcome: Plain[Literal["read", "unreadable", "failed", "unfinished", "scorer_failed"]]
    """`unreadable`: the answer parser found no answer. `scorer_failed`: the scorer raised the error
    in `rule`; no fault of the model, not scored."""
    answer: Plain[tuple[str, ...] | None] = None
    """The parsed answer; None for no answer, () for an answer that there is none."""
    rule: Plain[str | None] = None
    """The parsing rule that matched."""
    metrics: Plain[dict[str, float]] = {}
    """By the family's metric names; empty where there is nothing to score."""
    failed_metrics: Plain[dict[str, str]] = Field(default={}, exclude_if=lambda errors: not errors)
    """By plugged-in metric, the error that it raised; the other metrics stand."""


class ExecResult(Stored):
    """The result of one execution of code in a sandbox."""

    stdout: str = ""
    stderr: str = ""
    value: str | None = None
    """repr of the last expression, as a notebook shows it."""
    error: str | None = None
    """Traceback of failing code, or why the session ended."""
    status: Literal["ok", "error", "timeout", "crashed"] = "ok"
    """`error`: the code raised. `timeout` and `crashed`: the session and its variables are lost."""
    duration_s: float = 0.0
    truncated: bool = False
    """Whether a text was cut to the output limit."""
