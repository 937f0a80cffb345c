"""The share of correct calculations in a reasoning text (paper, Appendix G.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_OPERATOR = r"[-+*/×÷–−]"
_STEP = re.compile(
    rf"(?<![\w.,:/*+×÷-])(?P<left>(?:{_NUMBER})(?P<more>\s*+{_OPERATOR}\s*+(?:{_NUMBER}))*+)"
    rf"(?:\s*+=\s*+(?P<right>-?(?:{_NUMBER}))(?![\d:]|[.,]\d|\s*{_OPERATOR}\s*\d))?"
)
"""A chain of numbers and operators, with the stated result if there is one."""
LONGEST = 500
"""Characters of either side; longer calculations are not counted."""
_TOKEN = re.compile(rf"{_NUMBER}|{_OPERATOR}")
_SIGNS = {"×": "*", "÷": "/", "–": "-", "−": "-"}


@dataclass(frozen=True, slots=True)
class Steps:
    """Calculations that a text writes as `a + b = c`, with numbers only."""

    right: int
    wrong: int

    @property
    def total(self) -> int:
        return self.right + self.wrong

    @property
    def share(self) -> float | None:
        """The correct ones' share; None without a calculation."""
        return self.right / self.total if self.total else None


def arithmetic_steps(text: str) -> Steps:
    """The counts; the stated result may be rounded to its last digit."""
    right = wrong = 0
    for match in _STEP.finditer(text):
        if match["more"] is None or match["right"] is None:
            continue
        if max(len(match["left"]), len(match["right"])) > LONGEST:
            continue
        is_right = _is_right(match["left"], match["right"])
        right += is_right is True
        wrong += is_right is False
    return Steps(right, wrong)


@lru_cache(maxsize=50_000)
def _is_right(left: str, right: str) -> bool | None:
    """Whether the stated result is that of the calculation; None for a division by 0. Cached,
    because responses repeat their calculations."""
    # the chain's value, by operator precedence; None for a division by 0
    tokens = [_SIGNS.get(token, token).replace(",", "") for token in _TOKEN.findall(left)]
    terms: list[int | Fraction] = [_exact(tokens[0])]
    for operator, token in zip(tokens[1::2], tokens[2::2], strict=True):
        number = _exact(token)
        if operator in "+-":
            terms.append(number if operator == "+" else -number)
        elif operator == "*":
            terms[-1] *= number
        elif number == 0:
            return None
        else:
            terms[-1] = Fraction(terms[-1], number)
    value = sum(terms)
    result = right.replace(",", "")
    digits = len(result.partition(".")[2])
    return bool(abs(Fraction(value) - Fraction(result)) * 2 * 10**digits <= 1)


def _exact(text: str) -> int | Fraction:
    return Fraction(text) if "." in text else int(text)
