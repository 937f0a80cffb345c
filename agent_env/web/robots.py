"""robots.txt as RFC 9309 has it: which paths a site lets us open.

Guaranteed: the rules of the groups that name us, else those of `*`; the longest pattern that fits
decides and Allow wins a tie; `*` and `$` mean what the RFC says. (urllib.robotparser knows neither
wildcards nor the longest match, and would open what sites forbid.) Not covered: Crawl-delay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

_READ_CHARACTERS = 512 * 1024
_SAFE = "/%*$?&=+,:;@!'()~#[]-._"
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_Rule = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Robots:
    """What one site asks of us."""

    rules: tuple[_Rule, ...] = ()
    """Allowed or not, and the pattern."""

    @classmethod
    def parse(cls, text: str, product: str) -> Robots:
        """From the file's text; whatever cannot be read is passed over."""
        ours: list[_Rule] = []
        others: list[_Rule] = []
        named = False
        for agents, rules in _groups(text[:_READ_CHARACTERS]):
            if product.lower() in agents:
                named = True
                ours += rules
            elif "*" in agents:
                others += rules
        return cls(tuple(ours if named else others))

    def allows(self, path: str) -> bool:
        """Whether the path with its query may be opened."""
        path = _plain(path)
        fitting = [(len(rule), allowed) for allowed, rule in self.rules if _fits(rule, path)]
        return max(fitting, default=(0, True))[1]


def _groups(text: str) -> Iterator[tuple[set[str], list[_Rule]]]:
    agents: set[str] = set()
    rules: list[_Rule] = []
    in_rules = False
    for key, value in _lines(text):
        if key == "user-agent":
            if in_rules:
                yield agents, rules
                agents, rules, in_rules = set(), [], False
            agents.add(value.split("/")[0].strip().lower())
        elif key in ("allow", "disallow"):
            in_rules = True
            if value:
                rules.append((key == "allow", _plain(value)))
    yield agents, rules


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _plain(path: str) -> str:
    """Percent-encoded in one way."""
    return _ESCAPE.sub(lambda found: found.group().upper(), quote(path, safe=_SAFE))


def _fits(rule: str, path: str) -> bool:
    """Whether the pattern fits the path's beginning; linear, as no pattern may cost us time."""
    first, *rest = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    last = rest.pop() if rest and rule.endswith("$") else None
    at = len(first)
    for part in rest:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if last is not None:
        return path.endswith(last) and len(path) - len(last) >= at
    return not rule.endswith("$") or at == len(path)
