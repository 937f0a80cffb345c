"""A comparison as one HTML file: it loads nothing, and no text of a run can become code in it.

Everything is escaped, control characters and turners of direction are seen; the page's own script
is allowed by its digest and no other is.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agent_env.analysis.breakdowns import breakdown
from agent_env.analysis.comparison import Comparison
from agent_env.analysis.conclusions import conclusions
from agent_env.analysis.diagnosis_tables import RunDiagnosis, diagnosis_tables
from agent_env.analysis.figures import all_figures
from agent_env.analysis.method import method_words, settings
from agent_env.analysis.result_tables import Cell, Column, ResultTable, text_of
from agent_env.analysis.statistics import statistics_of, tables_of
from agent_env.records.escaping import visible
from agent_env.records.manifest import Manifest

CAPTIONS = {
    "forest": "Every difference, paired by sample, with its 95 % interval; thin: the interval that "
    "holds for all of them together. Filled: significant after Holm's correction.",
    "dose-steps": "The main metric over the steps of an episode; the line is the slope within "
    "samples. An association: models choose their steps.",
    "dose-tokens": "The main metric over the tokens of an episode; the line is the slope within "
    "samples. An association: models choose their tokens.",
    "by-solutions": "The main metric over the number of solutions, a panel per run.",
    "conditions": "The main metric and output tokens by condition, with 95 % intervals.",
    "frontier": "The main metric against what an episode costs; the line joins what nothing "
    "cheaper equals. Without conditions that give the answer away.",
    "flips": "On how many samples each difference goes up and down.",
    "reliability": "pass^k: the chance that k episodes of one sample are all right.",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its tables."""

    name: str
    title: str
    tables: Sequence[ResultTable]


@dataclass(frozen=True, slots=True)
class SvgFigure:
    """A figure as SVG; the text is ours and the plotting library's, names in it are escaped."""

    name: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class Chapter:
    """What a report says of one comparison."""

    title: str
    """Of the task, where there are several."""
    prefix: str
    """Of the chapter's ids in the page; "" where it is the only one."""
    conclusions: Sequence[str]
    words: Sequence[str]
    """Of the method."""
    sections: Sequence[Section]
    settings: ResultTable
    figures: Sequence[SvgFigure]


def report_html(
    comparison: Comparison,
    manifests: Mapping[str, Manifest],
    diagnoses: Sequence[RunDiagnosis] = (),
) -> str:
    """The whole report; `manifests` by the runs' names in the study."""
    title = f"{comparison.study.task}: {', '.join(_models(comparison))}"
    return report_of([chapter_of(comparison, manifests, diagnoses)], title)


def chapter_of(
    comparison: Comparison,
    manifests: Mapping[str, Manifest],
    diagnoses: Sequence[RunDiagnosis] = (),
    title: str = "",
) -> Chapter:
    """The chapter of a comparison; the title tells several apart."""
    prefix = f"{re.sub('[^A-Za-z0-9]+', '-', title)}-" if title else ""
    return Chapter(
        title=title,
        prefix=prefix,
        conclusions=conclusions(comparison),
        words=method_words(comparison, manifests),
        sections=_sections(comparison, diagnoses),
        settings=settings(manifests),
        figures=[
            SvgFigure(name, CAPTIONS.get(name, name), inline_svg(figure, f"{prefix}{name}"))
            for name, figure in all_figures(comparison).items()
        ],
    )


def report_of(chapters: Sequence[Chapter], title: str) -> str:
    """One page with all chapters."""
    return page("report.html", title=title, chapters=chapters)


def page(template: str, **values: object) -> str:
    """The template as one file, with the tables' script and style in it."""
    environment = Environment(
        loader=PackageLoader("agent_env.analysis"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": text_of, "weight": _weight}
    loader = environment.loader
    assert loader is not None
    script = loader.get_source(environment, "report.js")[0]
    style = loader.get_source(environment, "report.css")[0]
    return environment.get_template(template).render(
        script=Markup(script),  # files of this package, like the style
        style=Markup(style),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **values,
    )


def _seen(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _models(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(arm.model for arm in comparison.study.arms))


def _sections(comparison: Comparison, diagnoses: Sequence[RunDiagnosis]) -> list[Section]:
    titles: dict[str, list[ResultTable]] = {}
    for statistic in statistics_of(comparison):
        if statistic.name == "conclusions":  # they stand above everything
            continue
        titles.setdefault(statistic.section, []).extend(tables_of(comparison, [statistic]))
    titles["Broken down"] = [breakdown(comparison, name) for name in comparison.groups]
    titles["Why answers are wrong"] = [t for run in diagnoses for t in diagnosis_tables(run)]
    return [
        Section(
            re.sub("[^a-z]+", "-", title.lower()),
            title,
            [t.without_empty() for t in tables],
        )
        for title, tables in titles.items()
        if tables
    ]


def _weight(cell: Cell, column: Column) -> str:
    """What a table is sorted by; empty for what is unknown."""
    value = cell[0] if isinstance(cell, tuple) else cell
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def inline_svg(figure: Figure, name: str) -> Markup:
    """The figure without prolog, its ids apart from those of other figures."""
    FigureCanvasAgg(figure)
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>(?:(?!<metadata>).)*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r"<!--(?:(?!<!--).)*?-->\s*", "", text, flags=re.DOTALL
    )  # it names glyphs, labels too
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", text)
    return Markup(text)
