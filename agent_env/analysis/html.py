"""HTML of results: one set of templates for the report, papers' pages, the viewer and notebooks.

Guaranteed: everything is escaped, control characters and turners of direction are seen; a page
loads nothing, and its own script is allowed by its digest and no other is.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from functools import cache
from typing import TYPE_CHECKING

from agent_env.extras import missing_of
from agent_env.records.escaping import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

PORTRAIT = 104
"""Characters of a printed table's line; a wider table is on a landscape page."""


def page(template: str, **values: object) -> str:
    from markupsafe import Markup

    script = _source("report.js")
    return (
        _environment()
        .get_template(template)
        .render(
            script=Markup(script),  # files of this package, like the style
            style=Markup(_source("tables.css") + _source("report.css")),
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **values,
        )
    )


def rendered(macro: str, *values: object) -> Markup:
    made: Markup = getattr(_environment().get_template("tables.html").module, macro)(*values)
    return made


def in_notebook(macro: str, *values: object) -> str | None:
    """The same with its style, for a notebook; None without the extra `analysis`."""
    if missing_of("jinja2"):
        return None
    made = rendered(macro, *values)
    return f'<div class="agent-env"><style>{_source("tables.css")}</style>{made}</div>'


def inline_svg(figure: Figure, name: str) -> Markup:
    """The figure for a page: texts as texts, in the page's font and colours; no style that a strict
    policy refuses; its ids apart from those of other figures."""
    from markupsafe import Markup
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):  # else its ids are random
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<(metadata|style)\b(?:(?!<metadata|<style).)*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--(?:(?!<!--).)*?-->\s*", "", text, flags=re.DOTALL)  # they name labels
    text = re.sub(r' style="([^"]*)"', lambda found: _attributes(found[1]), text)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    return Markup(re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", text))


def _attributes(style: str) -> str:
    """A style as attributes; a colour of the palette by its name in the page."""
    from agent_env.analysis.drawing import PALETTE

    made = ""
    for each in style.split(";"):
        key, _, value = (part.strip() for part in each.partition(":"))
        if key and key != "font-family":  # which is the page's
            name = PALETTE.get(value)
            made += f' {key}="{f"var(--{name}, {value})" if name else value}"'
    return made


class Figures(dict[str, "Figure"]):
    def _repr_html_(self) -> str | None:
        return in_notebook(
            "pictures", {name: inline_svg(figure, name) for name, figure in self.items()}
        )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("agent_env.analysis"),
        autoescape=True,
        finalize=lambda value: (
            visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    environment.tests["wide"] = lambda t: t.name != "settings" and not t.fits(PORTRAIT)
    return environment


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]
