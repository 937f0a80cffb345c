"""A comparison as one HTML file: one page to read, and folded sections to look up.

A section is printed where a reader has opened it. The method section is that of a paper on the runs
compared, as text and as a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.examples import ExampleAnswer
from agent_env.analysis.figures import forest, forest_rows, frontier
from agent_env.analysis.first_page import FirstPage, SvgFigure, first_page, outcome_text
from agent_env.analysis.html import inline_svg, page
from agent_env.analysis.intervals import RESAMPLES, SEED
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import statistics_of
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.statistics.results import breakdown
from agent_env.analysis.summary import on_forms
from agent_env.analysis.tools_check import ToolsCheck, tools_checks
from agent_env.models.addresses import short_names
from agent_env.records.manifest import Manifest, Preflight

Block = ResultTable | SvgFigure


def method_words(comparison: Comparison, manifests: Mapping[str, Manifest]) -> list[str]:
    """Paragraphs to copy; what differs between the runs is in the table of settings."""
    study = comparison.study
    models = ", ".join(short_names(arm.model for arm in study.arms).values())
    conditions = ", ".join(dict.fromkeys(arm.name_in_run for arm in study.arms))
    repeats = sorted({manifest.repeats for manifest in manifests.values()})
    each = " or ".join(map(str, repeats)) if repeats else "an unknown number of"
    design = (
        f"Task {study.task}: {len(study.samples)} samples that all runs share, under the "
        f"conditions {conditions}, {each} episode{'s' if repeats != [1] else ''} of each sample "
        f"and condition. Models: {models}.{_first_steps(comparison)}"
        f"{''.join(f' {note}' for note in on_forms(arm.condition for arm in study.arms))}"
    )
    test = (
        f"Main metric: {comparison.metric}. {comparison.cluster_count} clusters of samples are "
        "independent. Intervals are at 95 %: of rates Wilson's, of paired differences of rates "
        "Tango's, both at the effective n; of other means a studentised bootstrap of clusters "
        f"({RESAMPLES:,} resamples, seed {SEED}). "
        "p-values are exact (McNemar, or the signs of clusters), two-sided, corrected by Holm over "
        "the table; simultaneous intervals are Bonferroni's."
    )
    return [design, outcome_text(study.arms), test, *comparison.remarks]


def _first_steps(comparison: Comparison) -> str:
    """What shapes every result under tools."""
    words = {
        "required": "had to call a tool (tool_choice: required)",
        "auto": "was free to call a tool (auto)",
        "none": "must not call a tool (none)",
    }
    choices: dict[str, dict[str, ToolsCheck]] = {}
    for label, check in tools_checks(comparison.study.arms):
        is_prompted = check.in_text and check.first_step == "required"
        asked = (
            "was asked to call a tool, in the prompt" if is_prompted else words[check.first_step]
        )
        choices.setdefault(asked, {})[label] = check
    texts = []
    for asked, checks in choices.items():
        required = sum(check.required for check in checks.values())
        obeyed = sum(check.obeyed for check in checks.values())
        did = f"; {obeyed:,} of {required:,} did" if required else ""
        texts.append(f"under {', '.join(checks)} it {asked}{did}")
    return f" The first step: {'. '.join(texts)}; later steps were free." if texts else ""


def settings(manifests: Mapping[str, Manifest]) -> ResultTable:
    rows = []
    columns = [dict(_settings(manifest)) for manifest in manifests.values()]
    for name in dict.fromkeys(name for column in columns for name in column):
        values: list[Cell] = [column.get(name) for column in columns]
        if any(value is not None for value in values):
            rows.append((name, *values))
    heads = (Column("setting"), *(Column(run) for run in manifests))
    return ResultTable("settings", "How the runs were made", heads, tuple(rows))


def _settings_tables(manifests: Mapping[str, Manifest]) -> list[Block]:
    """What is the same in all runs, and what differs, a run a row."""
    table = settings(manifests)
    same = tuple(row[:2] for row in table.rows if len(set(row[1:])) == 1)
    differing = [row for row in table.rows if len(set(row[1:])) > 1]
    values = Column("value" if len(manifests) == 1 else "in all runs")
    tables: list[Block] = [replace(table, columns=(Column("setting"), values), rows=same)]
    if differing:
        names, *columns = zip(*differing, strict=True)
        rows = tuple((run, *cells) for run, cells in zip(manifests, columns, strict=True))
        heads = (Column("run"), *(Column(str(name)) for name in names))
        tables.append(ResultTable("settings", "What differs between the runs", heads, rows))
    return tables


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
    yield "difficulty", None if manifest.tier is None else str(manifest.tier)
    scorer = manifest.options.get("scorer") if manifest.scorer is None else manifest.scorer
    yield "scorer", str(scorer or "the task's")
    yield "metrics of their own", ", ".join(manifest.metrics) or None
    others = {name: value for name, value in manifest.options.items() if name != "scorer"}
    yield "task options", _pairs_text(others)
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
    yield "pages without a date", web.undated
    yield "leaks withheld", ("yes" if web.block_leaks else "no") if manifest.web else None
    for use in manifest.contexts:
        yield f"pages of {use.name}", f"{use.source_model} {use.source_condition}, {use.digest}"
    yield "tokens counted by", manifest.tokenizer if source is None else None
    yield "prices of", manifest.model_facts.date if manifest.model_facts else None
    facts = manifest.model_facts
    yield "knowledge cutoff", facts.knowledge_cutoff if facts else None
    yield "versions", _pairs_text(manifest.versions)
    yield "trace version", manifest.v
    yield "changes when resumed", "; ".join(manifest.changes) or None


def _preflight_text(preflight: Preflight) -> str:
    parts = [f"answered by {preflight.served_model or 'unknown'}"]
    if preflight.context_tokens is not None:
        parts.append(f"context {preflight.context_tokens}")
    if preflight.template_digest is not None:
        parts.append(f"template {preflight.template_digest[:12]}")
    return ", ".join(parts)


def _pairs_text(values: Mapping[str, object]) -> str | None:
    pairs = [f"{name} {value}" for name, value in values.items() if value not in (None, {}, "")]
    return ", ".join(pairs) or None


FIGURES = {
    "forest": ("differences", "Differences, paired by question."),
    "frontier": ("use", "The score against what an episode costs; the line joins what nothing "
                 "cheaper equals. Without conditions that give the answer away."),
}  # fmt: skip
"""By name: the table that the figure follows, and its caption."""
EVIDENCE = ("shortcuts", "tools_check", "answers", "evidence")
"""Tables that say why, beside those of the section on faults and attacks."""
MOST_ROWS = 24
"""A longer table is among all others; more conditions have no frontier."""
ROWS_OF_PART = 40
"""Of a figure."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, tables and figures; it is folded until a reader opens it."""

    name: str
    title: str
    blocks: Sequence[Block]
    words: Sequence[str] = ()
    texts: Sequence[str] = ()
    """Of episodes."""

    @property
    def content(self) -> str:
        """Its first tables, in a line."""
        titles = list(
            dict.fromkeys(each.title for each in self.blocks if isinstance(each, ResultTable))
        )
        more = f", and {len(titles) - 3} more" if len(titles) > 3 else ""
        return f"{' · '.join(titles[:3])}{more}" if titles != [self.title] else ""


