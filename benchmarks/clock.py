"""Three scripted policies on 60 questions about the present, each on four days: one that only reads
the web of the day, one that only remembers the true present, one that ignores the date. Which is
which must show in the metrics of the table `clock`; the script fails where one of them is not
exactly what the policy does.

Run: python benchmarks/clock.py (some minutes, one core). `--questions N` asks fewer, `--score`
takes the answers of all three from the tables and runs no episode.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_env.families.tdbench.sample import answer_in, rows_of
from agent_env.features.clock import DAY, ClockOptions
from agent_env.features.clock.plan import on_their_days
from agent_env.records.schema import Condition, Episode, MaterialTable, Sample, World
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.questions import samples_of, task_of
from agent_env.runs.start import Listener, start_run
from agent_env.tasks.family import SampleSet, by_digest
from agent_env.tasks.modifiers import with_modifier

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
    arguments = parser.parse_args()
    options = RunOptions("tdbench", options=OPTIONS, limit=DRAWN * arguments.questions)
    made = samples_of(options)
    task = task_of(options, by_digest(made.tables))
    conditions = [with_modifier(Condition(name="web"), DAY, day) for day in DAYS]
    kept, left_out = on_their_days(made, conditions, task, print)
    samples = kept.samples[: arguments.questions]
    tables = by_digest(made.tables)
    print(f"{len(samples)} questions on {len(DAYS)} days; of {len(made.samples)} drawn ones")
    print(f"{len(left_out)} cannot be asked on each day, or never change")
    policies: dict[str, Answers] = {
        "reads": lambda sample, day: sample.in_world(World(today=day)).gold,
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
            "tdbench", conditions=("web",), features={"clock": ClockOptions(DAYS)}, dataset=file,
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
        golds = {day: set(sample.in_world(World(today=day)).gold) for day in DAYS}
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
