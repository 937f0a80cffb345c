"""The authors' files as the questions of a reproduction, and their corrected gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agent_env.errors import DatasetError
from agent_env.families.tdbench.published import PublishedSet, read_published
from agent_env.families.tdbench.published_samples import published_samples
from agent_env.families.tdbench.sample import (
    Certificate,
    GoldRow,
    TdbenchSample,
    cardinality_of,
    tdbench_sample,
)
from agent_env.records.schema import Sample
from agent_env.tasks.family import SampleSet

MEDICAL = ("medical", "health", "hospital", "stays")
Filter = Callable[[TdbenchSample], bool]


def _is_medical(sample: TdbenchSample) -> bool:
    return any(word in sample.domain.casefold() for word in MEDICAL)


FILTERS: Mapping[str, Filter] = {
    "alignment": lambda sample: sample.kind == "current",
    "reasoning": lambda sample: sample.kind == "relation" and not _is_medical(sample),
    "reasoning-closed": lambda sample: sample.kind == "relation" and not _is_medical(sample),
    "multi-hop": lambda sample: sample.kind == "hops",
    "medical": lambda sample: sample.kind == "relation" and _is_medical(sample),
}
"""Which of a folder's questions belong to each set."""


def read_part(is_part: Filter, path: Path) -> SampleSet:
    """The questions of one set: from a published folder, with the published gold where it differs,
    or from a samples file; DatasetError where there are none."""
    if path.is_dir():
        made = published_samples(_folder(path.resolve()), None, "stored")
    else:
        from agent_env.episodes.run_folder import materials_beside, read_materials, read_samples

        beside = materials_beside(path)
        tables = read_materials(beside) if beside.exists() else ()
        made = SampleSet(read_samples(path, TdbenchSample), tables)
    chosen = tuple(sample for sample in made.samples if is_part(tdbench_sample(sample)))
    if not chosen:
        raise DatasetError(path, None, "holds no question of this set")
    used = {digest for sample in chosen for digest in sample.materials}
    return SampleSet(chosen, tuple(table for table in made.tables if table.digest in used))


@dataclass(frozen=True, slots=True)
class ImportTally:
    """How many stored results of a file come out, or of all files of a folder."""

    name: str
    """The folder, and the file in it where the tally is of one."""
    stored: int
    reproduced: int
    reading: str = ""
    """How the file's database held its tables; "" for a folder."""


def import_tallies(paths: Sequence[Path]) -> list[ImportTally]:
    """For each folder, or imported file, one of the whole and one of each question file in it."""
    tallies: list[ImportTally] = []
    for path in dict.fromkeys(path.resolve() for path in paths):
        own = {(c.folder, c.file, c.reading): c for c in _certificates(path)}.values()
        if own:
            stored, reproduced = sum(c.stored for c in own), sum(c.reproduced for c in own)
            tallies.append(ImportTally(path.name, stored, reproduced))
            tallies += [
                ImportTally(f"{path.name}: {c.file}", c.stored, c.reproduced, c.reading)
                for c in own
            ]
    return tallies


def _certificates(path: Path) -> list[Certificate]:
    if path.is_dir():
        return [
            Certificate(
                file=f"{proof.file} ({proof.group})", folder=path.name,
                reading=proof.reading.words, stored=proof.stored, reproduced=proof.reproduced,
                agrees=True,
            )
            for proof in _folder(path).proofs
        ]  # fmt: skip
    from agent_env.episodes.run_folder import read_samples

    samples = map(tdbench_sample, read_samples(path, TdbenchSample))
    return [sample.certificate for sample in samples if sample.certificate is not None]


@lru_cache(maxsize=2)
def _folder(path: Path) -> PublishedSet:
    """Read once for all sets of questions: proving a folder takes most of the time."""
    return read_published(path, None)


def corrected_gold(samples: Sequence[Sample]) -> Mapping[str, Sequence[Sample]]:
    """The questions with the gold that their statements return, where it differs."""
    changed = [
        _with_gold(own, own.certificate.returned)
        for own in map(tdbench_sample, samples)
        if own.certificate is not None and own.certificate.gold == "stored"
    ]
    return {"corrected": changed} if changed else {}


def _with_gold(sample: TdbenchSample, rows: Sequence[GoldRow]) -> TdbenchSample:
    gold = tuple(dict.fromkeys(row.answer for row in rows))
    every = dict.fromkeys((*sample.others, *sample.gold))
    return sample.model_copy(
        update={
            "gold": gold,
            "golds": tuple(rows),
            "cardinality": cardinality_of(len(gold)),
            "others": tuple(answer for answer in every if answer not in gold),
        }
    )
