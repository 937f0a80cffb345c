"""The viewer as an ASGI app: its pages, and the guard around them.

The guard keeps traces from harming their reader, and other web pages from reading traces.
Guaranteed: a page of the viewer runs no script but its own file, loads nothing from elsewhere and
is in no frame; a request that names another host than this one (DNS rebinding) or that another
site sent is refused, and so is everything but GET and HEAD.
Not guaranteed: that other users of this machine cannot connect to the port.

Templates escape everything, and control characters are made visible.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_env.features.serve.hosting import LOOPBACK, listening, serve_app
from agent_env.features.viewer.library import Library
from agent_env.features.viewer.story import (
    Story,
    aligned,
    parted_at,
    story,
    time_chart,
    token_chart,
)
from agent_env.sdk.errors import AgentEnvError, ConfigError
from agent_env.sdk.records import visible
from agent_env.sdk.results import rendered
from agent_env.sdk.run import IndexedRun, assess

_LINK = re.compile(r"^https?://[^\s\"'<>\\]+$", re.IGNORECASE)


@cache
def environment() -> Environment:
    """The templates with their filters; what they do not know is an error."""
    templates = Environment(
        loader=PackageLoader("agent_env.features.viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "plain": plain,
        "count": count,
        "score": score,
        "table": partial(rendered, "show"),
        "lead": partial(rendered, "lead"),
        "summary": partial(rendered, "summary"),
        "seconds": seconds,
        "usd": usd,
        "moment": moment,
        "part": lambda text: quote(text, safe=""),
        "place": lambda text: quote(text, safe="/"),
    }
    templates.tests["weblink"] = lambda url: bool(_LINK.match(url))
    templates.globals["query"] = query
    for name in templates.list_templates(extensions=["html"]):
        templates.get_template(name)  # compiled before the first page is asked for
    return templates


def page(templates: Environment, name: str, status: int = 200, /, **values: object) -> Response:
    text = templates.get_template(name).render(**values)
    data = text.encode("utf-8", "replace")
    return Response(data, status, media_type="text/html; charset=utf-8")


def plain(text: object) -> str:
    """Text with its control characters and turners of direction as visible escapes."""
    return visible(str(text))


def query(parameters: Mapping[str, str], **changes: object) -> str:
    """An address's query with some parts changed; empty ones are left out."""
    merged = {**parameters, **{name: str(value) for name, value in changes.items()}}
    nonempty = {name: value for name, value in merged.items() if value}
    return f"?{urlencode(nonempty)}" if nonempty else "?"


def count(value: float | None) -> str:
    """1,234; a dash for what is unknown."""
    if isinstance(value, int):  # of any size
        return f"{value:,}" if abs(value) < 10**15 else "very many"
    return "–" if value is None else f"{value:,.0f}"


def score(value: float | None) -> str:
    """Three digits; a dash for what is unknown."""
    return "–" if value is None else f"{value:.3f}"


def seconds(value: float | None) -> str:
    """0.012 s, 3.4 s, 2 min 5 s."""
    if value is None:
        return "–"
    if value >= 120:
        return f"{int(value // 60):,} min {int(value % 60)} s"
    return f"{value:.1f} s" if value >= 1 else f"{value:.3f} s"


def usd(value: float | None) -> str:
    """US dollars with as many digits as a call needs."""
    return "–" if value is None else f"${value:.2f}" if value >= 1 else f"${value:.5f}"


