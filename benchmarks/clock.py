"""Three scripted policies on 60 questions about the present, each on four days: one that only reads
the web of the day, one that only remembers the true present, one that ignores the date. Which is
which must show in the metrics of the table `clock`; the script fails where one of them is not
exactly what the policy does.

Run: python benchmarks/clock.py (some minutes, one core). `--questions N` asks fewer, `--score`
takes the answers of all three from the tables and runs no episode. `--cutoffs N` instead plants N
knowledge cutoffs a row and counts how many lie in the interval that is found.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random
from statistics import median

from agent_env.analysis.cutoff import Cutoff, cutoff_of
from agent_env.families.tdbench.sample import answer_in, rows_of
from agent_env.records.schema import Condition, Episode, MaterialTable, Sample
from agent_env.runs.day_options import DayOptions, on_their_days
from agent_env.runs.options import RunOptions
from agent_env.runs.plan import samples_of, task_of
from agent_env.runs.start import Listener, start_run
from agent_env.tasks.conditions import on_day
from agent_env.tasks.family import SampleSet, by_digest

DAYS = ("1995-06-01", "2003-06-01", "2012-01-01", "2024-12-31")
OPTIONS = ("kinds=current", "book=closed", "phrasings=1", "rows=600")
DRAWN = 8
"""Questions that are drawn for each that is asked: the answer of many never changes."""
KEYS = ("follows_clock", "present", "other_day", "looks_up", "date_asked")
Answers = Callable[[Sample, str], Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--cutoffs", type=int)
    arguments = parser.parse_args()
    if arguments.cutoffs:
        for row in ((18, 0.6, 10), (40, 0.5, 10), (60, 0.4, 10), (60, 0.7, 5), (200, 0.3, 10)):
            planted_cutoffs(arguments.cutoffs, *row)
        return
    options = RunOptions("tdbench", options=OPTIONS, limit=DRAWN * arguments.questions)
    made = samples_of(options)
    task = task_of(options, by_digest(made.tables))
    conditions = [on_day(Condition(name="web"), day, "") for day in DAYS]
    kept, left_out = on_their_days(made, conditions, task, print)
    samples = kept.samples[: arguments.questions]
    tables = by_digest(made.tables)
    print(f"{len(samples)} questions on {len(DAYS)} days; of {len(made.samples)} drawn ones")
    print(f"{len(left_out)} cannot be asked on each day, or never change")
    policies: dict[str, Answers] = {
        "reads": lambda sample, day: sample.on_day(day).gold,
        "remembers": lambda sample, day: sample.gold,
        "ignores the date": lambda sample, day: first_answer(sample, tables),
    }
    for name, answers in policies.items():
        if name == "reads" and not arguments.score:
            metrics = by_reading(SampleSet(samples, made.tables))
        else:
            metrics = {
                (sample.id, day): task.score(sample, episode(sample, day, answers)).metrics
                for sample in samples
                for day in DAYS
            }
        report(name, samples, answers, metrics)


def planted_cutoffs(runs: int, questions: int, known: float, lag: float) -> None:
    """Of so many questions the model answers the share `known` as of its cutoff, half of the rest
    as of some years before it (`lag`, a mean), and of the others four in ten at random."""
    rng = Random(1)
    found = [planted_cutoff(rng, questions, known, lag) for _ in range(runs)]
    told = [(day, cutoff) for day, cutoff in found if cutoff.year is not None]
    inside = sum(cutoff.low <= day <= cutoff.high for day, cutoff in told)
    width = median(cutoff.high - cutoff.low for _, cutoff in told)
    print(f"{questions} questions, {known:.0%} known: {inside} of {len(told)} in the interval, "
          f"median width {width:.1f} years; {runs - len(told)} not told")  # fmt: skip


def planted_cutoff(rng: Random, questions: int, known: float, lag: float) -> tuple[float, Cutoff]:
    planted, spans = 1990 + rng.random() * 33, []
    for question in range(questions):
        changes = [1950 + 10 * rng.random()]
        while changes[-1] < 2025:
            changes.append(changes[-1] + rng.expovariate(1 / rng.choice((4, 6, 10))))
        drawn = rng.random()
        if drawn < known:
            day = planted
        elif drawn < (1 + known) / 2:
            day = planted - rng.expovariate(1 / lag)
        else:
            day = rng.random() * 75 + 1950 if rng.random() < 0.4 else 0.0
        spans += [
            (str(question), since, until if until < 2025 else inf)
            for since, until in pairwise(changes)
            if since <= day < until
        ]
    return planted, cutoff_of(spans, 500, rng.randrange(10**6))


def first_answer(sample: Sample, tables: Mapping[str, MaterialTable]) -> list[str]:
    """Of the row of its group that began first."""
    rows = rows_of(tables[sample.materials[0]], sample.relevant[0])
    return [answer_in(min(rows, key=lambda row: row["start"]), sample)]


def episode(sample: Sample, day: str, answers: Answers) -> Episode:
    """One that gives these answers and nothing else."""
    names = answers(sample, day) or ["no answer"]
    return Episode(
        sample=sample.id, condition=f"web~on-{day}", repeat=1, model="policy", status="finished",
        answer="ANSWER:\n" + "\n".join(names), stop_reason="answered",
    )  # fmt: skip


def by_reading(made: SampleSet) -> dict[tuple[str, str], Mapping[str, float]]:
    """The metrics of a run of the scripted reference, which reads the web of each day and knows no
    date."""
    quiet = Listener(lambda line: None, lambda run, episodes: None, lambda key, ending: None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples.jsonl"
        plain = [sample.model_copy(update={"by_day": {}}) for sample in made.samples]
        SampleSet(tuple(plain), made.tables).write(file)
        options = RunOptions(
            "tdbench", conditions=("web",), clock=DayOptions(DAYS), dataset=file,
            options=("book=closed",), out=Path(folder) / "run",
        )  # fmt: skip
        run = asyncio.run(start_run(options, quiet))
        return {
            (score.sample, score.condition.partition("~on-")[2]): score.metrics
            for _, score in run.scored(print)
        }


def report(
    name: str,
    samples: Sequence[Sample],
    answers: Answers,
    metrics: Mapping[tuple[str, str], Mapping[str, float]],
) -> None:
    """The shares, and how many episodes do not show what the policy does."""
    unlike = 0
    for sample in samples:
        golds = {day: set(sample.on_day(day).gold) for day in DAYS}
        for day in DAYS:
            given = set(answers(sample, day))
            follows = given == golds[day]
            expected = {
                "follows_clock": follows,
                "present": not follows and given == set(sample.gold),
                "other_day": not follows and given in golds.values(),
            }
            unlike += any(metrics[sample.id, day].get(k) != v for k, v in expected.items())
    shares = {key: sum(each.get(key, 0) for each in metrics.values()) for key in KEYS}
    told = ", ".join(f"{key} {number / len(metrics):.3f}" for key, number in shares.items())
    print(f"{name:17}{told}; {unlike} of {len(metrics)} unlike the policy")
    assert unlike == 0, name


if __name__ == "__main__":
    main()
