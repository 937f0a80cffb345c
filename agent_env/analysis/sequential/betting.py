"""Evidence on a mean by betting, with the bets that a deadline asks for.

The evidence may be looked at after every observation. A gambler who bets against a mean multiplies
his capital by more than C with a chance of at most 1/C if that is the true mean, however often one
looks (Ville 1939), as long as each bet is fixed before its observation (Waudby-Smith and Ramdas,
Estimating means of bounded random variables by betting, JRSS B 86(1), 2024). No observation is
assumed to be of some distribution; each must have the tested mean given those before it.

Which bets win most depends on what is wanted: here, to reach `goal` by a deadline, as a test has a
last look. In continuous time the bet with the greatest chance of that hedges a digital option
(Kulldorff, SIAM J. Control Optim. 31(1), 1993; Browne, Adv. Appl. Prob. 31(2), 1999). With the
share u of the goal in hand and the variance v to come it is φ(z) / (u √v), where z = Φ⁻¹(u), for
any true mean. Differences of -1, 0 and 1 come in steps, so that a little less than v counts. A
second rule asks more where the gambler is ahead, so that he need not wait for the deadline. No bet
wins more than the goal. With the deadline, the most that any bet could decide was found by dynamic
programming (benchmarks/sequential.py).

The capital is spread over several deadlines: the number of looks that a difference of a certain
size takes, and the last planned look. What is left at a deadline goes to the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import NormalDist

import numpy as np

from agent_env.analysis.forecast import DISAGREEMENT
from agent_env.analysis.resampling import Floats

SPREAD = ((0.4, 0.08), (0.2, 0.48), (0.1, 0.3))
"""Effects with their shares of the capital, where none is named; the rest is for the last look."""
NAMED = 0.95
"""The share of a named effect."""
DEADLINE = 9.5
"""Looks to an effect's deadline: this × variance / effect²; a test of a fixed number of samples
would find it in 85 % of cases then."""
PACE, PACE_NAMED = 3.0, 1.8
"""The least bet is this / √(variance up to the deadline): to decide as early as possible, and as
surely as possible by the deadline of a named effect."""
STEPS, AT_LEAST = 2.0, 0.3
"""Of the variance to come, this many squared steps do not count; what always counts."""
PRIOR_LOOKS = 20.0
"""What the guess of the variance is worth."""
MOST = 0.99
"""Of what could be lost; below 1, so that nobody is ruined."""


@dataclass(frozen=True, slots=True)
class Look:
    """One observation: the mean difference of a cluster of samples."""

    value: float
    low: float = -1.0
    """The least value possible, known before the observation."""
    high: float = 1.0


@dataclass(frozen=True)
class Horizon:
    """What is known of a test before its first look."""

    information: tuple[float, ...]
    """Of each planned look: 1 where it observes a difference itself, more where it is part of a
    weighted mean with less variance."""
    effect: float | None = None
    """The difference that is to be found with the fewest looks; None: a spread of them."""
    evenness: float = 0.9
    """The least win among the usual ones, as a share of the typical one."""

    @property
    def effects(self) -> tuple[tuple[float, float], ...]:
        """With their shares of the capital."""
        return SPREAD if self.effect is None else ((self.effect, NAMED),)

    @cached_property
    def before(self) -> Floats:
        """The information before each look, and after the last."""
        return np.concatenate([[0.0], np.cumsum(self.information)])

    def scaled(self, scale: float) -> Horizon:
        """For observations in units of `scale`."""
        effect = None if self.effect is None else self.effect / scale
        return Horizon(self.information, effect, self.evenness)


def plain(looks: int, effect: float | None = None) -> Horizon:
    """Of this many looks, each a difference itself."""
    return Horizon((1.0,) * looks, effect)


class Capital:
    """Of the two gamblers against each of several means, as shares of the goal; both begin with a
    half of 1 / goal. One bets that the mean is higher, one that it is lower."""

    def __init__(
        self, means: Floats, goal: float, horizon: Horizon, batch: tuple[int, ...] = ()
    ) -> None:
        """`batch`: the shape of independent streams of observations, which `means` broadcast to."""
        self.means, self.horizon = means, horizon
        shape = np.broadcast_shapes(np.shape(means), batch)
        effects, shares = zip(*horizon.effects, strict=True)
        self._effects = np.reshape(effects, (-1, *(1,) * len(shape)))
        parts = np.reshape([*shares, 1 - sum(shares)], (1, -1, *(1,) * len(shape)))
        self.stakes: Floats = np.broadcast_to(parts / goal / 2, (2, parts.size, *shape)).copy()
        """Sides by deadlines by means."""
        self._squares: Floats = np.full(shape, 0.01)
        self._fourths = self._squares.copy()
        self._looks = 0

    def add(self, value: Floats | float, low: float = -1.0, high: float = 1.0) -> None:
        """Takes in an observation of each stream; `low` and `high` are the same in all."""
        unit = float(np.sqrt(self.horizon.information[self._looks]))
        shape = self.stakes.shape[2:]
        above, below = (high - self.means) * unit, (self.means - low) * unit
        step = np.broadcast_to((value - self.means) * unit, shape)
        wins = np.stack([np.broadcast_to(each, shape) for each in (above, below)])
        bets = self._bets(wins[:, None], wins[::-1, None])
        self.stakes *= 1 + bets * np.stack([step, -step])[:, None]
        self.stakes[:, -1][wins[::-1] < 0] = 1.0  # no value as low as the mean was possible
        self._squares += step**2
        self._fourths += step**4
        self._looks += 1

    @property
    def sides(self) -> Floats:
        """By gambler and mean, the share of the goal."""
        total: Floats = self.stakes.sum(axis=1)
        return total

    def _bets(self, wins: Floats, losses: Floats) -> Floats:
        """Of each stake, per unit of the step; what a step can win and lose at most."""
        before = self.horizon.before
        here, last, unit = before[self._looks], before[-1], self.horizon.information[self._looks]
        guess = PRIOR_LOOKS * DISAGREEMENT
        variance = (self._squares + guess) / (self._looks + PRIOR_LOOKS)
        steps = self._fourths / self._squares
        reached = DEADLINE * variance / self._effects**2
        ends = np.concatenate([reached, np.full_like(reached[:1], last)])
        for number in range(len(reached)):
            done = (ends[number] <= here) | (ends[number] >= last)
            self.stakes[:, number + 1] += np.where(done, self.stakes[:, number], 0.0)
            self.stakes[:, number] *= ~done
        goal = np.maximum(1 - self.stakes.sum(axis=(0, 1)) + self.stakes, 1e-9)
        share = np.clip(self.stakes / goal, 1e-14, 1.0)
        to_come = np.maximum((ends - here) / unit * variance - STEPS * steps, AT_LEAST * steps)
        pace = PACE if self.horizon.effect is None else PACE_NAMED
        bets = np.maximum(pace / np.sqrt(ends / unit * variance), _hedge(share) / np.sqrt(to_come))
        win = np.maximum(np.minimum(wins, self.horizon.evenness * np.sqrt(steps)), 1e-9)
        most = np.minimum(MOST / np.maximum(losses, 1e-9), (1 / share - 1) / win)
        fractions: Floats = np.minimum(bets, most)
        return fractions


def _hedge(share: Floats) -> Floats:
    """φ(Φ⁻¹(u)) / u."""
    logarithms, ratios = _normal_table()
    values: Floats = np.interp(np.log(share), logarithms, ratios)
    return values


@cache
def _normal_table() -> tuple[Floats, Floats]:
    normal, places = NormalDist(), np.linspace(-7.6, 4.0, 1161)
    shares = np.array([normal.cdf(z) for z in places])
    return np.log(shares), np.array([normal.pdf(z) for z in places]) / shares


REACHED = 1 - 1e-9
"""Of the goal; sums of shares are not exact."""
_GRID: Floats = np.linspace(0, 1, 201)


def confidence_interval(
    looks: Sequence[Look], alpha: float, horizon: Horizon, goal: float | None = None
) -> tuple[float, float]:
    """The means that neither gambler has refuted at 1/alpha, and all between them; of all such
    intervals, one after each look, every one covers the mean with a chance of at least 1 - alpha.
    `goal`: what they play for; 1/alpha where None."""
    goal = goal or 1 / alpha

    def held(means: Floats) -> tuple[float, float]:
        """The last refuted mean before the first that is not, and the other way round."""
        capital = Capital(means, goal, horizon)
        for look in looks:
            capital.add(look.value, look.low, look.high)
        left = np.flatnonzero(capital.sides.sum(axis=0) < REACHED / alpha / goal)
        if not len(left):
            return float(means[0]), float(means[-1])
        return float(means[max(left[0] - 1, 0)]), float(means[min(left[-1] + 1, len(means) - 1)])

    low, high = held(2 * _GRID - 1)
    width = 2 * float(_GRID[1])
    return held(low + width * _GRID)[0], held(high - width * _GRID[::-1])[1]