def moment(stamp: str) -> str:
    """An ISO time as YYYY-MM-DD HH:MM in UTC; as it is where it is none."""
    try:
        time = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Around the whole app; `port` is the one that it is served on."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        if port == 80:
            self._hosts |= {"127.0.0.1", "localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            addresses = " or ".join(f"http://{host}" for host in sorted(self._hosts))
            return PlainTextResponse(f"This viewer answers at {addresses} only.\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("The viewer only reads.\n", 405, {"allow": "GET, HEAD"})
        if headers.get("sec-fetch-site") == "cross-site" and (
            headers.get("sec-fetch-mode") != "navigate"
            or headers.get("sec-fetch-dest") != "document"
        ):
            return PlainTextResponse("Not for other sites.\n", 403)
        return None


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
        text = str(getattr(error, "detail", "")) or "There is nothing at this address."
        return self._page("error.html", 404, title="Not found", words=text)

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
        filters = run.index.filter_of(fields)
        at = _number(request.query_params.get("page"))
        span = run.index.span(filters, at * ROWS, ROWS)
        summary, reading = run.summary, self._library.is_reading(run)
        return self._page(
            "run.html", run=run, line=_RunLine(run, self._library),
            manifest=run.manifest, groups=summary.groups, span=span, given=fields, at=at,
            last=max(0, -(-span.total // ROWS) - 1), metrics=summary.metrics, sorts=run.index.SORTS,
            stops=summary.stop_reasons, first=self._first(run),
            verdicts=run.index.VERDICTS, reading=reading, state=f"/state/{quote(run.key)}",
            stamp=self._library.stamp(run),
        )  # fmt: skip

    def _first(self, run: IndexedRun) -> object:
        """What its report begins with; None while it is being written or read, and of a large
        one, which takes too long."""
        if run.is_large or run.is_locked or not self._library.was_read(run):
            return None
        try:
            return run.compared([run]).first
        except ConfigError:
            return None

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
        questions = {name: run.question(name) for name in table}
        return self._page(
            "samples.html", run=run, manifest=run.manifest, table=table, conditions=conditions,
            questions=questions,
            total=total, at=at, last=max(0, -(-total // SAMPLES) - 1), given=fields,
            metric=run.main_metric, state=f"/state/{quote(run.key)}", size=SAMPLES,
            stamp=self._library.stamp(run),
        )  # fmt: skip

    def compare(self, request: Request) -> Response:
        """Conclusions and differences of a run's conditions, or of all runs of the same samples."""
        run, others, shown = self._alike(request)
        fields = {"run": run, "others": others, "shown": shown}
        try:
            compared = run.compared(shown)
        except ConfigError as exc:
            return self._page("compare.html", **fields, compared=None, problem=str(exc))
        return self._page("compare.html", **fields, compared=compared, problem=None)

    def _alike(self, request: Request) -> tuple[IndexedRun, list[IndexedRun], list[IndexedRun]]:
        """A run, the others of its samples, and those that are to be compared."""
        run = self._run(request)
        others = [o for o in self._library.runs() if o.key != run.key and _asks_same(o, run)]
        is_all = request.query_params.get("runs") == "all"
        return run, others, [run, *others] if is_all else [run]

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
        run = self._run(request)
        name = request.path_params["episode"]
        opened = _Opened(run, name)
        fields = _query_fields(request, ("condition", "status", "stop", "verdict", "sample"))
        before, after = run.index.around(name, run.index.filter_of(fields))
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
            live = any(run.is_locked for run in runs if not _broken(run))
            soon = not all(self._library.was_read(run) for run in runs if not _broken(run))
            return JSONResponse({"stamp": self._stamp(runs), "live": live, "soon": soon})
        run = self._run(request)
        if name:
            trace = run.trace_of(name)
            return JSONResponse({"stamp": _file_stamp(trace), "live": run.is_locked})
        soon = self._library.is_reading(run)
        stamp = self._library.stamp(run)
        return JSONResponse({"stamp": stamp, "live": run.is_locked, "soon": soon})

    def _run(self, request: Request) -> IndexedRun:
        run = self._library.run(request.path_params["run"])
        if run is None:
            raise _missing(f"There is no run {request.path_params['run']}.")
        return run

    def _stamp(self, runs: list[IndexedRun]) -> str:
        stamp = self._library.stamp
        return " ".join(f"{run.key}:{'-' if _broken(run) else stamp(run)}" for run in runs)


class _RunLine:
    def __init__(self, run: IndexedRun, library: Library) -> None:
        self.run = run
        self.problem = _broken(run) or library.trouble.get(run.key)
        if _broken(run):
            return
        self.manifest = run.manifest
        self.groups = run.summary.groups
        self.done = self._sum("finished") + self._sum("failed")
        self.failed, self.broken = self._sum("failed"), self._sum("broken")
        self.asked = run.manifest.planned_episodes
        self.was_read = library.was_read(run)
        self.state = "reading"  # "" for a run that is whole
        if self.was_read:
            is_whole = self.done >= self.asked
            self.state = "" if is_whole else "running" if run.is_locked else "stopped"
        self.metric = run.main_metric

    def _sum(self, status: str) -> int:
        return sum(group.counts.get(status, 0) for group in self.groups)

    @property
    def share(self) -> float:
        return 0.0 if not self.asked else min(1.0, self.done / self.asked)


class _Opened:
    """An episode, read."""

    def __init__(self, run: IndexedRun, name: str) -> None:
        self.run, self.name = run, name
        trace = run.trace_of(name)
        if trace is None:
            raise _missing(f"The run {run.key} has no episode {name}.")
        self.stamp = _file_stamp(trace)
        self.read = run.events(trace)
        self.story: Story | None = story(self.read.events, run.manifest.model_facts)
        self.verdict = assess(run, self.read.events)

    @property
    def deciding_calls(self) -> set[str]:
        """Ids of the calls that showed what the answer rests on: where pages were opened these,
        else searches that listed them."""
        if self.story is None or self.verdict.provenance is None:
            return set()
        found: dict[str, set[str]] = {"opened": set(), "returned": set()}
        calls = [call for step in self.story.steps for call in step.calls if call.done]
        for call in calls:
            for page in call.done.result.pages if call.done else ():
                if page.url in self.verdict.provenance.stands_on and page.how in found:
                    found[page.how].add(call.call.id)
        return found["opened"] or found["returned"]

    @property
    def sample(self) -> str:
        return self.name.partition("/")[2].rpartition(".")[0]

    @property
    def condition(self) -> str:
        return self.name.partition("/")[0]


def _missing(words: str) -> Exception:
    from starlette.exceptions import HTTPException

    return HTTPException(404, words)


def _broken(run: IndexedRun) -> str | None:
    """Why the run's folder cannot be read; None where it can."""
    try:
        _ = run.manifest
    except AgentEnvError as exc:
        return str(exc)
    return None


def _asks_same(one: IndexedRun, other: IndexedRun) -> bool:
    return (
        not _broken(one)
        and one.manifest.task == other.manifest.task
        and one.manifest.samples_digest == other.manifest.samples_digest
    )


def _query_fields(request: Request, names: tuple[str, ...]) -> Mapping[str, str]:
    """What the address says of these, empty ones left out."""
    parameters = request.query_params
    return {name: parameters[name].strip() for name in names if parameters.get(name, "").strip()}


def _number(text: str | None) -> int:
    """A page's number from 0; 0 for what is none."""
    return min(int(text), 10**9) if text and text.isdecimal() and text.isascii() else 0


def _file_stamp(file: Path | None) -> str:
    try:
        status = file.stat() if file else None
    except OSError:
        status = None
    return "gone" if status is None else f"{status.st_size}.{status.st_mtime_ns}"


def serve(root: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs below `root`; `ready` gets the address, of the run where it is one. Returns
    after Ctrl-C. A `port` of
    0 takes a free one; ConfigError where the port is taken."""
    with listening(port) as listener:
        bound = listener.getsockname()[1]
        library = Library(root)
        library.warm()
        app = make_app(library, bound)
        own = next((f"run/{quote(run.key)}/" for run in library.runs() if run.path == root), "")
        ready(f"http://{LOOPBACK}:{bound}/{own}")
        asyncio.run(serve_app(app, listener))
