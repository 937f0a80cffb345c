"""What scoring 33,000 time answers costs, in both modes, with and without clustering.

Run: python benchmarks/temporal_answers.py (about a minute, one core). The response files are made
here, in the published layout, with as many rows as the published ones and mistakes of every kind
that the readers know; `--files FILE…` takes your own instead.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from agent_env.features.papers.temp_answers.commands import disagreements
from agent_env.features.papers.temp_answers.modes import score_paper, score_v2, summarize
from agent_env.features.papers.temp_answers.responses import read_responses

T = TypeVar("T")
MODELS = ("Alpha-8B", "Alpha-70B", "Beta-mini", "Beta", "Gamma-7B", "Gamma-14B")
PROMPTING = ("few-shot", "zero-shot")
ROWS = {("ttqa", "head"): 1103, ("ttqa", "tail"): 634, ("tot", "arithmetic"): 1016}
TTQA = (("<num_years>", "years", 69), ("yyyy", "date_years", 18), ("<num_days>", "days", 5),
        ("<num_months>", "months", 5), ("%B %d, %Y", "date", 3))  # fmt: skip
TOT = (("seconds", 35), ("date", 28), ("years", 10), ("days", 10), ("months", 5), ("minutes", 4))


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    given = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        paths = given or write_files(Path(folder))
        size = sum(path.stat().st_size for path in paths) / 1e6
        seen: dict[str, bool] = {}
        files, reading = timed(lambda: [read_responses(path, None, seen) for path in paths])
        rows = sum(len(file.rows) for file in files)
        print(f"{rows} responses in {len(files)} files, {size:.0f} MB")
        print(f"read                       {reading:6.2f} CPU-s, peak {peak_mb():.0f} MB")
        ours, v2 = timed(lambda: score_v2(files))
        print(f"v2                         {v2:6.2f} CPU-s, peak {peak_mb():.0f} MB")
        _, plain = timed(lambda: score_paper(files, clustered=False))
        print(f"paper without clustering   {plain:6.2f} CPU-s, peak {peak_mb():.0f} MB")
        _, means = timed(lambda: summarize(ours.items, "v2", False))
        print(f"means                      {2 * means:6.2f} CPU-s")
        print(f"both modes, no clustering  {reading + v2 + plain + 2 * means:6.2f} CPU-s (goal 6)")
        theirs, full = timed(lambda: score_paper(files))
        print(f"paper with clustering      {full:6.2f} CPU-s, peak {peak_mb():.0f} MB (goal 500)")
        print(f"both modes, clustering     {reading + v2 + full + 2 * means:6.2f} CPU-s (goal 20)")
        _, drawn = timed(lambda: summarize(ours.items, "v2"))
        print(f"means with intervals       {drawn:6.2f} CPU-s a mode")
        found, differ = timed(lambda: list(disagreements(files, theirs.items, ours.items)))
        print(f"{len(found)} disagreements     {differ:6.2f} CPU-s")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and the CPU seconds it took."""
    started = time.process_time()
    done = work()
    return done, time.process_time() - started


def peak_mb() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def write_files(folder: Path, rows: dict[tuple[str, str], int] | None = None) -> list[Path]:
    """Response files for six models and two ways of prompting."""
    paths = []
    for (dataset, split), count in (rows or ROWS | {("tot", "semantic"): 681}).items():
        questions = _questions(dataset, split, count)
        for model in MODELS:
            for prompting in PROMPTING:
                ending = "continue_final_message" if dataset == "tot" else "add_generation_prompt"
                path = folder / f"{dataset}_{split}_{model}_{prompting}_{ending}.csv"
                _write(path, dataset, questions, Random(f"{split} {model} {prompting}"))
                paths.append(path)
    return paths


def _write(path: Path, dataset: str, questions: list[dict[str, Any]], rng: Random) -> None:
    skill = rng.uniform(0.3, 0.9)
    with path.open("w", newline="", encoding="utf-8") as opened:
        names = [name for name in questions[0] if name != "truth"]
        writer = csv.DictWriter(opened, [*names, "response"], extrasaction="ignore")
        writer.writeheader()
        for question in questions:
            make = _object if dataset == "tot" else _line
            writer.writerow(question | {"response": make(question, skill, rng)})


def _questions(dataset: str, split: str, count: int) -> list[dict[str, Any]]:
    rng = Random(f"{dataset} {split}")
    make = _table_question if dataset == "ttqa" else _object_question
    return [make(n, split, rng) for n in range(count)]


