"""The findings of an audit, and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_env.families.time_puzzles.audit_texts import UNKNOWN_EVENT, Coverage
from agent_env.families.time_puzzles.guessers import GuessRates
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.sdk.records import Wording

FindingClass = Literal["error", "own_rule", "debatable"]
_ERRORS = (
    "event_value", "event_in_several_years", "lunar_calendar", "year_range", "solution_count",
    "other", "wording", "explicit_gold",
)  # fmt: skip
_OWN_RULES = ("file_rule", "open_universe")
NOT_JUDGED = "not_judged"
CLOSURE_UNKNOWN = "closure_unknown"


def class_of(cause: str) -> FindingClass:
    """Whether a cause is an error, the file's own rule, or debatable: a convention on which sources
    differ, or a property that no puzzle promises."""
    return "error" if cause in _ERRORS else "own_rule" if cause in _OWN_RULES else "debatable"


def gold_class(causes: Iterable[str]) -> Literal["right", "error", "own_rule", "debatable"]:
    """The class of a gold with these causes."""
    classes = {class_of(cause) for cause in causes}
    return next((name for name in ("error", "debatable", "own_rule") if name in classes), "right")


@dataclass(frozen=True, slots=True)
class Finding:
    """The findings on one puzzle."""

    identifier: str | int
    wrong_gold: tuple[str, ...] = ()
    """Causes of a gold that is not simply right; `class_of` says whether they are errors."""
    explicit_is_wrong: bool = False
    """Whether the gold of the explicit wording is right under no reading of its texts."""
    defects: tuple[str, ...] = ()
    """The puzzle's other defects."""
    notes: tuple[str, ...] = ()
    """Unknown names, and limits that the puzzle declares itself."""
    solutions: tuple[str, ...] | None = None
    """Recomputed; None for a fact with an unknown name."""
    explicit_solutions: tuple[str, ...] | None = None
    """Recomputed from the explicit texts; None if one of them is not judged."""
    other_golds: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By wording and reading: further answers, right under that reading."""
    open_universe: bool = False
    event_unnecessary: bool = False
    any_unnecessary: bool = False
    readings: tuple[str, ...] = ()
    """Other readings that change the answer."""
    guess_chance: float | None = None
    """Probability that a random value of the event is right."""
    misworded: tuple[str, ...] = ()
    """The texts that mean other days than their facts."""

    @property
    def causes(self) -> tuple[str, ...]:
        """All causes and defects, those of the gold first."""
        return tuple(dict.fromkeys((*self.wrong_gold, *self.defects)))

    @property
    def is_judged(self) -> bool:
        """Whether the puzzle's facts are all known."""
        return NOT_JUDGED not in self.notes

    def right_gold(self, wording: Wording) -> tuple[str, ...] | None:
        """The recomputed answer to a wording; None where it is not judged."""
        return self.solutions if wording == "implicit" else self.explicit_solutions

    def as_json(self) -> dict[str, object]:
        """The puzzle's entry in the report."""
        return {
            "identifier": self.identifier,
            "causes": {cause: class_of(cause) for cause in self.causes},
            "gold": gold_class(self.wrong_gold) if self.is_judged else None,
            "solutions": _listed(self.solutions),
            "explicit_solutions": _listed(self.explicit_solutions),
            "other_golds": {w: {n: list(g) for n, g in golds.items()}
                            for w, golds in self.other_golds.items()},
            "readings": list(self.readings),
            "guess_chance": self.guess_chance,
            "misworded": list(self.misworded),
            "notes": list(self.notes),
        }  # fmt: skip


def _listed(gold: tuple[str, ...] | None) -> list[str] | None:
    return None if gold is None else list(gold)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All findings, in the order of the puzzles, and the guessers' rates."""

    findings: tuple[Finding, ...]
    guess_rates: GuessRates | None
    """Over the puzzles with known facts, against their stored gold; None without such puzzles, or
    if an event is unknown, because the rates would not be those of the set."""
    texts: Mapping[str, Coverage]
    """By wording: how many constraint texts are judged."""

    @property
    def judged(self) -> int:
        """Number of puzzles with known facts."""
        return sum(finding.is_judged for finding in self.findings)

    @property
    def without_event(self) -> int:
        """Number of puzzles about an unknown event."""
        return sum(UNKNOWN_EVENT in finding.notes for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """The output of `--json`; counts are over the judged puzzles, null without any, those of
        explicit golds over the puzzles whose explicit texts are all judged."""
        counts = self._counts()
        return {
            "puzzles": len(self.findings),
            "judged": self.judged,
            **(counts if self.judged else dict.fromkeys(counts)),
            "texts": {wording: coverage.as_json() for wording, coverage in self.texts.items()},
            "per_puzzle": [finding.as_json() for finding in self.findings],
        }

    def _counts(self) -> dict[str, object]:
        judged = [finding for finding in self.findings if finding.is_judged]
        golds = Counter(gold_class(finding.wrong_gold) for finding in judged)
        causes = Counter(cause for finding in self.findings for cause in finding.causes)
        needless = [finding for finding in judged if finding.event_unnecessary]
        explicit = [finding for finding in self.findings if finding.explicit_solutions is not None]
        return {
            "gold": {name: golds[name] for name in ("right", "own_rule", "debatable", "error")},
            "wrong_gold": golds["error"],
            "explicit_judged": len(explicit),
            "wrong_explicit_gold": sum(finding.explicit_is_wrong for finding in explicit),
            "golds_differ": sum(
                f.is_judged and f.solutions != f.explicit_solutions for f in explicit
            ),
            "ledger": {
                cause: {"class": class_of(cause), "puzzles": causes[cause]}
                for cause in sorted(causes, key=lambda cause: (class_of(cause), cause))
            },
            "open_universe": sum(finding.open_universe for finding in judged),
            "closure_unknown": sum(CLOSURE_UNKNOWN in finding.notes for finding in judged),
            "event_unnecessary": len(needless),
            "event_unnecessary_without_solution": sum(not f.solutions for f in needless),
            "any_unnecessary": sum(finding.any_unnecessary for finding in judged),
            "convention_dependent": sum(bool(finding.readings) for finding in judged),
            "guess_rates": None if self.guess_rates is None else self.guess_rates.as_json(),
        }


def corrected_puzzle(puzzle: TimePuzzle, finding: Finding) -> TimePuzzle:
    """The puzzle with each wording's gold mended, where it is an error; its checks and digest are
    cleared if it changes."""
    gold, explicit = puzzle.gold, puzzle.worded("explicit").gold
    if gold_class(finding.wrong_gold) == "error" and finding.solutions is not None:
        gold = finding.solutions
    if finding.explicit_is_wrong and finding.explicit_solutions is not None:
        explicit = finding.explicit_solutions
    own_explicit = None if set(explicit) == set(gold) else explicit
    is_same = gold == puzzle.gold and own_explicit == puzzle.explicit_gold
    if is_same and puzzle.solution_count == len(gold):
        return puzzle
    changed = {"gold": gold, "explicit_gold": own_explicit, "solution_count": len(gold)}
    return puzzle.model_copy(update={**changed, "checks": None, "digest": ""})
