"""What a very small model gets on every task, free and in forced form: the table of
docs/models.md.

    python benchmarks/weak_model.py http://127.0.0.1:8080/v1 smollm2 --out runs/weak > table.md

asks any server (here llama.cpp with SmolLM2-135M) and prints Markdown; runs that exist in `--out`
are scored as they are, so that an interrupted table goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agent_env as ae

QUESTIONS = [
    {"id": f"q{n}", "question": f"Which year comes right after {year}?", "answer": str(year + 1)}
    for n, year in enumerate((1998, 1949, 2003, 1911, 1876, 2019, 1965, 1984), 1)
]


@dataclass(frozen=True, slots=True)
class Items:
    """Questions of one task."""

    task: str
    about: str
    limit: int
    conditions: tuple[str, ...] = ("base", "base~schema")
    options: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


ITEMS = (
    Items("qa", "the next year", 6, options=("scorer=number",)),
    Items("traveler", "1 event, yes or no", 8,
          options=("sizes=1", "categories=explicit", "sets=40"), where=("template=did",)),
    Items("traveler", "1 event, its date", 8,
          options=("sizes=1", "categories=implicit", "sets=40"), where=("template=when",)),
    Items("temp-answers", "one of 3 entries, 4 worked examples", 8,
          options=("level=easy", "splits=table", "shots=4")),
    Items("tempreason", "L2, one answer, no distractors", 4,
          options=("levels=L2", "answers=single", "distractors=0")),
    Items("timeqa", "easy, one answer", 4, options=("levels=easy", "answers=single")),
    Items("tdbench", "one answer", 2, where=("cardinality=unique",)),
    Items("time-puzzles", "4 facts, 1 solution", 3,
          ("base", "base~schema", "facts", "facts~schema", "explicit", "explicit~schema"),
          options=("facts=4", "solutions=1")),
    Items("traveler", "5 events by tool, text protocol", 2, ("events", "events~schema"),
          options=("sizes=5", "categories=explicit", "sets=40"),
          more={"tool_protocol": "text", "steps": 2, "max_output_tokens": 256}),
)  # fmt: skip


async def run_of(items: Items, number: int, url: str, model: str, out: Path) -> ae.Run:
    """The run of these items, begun or gone on with where it is not complete."""
    folder = out / f"{number:02}-{items.task}"
    if (folder / "run.json").exists():
        return await ae.open(folder).resume(progress=False)
    more = {"max_output_tokens": 96} | items.more
    if items.task == "qa":
        file = out / "questions.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS))
        more["dataset"] = file
    return await ae.run(
        items.task, model=f"compatible/{model}", base_url=url, out=folder, limit=items.limit,
        conditions=list(items.conditions), options=list(items.options), where=list(items.where),
        temperature=0.0, stream=True, concurrency=1, progress=False,
        preflight="off", **more,
    )  # fmt: skip


def rows_of(items: Items, run: ae.Run) -> list[str]:
    """A row for each condition and one for the best shortcut that reads no question."""
    means, shortcuts = run.scores()[:2]
    columns = [column.name for column in means.columns]
    metric = columns[columns.index("scorer failed") + 1]
    rows = []
    for cells in means.rows:
        row = dict(zip(columns, cells, strict=True))
        rows.append(
            f"| `{items.task}` | {items.about} | `{row['condition']}` | {_figure(row[metric])} "
            f"| {row['finished']} | {row['unreadable'] or 0} | {_number(row['calls'])} |"
        )
    floors = [row for row in shortcuts.rows if "constant" in str(row[0])]
    rows += [f"| | | {row[0]} | {_figure(row[1])} | {row[2]} | – | – |" for row in floors]
    return rows


def _figure(cell: Any) -> str:
    if not isinstance(cell, tuple):
        return _number(cell)
    value, low, high = cell
    return _number(value) if low is None else f"{_number(value)} [{low:.2f}, {high:.2f}]"


def _number(cell: Any) -> str:
    return "–" if cell is None else f"{cell:.2f}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, default=Path("runs/weak"))
    given = parser.parse_args()
    print("| task | items | condition | right, 95 % CI | n | unreadable | calls |")
    print("|---|---|---|---|---|---|---|")
    for number, items in enumerate(ITEMS, 1):
        run = await run_of(items, number, given.url, given.model, given.out)
        print("\n".join(rows_of(items, run)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
