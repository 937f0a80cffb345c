"""Names of an invented world that can be read aloud: several families of names, each in the shape
of another language, none of them the name of somebody or something in the shipped tables."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

from agent_env.extensions.facts.fiction.names import Names
from agent_env.extensions.facts.tables.tables import shipped_tables

GIVEN, LAST, PLACES = 60, 400, 600
"""Names of each sort that a family has in one world."""
BEFORE = ("Upper", "Lower", "Old", "New", "Great", "Little", "Saint", "Port", "Castle", "Mount")
"""What may stand before the name of a place."""
Pools = tuple[list[str], list[str], list[str]]
"""First names, last names and places of one family."""


class WorldNames(Names):
    """People have both names of one family."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._families = [self._draw(family) for family in families()]

    def _draw(self, family: tuple[list[str], ...]) -> Pools:
        given, last, place = (
            self._rng.sample(every, min(count, len(every)))
            for every, count in zip(family, (GIVEN, LAST, PLACES), strict=True)
        )
        return given, last, place

    def _a_person(self) -> str:
        given, last, _ = self._rng.choice(self._families)
        return f"{self._rng.choice(given)} {self._rng.choice(last)}"

    def _a_place(self) -> str:
        place = self._rng.choice(self._rng.choice(self._families)[2])
        return place if self._rng.random() < 0.7 else f"{self._rng.choice(BEFORE)} {place}"

    def _nearly(self, name: str) -> str:
        """One vowel of one word is another."""
        words = name.split(" ")
        at = self._rng.randrange(len(words))
        word = words[at]
        places = [n for n, letter in enumerate(word) if n and letter in "aeiou"]
        if places:
            place = self._rng.choice(places)
            other = self._rng.choice([v for v in "aeiou" if v != word[place]])
            words[at] = word[:place] + other + word[place + 1 :]
        return " ".join(words)

    def ship(self) -> str:
        """Such as `Queen Ferra`."""
        heads, rng = "Queen Star Spirit Lady Pride Maid".split(), self._rng
        return self._new(
            "ship", lambda: f"{rng.choice(heads)} {rng.choice(rng.choice(families())[0])}"
        )


@cache
def families() -> tuple[tuple[list[str], ...], ...]:
    """Every given name, last name and place of each family."""
    text = Path(__file__).with_name("names.toml").read_text(encoding="utf-8")
    known = _known_words()
    return tuple(
        tuple(
            sorted(
                {
                    name
                    for parts in product(
                        own["heads"].split(), own["middles"].split(), own[sort].split()
                    )
                    if (name := "".join(parts)) not in known and not _CLUMSY.search(name.lower())
                }
            )
            for sort in ("given", "last", "place")
        )
        for own in tomllib.loads(text)["family"]
    )


_CLUMSY = re.compile(r"([aeiou])\1\1|[aeiou]{4}|[^aeiouy]{5}|(.)\2\2")


def _known_words() -> set[str]:
    """Capitalised words of the shipped tables."""
    tables = shipped_tables()
    texts = [f"{row.event} {row.summary} {row.hint}" for row in tables.events]
    texts += [f"{row.person} {row.description}" for row in tables.people]
    texts += [row.person for row in tables.presidents]
    return set(re.findall(r"\b[A-Z][^\W\d_]+", " ".join(texts)))
