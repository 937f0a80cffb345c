"""Invented names that can be read aloud, each given once: several families of names, each in the
shape of another language, none of them the name of somebody or something in the shipped tables.
Some differ from another by a vowel on purpose."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

from agent_env.features.facts.tables.tables import shipped_tables

BEFORE = ("Upper", "Lower", "Old", "New", "Great", "Little", "Saint", "Port", "Castle", "Mount")
"""What may be before the name of a place."""
NEAR = 0.16
"""Part of the names that are made to be nearly another one."""
TRIES = 10_000


class Names:
    """Draws names that no other name of the world equals, letter case aside. People have both names
    of one family."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._given: dict[str, list[str]] = {"place": [], "person": [], "club": [], "ship": []}
        self._taken: set[str] = set()

    def place(self) -> str:
        """Such as `Old Calvera`."""
        return self._new("place", self._a_place)

    def person(self) -> str:
        """Such as `Penniwen Carrucombe`."""
        return self._new("person", self._a_person)

    def club(self, place: str) -> str:
        """Such as `Calvera Wanderers`."""
        ends = "Wanderers Rovers Albion Athletic Rangers Harriers Mariners Corinthians".split()
        return self._new("club", lambda: f"{place} {self._rng.choice(ends)}", near=False)

    def ship(self) -> str:
        """Such as `Queen Ferra`."""
        heads = "Queen Star Spirit Lady Pride Maid".split()
        return self._new(
            "ship",
            lambda: (
                f"{self._rng.choice(heads)} {self._rng.choice(self._rng.choice(families())[0])}"
            ),
        )

    def _new(self, kind: str, make: Callable[[], str], near: bool = True) -> str:
        given = self._given[kind]
        for number in range(TRIES):
            copy = near and number < 20 and given and self._rng.random() < NEAR
            name = self._nearly(self._rng.choice(given)) if copy else make()
            if name.casefold() not in self._taken:
                self._taken.add(name.casefold())
                given.append(name)
                return name
        raise AssertionError(f"the {kind} names are used up")

    def _a_person(self) -> str:
        given, last, _ = self._rng.choice(families())
        return f"{self._rng.choice(given)} {self._rng.choice(last)}"

    def _a_place(self) -> str:
        place = self._rng.choice(self._rng.choice(families())[2])
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


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, … 11th, … 21st."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
