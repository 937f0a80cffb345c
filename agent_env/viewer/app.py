"""The viewer as an ASGI app: which address shows what."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agent_env.episodes.index_pages import SORTS, VERDICTS, EpisodeFilter
from agent_env.errors import AgentEnvError, ConfigError
from agent_env.runs.compare import CompareOptions, compare_folders, select_tables
from agent_env.runs.opened import Assessment, OpenRun, TraceEvents
from agent_env.viewer.bars import time_chart, token_chart
from agent_env.viewer.beside import aligned, parted_at
from agent_env.viewer.guard import Guard
from agent_env.viewer.library import Library
from agent_env.viewer.render import environment, page
from agent_env.viewer.story import Story, story

ROWS = 100
"""Episodes on a page."""
SAMPLES = 50
"""Samples on a page."""
MOST_BESIDE = 6


def make_app(library: Library, port: int) -> Starlette:
    """The app over these runs, to be served on loopback at `port`; closes the library at its
    end."""
    pages = _Pages(library, environment())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        library.close()

    return Starlette(
        routes=[
            Route("/", pages.runs),
            Route("/side", pages.side),
            Route("/run/{run}/", pages.run),
            Route("/run/{run}/samples", pages.samples),
            Route("/run/{run}/compare", pages.compare),
            Route("/run/{run}/sample/{sample}", pages.sample),
            Route("/run/{run}/episode/{episode:path}", pages.episode),
            Route("/state/", pages.state),
            Route("/state/{run}", pages.state),
            Route("/state/{run}/{episode:path}", pages.state),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        middleware=[Middleware(Guard, port=port)],
        exception_handlers={
            404: pages.not_found,
            AgentEnvError: pages.failed,
            OSError: pages.failed,
            sqlite3.Error: pages.failed,
        },
        lifespan=lifespan,
    )


class _Pages:
    """A method for each page; they run in threads, as they read files."""

    def __init__(self, library: Library, templates: Environment) -> None:
        self._library = library
        self._templates = templates

    def _page(self, template: str, status: int = 200, /, **values: object) -> Response:
        return page(self._templates, template, status, root=str(self._library.root), **values)

    async def not_found(self, request: Request, error: Exception) -> Response:
        return self._page("error.html", 404, title="Not found", words=_words_of(error))

    async def failed(self, request: Request, error: Exception) -> Response:
        return self._page("error.html", 500, title="Cannot be shown", words=str(error))

    def runs(self, request: Request) -> Response:
        """All runs, the newest first."""
        found = self._library.runs()
        self._library.refresh(found)
        lines = [_RunLine(run, self._library) for run in found]
        return self._page("runs.html", runs=lines, state="/state/", stamp=self._stamp(found))

    def run(self, request: Request) -> Response:
        """A run's conditions, and its episodes by what the address asks for."""
        run = self._run(request)
        fields = _query_fields(
            request, ("condition", "status", "stop", "verdict", "sample", "sort")
        )
        filters = _episode_filter(fields)
        at = _number(request.query_params.get("page"))
        span = run.index.span(filters, at * ROWS, ROWS)
        summary, reading = run.summary, self._library.is_reading(run)
        return self._page(
            "run.html", run=run, line=_RunLine(run, self._library),
            manifest=run.manifest, groups=summary.groups, span=span, given=fields, at=at,
            last=max(0, -(-span.total // ROWS) - 1), metrics=summary.metrics, sorts=SORTS,
            stops=summary.stop_reasons, treatment=summary.treatment, verdicts=VERDICTS,
            reading=reading, state=f"/state/{quote(run.key)}", stamp=self._library.stamp(run),
        )  # fmt: skip

    def samples(self, request: Request) -> Response:
        """Samples by condition, a mark for each repeat."""
        run = self._run(request)
        fields = _query_fields(request, ("sample",))
        at = _number(request.query_params.get("page"))
        index = run.index
        names, total = index.sample_names(fields.get("sample", ""), at * SAMPLES, SAMPLES)
        conditions = [c.name for c in run.manifest.conditions]
        rows_by_sample = index.of_samples(names) if names else {}
        table = {
            name: {c: [r for r in rows if r.values["condition"] == c] for c in conditions}
            for name, rows in rows_by_sample.items()
        }
        return self._page(
            "samples.html", run=run, manifest=run.manifest, table=table, conditions=conditions,
            total=total, at=at, last=max(0, -(-total // SAMPLES) - 1), given=fields,
            metric=run.main_metric, state=f"/state/{quote(run.key)}", size=SAMPLES,
            stamp=self._library.stamp(run),
        )  # fmt: skip

    def compare(self, request: Request) -> Response:
        """Conclusions and differences of a run's conditions, or of all runs of the same samples."""
        run = self._run(request)
        others = [o for o in self._library.runs() if o.key != run.key and _asks_same(o, run)]
        shown = [run, *others] if request.query_params.get("runs") == "all" else [run]
        options = CompareOptions(runs=tuple(each.folder.path for each in shown))
        notes: list[str] = []
        try:
            comparison = compare_folders(options, notes.append, run.folder.objects)
        except ConfigError as exc:
            return self._page("compare.html", run=run, others=others, shown=shown, tables=[],
                              problem=str(exc))  # fmt: skip
        tables = select_tables(comparison, ("conclusions", "conditions", "differences"), ())
        return self._page(
            "compare.html", run=run, others=others, shown=shown, problem=None,
            tables=[table.without_empty() for table in tables if table.rows],
        )  # fmt: skip

    def sample(self, request: Request) -> Response:
        """One sample: what is asked, the right answer, and every attempt, of other runs too."""
        run = self._run(request)
        name = request.path_params["sample"]
        question = run.sample(name)
        tries = [(run, row) for row in run.index.of_samples([name])[name]]
        if question is None and not tries:
            raise _missing(f"The run has no sample {name}.")
        for other in self._library.runs():
            if other.key != run.key and _asks_same(other, run):
                self._library.refresh([other])
                tries += [(other, row) for row in other.index.of_samples([name])[name]]
        fields = {} if question is None else question.model_dump(exclude_defaults=True)
        return self._page(
            "sample.html", run=run, manifest=run.manifest, name=name, sample=question,
            fields=fields, tries=tries, metric=run.main_metric, most=MOST_BESIDE,
            state=f"/state/{quote(run.key)}", stamp=self._library.stamp(run),
        )  # fmt: skip

    def episode(self, request: Request) -> Response:
        """One episode as a conversation."""
        run = self._run(request)
        name = request.path_params["episode"]
        opened = _Opened(run, name)
        fields = _query_fields(request, ("condition", "status", "stop", "verdict", "sample"))
        before, after = run.index.around(name, _episode_filter(fields))
        return self._page(
            "episode.html", run=run, manifest=run.manifest, name=name, opened=opened,
            story=opened.story, verdict=opened.verdict, problem=opened.read.problem,
            before=before, after=after, given=fields, metric=run.main_metric,
            tokens=token_chart(opened.story.steps) if opened.story else None,
            times=time_chart(opened.story.steps) if opened.story else None,
            state=f"/state/{quote(run.key)}/{quote(name)}", stamp=opened.stamp,
        )  # fmt: skip

    def side(self, request: Request) -> Response:
        """Episodes beside each other: e=RUN:CONDITION/SAMPLE.REPEAT, twice or more."""
        episode_names = list(dict.fromkeys(request.query_params.getlist("e")))
        if not 1 <= len(episode_names) <= MOST_BESIDE:
            count = len(episode_names)
            words = f"Choose two to {MOST_BESIDE} episodes of a sample; {count} are chosen."
            return self._page("error.html", 400, title="Side by side", words=words)
        opened = []
        for text in episode_names:
            key, _, name = text.partition(":")
            run = self._library.run(key)
            if run is None:
                raise _missing(f"There is no run {key}.")
            opened.append(_Opened(run, name))
        lines = aligned([each.story for each in opened])
        samples = {each.sample for each in opened}
        return self._page(
            "side.html", opened=opened, lines=lines, parted=parted_at(lines),
            samples=sorted(samples),
        )  # fmt: skip

    def state(self, request: Request) -> Response:
        """A word that changes when the page would: polled by the page's script."""
        key, name = request.path_params.get("run"), request.path_params.get("episode")
        if key is None:
            runs = self._library.runs()
            self._library.refresh(runs)
            live = any(run.is_live for run in runs if not _broken(run))
            soon = not all(self._library.was_read(run) for run in runs if not _broken(run))
            return JSONResponse({"stamp": self._stamp(runs), "live": live, "soon": soon})
        run = self._run(request)
        if name:
            trace = run.trace(name)
            return JSONResponse({"stamp": _file_stamp(trace), "live": run.is_live})
        soon = self._library.is_reading(run)
        stamp = self._library.stamp(run)
        return JSONResponse({"stamp": stamp, "live": run.is_live, "soon": soon})

    def _run(self, request: Request) -> OpenRun:
        run = self._library.run(request.path_params["run"])
        if run is None:
            raise _missing(f"There is no run {request.path_params['run']}.")
        return run

    def _stamp(self, runs: list[OpenRun]) -> str:
        stamp = self._library.stamp
        return " ".join(f"{run.key}:{'-' if _broken(run) else stamp(run)}" for run in runs)


class _RunLine:
    """A run in the list of runs."""

    def __init__(self, run: OpenRun, library: Library) -> None:
        self.run = run
        self.problem = _broken(run) or library.trouble.get(run.key)
        if _broken(run):
            return
        self.manifest = run.manifest
        self.groups = run.summary.groups
        self.done = self._sum("finished") + self._sum("failed")
        self.failed, self.broken = self._sum("failed"), self._sum("broken")
        self.asked = run.asked
        self.was_read = library.was_read(run)
        self.state = self._state(run.is_live)
        self.metric = run.main_metric

    def _sum(self, status: str) -> int:
        return sum(group.counts.get(status, 0) for group in self.groups)

    def _state(self, is_live: bool) -> str:
        """In a word; "" for a run that is whole."""
        if not self.was_read:
            return "reading"
        return "" if self.done >= self.asked else "running" if is_live else "stopped"

    @property
    def share(self) -> float:
        return 0.0 if not self.asked else min(1.0, self.done / self.asked)


class _Opened:
    """An episode, read."""

    def __init__(self, run: OpenRun, name: str) -> None:
        self.run, self.name = run, name
        trace = run.trace(name)
        if trace is None:
            raise _missing(f"The run {run.key} has no episode {name}.")
        self.stamp = _file_stamp(trace)
        self.read: TraceEvents = run.read(trace)
        self.story: Story | None = story(self.read.events, run.manifest.model_facts)
        self.verdict: Assessment = run.judge(self.read.events)

    @property
    def sample(self) -> str:
        return self.name.partition("/")[2].rpartition(".")[0]

    @property
    def condition(self) -> str:
        return self.name.partition("/")[0]


def _missing(words: str) -> Exception:
    from starlette.exceptions import HTTPException

    return HTTPException(404, words)


def _words_of(error: Exception) -> str:
    return str(getattr(error, "detail", "")) or "There is nothing at this address."


def _broken(run: OpenRun) -> str | None:
    """Why the run's folder cannot be read; None where it can."""
    try:
        _ = run.manifest
    except AgentEnvError as exc:
        return str(exc)
    return None


def _asks_same(one: OpenRun, other: OpenRun) -> bool:
    return (
        not _broken(one)
        and one.manifest.task == other.manifest.task
        and one.manifest.samples_digest == other.manifest.samples_digest
    )


def _query_fields(request: Request, names: tuple[str, ...]) -> Mapping[str, str]:
    """What the address says of these, empty ones left out."""
    parameters = request.query_params
    return {name: parameters[name].strip() for name in names if parameters.get(name, "").strip()}


def _episode_filter(query: Mapping[str, str]) -> EpisodeFilter:
    fields: dict[str, Any] = {"stop_reason" if k == "stop" else k: v for k, v in query.items()}
    if fields.get("verdict") not in VERDICTS:
        fields.pop("verdict", None)
    return EpisodeFilter(**fields)


def _number(text: str | None) -> int:
    """A page's number from 0; 0 for what is none."""
    return min(int(text), 10**9) if text and text.isdecimal() and text.isascii() else 0


def _file_stamp(file: Path | None) -> str:
    try:
        status = file.stat() if file else None
    except OSError:
        status = None
    return "gone" if status is None else f"{status.st_size}.{status.st_mtime_ns}"
