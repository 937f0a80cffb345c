"""What the contrasts show, in sentences that a rule makes of the rows of their table.

A difference is claimed where it is significant after Holm's correction and its own interval
excludes 0; "no difference larger than the margin" only where a test of equivalence shows it. Every
figure has its 95 % interval and its n. Where runs could stop early, their sequential test speaks
for its contrasts.
"""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, unit_of
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.sequential.walk import SequentialResult
from agent_env.analysis.statistics import Statistic


def conclusions(comparison: Comparison) -> tuple[str, ...]:
    """One sentence for each contrast: first those by which runs could stop; exploratory ones come
    last, and say so."""
    has_stopping = comparison.options.until is None  # the runs' own test is on the main metric
    has_stopping &= comparison.metric == comparison.study.metrics[0]
    tests = comparison.sequential if has_stopping else ()
    tested = {result.contrast.subject for result in tests}
    contrasts = [each for each in comparison.contrasts if each.planned.subject not in tested]
    ordered = sorted(contrasts, key=lambda contrast: contrast.planned.is_exploratory)
    return (
        *(
            _Rule(
                comparison, Contrast(result.contrast, result.estimate, result.looked, 0, 0, 0)
            ).sequential(result)
            for result in tests
        ),
        *(_Rule(comparison, each).sentence() for each in ordered),
    )


class _Rule:
    """Words one contrast."""

    def __init__(self, comparison: Comparison, contrast: Contrast) -> None:
        self._comparison, self._contrast = comparison, contrast
        self._planned = contrast.planned
        self._arms = [comparison.study.arm(label) for label, _ in self._planned.weights]
        self._after = comparison.study.arm(self._planned.after)
        self._before = comparison.study.arm(self._planned.before)
        self._metric = comparison.metric.replace("_", " ")
        if comparison.is_error:
            self._metric += " (an error)"

    def sentence(self) -> str:
        """The whole sentence."""
        mark = "Exploratory: " if self._planned.is_exploratory else ""
        early = {arm.run for arm in self._arms} & set(self._comparison.study.until)
        caution = "; the interval does not allow for an early stop" if early else ""
        return f"{mark}{self._statement()}{caution}."

    def sequential(self, result: SequentialResult) -> str:
        """The sentence on what a sequential test decided."""
        return f"{self._decision(result)} (sequential test, {result.planned} planned)."

    def _decision(self, result: SequentialResult) -> str:
        if result.decision == "difference":
            return self._claim(result.estimate)
        if result.estimate.value is None:
            return f"{self._subject()}: no sample has a finished episode in all its conditions"
        if result.decision == "none larger":
            return (
                f"{self._subject()}: no difference in {self._metric} larger than "
                f"{result.margin:g}: {self._signed()}"
            )
        return f"{self._subject()}: no difference in {self._metric} shown: {self._signed()}"

    def _statement(self) -> str:
        difference, margin = self._contrast.difference, self._comparison.options.margin
        for arm in self._arms:
            if arm.problem is not None:
                return f"{self._subject()}: no conclusion, as {arm.label} failed: {arm.problem}"
        if difference.value is None:
            return f"{self._subject()}: no sample has a finished episode in all its conditions"
        if difference.low is None or difference.high is None:
            return f"{self._subject()}: {self._signed()} without interval ({difference.method})"
        is_apart = difference.low > 0 or difference.high < 0
        if self._contrast.is_significant and is_apart:
            within = f"; not larger than {margin:g} (TOST)" if self._contrast.is_equivalent else ""
            return f"{self._claim(difference)}{within}"
        if self._contrast.is_equivalent:
            return (
                f"{self._subject()}: no difference in {self._metric} larger than {margin:g} "
                f"(TOST): {self._signed()}"
            )
        if self._contrast.p_value is None:
            return f"{self._subject()}: {self._metric} equal on all samples: {self._signed()}"
        return f"{self._subject()}: no difference in {self._metric} shown: {self._signed()}" + (
            self._power()
        )

    def _claim(self, difference: Estimate) -> str:
        if self._planned.is_interaction:
            return f"{self._planned.name} in {self._metric}: {self._signed()}"
        is_rise = (difference.value or 0.0) > 0
        if self._planned.dose is not None:
            unit, verb = unit_of(self._planned.dose)[1], "rose" if is_rise else "fell"
            conditions = ", ".join(arm.condition.name for arm in self._arms)
            return (
                f"{self._metric} {verb} by {self._size()} per {unit} over {conditions}"
                f"{self._model()}, {self._n()}; an association, as the model chooses its dose"
            )
        if self._after.run == self._before.run:
            verb = "raised" if is_rise else "lowered"
            return (
                f"{self._after.condition.name} {verb} {self._metric} by {self._size()} over "
                f"{self._before.condition.name}{self._model()}, {self._n()}"
            )
        return (
            f"{self._metric} was {'higher' if is_rise else 'lower'} by {self._size()} with "
            f"{self._after.label} than with {self._before.label}, {self._n()}"
        )

    def _power(self) -> str:
        contrast = self._contrast
        holm = contrast.p_holm
        text = ""
        if contrast.p_value is not None and contrast.p_value < 0.05 and holm is not None:
            text = f"; p = {contrast.p_value:.3f} is {holm:.3f} after Holm's correction"
        if contrast.detectable is not None:
            text += f"; minimum detectable effect {contrast.detectable:.3f}"
        return text

    def _subject(self) -> str:
        if self._planned.is_simple and self._after.run == self._before.run:
            pair = f"{self._after.condition.name} against {self._before.condition.name}"
            return f"{pair}{self._model()}"
        return self._planned.name

    def _model(self) -> str:
        """For whom, where there are several runs: the label without the condition."""
        arm = self._after
        label = arm.label.removesuffix(" (!)").removesuffix(arm.condition.name).strip()
        return f" for {label}" if label else ""

    def _signed(self) -> str:
        estimate = self._contrast.difference
        text = f"{estimate.value:+.3f}"
        if estimate.low is not None:
            text += f" [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        return f"{text}, {self._n()}"

    def _size(self) -> str:
        """The size without its sign, which the verb has."""
        estimate = self._contrast.difference
        sign = 1 if (estimate.value or 0.0) >= 0 else -1
        low, high = sorted((sign * (estimate.low or 0.0), sign * (estimate.high or 0.0)))
        return f"{abs(estimate.value or 0.0):.3f} [{low:.3f}, {high:.3f}]"

    def _n(self) -> str:
        pairs, groups = self._contrast.pairs, self._contrast.difference.clusters
        samples_text = f"n = {pairs} sample{'s' if pairs != 1 else ''}"
        return samples_text if groups == pairs else f"{samples_text} in {groups} clusters"


@Statistic("conclusions", order=1, section="Conclusions", is_main=True).of
def in_words(comparison: Comparison) -> ResultTable:
    """The conclusions, one a row."""
    return ResultTable(
        "conclusions",
        "Conclusions",
        (Column("conclusion"),),
        tuple((text,) for text in conclusions(comparison)),
        ("Square brackets: 95 % CI. A rule makes each sentence of its row among the differences.",),
    )
