"""Releases: made, opened, scored, revealed, and followed by the next edition.

A release is a folder. `public/` is published: the questions of the public half in plain text, their
answers hidden from crawlers, and of the private half the commitments alone. `private/` is kept: its
samples, and the seeds and the salt from which everything can be checked when they are revealed.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any
from uuid import UUID

from agent_env.extensions.release.card import documents
from agent_env.extensions.release.commitments import hidden, leaf, root, seed_commitment
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.family import SampleSet, parse_condition
from agent_env.sdk.records import Episode, MaterialTable, Message, Record, Sample, read_file
from agent_env.sdk.results import wilson
from agent_env.sdk.run import Run, RunOptions, samples_of, task_of
from agent_env.sdk.trace import samples_bytes, write_whole

FORMAT = 1
RELEASE, HIDDEN, QUESTIONS = "release.json", "answers.txt", "questions.jsonl"
COMMITMENTS, SECRET, SAMPLES = "commitments.txt", "secret.json", "samples-{}.jsonl"
MOST = 100_000
"""Samples of a part."""
LONGEST_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class NewOptions:
    """Options of `release new`."""

    name: Annotated[str, Opt("Of the release, as it is to be cited.", argument=True)]
    parts: Annotated[
        tuple[str, ...], Opt("TASK or TASK:DIFFICULTY, each a split. Repeatable.", flag="--part")
    ] = ("time-puzzles",)
    limit: Annotated[int, Opt("Samples of each half of a part.", min=1, max=MOST)] = 100
    seed: Annotated[int, Opt("Of the public half; that of the private half is random.")] = 1
    licence: Annotated[str, Opt("SPDX identifier.", flag="--license")] = "CC-BY-4.0"
    url: Annotated[str, Opt("Where it will be found.")] = "https://example.org/"
    doi: Annotated[str | None, Opt("Its DOI, where it has one already.")] = None
    out: Annotated[Path | None, Opt("A new folder.", shown="NAME")] = None


@dataclass(frozen=True, slots=True)
class Half:
    """The samples of one half, by part, with their tables."""

    sets: Mapping[str, SampleSet]

    @classmethod
    def made(cls, parts: Sequence[str], limit: int, seeds: Sequence[int], head: str) -> Half:
        """Generated from the seeds, one for each part, with ids that tell nothing of them."""
        sets = {}
        for number, (part, seed) in enumerate(zip(parts, seeds, strict=True), start=1):
            options = options_of(part, limit=limit, seed=seed)
            made = samples_of(options)
            if len(made.samples) < limit:
                raise ConfigError(f"{part} gives {len(made.samples)} samples, not {limit}")
            named = tuple(
                sample.model_copy(update={"id": f"{head}-{number}-{place:05d}"})
                for place, sample in enumerate(made.samples, start=1)
            )
            sets[part] = replace(made, samples=named)
        return cls(sets)

    def rows(self) -> Iterator[tuple[str, Sample]]:
        """Each sample with its part."""
        for part, of_part in self.sets.items():
            yield from ((part, sample) for sample in of_part.samples)

    def commitments(self, salt: bytes) -> list[bytes]:
        """A leaf for each sample, in order."""
        lines = (samples_bytes([sample]) for _, sample in self.rows())
        return [leaf(salt, number, line) for number, line in enumerate(lines)]


def options_of(part: str, **options: Any) -> RunOptions:
    """The options of a run over a part."""
    task, _, difficulty = part.partition(":")
    return RunOptions(task, difficulty=difficulty or None, **options)


def new(options: NewOptions, edition: int = 1, history: Sequence[Any] = ()) -> dict[str, Any]:
    """Writes a release; returns its release.json."""
    if not options.name.isidentifier() and not options.name.replace("-", "_").isidentifier():
        raise ConfigError(f"'{options.name}' is no name of a release; use letters, digits, - and _")
    if len(set(options.parts)) < len(options.parts):
        raise ConfigError("a part is named twice")
    out = options.out or Path(options.name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not empty; name a new folder with --out")
    salt, drawn = secrets.token_bytes(32), [secrets.randbits(62) for _ in options.parts]
    seeds = [options.seed] * len(options.parts)
    public = Half.made(options.parts, options.limit, seeds, f"{options.name}-{edition}")
    private = Half.made(options.parts, options.limit, drawn, f"{options.name}-{edition}-private")
    leaves = private.commitments(salt)
    canary = f"agent-env canary {UUID(bytes=secrets.token_bytes(16), version=4)}"
    answers = {
        part: {"samples": _plain(of_part.samples), "tables": _plain(of_part.tables)}
        for part, of_part in public.sets.items()
    }
    packed = zlib.compress(json.dumps(answers, ensure_ascii=False).encode(), 9)
    questions, asked = _questions(public), _questions(private)
    one, two = ({json.loads(q)["question"] for q in h.splitlines()} for h in (questions, asked))
    release = {
        "v": FORMAT, "name": options.name, "edition": edition, "licence": options.licence,
        "url": options.url, "doi": options.doi, "canary": canary, "parts": list(options.parts),
        "samplesOfPart": options.limit, "publicSeed": options.seed,
        "commitments": {
            "scheme": "RFC 6962 over HMAC-SHA-256-salted samples", "number": len(leaves),
            "root": root(leaves).hex(), "seeds": seed_commitment(salt, drawn),
            "alsoPublic": len(one & two),
        },
        "editions": list(history),
    }  # fmt: skip
    files = {
        f"public/{RELEASE}": _json(release),
        f"public/{QUESTIONS}": questions,
        f"public/{HIDDEN}": f"{canary}\n".encode() + base64.encodebytes(hidden(packed, canary)),
        f"public/{COMMITMENTS}": "".join(f"{each.hex()}\n" for each in leaves).encode(),
        f"private/{QUESTIONS}": asked,
        f"private/{SECRET}": _json({"salt": salt.hex(), "seeds": drawn, "canary": canary}),
    }
    files |= {f"public/{name}": data for name, data in documents(release, questions).items()}
    for name, data in files.items():
        write_whole(out / name, data)
    for number, of_part in enumerate(private.sets.values(), start=1):
        of_part.write(out / "private" / SAMPLES.format(number))
    return release


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def _plain(records: Sequence[Record]) -> list[Any]:
    return [json.loads(each.model_dump_json()) for each in records]


def _questions(half: Half) -> bytes:
    """A line for each question as a model is asked it, without its answer."""
    base, lines = parse_condition("base"), []
    for part, of_part in half.sets.items():
        task = task_of(options_of(part), of_part.tables_by_digest)
        for sample in of_part.samples:
            messages = task.prompt_under(sample, base)
            question = "\n\n".join(message.content for message in messages)
            row = {"id": sample.id, "split": part, "question": question}
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def read_release(folder: Path) -> dict[str, Any]:
    """release.json of a release, or of its public half."""
    file = public_of(folder) / RELEASE
    release = _object(file.parent, file)
    if release.get("v") != FORMAT:
        raise DatasetError(file, None, f"is of version {release.get('v')}; this one reads {FORMAT}")
    return release


def public_of(folder: Path) -> Path:
    """The public half of a release, or the folder where it is that half alone."""
    return folder / "public" if (folder / "public").is_dir() else folder


def _object(folder: Path, file: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_file(folder, file))
    except FileNotFoundError as exc:
        raise ConfigError(f"{folder} is no release: it has no {file.name}") from exc
    except (OSError, ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc
    if not isinstance(value, dict):
        raise DatasetError(file, None, "holds no object")
    return value


def open_public(folder: Path, out: Path) -> list[Path]:
    """Writes the public half with its answers, one file a part, for `run --dataset`."""
    release, place = (
        read_release(folder),
        folder / "public" if (folder / "public").is_dir() else folder,
    )
    file, files = place / HIDDEN, []
    try:
        _, _, text = read_file(place, file).partition(b"\n")
        answers = json.loads(zlib.decompress(hidden(base64.decodebytes(text), release["canary"])))
        for number, (part, rows) in enumerate(answers.items(), start=1):
            task = task_of(options_of(part), {})
            samples = tuple(task.sample_type.model_validate(row) for row in rows["samples"])
            target = out / SAMPLES.format(number)
            tables = tuple(MaterialTable.model_validate(row) for row in rows["tables"])
            SampleSet(samples, tables).write(target)
            files.append(target)
    except (OSError, ValueError, KeyError, zlib.error) as exc:
        raise DatasetError(file, None, f"does not hold the answers: {exc}") from exc
    return files


# Scoring ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartScore:
    """How responses did on one part of the private half."""

    part: str
    samples: int
    answered: int
    right: int
    low: float | None
    high: float | None


def score(folder: Path, responses: Path, note: Callable[[str], None]) -> list[PartScore]:
    """Scores a file of responses, {"id", "answer"} a line, by the tasks' own scorers. A sample
    without a response counts as not right; what is no response is told with its line."""
    release = read_release(folder)
    answers = _responses(responses, note)
    scores, known = [], set[str]()
    for number, part in enumerate(release["parts"], start=1):
        options = options_of(part)
        own = SampleSet.read(
            folder / "private" / SAMPLES.format(number), task_of(options, {}).sample_type
        )
        task = task_of(options, own.tables_by_digest)
        right = 0
        for sample in own.samples:
            known.add(sample.id)
            if (text := answers.get(sample.id)) is not None:
                reply = Message(role="assistant", content=text)
                episode = Episode(
                    sample=sample.id, condition="base", repeat=1, model="responses",
                    messages=(reply,), status="finished", answer=text, stop_reason="answered",
                )  # fmt: skip
                right += task.score(sample, episode).metrics.get(task.right_metric) == 1
        answered = sum(sample.id in answers for sample in own.samples)
        ends = wilson(right / len(own.samples), len(own.samples))
        scores.append(PartScore(part, len(own.samples), answered, right, *ends))
    if strays := [name for name in answers if name not in known]:
        note(f"{len(strays)} responses are to no sample of the private half: {strays[0]}, …")
    return scores


def _responses(file: Path, note: Callable[[str], None]) -> dict[str, str]:
    """The answers by sample; `note` gets the lines that are none."""
    answers: dict[str, str] = {}
    try:
        with file.open("rb") as opened:
            for number, line in enumerate(iter(lambda: opened.readline(LONGEST_LINE), b""), 1):
                if line.strip() and (problem := _take(line, answers)) is not None:
                    note(f"{file}:{number}: {problem}; left out")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    return answers


def _take(line: bytes, answers: dict[str, str]) -> str | None:
    """Takes a response; what is wrong with the line, if anything."""
    try:
        row = json.loads(line)
        name, answer = row["id"], row["answer"]
    except (ValueError, RecursionError, KeyError, TypeError):
        name = answer = None
    if not isinstance(name, str) or not isinstance(answer, str):
        return 'has no "id" and "answer" that are texts'
    if name in answers:
        return "is a second response to its sample"
    answers[name] = answer
    return None


# Revealing ----------------------------------------------------------------------------------------


def reveal(folder: Path, out: Path) -> None:
    """Writes the seeds and the salt, from which everybody can make the private half again."""
    read_release(folder)
    write_whole(out, _json(_object(folder / "private", folder / "private" / SECRET)))


def check(folder: Path, revealed: Path) -> list[str]:
    """What of a release is not as it was committed to, by its public half and what was revealed;
    empty where nothing was changed."""
    release = read_release(folder)
    secret = _object(revealed.parent, revealed)
    place = public_of(folder)
    try:
        salt, seeds = bytes.fromhex(secret["salt"]), [int(each) for each in secret["seeds"]]
        stated = read_file(place, place / COMMITMENTS).decode().split()
        committed, parts = release["commitments"], release["parts"]
        name = f"{release['name']}-{release['edition']}"
        findings = []
        if seed_commitment(salt, seeds) != committed["seeds"]:
            findings.append("the seeds are not those that were committed to")
        private = Half.made(parts, release["samplesOfPart"], seeds, f"{name}-private")
        public = Half.made(
            parts, release["samplesOfPart"], [release["publicSeed"]] * len(parts), name
        )
        leaves = private.commitments(salt)
        if root([bytes.fromhex(each) for each in stated]).hex() != committed["root"]:
            findings.append(f"{COMMITMENTS}: its root is not the one of {RELEASE}")
        ids = [sample.id for _, sample in private.rows()]
        findings += [
            f"{name}: is not the sample that was committed to"
            for name, own, other in zip(ids, leaves, stated, strict=False)
            if own.hex() != other
        ]
        if len(stated) != len(leaves):
            findings.append(f"{COMMITMENTS}: has {len(stated)} lines for {len(leaves)} samples")
        if read_file(place, place / QUESTIONS) != _questions(public):
            findings.append(f"{QUESTIONS}: the public half is not what its seed gives")
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as exc:
        raise DatasetError(revealed, None, f"is not what was revealed of a release: {exc}") from exc
    return findings


# The next edition ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Equating:
    """How much harder or easier a new edition is, by models that answered both."""

    anchors: int
    constant: float
    """Mean score on the new edition less that on the old one; take it off a new score."""
    error: float | None
    """Its standard error; None for a single anchor."""

    def __str__(self) -> str:
        error = "of unknown error" if self.error is None else f"± {self.error:.3f} (standard error)"
        return f"{self.constant:+.3f} {error}, by {self.anchors} anchor models"


def equate(pairs: Sequence[tuple[Run, Run]]) -> Equating:
    """Mean equating over anchor models (Kolen and Brennan 2014, section 2.2), each by its runs over
    the old and the new edition under the conditions that both have; the error is over models."""
    shifts = []
    for old, new_run in pairs:
        before, now = (_means(run) for run in (old, new_run))
        if old.manifest.model != new_run.manifest.model or not (common := before.keys() & now):
            raise ConfigError(f"{old.path} and {new_run.path} are not of one model and condition")
        shifts.append(fmean(now[name] - before[name] for name in common))
    error = stdev(shifts) / math.sqrt(len(shifts)) if len(shifts) > 1 else None
    return Equating(len(shifts), fmean(shifts), error)


def _means(run: Run) -> dict[str, float]:
    """The mean of the metric that says right, by condition."""
    values: dict[str, list[float]] = {}
    for episode, of_episode in run.scored(lambda reason: None):
        if (value := of_episode.metrics.get(run.task.right_metric)) is not None:
            values.setdefault(episode.condition, []).append(value)
    return {name: fmean(each) for name, each in values.items()}


def next_edition(folder: Path, out: Path, equating: Equating | None) -> dict[str, Any]:
    """Writes the next edition: the same parts from fresh seeds."""
    old = read_release(folder)
    entry = {
        "edition": old["edition"], "root": old["commitments"]["root"],
        "equating": None if equating is None else str(equating),
    }  # fmt: skip
    options = NewOptions(
        name=old["name"], parts=tuple(old["parts"]), limit=old["samplesOfPart"],
        seed=old["publicSeed"] + 1, licence=old["licence"], url=old["url"], out=out,
    )  # fmt: skip
    return new(options, old["edition"] + 1, [*old["editions"], entry])
