"""Templates filled in: everything is escaped, and control characters are made visible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from agent_env.analysis.result_tables import text_of
from agent_env.records.escaping import visible

_LINK = re.compile(r"^https?://[^\s\"'<>\\]+$", re.IGNORECASE)


def environment() -> Environment:
    """The templates with their filters; what they do not know is an error."""
    templates = Environment(
        loader=PackageLoader("agent_env.viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "plain": plain,
        "cell": text_of,
        "count": count,
        "score": score,
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
    """The template as a response."""
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
