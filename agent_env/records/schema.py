"""The records that reach a file or the network, and the words for them.

What a trace is made of stands in trace_events, what run.json holds in manifest.

A Record is what we or a user write: an unknown field is a mistake and is refused.
A Stored record is read back from traces, perhaps of a later version: unknown fields are kept.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_env.records.tool_traits import ToolTraits


class Record(BaseModel):
    """A frozen value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stored(BaseModel):
    """A frozen value of a trace; unknown fields are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


# What is asked ----------------------------------------------------------------------------------


class Proof(Record):
    """What proves one constraint of a sample that must be looked up."""

    constraint: int
    """Its place in the sample's list of constraints, from 0."""
    urls: tuple[str, ...]
    """Pages each of which states all of `dates`."""
    dates: tuple[str, ...]
    """What has to be read there: YYYY, YYYY-MM or YYYY-MM-DD; never sent to a model."""
    used: tuple[str, ...] | None = None
    """Those that the model has to write down to have used them; None for all of them, or for an
    answer that agrees with them."""
    shares: Literal["year", "month", "day", "years", "span"]
    """What a right answer has in common with them: the year, month or day of the month of the one
    date; any of the years from the first to the last, or of those listed; or that it lies between
    the first and the second, the third and the fourth, and so on."""


class Sample(Record):
    """One question with its gold answer. Families add their own typed fields."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")
    """Unique within a file; also the name of the episode's trace file."""
    task: str
    """The task's name, as on the command line."""
    gold: tuple[str, ...]
    """The right answer; never sent to a model."""
    evidence: tuple[str, ...] = ()
    """URLs of the pages that prove what must be looked up."""
    proofs: tuple[Proof, ...] = ()
    """The same for each constraint; empty where nobody wrote it down."""
    materials: tuple[str, ...] = ()
    """Digests of the tables that tools get, and the prompt only where its condition says so."""


class MaterialTable(Record):
    """A table that samples share: wiring hands it to tools, a prompt may render it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    """Cells in the columns' order; days as YYYY-MM-DD, None where a cell is empty."""

    @property
    def digest(self) -> str:
        """SHA-256 of its JSON, in hexadecimal."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Condition(Record):
    """A named way of answering: what is worded how, which tools, which strategy."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:+~-]{0,199}$")
    """Parts joined by `+`, in a fixed order, and perhaps `~` with the first step's choice; the
    folder of its episodes."""
    wording: Literal["implicit", "explicit"] = "implicit"
    """Whether the constraints spell their dates out."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered."""
    own_tools: tuple[ToolTraits, ...] = Field(default=(), exclude_if=lambda tools: not tools)
    """What those of them say of themselves that are not built in."""
    strategy: str = "tool-loop"
    """Name of the strategy."""
    context: str | None = None
    """Which pages stand before the question: `cited` or `cited:NAME`; None without."""
    first_step: Literal["auto", "required", "none"] = "auto"
    """Whether the first step may, must or must not call a tool; later steps are free."""


# What a model and a harness say to each other ---------------------------------------------------


class ToolSpec(Stored):
    """A tool as it is described to a model."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """JSON schema of the arguments object."""
    hosted: str | None = None
    """The provider's own tool that stands for it and runs at the provider; None for ours."""


class ToolCall(Stored):
    """A model's wish to use a tool."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, valid or not."""
    problem: str | None = None
    """Why it is no call that can be run, written for the model; None for all others."""


class ReasoningSpan(Stored):
    """A place in a server's message at which a part of its reasoning stands."""

    path: tuple[str | int, ...]
    """Names and list positions, from the message down."""
    start: int
    """In Message.reasoning, in characters; like `end`."""
    end: int


class ProviderFields(Stored):
    """What a server's message held beside our own fields; goes back to that server alone."""

    origin: str
    """Who said it: MODEL at BASE_URL."""
    message: dict[str, JsonValue] = {}
    """Fields of the message; empty texts where `reasoning_at` says so."""
    calls: dict[str, dict[str, JsonValue]] = {}
    """Fields of its tool calls, by the calls' ids."""
    reasoning_at: tuple[ReasoningSpan, ...] = ()
    left_out: dict[str, str] = {}
    """Fields that were too large to be kept, with the reason."""


