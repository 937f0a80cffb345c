"""Reads the authors' output files: a JSON array of one model's responses under one condition.

The path says the rest: `…/CONDITION/MODEL.json`, where CONDITION is one of CONDITIONS, followed by
`_with_explicit_constraints` for the explicit wording; CITED may be followed by the name of the GPT
model whose cited pages the prompts hold. A row has `identifier`, `constraints`,
`solutions`, `solution_count`, `response` and may have `output_tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_env.families.time_puzzles.meta_entries import FieldError, as_dates, as_identifier, as_int
from agent_env.families.time_puzzles.published import json_rows, sample_id
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.papers.responses import ResponseFile, ResponseRow
from agent_env.sdk.errors import DatasetError

CONDITIONS = {
    "no_tool_use": "base",
    "with_web_search": "web",
    "with_code_interpreter": "python",
    "with_web_search_and_code_interpreter": "web+python",
    "with_pseudo_gpt_web_search_context": "cited",
    "with_pseudo_gpt_web_search_context_and_code_interpreter": "cited+python",
}
CITED = "with_pseudo_gpt_web_search_context"
WITH_EXPLICIT = ("base", "python")
"""Conditions that the paper's experiments have under explicit constraints too."""
EXPLICIT = "_with_explicit_constraints"


def read_outputs(path: Path) -> ResponseFile:
    """The responses of a file; DatasetError names the row and the field."""
    condition = _condition(path)
    rows, samples = [], {}
    used_ids: set[str] = set()
    for index, row in enumerate(json_rows(path)):
        try:
            sample = _sample(row, index, used_ids)
            text = row.get("response")
            if text is not None and not isinstance(text, str):
                raise FieldError("response", "is not a text")
        except FieldError as exc:
            raise DatasetError(path, None, f"index {index}, {exc.field}: {exc.reason}") from exc
        tokens = row.get("output_tokens")
        count = int(tokens) if isinstance(tokens, int | float) else None
        samples[sample.id] = sample
        rows += [
            ResponseRow(setup, path.stem, condition, sample.id, text, count)
            for setup in _setups(condition, sample)
        ]
    return ResponseFile(tuple(rows), tuple(samples.values()))


def _condition(path: Path) -> str:
    name = path.absolute().parent.name
    bare = name.removesuffix(EXPLICIT)
    own = CONDITIONS.get(bare)
    if own is None and bare.startswith(CITED) and "_and_" not in bare:
        own = f"cited:{bare.removeprefix(CITED).lstrip('_')}"
    if own is None:
        known = ", ".join(CONDITIONS)
        raise DatasetError(
            path, None, f"its folder '{name}' names no condition; known: {known}, those without "
            f"web also with {EXPLICIT}",
        )  # fmt: skip
    if not name.endswith(EXPLICIT):
        return own
    if own not in WITH_EXPLICIT:
        raise DatasetError(path, None, f"no experiment of the paper has the condition '{name}'")
    return "explicit-paper" if own == "base" else f"explicit-paper+{own}"


def _setups(condition: str, sample: TimePuzzle) -> list[str]:
    """The setups of the paper to which such a response belongs."""
    is_counted = sample.solution_count > 0  # the paper leaves out puzzles without a solution
    setups = ["no-tools"] if condition in ("base", "explicit-paper") and is_counted else []
    is_web = condition in ("base", "web") or condition.partition(":")[0] == "cited"
    if is_web and sample.solution_count in (1, 3, 5):
        setups.append("web")
    return [*setups, "single-solution"] if sample.solution_count == 1 else setups


def _sample(row: Mapping[str, Any], index: int, used_ids: set[str]) -> TimePuzzle:
    if not isinstance(row, Mapping):
        raise FieldError("row", "is not an object")
    for key in ("identifier", "solutions"):
        if key not in row:
            raise FieldError(key, "is missing")
    gold = as_dates(row["solutions"])
    texts = row.get("constraints") or "unknown"
    lines = texts.splitlines() if isinstance(texts, str) else list(map(str, texts))
    constraints = tuple(line.strip().removeprefix("- ") for line in lines if line.strip())
    count = row.get("solution_count")
    return TimePuzzle(
        id=sample_id(str(as_identifier(row["identifier"], index)), used_ids),
        gold=gold,
        constraints=constraints,
        explicit_constraints=constraints,
        solution_count=len(gold) if count is None else as_int(count, "solution_count"),
        fact_count=len(constraints),
    )
