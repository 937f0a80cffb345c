"""A comparison as one HTML file: it loads nothing, and no text of a run can become code in it.

Everything is escaped, control characters and turners of direction are seen; the page's own script
is allowed by its digest and no other is.

It has the method section of a paper on the runs compared, as text and as a table.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.diagnosis_tables import RunDiagnosis, diagnosis_tables
from agent_env.analysis.figures import all_figures
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import statistics_of, tables_of
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.statistics.results import breakdown
from agent_env.analysis.summary import on_forms
from agent_env.models.addresses import short_names
from agent_env.records.escaping import visible
from agent_env.records.manifest import Manifest, Preflight


def method_words(comparison: Comparison, manifests: Mapping[str, Manifest]) -> list[str]:
    """Paragraphs to copy; what differs between the runs stands in the table of settings."""
    return [
        _design_text(comparison, manifests),
        _outcome_text(comparison),
        _test_text(comparison),
        *comparison.remarks,
    ]


def _design_text(comparison: Comparison, manifests: Mapping[str, Manifest]) -> str:
    study = comparison.study
    models = ", ".join(short_names(arm.model for arm in study.arms).values())
    conditions = ", ".join(dict.fromkeys(arm.name_in_run for arm in study.arms))
    repeats = sorted({manifest.repeats for manifest in manifests.values()})
    each = " or ".join(map(str, repeats)) if repeats else "an unknown number of"
    return (
        f"Task {study.task}: {len(study.samples)} samples that all runs share, under the "
        f"conditions {conditions}, {each} episode{'s' if repeats != [1] else ''} of each sample "
        f"and condition. Models: {models}.{_first_steps(comparison)}"
        f"{''.join(f' {note}' for note in on_forms(arm.condition for arm in study.arms))}"
    )


def _first_steps(comparison: Comparison) -> str:
    """What shapes every result under tools."""
    choices: dict[str, dict[str, None]] = {}
    for arm in comparison.study.arms:
        if arm.condition.tools:
            choices.setdefault(arm.condition.first_step, {})[arm.condition.name] = None
    words = {
        "required": "had to call a tool (tool_choice: required)",
        "auto": "was free to call a tool (auto)",
        "none": "must not call a tool (none)",
    }
    texts = [f"under {', '.join(names)} it {words[choice]}" for choice, names in choices.items()]
    return f" The first step: {'; '.join(texts)}; later steps were free." if texts else ""


def _outcome_text(comparison: Comparison) -> str:
    arms = comparison.study.arms
    planned = sum(arm.asked for arm in arms)
    finished = sum(len(arm.finished) for arm in arms)
    kinds = sum((arm.outcomes for arm in arms), Counter[str]())
    missing = sum(arm.missing for arm in arms)
    unscored = kinds["scorer_failed"]
    unscored_text = f" {unscored:,} whose scorer failed enter no figure." if unscored else ""
    return (
        f"Of {planned:,} episodes asked for, {finished:,} finished; {kinds['failed']:,} failed, "
        f"{kinds['unfinished']:,} were cut off and {missing:,} never began or have no readable "
        "trace: these enter no mean, and are counted as 0 where a figure is said to be of all. "
        f"{kinds['unreadable']:,} finished episodes gave an answer that the reading rules cannot "
        f"read; they score 0.{unscored_text}"
    )


def _test_text(comparison: Comparison) -> str:
    options, clusters = comparison.options, comparison.cluster_count
    return (
        f"Main metric: {comparison.metric}. Intervals are at 95 %: Wilson's for shares, else a "
        f"bootstrap of {clusters} clusters of samples. Differences are paired by sample and tested "
        "by a sign-flip permutation of whole clusters (two-sided, mid-p), corrected by Holm over "
        f"the table; {options.resamples:,} resamples, seed {options.seed}."
    )


def settings(manifests: Mapping[str, Manifest]) -> ResultTable:
    """The settings of each run, one a row."""
    rows = []
    columns = [dict(_settings(manifest)) for manifest in manifests.values()]
    for name in dict.fromkeys(name for column in columns for name in column):
        values: list[Cell] = [column.get(name) for column in columns]
        if any(value is not None for value in values):
            rows.append((name, *values))
    heads = (Column("setting"), *(Column(run) for run in manifests))
    return ResultTable("settings", "How the runs were made", heads, tuple(rows))


def _settings(manifest: Manifest) -> Iterator[tuple[str, Cell]]:
    web = manifest.web_settings
    yield "run", manifest.id
    if (source := manifest.imported) is not None:
        yield "log of another tool", f"{source.file}, {source.tool}"
        yield "what it lacks", " ".join(source.notes) or None
    yield "begun", manifest.created_at if source is None else None
    yield "task", manifest.task
    yield "model", manifest.model
    yield "model parameters", _pairs_text(manifest.model_parameters)
    yield "prompt", manifest.prompt_file.name if manifest.prompt_file else manifest.prompt or None
    yield "prompt's digest", manifest.prompt_file.digest if manifest.prompt_file else None
    yield "system text's digest", manifest.system_file.digest if manifest.system_file else None
    yield "task options", _pairs_text(manifest.options)
    if source is None:
        yield "conditions", ", ".join(c.name for c in manifest.conditions)
        yield "strategies", ", ".join(dict.fromkeys(c.strategy for c in manifest.conditions))
        first = ", ".join(f"{c.name} {c.first_step}" for c in manifest.conditions if c.tools)
        yield "first step", first or None
    yield "preflight", "; ".join(_preflight_text(p) for p in manifest.preflights) or None
    yield "samples", manifest.samples
    yield "samples' digest", manifest.samples_digest
    yield "seed", manifest.seed
    yield "dataset", manifest.dataset
    yield "filters", ", ".join(manifest.where) or None
    yield "repeats", manifest.repeats
    if (until := manifest.until) is not None:
        rest = {"alpha": until.alpha, "margin": until.margin, "max": until.max_samples}
        yield "stops early by", f"{', '.join(until.contrasts)}; {_pairs_text(rest)}"
    yield "limits of an episode", _pairs_text(manifest.limits)
    yield "limits of the run", _pairs_text(manifest.run_limits)
    yield "retries", _pairs_text(manifest.retries)
    yield "reply cache", None if manifest.reply_cache is None else "used"
    yield "sandbox", manifest.sandbox
    yield "web", manifest.web
    yield "web search", web.search
    yield "pages searched by", web.index
    yield "page store's digest", web.pages_digest
    yield "pages as of", web.as_of
    yield "leaks withheld", ("yes" if web.block_leaks else "no") if manifest.web else None
    for use in manifest.contexts:
        yield f"pages of {use.name}", f"{use.source_model} {use.source_condition}, {use.digest}"
    yield "tokens counted by", manifest.tokenizer if source is None else None
    yield "prices of", manifest.model_facts.date if manifest.model_facts else None
    facts = manifest.model_facts
    yield "knowledge cutoff", facts.knowledge_cutoff if facts else None
    for package, version in manifest.versions.items():
        yield f"version of {package}", version
    yield "trace version", manifest.v
    yield "changes when resumed", "; ".join(manifest.changes) or None


def _preflight_text(preflight: Preflight) -> str:
    """What the preflight saw."""
    parts = [f"answered by {preflight.served_model or 'unknown'}"]
    if preflight.context_tokens is not None:
        parts.append(f"context {preflight.context_tokens}")
    if preflight.template_digest is not None:
        parts.append(f"template {preflight.template_digest[:12]}")
    return ", ".join(parts)


def _pairs_text(values: Mapping[str, object]) -> str | None:
    pairs = [f"{name} {value}" for name, value in values.items() if value not in (None, {}, "")]
    return ", ".join(pairs) or None


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


def report_of_tables(
    title: str,
    method: str,
    tables: Sequence[ResultTable],
    figures: Mapping[str, tuple[str, Figure]],
    manifests: Mapping[str, Manifest],
) -> str:
    """One page with these tables as results, and the figures with their captions, by name."""
    chapter = Chapter(
        title="",
        prefix="",
        conclusions=(),
        words=(method,),
        sections=[Section("results", "Results", [table.without_empty() for table in tables])],
        settings=settings(manifests),
        figures=[
            SvgFigure(name, caption, inline_svg(figure, name))
            for name, (caption, figure) in figures.items()
        ],
    )
    return report_of([chapter], title)


def page(template: str, **values: object) -> str:
    """The template as one file, with the tables' script and style in it."""
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
    environment.filters |= {"weight": _weight}
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
    with rc_context({"svg.hashsalt": name}):  # else its ids are random
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