class Message(Stored):
    """One message of a trajectory."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant message asks for."""
    tool_call_id: str | None = None
    """Which call a tool message answers."""
    kept: int | None = None
    """Letters that are left of a tool's output that was cut to fit into the context."""
    reasoning: str | None = None
    """Reasoning text, where the server gives it."""
    provider_items: tuple[dict[str, JsonValue], ...] = ()
    """Opaque items that the same provider wants back on the next call (Responses API)."""
    provider_fields: ProviderFields | None = None
    """What the server said beside the fields above; None for nothing, and for all who are not
    servers."""


class Usage(Stored):
    """Tokens of one model call; what nobody told us is None, never 0."""

    input_tokens: int | None = None
    """All input tokens, cached ones included."""
    cached_tokens: int | None = None
    output_tokens: int | None = None
    """All output tokens, reasoning included."""
    reasoning_tokens: int | None = None
    source: Literal["provider", "server tokenizer", "tokenizer", "estimate"] | None = None
    """Where the figures come from; all but `provider` are counts made for us or by us."""
    hosted_calls: dict[str, int] | None = None
    """Calls that the provider's own tools made within the reply, by kind."""


class Reply(Stored):
    """What one model call gave back."""

    message: Message
    finish_reason: Literal["stop", "tool_calls", "length", "refused"] | None = None
    usage: Usage = Usage()
    model: str | None = None
    """The model's name as the server says it."""
    citations: tuple[str, ...] = ()
    """URLs that the reply cites."""
    hosted_pages: tuple[PageRef, ...] = ()
    """Pages that the provider's own tools opened or consulted; their bytes are not known."""
    cached_at: str | None = None
    """When it was first given, where it comes from the reply cache; it cost nothing this time."""


class ModelFacts(Record):
    """One model of a price table: what it costs and what it can know. Unknown is None."""

    input_per_million: float | None = Field(default=None, ge=0)
    """USD for a million input tokens."""
    cached_input_per_million: float | None = Field(default=None, ge=0)
    """USD for a million input tokens that the server had cached; None: priced like the others."""
    output_per_million: float | None = Field(default=None, ge=0)
    """USD for a million output tokens, reasoning included."""
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    """When these figures were looked up."""
    source: str = Field(min_length=1)
    """Where."""
    snapshot: str | None = None
    """The exact version that the name stood for."""
    released: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    knowledge_cutoff: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    """The last day, month or year of which it can know."""


# What tools bring in ----------------------------------------------------------------------------


class Page(Record):
    """One fetched document; its digest is that of its bytes."""

    url: str
    status: int
    """HTTP status."""
    content_type: str
    body: bytes
    title: str
    text: str
    """Main text as a model reads it."""
    fetched_at: str
    """ISO 8601, UTC."""
    headers: dict[str, str] = {}
    """Of the response, names in lower case; cookies left out."""
    language: str | None = None
    """As the page names it, such as `en` or `pt-br`."""
    published: str | None = None
    """YYYY-MM-DD, as the page says it."""
    modified: str | None = None
    """YYYY-MM-DD, as the page or its server says it."""
    extractor: str = ""
    """What made the text of the bytes, with its version."""
    flags: tuple[str, ...] = ()
    """What the guards saw in the page; belongs to one episode and is not stored with the page."""
    withheld: str | None = None
    """Why the model may not read the page, where a guard says so; not stored either."""


class Hit(Record):
    """One search result."""

    url: str
    title: str
    snippet: str
    published: str | None = None
    """YYYY-MM-DD, as the provider says it."""
    flags: tuple[str, ...] = ()
    """What the guards saw; belongs to one episode and is not stored."""
    withheld: str | None = None
    """Why the model may not see the result, where a guard says so; not stored either."""


class PageRef(Stored):
    """A page that a tool result showed to the model."""

    url: str
    how: Literal["returned", "opened", "blocked"]
    """Merely listed by a search, or opened, or kept from the model by a guard."""
    digest: str | None = None
    """Digest of the page's bytes, where it was opened."""
    flags: tuple[str, ...] | None = None
    """What the guards saw: `question`, `answer`, `later`, `instructions`; None for nothing."""


class ToolResult(Stored):
    """What a tool call gave back; `output` is what the model reads, errors included."""

    output: str
    error: str | None = None
    """Why the call failed, where it did; the model reads it in `output`."""
    pages: tuple[PageRef, ...] = ()
    duration_s: float | None = None
    """The tool's own time, where it knows it; calls of one step may wait for each other."""