def _table_question(n: int, split: str, rng: Random) -> dict[str, Any]:
    form, unit, _ = rng.choices(TTQA, [weight for *_, weight in TTQA])[0]
    day = date(1700, 1, 1) + timedelta(days=rng.randrange(115_000))
    truth: Any = {"date": day, "date_years": day.year, "years": rng.randrange(1, 90)}.get(
        unit, rng.randrange(1, 2500)
    )
    label = f"{day:%B %d, %Y}" if unit == "date" else str(truth)
    table = n // 4
    rows = "\n".join(f"Row {k} of {table}\tsome value of {k * table % 997}" for k in range(60))
    return {
        "question": f"What is wanted of thing {n} in its table?", "label": label,
        "category": "thing", "table_id": table, "answer_format": form,
        "answer_temporal_unit": unit, "split": split,
        "table_context": f"Born\tMay 3, 1950\n{rows}", "truth": truth,
    }  # fmt: skip


def _object_question(n: int, split: str, rng: Random) -> dict[str, Any]:
    unit = rng.choices([u for u, _ in TOT], [w for _, w in TOT])[0]
    if split == "semantic":
        unit = "years"
    day = date(1990, 1, 1) + timedelta(days=rng.randrange(15_000))
    truth: Any = rng.choice((rng.randrange(1, 60), rng.randrange(1950, 2020)))
    label: dict[str, Any] = {"answer": truth}
    if unit == "date":
        truth, label = day, {"answer": rng.choice((f"{day}", f"{day:%d %b, %Y}"))}
    elif unit in ("seconds", "minutes"):
        truth = rng.randrange(60, 400_000) if unit == "seconds" else 60 * rng.randrange(5, 3000)
        hours, minutes, seconds = truth // 3600, truth // 60 % 60, truth % 60
        label = {"X": float(hours), "Y": float(minutes)}
        label |= {"Z": float(seconds)} if unit == "seconds" else {}
        if unit == "minutes":
            label = {"hours": hours, "minutes": minutes}
    facts = "\n".join(f"E{k} was the R{n % 40} of E{k + 1} from 1950 to 1960." for k in range(30))
    bare = f"{facts}\nQuestion: number {n}?" if split == "semantic" else f"Question {n}?"
    return {
        "question": f"{bare} Return a JSON.", "label": str(label), "question_type": "multi_op",
        "question_wo_instruct": bare, "instruction": "Return a JSON.", "answer_format": "<answer>",
        "answer_temporal_unit": unit, "split": split, "truth": truth,
    }  # fmt: skip


def _line(question: dict[str, Any], skill: float, rng: Random) -> str:
    truth = question["truth"]
    if rng.random() > skill:
        shift = rng.choice((1, -1, 1, -1, 2, 10, -7, 400))
        truth = truth + timedelta(days=shift) if isinstance(truth, date) else truth + shift
    steps = "\n".join(f"Step {k}: 20{k:02} - 19{k:02} = 100." for k in range(20))
    shown = f"{truth:%B %d, %Y}" if isinstance(truth, date) else f"{truth}"
    unit = {"years": " years", "days": " days", "months": " months"}.get(
        question["answer_temporal_unit"], ""
    )
    ends = (
        f"Final Answer: {shown}", f"Final Answer: {shown}{unit}.",
        f"**Final Answer:** It was {shown}{unit} after the beginning in 1950.",
        f"Final Answer: In 1950, it was {shown}{unit}.", "I cannot determine this",
    )  # fmt: skip
    return f"{steps}\n\n{rng.choices(ends, (50, 30, 10, 5, 5))[0]}"


def _object(question: dict[str, Any], skill: float, rng: Random) -> str:
    truth, label = question["truth"], eval(question["label"])
    if rng.random() > skill:
        shift = rng.choice((1, -1, 1, -1, 2, 10, -7, 400))
        truth = truth + timedelta(days=shift) if isinstance(truth, date) else truth + shift
    if isinstance(truth, date):
        answer: dict[str, Any] = {"answer": f"{truth}"}
    elif "answer" in label:
        answer = {"answer": truth}
    else:
        parts = (truth // 3600, truth // 60 % 60, truth % 60)
        answer = dict(zip(label, parts, strict=False))
    text = "To find it, we add and subtract. " * 20
    made = json.dumps({"explanation": text, **answer}).removeprefix('{"explanation":')
    return rng.choices(
        (
            made,
            made + "\n\nThat is the answer.",
            made.replace('"', "'"),
            made[:-9] + ",}",
            made[:400],
        ),
        (70, 15, 5, 5, 5),
    )[0]


if __name__ == "__main__":
    main()
