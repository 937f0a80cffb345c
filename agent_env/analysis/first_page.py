"""The first page of a report: the finding, the scores drawn and as a table, three episodes, and how
it was found, with what it cannot show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten

import numpy as np
from markupsafe import Markup

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.examples import Example, examples
from agent_env.analysis.figures import NARROW, WIDE, scores
from agent_env.analysis.html import inline_svg
from agent_env.analysis.intervals import RESAMPLES
from agent_env.analysis.result_tables import ResultTable
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.analysis.statistics.results import conditions
from agent_env.analysis.study import Arm
from agent_env.analysis.tools_check import unused_tools
from agent_env.analysis.totals import sum_known

SENTENCES = 3
NAMES = 4
"""More models or conditions than these are counted."""
LONGEST_NAME = 60
CAPTION = (
    "Dots are means over the questions, lines their 95 % intervals. Filled: the gain is "
    "significant after Holm's correction (a diamond: the loss); hollow: it cannot be told apart "
    "from none."
)
MOST_REMARKS, LONGEST = 2, 240
"""Remarks, and characters of one."""


@dataclass(frozen=True, slots=True)
class SvgFigure:
    """A figure as SVG; the text is ours and the plotting library's, names in it are escaped."""

    name: str
    caption: str
    svg: Markup
    narrow: Markup | None = None
    """The same for a narrow screen."""


@dataclass(frozen=True, slots=True)
class FirstPage:
    finding: str
    setting: str
    """The task, the models, how many questions."""
    sentences: Sequence[str]
    figure: SvgFigure | None
    table: ResultTable
    examples: Sequence[Example]
    method: str


def first_page(comparison: Comparison, prefix: str = "") -> FirstPage:
    study = comparison.study
    whos = dict.fromkeys(f"{arm.model_label}{' (a script)' * arm.is_script}" for arm in study.arms)
    models = _listed(list(whos), "models")
    names = list(dict.fromkeys(arm.name_in_run for arm in study.arms))
    return FirstPage(
        finding=finding(comparison),
        setting=f"{study.task} · {models} · {_number(len(study.samples), 'question')} under "
        f"{_listed(names, 'conditions')}",
        sentences=conclusions(comparison)[:SENTENCES],
        figure=_figure(comparison, prefix),
        table=conditions(comparison).without_empty().without_constant({comparison.metric}),
        examples=examples(comparison),
        method=" ".join((*_limits(comparison), *_cost(study.arms))),
    )


def finding(comparison: Comparison) -> str:
    """What the contrasts of the conditions show, as a headline: who gets better with what."""
    arms, task = comparison.study.arms, comparison.study.task
    if all(arm.is_log for arm in arms):
        return f"{_listed([arm.run for arm in arms], 'logs')} on {task}"
    models = list(dict.fromkeys(arm.model_label for arm in arms))
    scripts = {arm.model_label for arm in arms if arm.is_script}
    changes: dict[str, list[tuple[Arm, Arm, bool]]] = {}
    baselines: dict[str, None] = {}
    tested = []
    for contrast in comparison.contrasts:
        planned = contrast.planned
        after, before = comparison.study.arm(planned.after), comparison.study.arm(planned.before)
        is_plain = not planned.is_interaction and not planned.is_exploratory
        if is_plain and after.run == before.run and after.condition.disturbance is None:
            tested.append((contrast, after, before))
    for contrast, after, before in [each for each in tested if not each[1].gives_away] or tested:
        baselines[before.name_in_run] = None
        if contrast.is_shown:
            is_better = ((contrast.difference.value or 0.0) > 0) is not comparison.is_error
            changes.setdefault(after.model_label, []).append((after, before, is_better))
    if not baselines:
        return f"How {_listed(models, 'models')} did on {task}"
    over = _listed(list(baselines), "baselines")
    if not changes:
        return f"No gain over {over} can be shown for {_listed(models, 'models')}"
    if len(changes) > NAMES:
        return f"{len(changes)} of {len(models)} models change with the condition on {task}"
    told = "; ".join(
        _change(f"{'The script ' * (model in scripts)}{_cut(model)}", each)
        for model, each in changes.items()
    )
    still = [model for model in models if model not in changes]
    if still:
        return f"{told}; no gain over {over} can be shown for {_listed(still, 'models')}"
    return (
        told if len(models) > 1 else f"{told}: {_scores(comparison, next(iter(changes.values())))}"
    )


