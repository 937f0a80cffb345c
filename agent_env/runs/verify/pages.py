"""Whether the pages of a run are those that its models read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.records.safe_files import is_safe
from agent_env.records.trace_events import EpisodeStarted, Event, ToolCalled
from agent_env.runs.run import Run
from agent_env.runs.verify import Judgement

if TYPE_CHECKING:
    from agent_env.web.page_store import SqlitePages

PAGES = "pages.db"


def checked_pages(run: Run, traces: Mapping[str, Sequence[Event]]) -> Judgement:
    """Verdict, text and findings: every page has the digest that is its name, the whole store that
    of run.json, and every opened page and cited context is among them."""
    from agent_env.web.page_store import problems

    manifest = run.manifest
    plain = {c.name for c in manifest.conditions if c.disturbance is None and c.today is None}
    opened = {
        (name, page.url, page.digest)
        for name, events in traces.items()
        if name.partition("/")[0] in plain
        for event in events
        if isinstance(event, ToolCalled)
        for page in event.result.pages
        if page.digest is not None
    }
    findings = list(_context_problems(run, traces))
    contexts = f"{len(manifest.contexts)} files of cited pages" if manifest.contexts else ""
    if manifest.web is None:
        text = contexts or "no condition has a web"
        return ("fails" if findings else "holds"), text, findings
    store = _store(run)
    if store is None:
        text = f"{len(opened)} pages were opened in a live web, and none was kept"
        return ("fails" if findings else "unchecked"), text, findings
    with closing(store):
        rows = list(store.fetches(stands_only=False))
        for problem in problems(store):
            places = [row.asked for row in rows if (row.digest or "none") in problem]
            findings.append(f"{PAGES}: {problem}{' at ' if places else ''}{', '.join(places)}")
        if manifest.web_settings.pages_digest not in (None, store.digest()):
            findings.append(f"{PAGES}: its digest is not the one in run.json")
        have = {(url, row.digest) for row in rows for url in (row.asked, row.url)}
        digests = {digest for _, digest in have}
        for name, url, digest in sorted(opened):
            if digest not in digests:
                findings.append(f"{name}: the page {url} that was opened is not in the store")
            elif (url, digest) not in have:
                findings.append(f"{name}: the page {url} has another content in the store")
        number = sum(1 for _ in store.urls())
    text = f"{number:,} pages have their digests, {len(opened)} opened ones among them"
    if made := [each.name for each in manifest.conditions if each.tools and each.name not in plain]:
        text += f"; the pages of {', '.join(made)} are made for each sample, and are not compared"
    return ("fails" if findings else "holds"), f"{text}{contexts and f'; {contexts}'}", findings


def _store(run: Run) -> SqlitePages | None:
    """The run's own store, else the one that it names, else the sealed web, made again."""
    from agent_env.web.page_store import SqlitePages
    from agent_env.wiring.web import check_store, open_sealed, store_path

    manifest, settings = run.manifest, run.manifest.web_settings
    day = settings.as_of if manifest.web in ("record", "frozen") else None
    if is_safe(run.path, run.path / PAGES):
        check_store(run, run.path / PAGES)
        return SqlitePages(run.path / PAGES, read_only=True, as_of=day)
    if settings.pages is not None:
        return SqlitePages(store_path(run.path), read_only=True, as_of=day)
    if manifest.web == "sealed":
        web = open_sealed(settings, Path(":memory:"), run.materials())
        assert web.store is not None  # it is a store
        return web.store
    return None


def _context_problems(run: Run, traces: Mapping[str, Sequence[Event]]) -> Iterator[str]:
    """Episodes under cited pages whose text is not that of the run's file."""
    from agent_env.episodes.contexts import episode_contexts, read_copies

    copies = read_copies(run, run.manifest)
    for read in episode_contexts(run) if copies else ():
        row = copies[read.context].by_sample.get(read.sample)
        start = next(iter(traces.get(read.episode, ())), None)
        given = start.context if isinstance(start, EpisodeStarted) else None
        if row is None or read.digest is None or given != row.digest:
            yield f"{read.episode}: its pages are not those of {read.context}"
