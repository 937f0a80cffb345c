"""What a plan will use, and which differences it can show."""

from __future__ import annotations

from agent_env.records.schema import Record


class Amounts(Record):
    """Tokens, money and time; None is unknown."""

    expected_tokens: int | None = None
    """Input and output."""
    most_tokens: int | None = None
    """By the limits; an episode's last call may exceed them, failed calls are not in it."""
    expected_cost_usd: float | None = None
    most_cost_usd: float | None = None
    expected_s: float | None = None
    most_s: float | None = None

    @property
    def spent(self) -> tuple[float | None, ...]:
        """Tokens and money, expected and at most each."""
        return (
            self.expected_tokens, self.most_tokens, self.expected_cost_usd, self.most_cost_usd,
        )  # fmt: skip


class ConditionForecast(Record):
    """One condition of a run."""

    condition: str
    episodes: int
    basis: str
    """Where the expected amounts come from: an earlier run, or a guess."""
    amounts: Amounts
    """The seconds are those of all its episodes one after another."""


class Way(Record):
    """What the expected calls of a run would cost otherwise, and how long they would take; None is
    unknown."""

    name: str
    """`now` as the options say; `cached` where each request finds the one before it in the
    provider's cache; `flex`; `batch`."""
    expected_cost_usd: float | None = None
    expected_s: float | None = None
    most_s: float | None = None


class Forecast(Record):
    """One run."""

    task: str
    model: str
    episodes: int
    concurrency: int
    conditions: tuple[ConditionForecast, ...]
    amounts: Amounts
    ways: tuple[Way, ...] = ()
    """Empty where no price is known."""


class DetectableDifference(Record):
    """What a planned contrast can show."""

    task: str
    contrast: str
    samples: int
    difference: float | None
    """Minimum detectable effect: found in 80 % of cases at 5 %, two-sided, without correction for
    the number of contrasts; None where no difference of scores in [0, 1] is as large."""
    basis: str
    """The earlier run, or the guess, whose variance of paired differences was taken."""


class PlanForecast(Record):
    """All runs of a plan."""

    runs: tuple[Forecast, ...]
    differences: tuple[DetectableDifference, ...]
    amounts: Amounts
    """Of all runs, within the plan's own limits."""