def _change(model: str, changes: Sequence[tuple[Arm, Arm, bool]]) -> str:
    parts = []
    for verb, wanted in (("better", True), ("worse", False)):
        if names := [after.name_in_run for after, _, is_better in changes if is_better is wanted]:
            parts.append(f"{verb} with {_listed(names, 'conditions')}")
    return f"{model} gets {' and '.join(parts)}"


def _scores(comparison: Comparison, changes: Sequence[tuple[Arm, Arm, bool]]) -> str:
    """The score of the first, and of what it is compared with."""
    after, before, _ = changes[0]
    values = [comparison.column(arm, comparison.metric) for arm in (after, before)]
    is_count = comparison.is_rate(comparison.metric) and comparison.is_single
    if is_count and not np.isnan(values).any():
        new, old = (f"{np.nansum(column):.0f}" for column in values)
        return f"{new} of {len(values[0])} right with {after.name_in_run} instead of {old}"
    metric = comparison.metric.replace("_", " ")
    return (
        f"{metric} {np.nanmean(values[0]):.2f} with {after.name_in_run} "
        f"instead of {np.nanmean(values[1]):.2f}"
    )


def _listed(names: Sequence[str], nouns: str) -> str:
    """a, b and c; of many, how many. Long names are cut."""
    if len(names) > NAMES:
        return f"{len(names)} {nouns}"
    short = list(map(_cut, names))
    return " and ".join(filter(None, (", ".join(short[:-1]), short[-1])))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def _figure(comparison: Comparison, prefix: str) -> SvgFigure | None:
    drawn = {f"{prefix}scores-{width:.0f}": scores(comparison, width) for width in (WIDE, NARROW)}
    wide, narrow = (
        None if figure is None else inline_svg(figure, name) for name, figure in drawn.items()
    )
    return None if wide is None else SvgFigure("scores", CAPTION, wide, narrow)


def _limits(comparison: Comparison) -> Iterator[str]:
    study, clusters = comparison.study, comparison.cluster_count
    shared = "" if clusters == len(study.samples) else f" ({clusters} {comparison.hooks.shared}s)"
    sizes = [
        each.detectable for each in comparison.contrasts
        if each.detectable is not None and not each.planned.is_interaction
    ]  # fmt: skip
    yield (
        "Every condition is asked the same questions, and compared question by question. Intervals "
        "are at 95 %: of rates Wilson's, of paired differences of rates Tango's, of other means a "
        f"studentised bootstrap ({RESAMPLES:,} resamples)."
    )
    asked = f"{_number(len(study.samples), 'question')}{shared}"
    if sizes:
        yield (
            f"With {asked} a difference of {max(sizes):.2f} is found in 4 of 5 cases (at 5 %); a "
            "smaller one may be missed."
        )
    else:
        yield f"With {asked} no smallest difference that would be found can be told."
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
    others = f"; {gaps}: they are in no mean, and are 0 where failures count as 0" if gaps else ""
    finished, asked = sum(len(arm.finished) for arm in arms), sum(arm.asked for arm in arms)
    sentences = [f"Of {_number(asked, 'episode')} asked for, {finished:,} finished{others}."]
    if unread := kinds["unreadable"]:
        sentences.append(f"{_number(unread, 'answer')} could not be read and score 0.")
    if unscored := kinds["scorer_failed"]:
        sentences.append(f"{unscored:,} whose scorer failed are in no figure.")
    return " ".join(sentences)


def _cost(arms: Sequence[Arm]) -> Iterator[str]:
    """Tokens, money and time of all conditions, failed episodes too."""
    spent = [arm.spent for arm in arms if arm.spent is not None]
    if not spent:
        return
    sums = {
        name: sum_known([getattr(each, name) for each in spent])
        for name in ("input_tokens", "output_tokens", "cost_usd")
    }
    into, out, money = sums.values()
    tokens = "unknown" if into is None or out is None else f"{into:,} in and {out:,} out"
    cost = "unknown" if money is None else f"${money:,.2f}"
    seconds = sum_known([o.used.get("duration_s") for arm in arms for o in arm.observations])
    minutes = "unknown" if seconds is None else f"{max(1.0, seconds / 60):,.0f} min"
    yield (
        f"In all {_number(sum(each.calls for each in spent), 'model call')}; tokens: {tokens}; "
        f"cost: {cost}; time of all episodes: {minutes}."
    )
