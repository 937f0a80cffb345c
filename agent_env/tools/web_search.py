"""The `web_search` tool: a query in, titles, addresses and snippets out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent_env.protocols import SearchProvider
from agent_env.schema import Hit, PageRef, ToolResult
from agent_env.tools.toolbox import parse_arguments, tool_spec


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=400, description="What to look for.")
    limit: int = Field(default=5, ge=1, le=10, description="How many results.")


class WebSearch:
    """Searches through a SearchProvider."""

    def __init__(self, provider: SearchProvider) -> None:
        self._provider = provider
        self.spec = tool_spec(
            "web_search",
            "Search the web. Gives the best results, each with its title, URL and a snippet. "
            "Snippets can be old or about something else of the same name: open the page with "
            "open_page before you rely on it. If nothing fits, try other words.",
            SearchArguments,
        )

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        wanted = parse_arguments(SearchArguments, arguments)
        hits = await self._provider.search(wanted.query, wanted.limit)
        if not hits:
            return ToolResult(output=f"No results for: {wanted.query}\nTry fewer or other words.")
        refs = tuple(PageRef(url=hit.url, how="returned") for hit in hits)
        return ToolResult(output="\n\n".join(map(_as_text, range(1, 11), hits)), pages=refs)


def _as_text(number: int, hit: Hit) -> str:
    return f"[{number}] {hit.title}\n{hit.url}\n{hit.snippet}"
