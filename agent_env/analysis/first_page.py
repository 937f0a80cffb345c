"""The first page of a report: the question, the differences drawn, three conclusions, what the data
cannot show, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten

from markupsafe import Markup

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.figures import condition_bars, forest, forest_rows, rows_that_fit
from agent_env.analysis.html import inline_svg
from agent_env.analysis.result_tables import Column
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.study import Arm
from agent_env.analysis.tools_check import unused_tools
from agent_env.analysis.totals import sum_known

SENTENCES = 3
NAMES = 5
"""More models or conditions than these are counted."""
LONGEST_NAME = 60
LINES = 14
"""Of the figure."""
FOREST = "Differences, paired by question."
MOST_REMARKS, LONGEST = 2, 240
"""Remarks, and characters of one."""


@dataclass(frozen=True, slots=True)
class SvgFigure:
    """A figure as SVG; the text is ours and the plotting library's, names in it are escaped."""

    name: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class FirstPage:
    question: str
    setting: str
    """What was asked of whom, how often."""
    figure: SvgFigure | None
    sentences: Sequence[str]
    caveats: Sequence[str]
    cost: Sequence[str]


def first_page(comparison: Comparison, prefix: str = "") -> FirstPage:
    study = comparison.study
    tools: dict[str, str] = {}
    for arm in study.arms:
        names = () if arm.condition.disturbance else arm.condition.tools
        offered = f" ({', '.join(names)})" if names else ""
        tools.setdefault(arm.name_in_run, f"{arm.name_in_run}{offered}")
    ways = f"under {_listed(list(tools.values()), 'and', 'conditions')}"
    each = max((arm.asked for arm in study.arms), default=0) / (len(study.samples) or 1)
    times = f", {each:.3g} times each" if each > 1 else ""
    means = zip(study.arms, comparison.means[comparison.metric], strict=True)
    scores = [f"{_cut(arm.label)} {Column('').text(mean.cell)}" for arm, mean in means]
    metric = f"{comparison.metric.replace('_', ' ')}{', the less the better' * comparison.is_error}"
    values = f": {', '.join(scores)}" if len(scores) <= NAMES else ""
    return FirstPage(
        question=question_of(comparison),
        setting=f"{_number(len(study.samples), 'question')} {ways}{times}. Mean {metric}{values}.",
        figure=_figure(comparison, prefix),
        sentences=conclusions(comparison)[:SENTENCES],
        caveats=list(_caveats(comparison)),
        cost=list(_cost(comparison.study.arms)),
    )


def question_of(comparison: Comparison) -> str:
    """Does MODEL get better with X on TASK? In words, of any number of models and conditions."""
    arms, task = comparison.study.arms, comparison.study.task
    if all(arm.is_log for arm in arms):
        return f"Which does best on {task}: {_listed([arm.run for arm in arms], 'or', 'logs')}?"
    models = list(dict.fromkeys(arm.model_label for arm in arms))
    names = list(dict.fromkeys(a.condition.name for a in arms if a.condition.disturbance is None))
    disturbed = dict.fromkeys(a.condition.name for a in arms if a.condition.disturbance)
    who, also = _listed(models, "and", "models"), ""
    if disturbed:
        also = f", and what changes under {_listed(list(disturbed), 'and', 'disturbances')}"
    if len(names) < 2 and len(models) > 1:
        return f"Which does best on {task}: {_listed(models, 'or', 'models')}{also}?"
    if len(names) < 2:
        return f"How well does {who} do on {task}{also}?"
    verb = "Does" if len(models) == 1 else "Do"
    ways = _listed(names[1:], "or", "conditions")
    return f"{verb} {who} get better on {task} with {ways} than under {names[0]}{also}?"


