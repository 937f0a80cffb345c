"""Invented names, each given once; some differ from another by a letter or a word on purpose."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

ONSETS = """
b br c ch d dr f fl g gl gr h j k kl kr l m n p pl pr qu r s sk sl st t th tr v w y z
""".split()
VOWELS = "a e i o u ae ai au ea ei ia ie io oa ou".split()
CODAS = "l ld lk ll lm m n nd nk nn r rd rk rl rn rv s sk ss st t th v x z".split()
PLACE_ENDS = """
Bight Bridge Cross Dell Fell Ferry Fold Ford Gate Green Harbour Hollow Isle Landing March Mere Moor
Mouth Pass Reach Ridge Rock Sound Spire Strand Tarn Vale Wharf
""".split()
ENDS = "a an ar e el en er in is o on or us y".split()
NEAR = 0.16
"""Part of the names that are made to be nearly another one."""
TRIES = 10_000


class Names:
    """Draws names that no other name of the world equals, letter case aside."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._given: dict[str, list[str]] = {"place": [], "person": [], "club": [], "ship": []}
        self._taken: set[str] = set()
        self._first = self._pool(240, lambda: self._root() + rng.choice(ENDS))
        self._last = self._pool(1800, lambda: self._root() + rng.choice(["", "", *ENDS[:8]]))

    def place(self) -> str:
        """Such as `Karvel Ford`."""
        return self._new("place", self._a_place)

    def person(self) -> str:
        """Such as `Orrin Thale`."""
        return self._new("person", self._a_person)

    def club(self, place: str) -> str:
        """Such as `Karvel Ford Wanderers`."""
        ends = "Wanderers Rovers Albion Athletic Rangers Harriers Mariners Corinthians".split()
        return self._new("club", lambda: f"{place} {self._rng.choice(ends)}", near=False)

    def ship(self) -> str:
        """Such as `Queen Draela`."""
        heads = "Queen Star Spirit Lady Pride Maid".split()
        return self._new(
            "ship", lambda: f"{self._rng.choice(heads)} {self._rng.choice(self._first)}"
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

    def _a_place(self) -> str:
        root = self._root() + self._rng.choice(ENDS)
        return root if self._rng.random() < 0.25 else f"{root} {self._rng.choice(PLACE_ENDS)}"

    def _a_person(self) -> str:
        return f"{self._rng.choice(self._first)} {self._rng.choice(self._last)}"

    def _nearly(self, name: str) -> str:
        """Another first or last word, or one letter doubled or changed."""
        first, _, last = name.rpartition(" ")
        draw = self._rng.random()
        if first and draw < 0.35:
            kin = [end for end in PLACE_ENDS if end[0] == last[0] and end != last]
            return f"{first} {self._rng.choice(kin)}" if kin else f"{first} {self._misspelt(last)}"
        if first and draw < 0.7:
            return f"{self._misspelt(first)} {last}"
        return f"{first} {self._misspelt(last)}".strip()

    def _misspelt(self, word: str) -> str:
        at = self._rng.randrange(1, len(word))
        letter = word[at]
        if letter in "aeiou":
            other = self._rng.choice([v for v in "aeiou" if v != letter])
            return word[:at] + other + word[at + 1 :]
        doubled = letter.isalpha() and letter not in (word[at - 1], word[at + 1 : at + 2])
        return word[:at] + letter + word[at:] if doubled else word + "e"

    def _root(self) -> str:
        rng = self._rng
        root = rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)
        return root.capitalize()

    @staticmethod
    def _pool(count: int, make: Callable[[], str]) -> list[str]:
        """`count` different words, none of which ends the name of a place."""
        words: dict[str, None] = {}
        while len(words) < count:
            word = make()
            if word not in PLACE_ENDS:
                words[word] = None
        return list(words)


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, … 11th, … 21st."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
