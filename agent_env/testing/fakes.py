"""Public fakes at the seams, for tests of this package and of what is built on it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from agent_env.errors import AgentEnvError, ToolError, place_of
from agent_env.protocols import ReplyOptions
from agent_env.records.pages import Hit, Page
from agent_env.records.schema import (
    ExecResult,
    Message,
    Reply,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)

if TYPE_CHECKING:
    from agent_env.families.time_puzzles.sample import TimePuzzle


class ScriptedModel:
    """Gives the replies it was made with: the one after as many as the messages hold."""

    name = "scripted"

    def __init__(self, replies: Sequence[Reply | Exception]) -> None:
        self._replies = list(replies)
        self.requests: list[tuple[tuple[Message, ...], tuple[str, ...]]] = []
        """What was asked: the messages and the names of the tools offered."""
        self.options: list[ReplyOptions] = []
        """What held for each of the calls."""

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        turn = sum(message.role == "assistant" for message in messages)
        self.requests.append((tuple(messages), tuple(tool.name for tool in tools)))
        self.options.append(options)
        reply = self._replies[turn]
        if isinstance(reply, Exception):
            raise reply
        return reply


def answer(text: str, usage: Usage | None = None) -> Reply:
    """A reply without tool calls."""
    message = Message(role="assistant", content=text)
    return Reply(message=message, finish_reason="stop", usage=usage or Usage())


def calls(*wanted: tuple[str, str], usage: Usage | None = None, first_id: int = 1) -> Reply:
    """A reply that asks for tools: (name, arguments as JSON) each."""
    tool_calls = tuple(
        ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(wanted, start=first_id)
    )
    message = Message(role="assistant", tool_calls=tool_calls)
    return Reply(message=message, finish_reason="tool_calls", usage=usage or Usage())


class FakeTool:
    """A tool that gives what a function makes of its arguments."""

    def __init__(self, name: str, function: Callable[[dict[str, object]], str]) -> None:
        self.spec = ToolSpec(name=name, description=name, parameters={"type": "object"})
        self._function = function

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        return ToolResult(output=self._function(arguments))


class FakeSandbox:
    """A session that gives prepared results and remembers the code."""

    def __init__(self, results: Sequence[ExecResult] = ()) -> None:
        self._results = list(results)
        self.code: list[str] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def run(self, code: str, timeout_s: float) -> ExecResult:
        self.code.append(code)
        return self._results.pop(0) if self._results else ExecResult()


class MemoryPages:
    """A PageStore and Fetcher in memory."""

    def __init__(self, pages: Sequence[Page] = ()) -> None:
        self._pages = {page.url: page for page in pages}

    async def get(self, url: str) -> Page | None:
        return self._pages.get(url)

    async def put(self, page: Page) -> str:
        self._pages[page.url] = page
        return hashlib.sha256(page.body).hexdigest()

    async def fetch(self, url: str) -> Page:
        page = self._pages.get(url)
        if page is None:
            raise ToolError(f"there is no page at {url}")
        return page


class FakeSearch:
    """A SearchProvider with fixed results by query."""

    name = "fake"

    def __init__(self, hits: Mapping[str, Sequence[Hit]]) -> None:
        self._hits = hits

    async def search(self, query: str, limit: int) -> list[Hit]:
        return list(self._hits.get(query, ()))[:limit]


def page(url: str, text: str, title: str = "A page") -> Page:
    """A page with this text."""
    return Page(
        url=url,
        status=200,
        content_type="text/html",
        body=f"<p>{text}</p>".encode(),
        title=title,
        text=text,
        fetched_at="2026-01-01T00:00:00Z",
    )


def puzzle(name: str = "tp-0-00001", gold: Sequence[str] = ("1982-04-02",)) -> TimePuzzle:
    """A small puzzle with this gold answer."""
    from agent_env.families.time_puzzles.sample import TimePuzzle

    return TimePuzzle(
        id=name,
        gold=tuple(gold),
        constraints=("The year is the same as that of the first day of the Falklands War.",),
        explicit_constraints=("The year is 1982.",),
        solution_count=len(gold),
        fact_count=1,
    )


class Nonconformance(AssertionError):
    """Something plugged in breaks the contract of its kind; a line for each finding."""


def raise_findings(what: str, findings: Iterable[str]) -> None:
    """Raises one Nonconformance with all findings; nothing without any."""
    lines = list(dict.fromkeys(findings))
    if lines:
        raise Nonconformance("\n".join(f"{what}: {line}" for line in lines))


def raised(exc: BaseException) -> str:
    """An error for a finding: class, text, and line of the code that is not ours."""
    where = f" at {place}" if (place := place_of(exc)) else ""
    kind = "" if isinstance(exc, AgentEnvError) else f"{type(exc).__name__}: "
    return f"{kind}{' '.join(str(exc).split())[:300]}{where}"