def _listed(names: Sequence[str], last: str, nouns: str) -> str:
    """a, b or c; of many, how many. Long names are cut."""
    if len(names) > NAMES:
        return f"{'any of ' if last == 'or' else ''}{len(names)} {nouns}"
    short = list(map(_cut, names))
    return f" {last} ".join(filter(None, (", ".join(short[:-1]), short[-1])))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _figure(comparison: Comparison, prefix: str) -> SvgFigure | None:
    """The differences, as many as fit; without any the scores."""
    rows, name = forest_rows(comparison), f"{prefix}first"
    shown = rows_that_fit(rows, LINES)
    if figure := forest(comparison, shown):
        counts = [sum(row.contrast is not None for row in each) for each in (shown, rows)]
        rest = f" {counts[0]} of {counts[1]}; the appendix has all." if shown != rows else ""
        return SvgFigure(name, f"{FOREST}{rest}", inline_svg(figure, name))
    bars = condition_bars(comparison) if len(comparison.study.arms) <= NAMES else None
    return None if bars is None else SvgFigure(name, "The scores.", inline_svg(bars, name))


def _caveats(comparison: Comparison) -> Iterator[str]:
    study, clusters = comparison.study, comparison.cluster_count
    shared = "" if clusters == len(study.samples) else f" ({clusters} {comparison.hooks.shared}s)"
    sizes = [
        each.detectable for each in comparison.contrasts
        if each.detectable is not None and not each.planned.is_interaction
    ]  # fmt: skip
    smallest = (
        f" can show a difference of {max(sizes):.2f} or more (in 4 of 5 cases, at 5 %); a smaller "
        "one may be missed." if sizes else " are too few or too alike to tell the smallest "
        "difference that could be shown."
    )  # fmt: skip
    yield f"{_number(len(study.samples), 'question')}{shared}{smallest}"
    yield outcome_text(study.arms)
    for text in unused_tools(study.arms):
        yield f"{text[0].upper()}{text[1:]}."
    for remark in study.notes[:MOST_REMARKS]:
        yield shorten(remark, LONGEST, placeholder=" …")
    if (more := len(study.notes) - MOST_REMARKS) > 0:
        yield f"{_number(more, 'more remark')} with the table of conditions."


def outcome_text(arms: Sequence[Arm]) -> str:
    """How many episodes finished, and what became of the others."""
    kinds = sum((arm.outcomes for arm in arms), Counter[str]())
    kinds["never begun"] = sum(arm.missing for arm in arms)
    names = {"failed": "failed", "unfinished": "were cut off",
             "never begun": "never began or have no readable trace"}  # fmt: skip
    gaps = ", ".join(f"{kinds[kind]:,} {words}" for kind, words in names.items() if kinds[kind])
    others = f"; {gaps}: they enter no mean, and are 0 where failures count as 0" if gaps else ""
    finished, asked = sum(len(arm.finished) for arm in arms), sum(arm.asked for arm in arms)
    sentences = [f"Of {_number(asked, 'episode')} asked for, {finished:,} finished{others}."]
    if unread := kinds["unreadable"]:
        sentences.append(f"{_number(unread, 'answer')} could not be read and score 0.")
    if unscored := kinds["scorer_failed"]:
        sentences.append(f"{unscored:,} whose scorer failed enter no figure.")
    return " ".join(sentences)


def _cost(arms: Sequence[Arm]) -> Iterator[str]:
    """Tokens, money and time of all conditions, failed episodes too."""
    spent = [arm.spent for arm in arms if arm.spent is not None]
    if not spent:
        yield "Not known."
        return
    sums = {
        name: sum_known([getattr(each, name) for each in spent])
        for name in ("input_tokens", "output_tokens", "cost_usd")
    }
    into, out, money = sums.values()
    tokens = "unknown" if into is None or out is None else f"{into:,} in, {out:,} out"
    yield f"Tokens: {tokens}, in {_number(sum(each.calls for each in spent), 'model call')}."
    yield "Money: unknown, as prices or counts are." if money is None else f"Money: ${money:,.2f}."
    seconds = sum_known([o.used.get("duration_s") for arm in arms for o in arm.observations])
    minutes = None if seconds is None else f"{max(1.0, seconds / 60):,.0f} min"
    yield f"Time: {minutes or 'unknown'}, all episodes added up."
