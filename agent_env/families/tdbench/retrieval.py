"""Finds the rows of a question's tables that share its words: retrieval without regard to time.

BM25 (k1 1.2, b 0.75) over the words of each row's cells; equal scores keep the table's order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.records.schema import MaterialTable
from agent_env.scoring.name_answers import words


@dataclass(frozen=True, slots=True)
class _Passages:
    texts: tuple[str, ...]
    counts: tuple[Counter[str], ...]
    rows_with: Counter[str]
    """Number of rows that hold each word."""
    mean_length: float


class Retriever:
    """Searches tables; each is indexed at its first use."""

    def __init__(self, tables: Mapping[str, MaterialTable]) -> None:
        self._tables = tables
        self._indexed: dict[str, _Passages] = {}

    def passages(self, sample: TdbenchSample, limit: int) -> str:
        """The best rows of the sample's tables, one a line; ConfigError where it has no table."""
        hits: list[tuple[float, str]] = []
        for digest in sample.materials:
            if digest in self._tables:
                hits += self._best(digest, words(sample.question), limit)
        best = sorted(hits, key=lambda pair: -pair[0])[:limit]
        if not best:
            raise ConfigError(
                f"--prompt retrieval: sample '{sample.id}' names no table that could be searched"
            )
        return "Rows that a search found:\n" + "\n".join(text for _, text in best)

    def _best(self, digest: str, query: Sequence[str], limit: int) -> list[tuple[float, str]]:
        if digest not in self._indexed:
            self._indexed[digest] = _index(self._tables[digest])
        index = self._indexed[digest]
        scored = [(_bm25(index, number, query), number) for number in range(len(index.texts))]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        return [(score, index.texts[number]) for score, number in scored[:limit]]


def _index(table: MaterialTable) -> _Passages:
    texts = tuple(_passage(table, row) for row in table.rows)
    counts = tuple(Counter(words(text)) for text in texts)
    rows_with = Counter(word for count in counts for word in count)
    total = sum(sum(count.values()) for count in counts)
    return _Passages(texts, counts, rows_with, total / max(1, len(texts)))


def _passage(table: MaterialTable, row: Sequence[str | int | float | None]) -> str:
    cells = zip(table.columns, row, strict=True)
    return "- " + "; ".join(f"{name}: {cell}" for name, cell in cells if cell is not None)


def _bm25(index: _Passages, number: int, query: Sequence[str]) -> float:
    count = index.counts[number]
    length = sum(count.values()) / index.mean_length
    score = 0.0
    for word in set(query):
        if (times := count[word]) > 0:
            rows, have = len(index.texts), index.rows_with[word]
            rarity = math.log(1 + (rows - have + 0.5) / (have + 0.5))
            score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length))
    return score
