"""The `open_page` tool: a page's main text, in windows."""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict, Field

from agent_env.protocols import Fetcher
from agent_env.schema import Page, PageRef, ToolResult
from agent_env.tools.toolbox import parse_arguments, tool_spec

WINDOW = 6000
"""Characters of text in one window."""


class OpenArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=2000, description="The page's address.")
    window: int = Field(default=1, ge=1, description="Which part of a long page, from 1.")


class OpenPage:
    """Opens pages through a Fetcher."""

    def __init__(self, fetcher: Fetcher, window: int = WINDOW) -> None:
        self._fetcher = fetcher
        self._window = window
        self.spec = tool_spec(
            "open_page",
            "Open a web page and read its main text. Long pages come in numbered windows.",
            OpenArguments,
        )

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        wanted = parse_arguments(OpenArguments, arguments)
        page = await self._fetcher.fetch(wanted.url)
        ref = PageRef(url=page.url, how="opened", digest=hashlib.sha256(page.body).hexdigest())
        return ToolResult(output=self._show(page, wanted.window), pages=(ref,))

    def _show(self, page: Page, window: int) -> str:
        count = max(1, -(-len(page.text) // self._window))
        number = min(window, count)
        text = page.text[(number - 1) * self._window : number * self._window]
        more = f"\n\n[Window {number} of {count}.]" if count > 1 else ""
        return f"{page.title}\n{page.url}\n\n{text or '(The page has no text.)'}{more}"
