"""The seams: where something uncertain enters an episode, and the two plain values around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from types import TracebackType
from typing import Annotated, Literal, Protocol, Self, runtime_checkable

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.records.options import EPISODE, Opt
from agent_env.records.pages import Hit, Page
from agent_env.records.schema import (
    Episode,
    ExecResult,
    MaterialTable,
    Message,
    Reply,
    Sample,
    Score,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from agent_env.records.tool_traits import ToolTraits

ToolChoice = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What holds for one call of a model, beside the parameters that it was made with."""

    tool_choice: ToolChoice = "auto"
    """Whether the reply may, must or must not call a tool."""
    seed: int | None = None
    """Of the server's sampling; None where none is asked for."""
    schema: Mapping[str, JsonValue] | None = None
    """The JSON schema that the server holds the reply's text to; None leaves it free."""
    stop: tuple[str, ...] = ()
    """Texts at which the server ends the reply, where it can."""


class Model(Protocol):
    """Anything that answers messages."""

    @property
    def name(self) -> str:
        """As on the command line."""

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """One reply; raises ModelError where none is available."""


class Tool(Protocol):
    """Something a model may call."""

    @property
    def spec(self) -> ToolSpec:
        """How it is described to the model."""

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        """What the call gives; raises ToolError with a text that the model can act on."""


class Toolbox(Protocol):
    """The tools of one episode; answers malformed calls too, so that every call is seen here."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All tools of the condition."""

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        """What the call gives; a call the model got wrong is a result with `error`, not a raise."""


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run what the reply asks for, then ask the model again."""

    note: Message | None = None
    """Said to the model after the tool results."""
    withdraw: frozenset[str] = frozenset()
    """Tools that are offered no more."""


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to the model and ask again."""

    message: Message


@dataclass(frozen=True, slots=True)
class Answer:
    """The episode is over; `text` holds the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """Run a call that is the strategy's own, or the one call of the last reply, and continue by
    what it gives; `then` is pure. The tool need not be offered to the model."""

    call: ToolCall
    then: Callable[[ToolResult], Say | Answer]


class Strategy(Protocol):
    """What is sent first, and what follows each reply. Pure: everything is in the messages."""

    def start(self, sample: Sample) -> tuple[Message, ...]:
        """The first messages."""

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        """What follows the last message, which is the model's."""


class Sandbox(Protocol):
    """One session in which Python runs; variables last until it closes or is lost."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def run(self, code: str, timeout_s: float) -> ExecResult:
        """What the code did; raises SandboxError where the sandbox itself failed."""


class SandboxBackend(Protocol):
    """A way to open sessions; an async context that lives as long as the run."""

    @property
    def name(self) -> str:
        """As on the command line."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def session(self, today: date | None = None) -> Sandbox:
        """A new session, started when it is entered; with a day, its clock begins at noon of it, in
        UTC. SandboxError from a backend that has no clock but the real one."""


class SearchProvider(Protocol):
    """Finds pages."""

    @property
    def name(self) -> str:
        """As on the command line."""

    async def search(self, query: str, limit: int) -> list[Hit]:
        """Best first; raises ToolError or SearchError."""


class Fetcher(Protocol):
    """Gets one page."""

    async def fetch(self, url: str) -> Page:
        """The page; raises ToolError where it cannot be had."""


class PageStore(Protocol):
    """Keeps pages by URL, each distinct body once."""

    async def get(self, url: str) -> Page | None:
        """The page last stored for the URL."""

    async def put(self, page: Page) -> str:
        """Stores and gives the digest of the bytes."""


@runtime_checkable
class Tokenizer(Protocol):
    """Counts tokens."""

    @property
    def name(self) -> str:
        """`estimate`, or the encoding's name."""

    def count(self, text: str) -> int:
        """Tokens in the text."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many tokens a text has, and who says so."""

    tokens: int
    source: Literal["server tokenizer", "tokenizer", "estimate"]


class RemoteTokenizer(Protocol):
    """Counts tokens by asking for each count."""

    @property
    def name(self) -> str:
        """As on the command line."""

    async def counted(self, text: str) -> Count:
        """Tokens in the text; where they cannot be had, an estimate that says so."""


@dataclass(frozen=True, slots=True)
class Supplies:
    """What one tool gets for one episode, as far as its traits ask for it."""

    tables: tuple[MaterialTable, ...] = ()
    """Those that the sample names."""
    search: SearchProvider | None = None
    fetcher: Fetcher | None = None
    window: int | None = None
    """Characters of a page that are read at once; None for the tool's own number."""
    foreign: bool = False
    """Whether what pages say is to be marked as the words of others."""
    sandbox: Sandbox | None = None
    importable: tuple[str, ...] = ()
    """Packages that code in the sandbox can import, beside the standard library."""
    timeout_s: float = 30.0
    """Of one run of code."""
    today: date | None = None
    """The day that it is; None: the real one."""


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as its module declares it."""

    traits: ToolTraits
    open: Callable[[Supplies], Tool]
    """Makes the tool of one episode; where it has a `close`, that is called at the end."""
    reads: Callable[[MaterialTable], bool] | None = None
    """Whether it can use a table, where it needs one."""


class Scorer(Protocol):
    """Measures an episode against its sample; pure and synchronous."""

    def __call__(self, sample: Sample, episode: Episode) -> Score: ...


def calls_by_tool(texts: Sequence[str] | Mapping[str, int]) -> dict[str, int] | None:
    """`python=10` and the like, by tool; ConfigError where one is no such thing."""
    if isinstance(texts, Mapping):
        return dict(texts)
    limits: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name or not number.isdecimal() or int(number) < 1:
            raise ConfigError(f"--tool-limit {text!r}: write TOOL=CALLS, such as python=10")
        limits[name] = int(number)
    return limits or None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one episode may use; None is without limit. What the user does not say is the task's."""

    steps: Annotated[
        int | None, Opt("Model calls per episode.", EPISODE, min=1, default=None, resume=True)
    ] = 30
    """Model calls."""
    tool_calls: Annotated[
        int | None, Opt("Per episode.", EPISODE, min=0, default=None, resume=True)
    ] = 60
    tokens: Annotated[
        int | None, Opt("Per episode, in and out.", EPISODE, min=1, default=None, resume=True)
    ] = 500_000
    """Input and output of all model calls together."""
    time_s: Annotated[
        float | None, Opt("Seconds per episode.", EPISODE, min=0.1, default=None, resume=True)
    ] = 900.0
    cost_usd: Annotated[float | None, Opt("Needs --prices.", EPISODE, min=0.0)] = None
    per_tool: Annotated[
        Mapping[str, int],
        Opt(
            "Calls of one tool, such as python=10; then it is withdrawn. Repeatable.",
            EPISODE,
            flag="--tool-limit",
            metavar="TOOL=CALLS",
            min=1,
            typed=list[str],
            default=None,
            read=calls_by_tool,
        ),
    ] = field(default_factory=dict)
    """Calls by tool; a tool at its limit is withdrawn, and the episode continues."""
    fit_context: Annotated[
        bool | None,
        Opt(
            "Cut old tool outputs where the model's context is full, and go on; counted.",
            EPISODE,
            typed=bool,
            default=False,
        ),
    ] = None
    """Whether old tool outputs are cut where the conversation is longer than the model reads."""
