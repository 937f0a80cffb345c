"""At which step an episode's outcome turned, from forks of each of its steps.

After k steps, the share of forks with a right end estimates the probability of a right end from
there. What step k changed is that share after it less that before it; after the last step it is
the outcome itself. The probability that a step is the turning point is the share of draws from the
shares' posteriors (Jeffreys' prior) in which its change is the largest in the outcome's direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt

import numpy as np

from agent_env.sdk.results import Column, ResultTable, wilson

DRAWS = 10_000
SEED = 20261121


@dataclass(frozen=True, slots=True)
class ForkCounts:
    """The forks that keep so many steps."""

    kept: int
    right: int
    finished: int
    failed: int = 0
    """Forks that did not come to an end; in no share."""


@dataclass(frozen=True, slots=True)
class StepEffect:
    """What one step did to the probability of a right end."""

    step: int
    actions: str
    """Its tool calls, or that it is the answer."""
    forks: int
    """Finished ones from before it."""
    before: float | None
    before_interval: tuple[float, float] | None
    after: float | None
    change: float | None
    change_interval: tuple[float, float] | None
    probability: float | None
    """That it is the turning point."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The steps of one episode."""

    episode: str
    is_right: bool
    steps: tuple[StepEffect, ...]
    failed: int
    """Forks that did not come to an end."""

    @property
    def turning_point(self) -> StepEffect | None:
        """The most probable one; None where a step has no fork."""
        known = [each for each in self.steps if each.probability is not None]
        return max(known, key=lambda each: each.probability or 0.0, default=None)

    def table(self) -> ResultTable:
        """A row for each step."""
        columns = (
            Column("step", 0), Column("actions"), Column("forks", 0), Column("right before"),
            Column("change", signed=True), Column("turning point", 2),
        )  # fmt: skip
        rows = tuple(
            (
                each.step, each.actions, each.forks,
                (each.before, *(each.before_interval or (None, None))),
                (each.change, *(each.change_interval or (None, None))), each.probability,
            )
            for each in self.steps
        )  # fmt: skip
        end = "right" if self.is_right else "wrong"
        title = f"Where the outcome turned · {self.episode} · {end}"
        return ResultTable("attribution", title, columns, rows, tuple(self._notes()))

    def _notes(self) -> Sequence[str]:
        notes = [
            "Right before: the share of forks from before the step that ended right, 95 % CI "
            "(Wilson). Change: that share after the step, or the outcome after the last, less that "
            "before it, 95 % CI (Newcombe). Forks are spread evenly over the steps.",
            "Turning point: the probability that the step's change is the largest towards the "
            "outcome (Jeffreys' prior).",
        ]
        if self.failed:
            notes.append(f"{self.failed} forks failed or were cut off; they are in no share.")
        step = self.turning_point
        if step is None or step.change_interval is None:
            return notes
        low, high = step.change_interval
        words = f"{step.change:+.3f} [{low:+.3f}, {high:+.3f}], probability {step.probability:.2f}"
        if low <= 0 <= high:
            return [f"No step stands out: the likeliest is {step.step}, {words}.", *notes]
        return [f"The outcome turned at step {step.step}: {words}.", *notes]

    def as_json(self) -> dict[str, object]:
        """All figures."""
        step = self.turning_point
        return {**asdict(self), "turning_point": None if step is None else step.step}


def attribution(
    episode: str, is_right: bool, actions: Sequence[str], counts: Sequence[ForkCounts]
) -> Attribution:
    """From the forks that keep 0, 1, … steps; `actions` of each step."""
    chances = _chances(counts, is_right)
    effects = []
    for number, action in enumerate(actions, start=1):
        before = counts[number - 1]
        start, end = _share(before), _share(counts[number] if number < len(counts) else None)
        if number == len(actions):
            end = (float(is_right), float(is_right), float(is_right))
        change, interval = _change(start, end)
        effects.append(
            StepEffect(
                step=number,
                actions=action,
                forks=before.finished,
                before=start and start[0],
                before_interval=start and start[1:],
                after=end and end[0],
                change=change,
                change_interval=interval,
                probability=chances[number - 1],
            )
        )
    failed = sum(each.failed for each in counts)
    return Attribution(episode, is_right, tuple(effects), failed)


Share = tuple[float, float, float]


def _share(counts: ForkCounts | None) -> Share | None:
    if counts is None or not counts.finished:
        return None
    share = counts.right / counts.finished
    return (share, *wilson(share, counts.finished))


def _change(
    before: Share | None, after: Share | None
) -> tuple[float | None, tuple[float, float] | None]:
    """After less before with Newcombe's interval (1998, method 10)."""
    if before is None or after is None:
        return None, None
    value = after[0] - before[0]
    down = sqrt((after[0] - after[1]) ** 2 + (before[2] - before[0]) ** 2)
    up = sqrt((after[2] - after[0]) ** 2 + (before[0] - before[1]) ** 2)
    return value, (value - down, value + up)


def _chances(counts: Sequence[ForkCounts], is_right: bool) -> list[float | None]:
    if not all(each.finished for each in counts):
        return [None] * len(counts)
    rng = np.random.default_rng(SEED)
    shares = [
        rng.beta(0.5 + each.right, 0.5 + each.finished - each.right, DRAWS) for each in counts
    ]
    whole = np.column_stack([*shares, np.full(DRAWS, float(is_right))])
    changes = np.diff(whole, axis=1) * (1 if is_right else -1)
    first = np.bincount(np.argmax(changes, axis=1), minlength=len(counts))
    return [float(number) / DRAWS for number in first]
