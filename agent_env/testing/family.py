"""The contract of a question family: the same seed gives the same bytes in every process."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_env.episodes.run_folder import digest
from agent_env.errors import AgentEnvError, ConfigError, DatasetError
from agent_env.records.schema import Condition, Episode, Message, Record, Sample, Score
from agent_env.registry import OBJECT, PluginEntry, load_path
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.family import Family, SampleSet, by_digest
from agent_env.tasks.sample_files import (
    materials_beside,
    read_materials,
    read_samples,
    samples_bytes,
)
from agent_env.tasks.shortcut_scores import answered_by
from agent_env.tasks.shortcuts import AnswerText
from agent_env.tasks.task import Task
from agent_env.testing.fakes import raise_findings, raised
from agent_env.wiring.registry import FAMILIES, load_family
from agent_env.wiring.trust import own_plugins

IN_NEW_PROCESS = """\
import sys
from agent_env.testing.family import print_digest
print_digest(*sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class CheckSettings:
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


def made_by(family: Family, choice: CheckSettings, options: Record) -> SampleSet:
    if choice.dataset is None:
        return family.make_samples(choice.count, choice.seed, options)
    sample_set = family.read_foreign(choice.dataset, options)
    if sample_set is None:
        raise ConfigError(f"read_foreign does not know the format of {choice.dataset}")
    return sample_set


def same_bytes(
    family: Family, choice: CheckSettings, options: Record, sample_set: SampleSet
) -> Iterator[str]:
    with random_state("second"):
        again = made_by(family, choice, options)
    for first, second in zip(sample_set.samples, again.samples, strict=False):
        if samples_bytes([first]) != samples_bytes([second]):
            yield (
                f"sample {first.id}: the same seed gave other bytes the second time; draw from "
                "random.Random(seed) alone, and sort what comes from a set"
            )
            return
    if len(sample_set.samples) != len(again.samples) or sample_set.tables != again.tables:
        yield "the same seed gave another number of samples, or other tables, the second time"


def in_new_process(path: str, family: Family, choice: CheckSettings) -> Iterator[str]:
    """Sets of texts have another order in each process, unless PYTHONHASHSEED is set."""
    if path.startswith(OBJECT):
        yield "no other process finds it; put it into a module as a name of its own"
        return
    sample_set = made_by(family, choice, family.checked_options(choice.options))
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
    elif done.stdout.strip() != digest_of(sample_set):
        yield "the same seed gave other bytes in a new process; sort what comes from a set"


def digest_of(sample_set: SampleSet) -> str:
    """Of the bytes of samples and tables."""
    return digest(samples_bytes(sample_set.samples) + samples_bytes(sample_set.tables))


def print_digest(path: str, count: str, seed: str, options: str, dataset: str) -> None:
    """What a new process says of the same choice."""
    file = Path(dataset) if dataset else None
    choice = CheckSettings(int(count), int(seed), json.loads(options), file, None, None, 1.0)
    family = load_family(path, own_plugins())
    print(digest_of(made_by(family, choice, family.checked_options(choice.options))))


DEGENERATE = (
    None, "", " \n\t", "\0", "\ud800", "\u202e", "None", "1e999", "9" * 5000, "²", "2001-02-30",
    "[" * 2000, '{"a":' * 2000, "(" * 2000 + ")" * 2000, "a, " * 3000, '"', "```", "Answer:",
)  # fmt: skip
"""Answers of a model that loops, and worse."""
PROMPT = "default"


def check_family(
    family: Family | str,
    *,
    samples: int = 8,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    dataset: Path | None = None,
    gold_answer: AnswerText | None = None,
    near_miss: AnswerText | None = None,
    ceiling: float = 1.0,
    shows_gold: bool = False,
    new_process: bool = False,
) -> None:
    """Checks a family, given itself or by its NAME, MODULE:NAME or file.py:NAME.

    Same seed, same bytes; the prompt does not depend on the gold and does not hold it; the gold
    answer scores `ceiling`, a near miss less; the scorer is pure and copes with every answer;
    samples survive writing and reading; errors are of the right kind.

    `dataset`: a file in the family's published format, for a family that makes no samples.
    `gold_answer` and `near_miss` give answer texts to a sample; by default the task's shortcut
    `oracle`, else the gold joined by commas, and the same with its last digit changed, or another
    sample's. `shows_gold`: the question or its context may name the answer. `new_process`: the
    bytes are also made in a process of its own, which finds what comes in the order of a set.
    """
    if isinstance(family, str):
        path, family = family, load_family(family, own_plugins())
    else:
        name = str(getattr(family, "name", type(family).__name__))
        family = FAMILIES.adapted(family, PluginEntry(FAMILIES.kind, name, name, None))
        path = FAMILIES.entry_of(family, name).path
    chosen = CheckSettings(samples, seed, options or {}, dataset, gold_answer, near_miss, ceiling)
    findings = list(_findings(family, chosen, shows_gold))
    if new_process and not findings:
        findings += in_new_process(path, family, chosen)
    raise_findings(f"family {family.name}", findings)


def _findings(family: Family, choice: CheckSettings, shows_gold: bool) -> Iterator[str]:
    try:
        options = family.checked_options(choice.options)
    except ConfigError as exc:
        yield f"{exc}; give every option a default, or pass options="
        return
    try:
        with random_state("first"):
            sample_set = made_by(family, choice, options)
    except Exception as exc:  # the code of others
        yield f"no samples can be made: {raised(exc)}; mend make_samples, or pass dataset="
        return
    if not sample_set.samples:
        yield "no samples are made; mend make_samples, or pass options= or dataset="
        return
    yield from same_bytes(family, choice, options, sample_set)
    try:
        task = family.make_task(PROMPT, options, by_digest(sample_set.tables))
    except Exception as exc:  # the code of others
        yield f"make_task raised {raised(exc)}"
        return
    yield from _samples_fit(family, task, sample_set)
    yield from _survives_the_disk(family, task, options, sample_set)
    yield from _prompts(task, sample_set.samples, shows_gold)
    yield from _scores(task, sample_set.samples, choice)
    yield from _degenerate_answers(task, sample_set.samples)
    yield from _shortcuts(task, sample_set.samples)
    yield from _errors(family, options)


def _samples_fit(family: Family, task: Task, sample_set: SampleSet) -> Iterator[str]:
    tables, ids = by_digest(sample_set.tables), set()
    if task.name != family.name:
        yield f"its task is called {task.name}; give family and task one name"
    for sample in sample_set.samples:
        if sample.id in ids:
            yield f"sample {sample.id}: two samples have this id; number them"
        ids.add(sample.id)
        if sample.task != family.name:
            yield f"sample {sample.id}: its task is '{sample.task}'; write '{family.name}'"
        if type(sample) is not task.sample_type:
            kind = type(sample).__name__
            yield f"sample {sample.id}: is a {kind}, not the task's {task.sample_type.__name__}"
        if missing := [digest for digest in sample.materials if digest not in tables]:
            yield f"sample {sample.id}: no table has the digest {missing[0]}; add it to `tables`"
    if not task.metrics or not task.default_conditions:
        yield "its task needs at least one metric and one default condition"


def _survives_the_disk(
    family: Family, task: Task, options: Record, sample_set: SampleSet
) -> Iterator[str]:
    """Resume and replay read samples and tables back, and make the task anew."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples.jsonl"
        sample_set.write(file)
        try:
            again = read_samples(file, task.sample_type)
        except DatasetError as exc:
            yield f"samples cannot be read back: {exc}; each field needs a type that JSON can hold"
            return
        tables = read_materials(materials_beside(file)) if sample_set.tables else ()
    if family.checked_options(options.model_dump(mode="json")) != options:
        yield "its options are others after run.json was written and read; use types of JSON"
    second = family.make_task(PROMPT, options, by_digest(tables))
    for before, after in zip(sample_set.samples, again, strict=True):
        if before != after:
            yield f"sample {before.id}: is another one after writing and reading"
        elif _asked(task, before) != _asked(second, after):
            yield f"sample {before.id}: its prompt is another one after writing and reading"


def _conditions(task: Task) -> list[Condition]:
    return [parse_condition(name) for name in task.default_conditions]


def _asked(task: Task, sample: Sample) -> list[tuple[Message, ...] | str]:
    """The prompts under each condition, or what was raised instead."""
    prompts: list[tuple[Message, ...] | str] = []
    for condition in _conditions(task):
        try:
            prompts.append(tuple(task.prompt(sample, condition)))
        except Exception as exc:  # the code of others
            prompts.append(f"the prompt of {condition.name} raised {raised(exc)}")
    return prompts


def _prompts(task: Task, samples: Sequence[Sample], shows_gold: bool) -> Iterator[str]:
    texts = {}
    for sample in samples:
        asked = _asked(task, sample)
        yield from (f"sample {sample.id}: {each}" for each in asked if isinstance(each, str))
        messages = [list(each) for each in asked if not isinstance(each, str)]
        if len(messages) < len(asked) or not all(messages):
            yield f"sample {sample.id}: it has no prompt; give at least one message"
            return
        texts[sample.id] = "\n".join(each.content for all_ in messages for each in all_)
        false_gold = tuple(f"another answer {number}" for number, _ in enumerate(sample.gold))
        hidden = sample.model_copy(update={**task.hidden, "gold": false_gold})
        if _asked(task, hidden) != asked:
            names = ", ".join(dict.fromkeys(("gold", *task.hidden)))
            yield f"sample {sample.id}: the prompt depends on {names}; build it without"
    if shows_gold:
        return
    for sample in samples:
        for gold in sample.gold:
            if _holds(texts[sample.id], gold) and not all(_holds(t, gold) for t in texts.values()):
                yield (
                    f"sample {sample.id}: the prompt holds the gold answer '{gold}'; take it out, "
                    "or pass shows_gold=True where the question has to name it"
                )


def _holds(text: str, gold: str) -> bool:
    """Whether it holds the gold as words of its own."""
    return bool(gold) and re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", text) is not None


def _episode(sample: Sample, text: str | None, condition: str) -> Episode:
    return Episode(
        sample=sample.id, condition=condition, repeat=1, model="conformance", status="finished",
        answer=text, stop_reason="answered",
    )  # fmt: skip


def _gold_texts(task: Task, samples: Sequence[Sample], choice: CheckSettings) -> dict[str, str]:
    if choice.gold_answer is not None:
        return {sample.id: choice.gold_answer(sample) for sample in samples}
    oracles = [each for each in task.shortcuts if each.name == "oracle"]
    texts = {sample.id: ", ".join(sample.gold) for sample in samples}
    for sample, episode, _ in answered_by(task, oracles[0], samples) if oracles else ():
        texts[sample.id] = episode.answer or ""
    return texts


def _scores(task: Task, samples: Sequence[Sample], choice: CheckSettings) -> Iterator[str]:
    texts = _gold_texts(task, samples, choice)
    condition = _conditions(task)[0].name
    first: list[Score] = []
    for sample in samples:
        text = texts[sample.id]
        score = task.score(sample, _episode(sample, text, condition))
        first.append(score)
        yield from _well_formed(task, sample, text, score, condition)
        value = score.metrics.get(task.right_metric)
        if value is None or not math.isclose(value, choice.ceiling, abs_tol=1e-9):
            yield (
                f"sample {sample.id}: the gold answer {text!r} scores {_told(score, task)}, not "
                f"{task.right_metric} {choice.ceiling:g}; mend the scorer, or pass gold_answer= "
                "with the answer in the form that the prompt asks for"
            )
        yield from _near_miss(task, sample, texts, choice, condition)
    with random_state("second"):
        again = [task.score(s, _episode(s, texts[s.id], condition)) for s in reversed(samples)]
    for sample, before, after in zip(samples, first, reversed(again), strict=True):
        if before != after:
            yield (
                f"sample {sample.id}: the same answer scores {_told(before, task)}, then "
                f"{_told(after, task)}; a scorer is a pure function of sample and episode"
            )


def _told(score: Score, task: Task) -> str:
    if score.outcome != "read":
        return f"{score.outcome} ({score.rule})" if score.rule else score.outcome
    return f"{task.right_metric} {score.metrics.get(task.right_metric)}"


def _well_formed(
    task: Task, sample: Sample, text: str | None, score: Score, condition: str
) -> Iterator[str]:
    where = f"sample {sample.id}, answer {_shown(text)}"
    if score.outcome == "scorer_failed":
        yield f"{where}: {score.rule}; score it as unreadable instead"
        return
    if (score.sample, score.condition, score.repeat) != (sample.id, condition, 1):
        yield f"{where}: the score names another episode; make it by episode_score"
    for name, value in score.metrics.items():
        is_share = name in task.metrics and name not in task.error_metrics
        if not math.isfinite(value) or (is_share and not 0 <= value <= 1):
            most = "from 0 to 1" if is_share else "that is finite"
            yield f"{where}: {name} is {value}; give a number {most}"


def _shown(text: str | None) -> str:
    return repr(text if text is None or len(text) <= 40 else f"{text[:40]}…")


def _near_miss(
    task: Task, sample: Sample, texts: Mapping[str, str], choice: CheckSettings, condition: str
) -> Iterator[str]:
    right = texts[sample.id]
    if choice.near_miss is not None:
        text = choice.near_miss(sample)
    elif sample.gold and any(c.isdigit() for c in right):
        text = re.sub(r"(\d)(\D*)$", lambda m: f"{(int(m[1]) + 1) % 10}{m[2]}", right)
    else:
        wrong_texts = [each for each in texts.values() if each.casefold() != right.casefold()]
        if not wrong_texts:
            yield f"sample {sample.id}: no wrong answer is at hand; pass near_miss="
            return
        text = wrong_texts[0]
    score = task.score(sample, _episode(sample, text, condition))
    if score.metrics.get(task.right_metric, 0.0) >= choice.ceiling - 1e-9:
        yield (
            f"sample {sample.id}: {text!r} scores as much as the gold answer {right!r}; mend the "
            "scorer, or pass near_miss= with an answer that is wrong"
        )


def _degenerate_answers(task: Task, samples: Sequence[Sample]) -> Iterator[str]:
    condition = _conditions(task)[0].name
    for at, text in enumerate(DEGENERATE):
        sample = samples[at % len(samples)]
        try:
            score = task.score(sample, _episode(sample, text, condition))
        except ConfigError as exc:
            yield f"the scorer raised {raised(exc)}; install the extra, or score without"
            return
        yield from _well_formed(task, sample, text, score, condition)
        if not (text or "").strip() and score.metrics.get(task.right_metric) == 1:
            yield f"sample {sample.id}, answer {_shown(text)}: no answer scores as a right one"
    for status in ("failed", "unfinished"):
        sample = samples[0]
        episode = _episode(sample, None, condition).model_copy(update={"status": status})
        if (score := task.score(sample, episode)).metrics:
            yield f"a {status} episode has metrics {score.metrics}; make scores by episode_score"


def _shortcuts(task: Task, samples: Sequence[Sample]) -> Iterator[str]:
    findings: list[str] = []
    for shortcut in task.shortcuts:

        def note(sample: Sample, exc: Exception, name: str = shortcut.name) -> None:
            findings.append(f"sample {sample.id}: the shortcut {name} raised {raised(exc)}")

        answered_by(task, shortcut, samples, note)
    yield from findings


def _errors(family: Family, options: Record) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("x.jsonl", b"{\n\xff"), ("x.json", b"[1"), ("x.csv", b"a,b\n1\n")):
            file = Path(folder) / name
            file.write_bytes(data)
            try:
                family.read_foreign(file, options)
            except AgentEnvError:
                pass
            except Exception as exc:  # the code of others
                yield (
                    f"read_foreign raised {raised(exc)} for a damaged {name}; raise DatasetError "
                    "with file, line and reason, or return None"
                )
    if isinstance(family.reference, str):
        try:
            load_path(family.reference)
        except ConfigError as exc:
            yield f"{exc}"
