"""How verdicts agree: precision, recall, F1 by class, Cohen's kappa, Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Labels = Mapping[str, str]
"""Class by item; an item without a label is not in it."""


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """One class: what one side calls so, measured against the other."""

    name: str
    precision: float | None
    """None where the measured side never gives the class."""
    recall: float | None
    """None where the other side never does."""
    f1: float | None
    measured: int
    """Items to which the measured side gives the class."""
    true: int
    """Items to which the other side does."""


def by_class(measured: Labels, truth: Labels) -> tuple[ClassAgreement, ...]:
    """Each class over the items that both have (paper on TDBench, section D.2)."""
    common = [item for item in truth if item in measured]
    names = sorted({measured[i] for i in common} | {truth[i] for i in common})
    return tuple(_one_class(name, measured, truth, common) for name in names)


def _one_class(name: str, measured: Labels, truth: Labels, items: Sequence[str]) -> ClassAgreement:
    called = sum(measured[item] == name for item in items)
    true = sum(truth[item] == name for item in items)
    both = sum(measured[item] == truth[item] == name for item in items)
    f1 = 2 * both / (called + true) if called + true else None
    return ClassAgreement(
        name, both / called if called else None, both / true if true else None, f1, called, true
    )


def cohen_kappa(one: Labels, other: Labels) -> float | None:
    """Agreement beyond chance on the items that both label; None where chance alone would agree
    always, or where there are none."""
    items = [item for item in one if item in other]
    if not items:
        return None
    observed = sum(one[item] == other[item] for item in items) / len(items)
    first, second = Counter(one[i] for i in items), Counter(other[i] for i in items)
    chance = sum(first[name] * second[name] for name in first) / len(items) ** 2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def mean_kappa(annotators: Sequence[Labels]) -> float | None:
    """The mean over all pairs; None where it is defined for none of them."""
    pairs = [cohen_kappa(one, other) for one, other in combinations(annotators, 2)]
    defined = [kappa for kappa in pairs if kappa is not None]
    return sum(defined) / len(defined) if defined else None


def krippendorff_alpha(annotators: Sequence[Labels]) -> float | None:
    """Nominal alpha over all items with two labels or more; missing labels are allowed. None where
    there is no such item, or but one class."""
    items = dict.fromkeys(item for labels in annotators for item in labels)
    units = [[labels[item] for labels in annotators if item in labels] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    totals = Counter(name for unit in units for name in unit)
    n = sum(totals.values())
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    observed = sum(
        (len(unit) ** 2 - sum(c * c for c in Counter(unit).values())) / (len(unit) - 1)
        for unit in units
    )
    return 1 - (n - 1) * observed / expected


def only(labels: Labels, name: str) -> dict[str, str]:
    """The same labels with two classes: this one, and all others."""
    return {item: name if label == name else "other" for item, label in labels.items()}


def majority(annotators: Sequence[Labels]) -> tuple[dict[str, str], int]:
    """The class that most give each item, and how many items are tied and so left out."""
    majorities: dict[str, str] = {}
    tied = 0
    for item in dict.fromkeys(item for labels in annotators for item in labels):
        counts = Counter(labels[item] for labels in annotators if item in labels).most_common(2)
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            tied += 1
        else:
            majorities[item] = counts[0][0]
    return majorities, tied
