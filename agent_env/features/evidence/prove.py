"""Which pages of a corpus prove the facts that samples rest on.

A fact is something with a name and dates. A page proves it where sentences of it state every date:
on a page that is titled by the name, any sentence states a day, and a month or a year only one that
names the thing or is at the page's beginning; on another page only a sentence, or a row of a
table, with all words of the name. A date counts in any usual notation.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import copyfile
from typing import Literal

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import by_digest
from agent_env.sdk.records import Proof, Sample
from agent_env.sdk.run import RunOptions, samples_of, task_of
from agent_env.sdk.scoring import dates_in, stands_in
from agent_env.sdk.trace import materials_beside, samples_bytes, task_in, write_whole
from agent_env.sdk.web import BuiltWeb, Page, words_of

LOOKED_AT = 60
"""Pages of each search."""
LEAD = 800
"""Characters at a page's beginning that are about what its title names."""
Status = Literal["stated", "other date", "not stated"]
_BRACKETED = re.compile(r"\([^()]{0,200}\)")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[])|\n+")


@dataclass(frozen=True, slots=True)
class Statement:
    """Where a page states a fact's dates."""

    url: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactProof:
    """A fact of a sample and what the corpus says of it."""

    sample: str
    constraint: int
    name: str
    dates: tuple[str, ...]
    status: Status
    statements: tuple[Statement, ...]
    """Of pages that state all its dates; where there is none, of those titled by it that state
    others."""


@dataclass(frozen=True, slots=True)
class ProofReport:
    """What was written."""

    samples: int
    left_out: int
    facts: tuple[FactProof, ...]
    listed: Path
    """All facts, one JSON object per line."""


async def prove(
    file: Path, pages: Path, out: Path, is_stated_only: bool, note: Callable[[str], None]
) -> ProofReport:
    """Write the samples of `file` to `out` with the proofs that `pages` holds, and all facts
    beside. A fact that no page states has a proof without pages; with `is_stated_only` its samples
    are left out. ConfigError where the samples name no facts."""
    if (name := task_in(file)) is None:
        raise ConfigError(f"{file} holds no samples; make them with agent-env questions generate")
    options = RunOptions(name, dataset=file)
    sample_set = samples_of(options)
    task, samples = task_of(options, by_digest(sample_set.tables)), sample_set.samples
    facts: list[FactProof] = []
    written: list[Sample] = []
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Status, tuple[Statement, ...]]] = {}
    with closing(BuiltWeb.opened(pages, note)) as web:
        for sample in samples:
            names, proofs = task.names(sample), list[Proof]()
            for proof in sample.proofs:
                if proof.constraint not in names:
                    raise ConfigError(
                        f"{file}: {task.name} does not say what the facts of '{sample.id}' are "
                        "called, so their pages cannot be looked for"
                    )
                key = names[proof.constraint], proof.dates
                if key not in known:
                    known[key] = await _search_statements(web, *key)
                status, found = known[key]
                facts.append(FactProof(sample.id, proof.constraint, key[0][0], key[1], *known[key]))
                urls = tuple(each.url for each in found) if status == "stated" else ()
                proofs.append(proof.model_copy(update={"urls": urls}))
            if not is_stated_only or all(proof.urls for proof in proofs):
                evidence = tuple(dict.fromkeys(url for proof in proofs for url in proof.urls))
                update = {"proofs": tuple(proofs), "evidence": evidence}
                written.append(sample.model_copy(update=update))
    if not facts:
        raise ConfigError(f"{file}: its samples name no facts that a page could prove")
    if not written:
        raise ConfigError(f"{pages} states all facts of none of the {len(samples)} samples")
    write_whole(out, samples_bytes(written))
    if (tables := materials_beside(file)).exists():
        copyfile(tables, materials_beside(out))
    listed = out.with_name(f"{out.stem}.proofs.jsonl")
    rows = (json.dumps(asdict(fact), ensure_ascii=False) for fact in facts)
    write_whole(listed, "".join(f"{row}\n" for row in rows).encode())
    return ProofReport(len(written), len(samples) - len(written), tuple(facts), listed)


async def _search_statements(
    web: BuiltWeb, names: tuple[str, ...], dates: tuple[str, ...]
) -> tuple[Status, tuple[Statement, ...]]:
    """What the pages that searches for the names find say of the dates."""
    stated: dict[str, Statement] = {}
    others: dict[str, Statement] = {}
    async for page in _candidates(web, names, dates):
        is_titled = any(_is_titled(page.title, name) for name in names)
        if not is_titled and not all(stands_in(date, page.text) for date in dates):
            continue
        sentences = tuple(_sentence(page, names, date, is_titled) for date in dates)
        if None not in sentences:
            own = tuple(dict.fromkeys(each for each in sentences if each is not None))
            stated[page.url] = Statement(page.url, own)
        elif is_titled and (other := _other_date(page, dates)) is not None:
            others[page.url] = Statement(page.url, (other,))
    if stated:
        return "stated", tuple(stated.values())
    return ("other date" if others else "not stated"), tuple(others.values())


async def _candidates(
    web: BuiltWeb, names: tuple[str, ...], dates: tuple[str, ...]
) -> AsyncIterator[Page]:
    """Each page once that a search for a name, alone or with the year of a date, lists."""
    years = dict.fromkeys(date[:4] for date in (dates[0], dates[-1])) if dates else {}
    seen: set[str] = set()
    for name in names:
        for query in (name, *(f"{name} {year}" for year in years)):
            for hit in await web.search.search(query, LOOKED_AT):
                if hit.url not in seen:
                    seen.add(hit.url)
                    yield await web.fetch(hit.url)


def _is_titled(title: str, name: str) -> bool:
    """Whether the title is the name, but for what is in brackets."""
    words = words_of(_BRACKETED.sub("", name))
    return bool(words) and words_of(_BRACKETED.sub("", title)) == words


def _sentence(page: Page, names: tuple[str, ...], date: str, is_titled: bool) -> str | None:
    """The first sentence of the page that states the date of what has one of the names."""
    wanted = [set(words_of(name)) for name in names]
    place = 0
    for sentence in _ENDS.split(page.text):
        is_own = is_titled and (len(date) == 10 or place < LEAD)
        place += len(sentence)
        if not stands_in(date, sentence):
            continue
        words = set(words_of(sentence))
        if is_own or any(each and each <= words for each in wanted):
            return sentence.strip()
    return None


def _other_date(page: Page, dates: tuple[str, ...]) -> str | None:
    """The first sentence of the page's beginning that has a date as exact as the wanted ones."""
    exact = max(map(len, dates), default=10)
    for sentence in _ENDS.split(page.text[:LEAD]):
        if any(len(date) == exact for date in dates_in(sentence)):
            return sentence.strip()
    return None
