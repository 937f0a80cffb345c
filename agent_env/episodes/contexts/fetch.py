"""Gets the pages that a run named and nobody kept, such as those of a provider's own web search.

What comes is our copy of today; it may differ from what the model read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from agent_env.episodes.contexts.build import EpisodePages, Stores
from agent_env.errors import ToolError
from agent_env.protocols import Fetcher, PageStore

AT_ONCE = 8


async def fetch_missing(
    sources: Iterable[EpisodePages], stores: Stores, into: PageStore, fetcher: Fetcher
) -> dict[str, str]:
    """Fetch and keep every page that no store holds; why not, by address, for dead links.

    A page that redirects led to is kept under the address that was named as well.
    """
    urls = dict.fromkeys(
        page.url for source in sources for page in source.pages if not page.blocked
    )
    dead: dict[str, str] = {}
    gate = asyncio.Semaphore(AT_ONCE)

    async def get(url: str) -> None:
        async with gate:
            try:
                page = await fetcher.fetch(url)
            except ToolError as exc:
                dead[url] = str(exc)
                return
        await into.put(page)
        if page.url != url:
            await into.put(page.model_copy(update={"url": url}))

    wanted = [url for url in urls if await stores.find(url) is None]
    async with asyncio.TaskGroup() as group:
        for url in wanted:
            group.create_task(get(url))
    return {url: dead[url] for url in wanted if url in dead}
