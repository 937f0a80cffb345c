"""Which requests fail, and how: randomly drawn."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from random import Random

from agent_env.errors import ConfigError

KINDS = {
    "cut": "the connection ends in the middle of the body",
    "html": "a 200 with a web page",
    "empty": "a 200 without a body",
    "no-reply": "a 200 with neither choice nor output",
    "error-body": "a 200 with an error in it",
    "hang": "the request is accepted and never answered",
    "stall": "half of the body, then silence on an open connection",
    "half": "half of the body, then an orderly end: a stream without its last events",
}
"""Beside these, any HTTP status from 400 to 599; 429 comes with Retry-After."""


def parse_errors(text: str) -> dict[str, float]:
    """The probabilities in a text like `429:0.1,cut:0.02`; raises ConfigError."""
    errors: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        kind, _, chance = part.strip().partition(":")
        try:
            errors[kind] = float(chance)
        except ValueError:
            raise ConfigError(f"{part!r}: write KIND:PROBABILITY, such as 429:0.1") from None
    Faults(errors, seed=0)
    return errors


class Faults:
    """Draws a fault, or none, for each request.

    The draw depends on the seed, the request and how often it was repeated, not on the order of
    concurrent requests: the same run meets the same faults.
    """

    def __init__(self, errors: Mapping[str, float], seed: int) -> None:
        for kind, chance in errors.items():
            if kind not in KINDS and not (kind.isdecimal() and 400 <= int(kind) <= 599):
                kinds = ", ".join(KINDS)
                raise ConfigError(f"no error {kind!r}; there are {kinds} and 400 to 599")
            if not 0 <= chance <= 1:
                raise ConfigError(f"{kind}:{chance}: a probability is between 0 and 1")
        if sum(errors.values()) > 1:
            raise ConfigError("the probabilities of all errors together are more than 1")
        self._errors = dict(errors)
        self._seed = seed
        self._repeats: Counter[str] = Counter()

    def draw(self, request: bytes) -> str | None:
        """The kind of fault for this request; None for none."""
        if not self._errors:
            return None
        digest = hashlib.sha256(request).hexdigest()
        self._repeats[digest] += 1
        rest = Random(f"{self._seed}/{digest}/{self._repeats[digest]}").random()
        for kind, chance in self._errors.items():
            rest -= chance
            if rest < 0:
                return kind
        return None
