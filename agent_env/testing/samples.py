"""Makes a family's samples: the same seed gives the same bytes, also in another process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.episodes.run_folder import digest, samples_bytes
from agent_env.errors import ConfigError
from agent_env.records.schema import Record
from agent_env.registry import OBJECT
from agent_env.tasks.family import Family, SampleSet, checked_options
from agent_env.tasks.shortcuts import AnswerText
from agent_env.wiring.registry import load_family
from agent_env.wiring.trust import own_plugins

IN_NEW_PROCESS = """\
import sys
from agent_env.testing.samples import print_digest
print_digest(*sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the check is to use."""

    count: int
    seed: int
    options: Mapping[str, Any]
    dataset: Path | None
    gold_answer: AnswerText | None
    near_miss: AnswerText | None
    ceiling: float


@contextmanager
def random_state(name: str) -> Iterator[None]:
    """Python's own random generator in this state, then as before."""
    state = random.getstate()
    random.seed(name)
    try:
        yield
    finally:
        random.setstate(state)


def made_by(family: Family, choice: Choice, options: Record) -> SampleSet:
    if choice.dataset is None:
        return family.make_samples(choice.count, choice.seed, options)
    made = family.read_foreign(choice.dataset, options)
    if made is None:
        raise ConfigError(f"read_foreign does not know the format of {choice.dataset}")
    return made


def same_bytes(family: Family, choice: Choice, options: Record, made: SampleSet) -> Iterator[str]:
    with random_state("second"):
        again = made_by(family, choice, options)
    for first, second in zip(made.samples, again.samples, strict=False):
        if samples_bytes([first]) != samples_bytes([second]):
            yield (
                f"sample {first.id}: the same seed gave other bytes the second time; draw from "
                "random.Random(seed) alone, and sort what comes from a set"
            )
            return
    if len(made.samples) != len(again.samples) or made.tables != again.tables:
        yield "the same seed gave another number of samples, or other tables, the second time"


def in_new_process(path: str, family: Family, choice: Choice) -> Iterator[str]:
    """Sets of texts have another order in each process, unless PYTHONHASHSEED is set."""
    if path.startswith(OBJECT):
        yield "no other process finds it; put it into a module as a name of its own"
        return
    made = made_by(family, choice, checked_options(family, choice.options))
    here = os.environ.get("PYTHONHASHSEED")
    done = subprocess.run(
        [sys.executable, "-c", IN_NEW_PROCESS, path, str(choice.count), str(choice.seed),
         json.dumps(dict(choice.options)), str(choice.dataset or "")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
             "PYTHONHASHSEED": "2" if here == "1" else "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        yield f"a new process cannot make the samples: {done.stderr.strip()[-300:]}"
    elif done.stdout.strip() != digest_of(made):
        yield "the same seed gave other bytes in a new process; sort what comes from a set"


def digest_of(made: SampleSet) -> str:
    """Of the bytes of samples and tables."""
    return digest(samples_bytes(made.samples) + samples_bytes(made.tables))


def print_digest(path: str, count: str, seed: str, options: str, dataset: str) -> None:
    """What a new process says of the same choice."""
    file = Path(dataset) if dataset else None
    choice = Choice(int(count), int(seed), json.loads(options), file, None, None, 1.0)
    family = load_family(path, own_plugins())
    print(digest_of(made_by(family, choice, checked_options(family, choice.options))))
