"""A study analysed: means with intervals, differences with tests, what can be resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from agent_env.analysis.contrast_text import parse_contrasts, readable_contrasts
from agent_env.analysis.contrasts import (
    Contrast,
    PlannedContrast,
    contrast_values,
    measure,
    plan,
)
from agent_env.analysis.intervals import Estimate, Floats, Ints, Kind, Means
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.study import QUANTITIES, Arm, Observation, Study
from agent_env.errors import ConfigError, suggestion
from agent_env.scoring.sample_means import SampleMeans


@dataclass(frozen=True, slots=True)
class Options:
    metric: str | None = None
    """None: the task's main one."""
    baseline: str | None = None
    """Label of the arm that all others are compared with, or name of the condition that the
    others of its run are; None: see `contrasts.plan`."""
    contrasts: tuple[str, ...] = ()
    """Those to estimate, see contrast_text; none: those planned, else those of
    `contrasts.plan`."""
    planned: tuple[str, ...] = ()
    """Those that were fixed before the data; all other `contrasts` are exploratory."""
    margin: float | None = None
    """The largest difference that is called equivalent."""


class Comparison:
    def __init__(self, study: Study, options: Options | None = None) -> None:
        self.study = study
        self.options = options or Options()
        self.metric = self.options.metric or study.metrics[0]
        if self.metric not in study.metrics:
            hint = suggestion(self.metric, study.metrics)
            raise ConfigError(f"unknown metric '{self.metric}'; {hint}")
        self.is_error = self.metric in study.error_metrics
        """Whether the main metric says how far off an answer is: the less the better."""
        self.of_all_metric = study.metrics[0] if self.is_error else self.metric
        """The metric of the column that counts failures as 0: never an error."""
        self.hooks = study.hooks
        self._columns: dict[tuple[str, str], Floats] = {}
        self._estimates: dict[str, list[Estimate]] = {}
        self._row = {sample.id: i for i, sample in enumerate(study.samples)}

    @cached_property
    def clusters(self) -> Ints:
        """The cluster of each sample: samples that share an event, else each alone."""
        numbers: dict[str, int] = {}
        names = [self.hooks.cluster(sample) or f"/{sample.id}" for sample in self.study.samples]
        clusters = [numbers.setdefault(name, len(numbers)) for name in names]
        return np.array(clusters, dtype=np.int64)

    @cached_property
    def shortcut_arms(self) -> tuple[Arm, ...]:
        """The family's shortcuts, answered and scored over the study's samples."""
        return self.study.shortcuts(self.study.samples)

    @property
    def cluster_count(self) -> int:
        return len(set(self.clusters))

    def column(self, arm: Arm, quantity: str) -> Floats:
        """A metric or quantity by sample: its mean over the finished repeats, NaN where none."""
        key = arm.label, quantity
        if key not in self._columns:
            means = SampleMeans()
            for each in arm.finished:
                of = each.used if quantity in QUANTITIES else each.metrics
                means.add(each.sample, of.get(quantity))  # None where it is not defined
            self._columns[key] = self._by_row(means)
        return self._columns[key]

    def by_sample(self, arm: Arm, value: Callable[[Observation], float | None]) -> Floats:
        """By sample: the mean of those finished episodes that have a value, NaN without one."""
        means = SampleMeans()
        for each in arm.finished:
            if (number := value(each)) is not None:
                means.add(each.sample, float(number))
        return self._by_row(means)

    def _by_row(self, means: SampleMeans) -> Floats:
        column = np.full(len(self._row), np.nan)
        for sample, mean in means.by_sample.items():
            column[self._row[sample]] = mean
        return column

    def estimate_of(self, arm: Arm, value: Callable[[Observation], float | None]) -> Estimate:
        """The mean over samples of what finished episodes have, a rate where all of it is true or
        false."""
        kind: Kind = "rate" if set(map(value, arm.finished)) <= {None, 0.0, 1.0} else "mean"
        return self.estimates(self.by_sample(arm, value)[:, None], kind)[0]

    def share_of(self, arm: Arm, value: Callable[[Provenance], float | None]) -> Estimate:
        return self.estimate_of(arm, lambda e: value(e.provenance) if e.provenance else None)

    def column_of(self, arm: Arm, value: Callable[[Provenance], float | None]) -> Floats:
        """By sample: the mean of its finished episodes that count, NaN without one."""
        return self.by_sample(arm, lambda e: value(e.provenance) if e.provenance else None)

    def scores(self, arm: Arm) -> list[list[float]]:
        """By sample: the main metric of its finished episodes."""
        scores: dict[str, list[float]] = {sample.id: [] for sample in self.study.samples}
        for each in arm.finished:
            if self.metric in each.metrics:
                scores[each.sample].append(each.metrics[self.metric])
        return list(scores.values())

    def columns(self, quantity: str, arms: Sequence[Arm] | None = None) -> Floats:
        """Samples by arms; None: those of the study."""
        chosen = self.study.arms if arms is None else arms
        return np.column_stack([self.column(arm, quantity) for arm in chosen])

    def _of_all(self, arm: Arm) -> Floats:
        """`of_all_metric` by sample where episodes that failed or are missing count as 0, and those
        whose scorer failed, or that nobody asked, do not count."""
        repeats, sums = np.zeros(len(self._row)), np.zeros(len(self._row))
        if arm.finished and not any(self.of_all_metric in each.metrics for each in arm.finished):
            return np.full(len(self._row), np.nan)  # another scorer's run
        for observation in arm.observations:
            repeats[self._row[observation.sample]] += 1
        if arm.missing:
            repeats[:] = max(arm.asked / len(self._row), 1.0)
        for observation in arm.observations:
            sums[self._row[observation.sample]] += observation.metrics.get(self.of_all_metric, 0.0)
            repeats[self._row[observation.sample]] -= observation.outcome == "scorer_failed"
        means = np.full(len(self._row), np.nan)
        np.divide(sums, repeats, out=means, where=repeats > 0)
        return means

    def is_rate(self, quantity: str, arms: Sequence[Arm] | None = None) -> bool:
        """Whether every episode scored 0 or 1, so that the mean is a rate."""
        return quantity not in (*QUANTITIES, *self.study.error_metrics) and all(
            observation.metrics.get(quantity, 0.0) in (0.0, 1.0)
            for arm in (self.study.arms if arms is None else arms)
            for observation in arm.finished
        )

    def estimates(self, values: Floats, kind: Kind) -> list[Estimate]:
        """The means of columns over the study's samples."""
        means = Means(values, self.clusters)
        return [means.estimate(k, kind) for k in range(values.shape[1])]

    def kind(self, quantity: str, arms: Sequence[Arm] | None = None) -> Kind:
        return "rate" if self.is_rate(quantity, arms) else "mean"

    @cached_property
    def means(self) -> dict[str, list[Estimate]]:
        """By metric or quantity: one estimate per arm."""
        return {name: self.estimates_of(name) for name in (*self.study.metrics, *QUANTITIES)}

    def estimates_of(self, quantity: str) -> list[Estimate]:
        """One per arm; None where any finished episode's figure is unknown."""
        if quantity not in self._estimates:
            values = self._known_columns(quantity)
            self._estimates[quantity] = (
                [Estimate(None, method="unknown")] * values.shape[1]
                if np.isnan(values).all()
                else self.estimates(values, self.kind(quantity))
            )
        return self._estimates[quantity]

    def estimates_over(self, arms: Sequence[Arm], quantity: str) -> list[Estimate]:
        """One for each of these arms, over its finished episodes."""
        return self.estimates(self.columns(quantity, arms), self.kind(quantity, arms))

    def values_of(self, quantity: str) -> list[float | None]:
        """The means of `estimates_of` without their intervals, which take longer."""
        means = Means(self._known_columns(quantity), self.clusters).values
        return [None if np.isnan(value) else float(value) for value in means]

    def _known_columns(self, quantity: str) -> Floats:
        values = self.columns(quantity)
        if quantity in QUANTITIES:
            values[:, [not self.is_known(arm, quantity) for arm in self.study.arms]] = np.nan
        return values

    def is_known(self, arm: Arm, quantity: str) -> bool:
        """Whether every finished episode of the arm tells the quantity."""
        return all(each.used[quantity] is not None for each in arm.finished)

    @cached_property
    def of_all(self) -> list[Estimate]:
        """`of_all_metric` with failed, unfinished and missing episodes as 0."""
        values = np.column_stack([self._of_all(arm) for arm in self.study.arms])
        return self.estimates(values, self.kind(self.of_all_metric))

    @cached_property
    def plans(self) -> tuple[PlannedContrast, ...]:
        arms, options = self.study.arms, self.options
        planned = readable_contrasts(options.planned, arms)
        texts = options.contrasts or (planned if options.baseline is None else ())
        if texts:
            return parse_contrasts(texts, arms, planned)
        contrasts = plan(arms, options.baseline)
        if not options.planned:
            return contrasts
        keys = {each.key for each in parse_contrasts(planned, arms)}
        return tuple(replace(each, is_exploratory=each.key not in keys) for each in contrasts)

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The planned differences of the main metric, corrected for their number."""
        values = contrast_values(self.plans, self.study.arms, self.columns(self.metric))
        contrasts = measure(
            self.plans, values, self.clusters, self.is_rate(self.metric), self.options.margin
        )
        if not self.is_error:
            return contrasts
        return tuple(replace(c, better=c.worse, worse=c.better) for c in contrasts)

    @property
    def is_single(self) -> bool:
        """Whether no sample was asked twice under one condition."""
        return all(
            len({each.sample for each in arm.finished}) == len(arm.finished)
            for arm in self.study.arms
        )

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """Rows of samples by what they are broken down by, then by value."""
        groups: dict[str, dict[str, list[int]]] = {}
        for row, sample in enumerate(self.study.samples):
            for name, values in self.hooks.groups(sample).items():
                for value in values:
                    groups.setdefault(name, {}).setdefault(value, []).append(row)
        return {name: dict(sorted(by.items(), key=_numbers_first)) for name, by in groups.items()}

    def by_group(
        self, name: str, quantity: str, arms: Sequence[Arm] | None = None
    ) -> dict[str, list[Estimate]]:
        """By value of the group: one estimate per arm of the study, or of these."""
        if name not in self.groups:
            names = ", ".join(self.groups) or f"none for {self.study.task}"
            raise ConfigError(f"no group '{name}'; known: {names}")
        whole, parts = self.columns(quantity, arms), []
        for rows in self.groups[name].values():
            part = np.full_like(whole, np.nan)
            part[rows] = whole[rows]
            parts.append(part)
        estimates = self.estimates(np.hstack(parts), self.kind(quantity, arms))
        width = whole.shape[1]
        return {v: estimates[i * width : (i + 1) * width] for i, v in enumerate(self.groups[name])}

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        remarks = [*self.study.notes]
        n, groups = len(self._row), self.cluster_count
        if groups < n:
            rough = " So few clusters make the intervals rough." if 1 < groups < 20 else ""
            drawn = f"Samples of one {self.hooks.shared} are drawn together: {groups} for {n}"
            remarks.append(f"{drawn} samples.{rough}")
        sources = {s for arm in self.study.arms for e in arm.episodes for s in e.usage_sources}
        if len(sources) > 1:
            text = f"Token counts come from different sources ({', '.join(sorted(sources))})"
            remarks.append(f"{text}; compare them with care.")
        return tuple(remarks)


def _numbers_first(item: tuple[str, list[int]]) -> tuple[bool, float, str]:
    name = item[0]
    return (False, float(name), "") if name.isdigit() else (True, 0.0, name)
