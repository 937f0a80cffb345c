"""How much of the arithmetic in a reasoning text is right (paper, Appendix G.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_OPERATOR = r"[-+*/×÷–−]"
_STEP = re.compile(
    rf"(?<![\w.,:/*+×÷-])(?P<left>(?:{_NUMBER})(?P<more>\s*+{_OPERATOR}\s*+(?:{_NUMBER}))*+)"
    rf"(?:\s*+=\s*+(?P<right>-?(?:{_NUMBER}))(?![\d:]|[.,]\d|\s*{_OPERATOR}\s*\d))?"
)
"""A chain of numbers, whole, with what it is said to be where that follows it."""
LONGEST = 500
"""Characters of either side; longer ones are not counted."""
_TOKEN = re.compile(rf"{_NUMBER}|{_OPERATOR}")
_SIGNS = {"×": "*", "÷": "/", "–": "-", "−": "-"}


@dataclass(frozen=True, slots=True)
class Steps:
    """Calculations that a text spells out as `a + b = c`, with numbers alone."""

    right: int
    wrong: int

    @property
    def total(self) -> int:
        return self.right + self.wrong

    @property
    def share(self) -> float | None:
        """Of right ones; None where there is no calculation."""
        return self.right / self.total if self.total else None


def arithmetic_steps(text: str) -> Steps:
    """Counts them; a right-hand side may be rounded to its last digit."""
    right = wrong = 0
    for match in _STEP.finditer(text):
        if match["more"] is None or match["right"] is None:
            continue
        if max(len(match["left"]), len(match["right"])) > LONGEST:
            continue
        value = _value(match["left"])
        if value is None:
            continue
        said = match["right"].replace(",", "")
        digits = len(said.partition(".")[2])
        if abs(value - Fraction(said)) * 2 * 10**digits <= 1 or value == Fraction(said):
            right += 1
        else:
            wrong += 1
    return Steps(right, wrong)


def _value(text: str) -> Fraction | None:
    """Multiplication and division first; None for a division by 0."""
    tokens = [_SIGNS.get(token, token).replace(",", "") for token in _TOKEN.findall(text)]
    terms, sign = [Fraction(tokens[0])], 1
    signs = [1]
    for operator, token in zip(tokens[1::2], tokens[2::2], strict=True):
        number = Fraction(token)
        if operator in "+-":
            sign = 1 if operator == "+" else -1
            terms.append(number)
            signs.append(sign)
        elif operator == "*":
            terms[-1] *= number
        elif number == 0:
            return None
        else:
            terms[-1] /= number
    return sum((s * t for s, t in zip(signs, terms, strict=True)), Fraction(0))
