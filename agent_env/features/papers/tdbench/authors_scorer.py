"""The rules by which the authors of TDBench score a response: parts of its lower-case text.

A value is named where it is in the text, whole or as one of its other forms: without accents,
each part of it between commas, of three words the first with the last, the first with the second,
and the first alone. `no answer`, `no one` and `none` anywhere say that there is no answer, and
`unsure` anywhere that the model does not know. Other rows of the group make an answer wrong where
they are named, except in joins, whose other values are sought with their capital letters and so are
never found. Dates of what holds now and of joins count by the year and the English name of a month;
those of all other questions were judged by a model, so that T and AT are not defined here.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_env.families.tdbench.name_answers import plain_letters
from agent_env.families.tdbench.sample import TdbenchSample, tdbench_sample
from agent_env.sdk.family import PublishedScorer
from agent_env.sdk.records import Episode, MaterialTable, Sample, Score
from agent_env.sdk.scoring import episode_score
from agent_env.temporal.written import MONTHS

METRICS = ("answer", "answer_time", "unsure", "hop_1")
ALIASES = {
    "kostas stephanopoulos": "konstantinos stephanopoulos", "shōwa": "hirohito",
    "ilegal": "illegal",
}  # fmt: skip
NAMED_MONTHS = tuple(month.lower() for month in MONTHS)
MOST_NAMED = 5
"""Of more right answers it is enough to name so many."""
DOMAIN_WORDS = {
    "Law": ("law", "legal"), "Carbon tax": ("carbon", "environ", "tax"),
    "Heritage": ("heritage", "culture", "cultural", "unesco"),
    "Netflix": ("netflix", "movie", "social", "show"),
}  # fmt: skip
"""Parts of a table's name by the paper's domain; all other tables are of Wikipedia."""


def make_scorer(tables: Mapping[str, MaterialTable]) -> PublishedScorer:
    """The scorer; the tables hold the other rows of a question's group."""

    def score(sample: Sample, episode: Episode) -> Score:
        own = tdbench_sample(sample)
        table = tables.get(own.materials[0]) if own.materials else None
        return episode_score(sample, episode, lambda text: measure(own, text or "", table))

    return PublishedScorer(score, METRICS)


def measure(
    sample: TdbenchSample, text: str, table: MaterialTable | None = None
) -> dict[str, object]:
    """Outcome and metrics of a response."""
    plain = text.strip().lower()
    is_unsure = "unsure" in plain
    is_right = not is_unsure and _is_right(sample, plain, table)
    metrics = {"answer": float(is_right), "unsure": float(is_unsure)}
    if sample.kind == "current" and sample.golds:
        metrics["answer_time"] = float(is_right and _has_start(sample, plain))
    if sample.kind == "hops" and sample.golds:
        metrics["answer_time"] = float(is_right and not _contradicts_games(sample, plain))
        metrics["hop_1"] = float(sample.hops[0].gold[0].lower() in plain)
    return {"outcome": "read", "metrics": metrics}


def forms(value: str) -> tuple[str, ...]:
    """The texts that name a value."""
    plain = value.lower().strip()
    parts = [part.strip() for part in plain.split(",")] if "," in plain else []
    words = plain.split(" ")
    if len(words) == 3:
        parts += [f"{words[0]} {words[2]}", f"{words[0]} {words[1]}", words[0]]
    return (plain, plain_letters(plain), *parts, *([ALIASES[plain]] if plain in ALIASES else []))


def _is_right(sample: TdbenchSample, text: str, table: MaterialTable | None) -> bool:
    says_none = any(phrase in text for phrase in ("no answer", "no one", "none"))
    if not sample.golds:
        return says_none
    if sample.kind == "current":
        return _names(text, sample.golds[0].answer)
    if says_none:
        return False
    if sample.kind == "hops":
        return _names(text, sample.golds[0].answer)
    is_during = sample.relation == "during"
    others = () if is_during and "between" in sample.question else _others(sample, table)
    has_other = any(_names(text, value) for value in others)
    if len(sample.golds) == 1:  # of rows, whether or not several hold one name
        return not has_other and _names(text, sample.golds[0].answer)
    named = sum(_names(text, row.answer) for row in sample.golds)
    is_enough = named >= MOST_NAMED or named == len(sample.golds)
    return is_enough and (is_during or not has_other)


def _names(text: str, value: str) -> bool:
    return any(form in text for form in forms(value))


def _others(sample: TdbenchSample, table: MaterialTable | None) -> tuple[str, ...]:
    """The values of the group's rows that do not answer; a value with a right row and another one
    is among them."""
    columns = [column.casefold() for column in table.columns] if table is not None else []
    names = [name.casefold() for name in sample.answers]
    places = [columns.index(name) for name in names if name in columns]
    if table is None or len(places) != len(names) or not sample.relevant:
        return sample.others
    right = {row.row for row in sample.golds}
    return tuple(
        ", ".join(str(table.rows[n][place]) for place in places)
        for n in sample.relevant[0]
        if n not in right
    )


def _has_start(sample: TdbenchSample, text: str) -> bool:
    """Whether the year of the start is in the text and, for the tables of Wikipedia, its month
    where the text names any."""
    start = sample.golds[0].start
    if start[:4] not in text:
        return False
    is_by_month = paper_domain(sample.domain) == "Wikipedia"
    return not is_by_month or not _named_months(text) or _month(start) in text


def _contradicts_games(sample: TdbenchSample, text: str) -> bool:
    """Whether the year of the games is in the text with a month that is not theirs."""
    games = sample.golds[0]
    months = {_month(day) for day in (games.start, games.end) if day}
    is_dated = games.start[:4] in text and _named_months(text)
    return is_dated and not any(month in text for month in months)


def _named_months(text: str) -> bool:
    return any(month in text for month in NAMED_MONTHS)


def _month(day: str) -> str:
    """The month's name; January of a year alone."""
    return NAMED_MONTHS[int(day[5:7] or 1) - 1]


def paper_domain(domain: str) -> str:
    """The paper's name for a table's domain."""
    name = domain.casefold()
    fitting = (own for own, words in DOMAIN_WORDS.items() if any(word in name for word in words))
    return next(fitting, "Wikipedia")