class ExecResult(Stored):
    """What one run of code in a sandbox gave back."""

    stdout: str = ""
    stderr: str = ""
    value: str | None = None
    """repr of the last expression, as a notebook shows it."""
    error: str | None = None
    """Traceback of failing code, or what ended the session."""
    status: Literal["ok", "error", "timeout", "crashed"] = "ok"
    """`error`: the code raised. `timeout` and `crashed`: the session and its variables are lost."""
    duration_s: float = 0.0
    truncated: bool = False
    """Whether any of the texts was cut to the output limit."""


# What is made of a trace ------------------------------------------------------------------------

StopReason = Literal[
    "answered",
    "steps",
    "tool_calls",
    "tokens",
    "input_tokens",
    "output_tokens",
    "cost",
    "time",
    "context",
    "truncated",
    "refused",
]
"""Why an episode ended; all but `answered` leave whatever answer stood. `context`: the conversation
grew longer than the model reads. A failure is apart."""


class JudgeCall(Stored):
    """One attempt at asking a judge; fields as of `model_called`."""

    attempt: int = 1
    latency_s: float
    queued_s: float | None = None
    reply: Reply | None = None
    error: str | None = None
    error_kind: str | None = None
    status: int | None = None
    usage: Usage | None = None
    wait_s: float | None = None


class Verdict(Stored):
    """What a judge says of a finished episode."""

    judge: str
    """A model's name, as on the command line."""
    metric: str
    """The scorer's metric beside which it stands."""
    says: str
    """`right`, `wrong`, `unparsable`, or `failed` where no reply came."""
    request: str | None = None
    """Digest of the messages that were sent."""
    calls: tuple[JudgeCall, ...] = ()


class Episode(Stored):
    """One attempt at one sample under one condition: the fold of its trace."""

    sample: str
    condition: str
    repeat: int
    model: str
    status: Literal["finished", "failed", "unfinished"]
    messages: tuple[Message, ...] = ()
    """The trajectory."""
    answer: str | None = None
    stop_reason: StopReason | None = None
    failure: str | None = None
    citations: tuple[str, ...] = ()
    pages: tuple[PageRef, ...] = ()
    steps: int = 0
    """Model calls that gave a reply."""
    tool_calls: int = 0
    tool_errors: int = 0
    tools: tuple[str, ...] = ()
    """Names of the tools offered."""
    hosted_calls: int = 0
    """Calls of the provider's own tools."""
    input_tokens: int | None = None
    """Sum over the model calls; None where any of them is unknown, like the three below."""
    cached_tokens: int | None = None
    """Of the input."""
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Of the output; None where any reply's figure is unknown."""
    failed_calls: int = 0
    """Model calls that gave no reply; their tokens are in the sums where the server told them."""
    uncounted_calls: int = 0
    """Of the failed ones, those whose tokens nobody told; they are in no sum."""
    cache_hits: int = 0
    """Replies that came from the reply cache."""
    cut_outputs: int = 0
    """Tool outputs that were cut to fit into the context."""
    paid: Usage = Usage()
    """Sums over the calls that cost money: not those whose reply came from the reply cache."""
    charged: Usage = Usage()
    """What the run's limits were charged for calls whose tokens nobody told; in no other sum."""
    usage_sources: tuple[str, ...] = ()
    duration_s: float | None = None
    first_input_tokens: int | None = None
    """Of the first reply, tools' descriptions included; None where they are not counted."""
    required_call: bool | None = None
    """Whether the first reply called a tool, where it had to; None where it had not, or was cut."""
    served_models: tuple[str, ...] = ()
    """The models that answered, as the server names them."""
    judged: tuple[Verdict, ...] = ()
    """What judges said of it afterwards; their calls are in no sum above."""


class Score(Record):
    """One episode measured against its sample's gold."""

    sample: str
    condition: str
    repeat: int
    outcome: Literal["read", "unreadable", "failed", "unfinished", "scorer_failed"]
    """`unreadable`: the episode ended without an answer that the rules can read. `scorer_failed`:
    the scorer raised an error, which `rule` has; this is no fault of the model and scores nothing.
    """
    answer: tuple[str, ...] | None = None
    """The answer as it was read; None where there is none, () where it says that there is none."""
    rule: str | None = None
    """Which reading rule matched."""
    metrics: dict[str, float] = {}
    """By the family's metric names; empty where the episode gave nothing to score."""