@dataclass(frozen=True, slots=True)
class Chapter:
    title: str
    """Of the task, where there are several."""
    prefix: str
    """Of the chapter's ids in the page; "" where it is the only one."""
    first: FirstPage
    sections: Sequence[Section]


def chapter_of(
    comparison: Comparison,
    manifests: Mapping[str, Manifest],
    title: str = "",
    text_of: Callable[[ExampleAnswer], str] | None = None,
) -> Chapter:
    """The chapter of a comparison, with the sections that have something; `text_of` gives an
    episode readably."""
    prefix = f"{re.sub('[^A-Za-z0-9]+', '-', title)}-" if title else ""
    first = first_page(comparison, prefix)
    results: list[Block] = []
    evidence: list[Block] = []
    others: list[Block] = []
    figures = _figures(comparison, prefix)
    same: list[str] = []
    results += _sentences("All conclusions", conclusions(comparison))
    for table, place in _tables(comparison):
        whole = table.without_empty()
        telling = whole.without_constant({comparison.metric})
        section = {"results": results, "evidence": evidence}.get(place, others)
        if len(telling.columns) == 1 < len(whole.columns):
            same.append(f"{table.title} {telling.notes[0]}")
            others.append(whole)
            continue
        section = others if len(telling.rows) > MOST_ROWS else section
        section.append(telling)
        section += figures.pop(table.name, [])
    evidence += _sentences("In one line, as no table says more", same)
    others += [figure for rest in figures.values() for figure in rest]
    shown = [] if text_of is None else [each.answers[-1] for each in first.examples]
    sections = [
        Section("episodes", "These episodes in full", [],
                texts=[text_of(each) for each in shown] if text_of else []),
        Section("results", "All differences and tests", results),
        Section("evidence", "Where the answers came from", evidence),
        Section("method", "How the runs were made", _settings_tables(manifests),
                method_words(comparison, manifests)),
        Section("others", "All other tables", others),
    ]  # fmt: skip
    return Chapter(
        title, prefix, first, [each for each in sections if each.blocks or each.words or each.texts]
    )


def report_of(chapters: Sequence[Chapter], title: str) -> str:
    return page("report.html", title=title, chapters=chapters)


def _sentences(title: str, sentences: Sequence[str]) -> list[ResultTable]:
    """Sentences as a list; none without any."""
    rows = tuple((text,) for text in sentences)
    return [ResultTable("sentences", title, (Column(""),), rows)] if rows else []


def _tables(comparison: Comparison) -> Iterator[tuple[ResultTable, str]]:
    """Every table that has rows and is not on the first page, with the name of its section."""
    for statistic in statistics_of(comparison):
        is_first = statistic.name in ("conclusions", "conditions")
        if not is_first and (table := statistic(comparison)).rows:
            is_result = statistic.section == "Results"
            is_evidence = statistic.name in EVIDENCE or statistic.section == "Faults and attacks"
            yield table, "evidence" if is_evidence else "results" if is_result else "others"
    if len(comparison.study.arms) <= MOST_ROWS:
        yield from ((breakdown(comparison, name), "others") for name in comparison.groups)


def _figures(comparison: Comparison, prefix: str) -> dict[str, list[Block]]:
    """By the table that they follow."""
    rows = forest_rows(comparison)
    drawn = {
        f"forest-{place}": forest(comparison, rows[place : place + ROWS_OF_PART])
        for place in range(0, len(rows), ROWS_OF_PART)
    }
    if len(comparison.study.arms) <= MOST_ROWS:
        drawn["frontier"] = frontier(comparison)
    figures: dict[str, list[Block]] = {}
    for name, figure in drawn.items():
        after, caption = FIGURES[name.partition("-")[0]]
        if figure is not None:
            svg = inline_svg(figure, f"{prefix}{name}")
            figures.setdefault(after, []).append(SvgFigure(name, caption, svg))
    return figures
