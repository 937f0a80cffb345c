"""Requirements that a comparison has to meet, for CI: `web-base >= 0.05`, `cost <= 2`.

A difference or a mean is judged by its 95 % confidence interval: met where all of it satisfies the
requirement, not met where none of it does, else not known yet. Sums are judged by themselves; one
of which a part is unknown is not known yet.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal
from xml.etree import ElementTree

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.totals import sum_known
from agent_env.errors import ConfigError
from agent_env.records.escaping import visible

Answer = Literal["met", "not met", "not known yet"]

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
SUMS = ("cost", "tokens", "failed")
"""Of all episodes: USD, input and output tokens, episodes that failed or did not come to an end."""
EXIT_CODES: Mapping[Answer, int] = {"met": 0, "not met": 1, "not known yet": 3}


@dataclass(frozen=True, slots=True)
class Judged:
    requirement: str
    answer: Answer
    subject: str
    """What was estimated: the contrast with its model, the condition, or the sum."""
    value: str
    """The estimate with its interval and n."""

    def __str__(self) -> str:
        return f"{self.answer}: {self.requirement}: {self.subject} {self.value}"


def exit_code(judged: Sequence[Judged]) -> int:
    """0 where all are met, 1 where one is not, else 3."""
    answers = {each.answer for each in judged}
    return next((EXIT_CODES[a] for a in ("not met", "not known yet") if a in answers), 0)


def judge(texts: Sequence[str], comparison: Comparison) -> list[Judged]:
    """All requirements, for each model; ConfigError for one that cannot be read."""
    return [judged for text in texts for judged in _judge(text, comparison)]


def _judge(text: str, comparison: Comparison) -> Iterator[Judged]:
    subject, sign, bound = _parts(text)
    if subject in SUMS:
        value = _sum(subject, comparison)
        estimate = Estimate(value, value, value)
        shown = "unknown" if value is None else f"{value:,.6g}"
        yield Judged(text, _answer(estimate, sign, bound), subject, shown)
        return
    found = [
        (arm.label, estimate)
        for arm, estimate in zip(
            comparison.study.arms, comparison.means[comparison.metric], strict=True
        )
        if subject in (arm.label, arm.condition.name)
    ]
    if not found:
        options = replace(comparison.options, baseline=None, contrasts=(subject,), planned=())
        contrasts = Comparison(comparison.study, options).contrasts
        found = [(contrast.name, contrast.difference) for contrast in contrasts]
    for name, estimate in found:
        yield Judged(text, _answer(estimate, sign, bound), name, _shown(estimate))


def _parts(text: str) -> tuple[str, str, float]:
    for sign in OPERATORS:  # the longer ones first
        subject, found, bound = text.rpartition(sign)
        if found:
            with suppress(ValueError):
                if isfinite(number := float(bound)):
                    return subject.strip(), sign, number
            break
    raise ConfigError(
        f"--require '{text}' is not a requirement; write WHAT >= NUMBER, with >=, <=, > or <, and "
        f"for WHAT a difference such as web-base, a condition, or one of {', '.join(SUMS)}"
    )


def _sum(name: str, comparison: Comparison) -> float | None:
    arms = comparison.study.arms
    if name == "failed":
        return float(sum(arm.asked - len(arm.finished) for arm in arms))
    spent = [arm.spent for arm in arms]
    if name == "cost":
        return sum_known([None if each is None else each.cost_usd for each in spent])
    counts = [
        count for each in spent
        for count in ((None,) if each is None else (each.input_tokens, each.output_tokens))
    ]  # fmt: skip
    return sum_known(counts)


def _answer(estimate: Estimate, sign: str, bound: float) -> Answer:
    if estimate.low is None or estimate.high is None:
        return "not known yet"
    holds = [OPERATORS[sign](end, bound) for end in (estimate.low, estimate.high)]
    return "met" if all(holds) else "not known yet" if any(holds) else "not met"


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "unknown"
    ends = "without interval"
    if estimate.low is not None:
        ends = f"[{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f} {ends}, n = {estimate.samples}"


def junit(judged: Sequence[Judged], suite: str) -> str:
    """JUnit XML: a failure for what is not met, an error for what is not known yet."""
    answers = [each.answer for each in judged]
    root = ElementTree.Element(
        "testsuite", name=visible(suite), tests=str(len(judged)),
        failures=str(answers.count("not met")), errors=str(answers.count("not known yet")),
    )  # fmt: skip
    for each in judged:
        name = visible(f"{each.requirement} ({each.subject})")
        case = ElementTree.SubElement(root, "testcase", classname=visible(suite), name=name)
        if each.answer != "met":
            kind = "failure" if each.answer == "not met" else "error"
            ElementTree.SubElement(case, kind, message=visible(str(each)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
