"""The forms of constraints on the year: years, ranges, rules, games, zodiac years, eras."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.texts import vocabulary as vocab
from agent_env.families.time_puzzles.texts.meanings import Form, Match, Meaning, YearRule, YearSet
from agent_env.temporal.systems.japanese import ERAS


def _year_set(match: Match) -> Meaning | None:
    years = vocab.years_in(match["years"])
    if len(years) == 1:
        return ft.ExplicitYear(year=years[0])
    return YearSet(years) if years else None


def _year_range(match: Match) -> Meaning | None:
    first, last = int(match["first"]), int(match["last"])
    return ft.YearRange(start=first, end=last) if 1 <= first <= last else None


def _decade(match: Match) -> Meaning | None:
    first = int(match["decade"])
    stated = match["first"], match["last"]
    if first % 10 or not first or stated not in ((None, None), (str(first), str(first + 9))):
        return None
    return ft.Decade(decade=first)


_REMAINDER = r"(?:the )?year (?:%|mod|modulo) (?P<modulus>\d{1,4}) ?(?:==?|is) ?(?P<rest>\d{1,4})"
_BOUND = r"(?:the )?year ?(?P<operator>>=|<=|>|<|≥|≤) ?(?P<bound>\d{4})"
_EXCEPT = rf"(?:(?:the )?year )?(?:is not|not|!=) (?:one of )?(?P<exceptions>{vocab.YEAR_LIST})"
_ATOM = rf"(?:{_REMAINDER}|{_BOUND}|{_EXCEPT})"
_ANY_ATOM = re.sub(r"\?P<\w+>", "?:", _ATOM)


def _year_rule(match: Match) -> Meaning | None:
    fields: dict[str, Any] = {"exceptions": ()}
    for atom in re.finditer(_ATOM, match["rule"], re.I):
        if atom["modulus"]:
            if "modulus" in fields or not int(atom["modulus"]):
                return None
            fields |= {"modulus": int(atom["modulus"]), "remainder": int(atom["rest"])}
        elif atom["operator"]:
            fields |= _bound(atom["operator"], int(atom["bound"]))
        else:
            fields["exceptions"] += vocab.years_in(atom["exceptions"])
    return YearRule(**fields)


def _bound(operator: str, year: int) -> dict[str, int]:
    if operator in (">", ">=", "≥"):
        return {"first": year + (operator == ">")}
    return {"last": year - (operator == "<")}


def _games(name: str) -> Callable[[Match], Meaning]:
    return lambda match: ft.RecurringEvent.model_validate({"name": name})


def _zodiac(match: Match) -> Meaning:
    return ft.ChineseZodiac(animal=vocab.ANIMALS[match["animal"].casefold()])


def _era(match: Match) -> Meaning:
    return ft.JapaneseEra.model_validate({"era": match["era"].capitalize()})


_IN = (
    r"(?:(?:(?:it|the date|the year|that day) (?:is|was|falls|lies|belongs|happened|occurred)"
    r"(?: in| to)?|in) )?"
)
_ANIMAL = rf"(?P<animal>{vocab.either(vocab.ANIMALS)})"
_CHINESE = r"(?:chinese |lunar )*+(?:zodiac|calendar)"
_OLYMPICS = r"(?:the )?(?:modern )?summer olympic(?:s| games)?"
_CUP = r"(?:the )?(?:fifa |men's |football )++world cup"

YEAR_FORMS: tuple[Form, ...] = (
    (
        rf"(?:{_IN}|the year is )(?:the year )?(?P<year>\d{{4}})",
        lambda match: ft.ExplicitYear(year=int(match["year"])) if int(match["year"]) else None,
    ),
    (
        r"(?:the year|the date|it) (?:is|lies|falls) (?:between|from) (?P<first>\d{4}) (?:and|to) "
        r"(?P<last>\d{4})(?:,? \(?(?:both )?(?:included|inclusive)\)?)?",
        _year_range,
    ),
    (r"the year is at least (?P<first>\d{4}) and at most (?P<last>\d{4})", _year_range),
    (
        r"the year (?:is|lies) (?:either |(?:one|any) of (?:these: )?|in |in one of )?"
        rf"\[?(?P<years>{vocab.YEAR_LIST})\]?",
        _year_set,
    ),
    (
        rf"{_IN}the (?P<decade>\d{{4}})'?s"
        r"(?:(?:, that is,?| \(|,) ?(?P<first>\d{4})(?: to |-)(?P<last>\d{4})\)?)?",
        _decade,
    ),
    (
        r"the year (?:satisfies|is such that) "
        rf"(?P<rule>{_ANY_ATOM}(?:(?:, and |, | and ){_ANY_ATOM}){{0,4}}+)",
        _year_rule,
    ),
    (rf"(?P<rule>the year is not (?:one of )?{vocab.YEAR_LIST})", _year_rule),
    (
        rf"(?:{_IN}a leap year|february has 29 days in that year)",
        lambda match: ft.LeapYear(),
    ),
    (
        rf"(?:{_IN}an? {_OLYMPICS} year|{_OLYMPICS} (?:took place|were held) in that year"
        rf"|that year saw {_OLYMPICS}|{_IN}a year of {_OLYMPICS})",
        _games("summer_olympics"),
    ),
    (
        rf"(?:{_IN}an? {_CUP} year|(?:the final tournament of )?{_CUP} (?:took place|was held) in "
        rf"that year|men played a football world cup in that year|{_IN}a year of {_CUP})",
        _games("world_cup"),
    ),
    (
        rf"(?:in the {_CHINESE}, )?(?:{_IN}|the (?:chinese |lunar |zodiac )*+year is )"
        rf"(?:an? |the )?(?:chinese )?(?:zodiac )?year of the {_ANIMAL}"
        r"(?: \(the year beginning at chinese new year\))?"
        rf"(?:,? \(?(?:(?:in|of|by|according to) (?:the )?)?{_CHINESE}\)?)?",
        _zodiac,
    ),
    (
        rf"it is the {_ANIMAL}'s year of the chinese zodiac(?:, counted from chinese new year)?",
        _zodiac,
    ),
    (
        r"the chinese zodiac(?: sign| animal)?(?: of the year)? is (?:the )?"
        rf"{_ANIMAL}",
        _zodiac,
    ),
    (
        rf"in japan, the date falls in the (?P<era>{vocab.either(e.name for e in ERAS[:4])}) era"
        r"(?: \(a day on which the era changed belongs to the new one\))?",
        _era,
    ),
)
