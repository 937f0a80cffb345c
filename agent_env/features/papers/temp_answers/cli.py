"""The command on response files: score-answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import AsJson, Opt, print_table, with_options
from agent_env.sdk.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.features.papers.temp_answers.commands import ScoredAnswers, ScoreOptions
    from agent_env.features.papers.temp_answers.responses import ResponseFile
    from agent_env.sdk.results import Cell


@with_options("agent_env.features.papers.temp_answers.commands:ScoreOptions")
def score_answers(
    options: ScoreOptions,
    disagreements: Annotated[
        Path | None, Opt("Write here a CSV of what the modes judge differently.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score time answers as numbers: exact match, sMAPE, MASE, errors and their causes.

    Example: agent-env questions score-answers responses/ttqa_head_*.csv --mode v2 --json
    """
    from agent_env.features.papers.temp_answers import commands

    scored = commands.score_answers(options)
    if disagreements is not None:
        if len(scored.modes) < 2:
            raise ConfigError("--disagreements compares the modes; leave --mode out")
        try:
            commands.write_disagreements(disagreements, scored.disagreements)
        except OSError as exc:
            raise ConfigError(f"cannot write to {disagreements}: {exc.strerror}") from exc
    if as_json:
        print(json.dumps(commands.as_json(scored)))
    else:
        _print_files(scored)
        _print_errors(scored)
        _print_exclusions(scored)
        _print_disagreements(scored)
    for file in scored.unjudged:
        print(f"{file.label}: judged 0 of {len(file.rows)} rows", file=sys.stderr)
    if scored.unjudged:
        sys.exit(1)


def _print_files(scored: ScoredAnswers) -> None:
    from agent_env.features.papers.temp_answers.paper_measures import baselines

    for mode, answers in scored.modes.items():
        rows: list[dict[str, Cell]] = []
        for file, s in answers.pairs:
            ends, off = s.intervals or {}, s.errors.off_by_one_share
            rows.append({
                "file": file.label, "n": s.n,
                "EM %": _cell(s.exact_match, ends.get("exact_match")),
                "sMAPE %": _cell(s.smape, ends.get("smape")), "n sMAPE": s.n_smape,
                "MASE": _cell(s.mase, ends.get("mase")), "n MASE": s.n_mase,
                "unparsed": s.unparsed, "±1 of wrong": None if off is None else f"{off:.1%}",
            })  # fmt: skip
        for g in baselines(answers):
            rows.append({
                "file": f"always the {g.name}: {g.dataset} {g.split}",
                "EM %": _cell(g.exact_match), "sMAPE %": _cell(g.smape), "MASE": _cell(g.mase),
            })  # fmt: skip
        _print_rows(mode, f"mode {mode}", rows)


def _print_rows(name: str, title: str, rows: Sequence[Mapping[str, Cell]]) -> None:
    """Cells by column; the first row has all columns."""
    from agent_env.sdk.results import Column, ResultTable

    heads = tuple(rows[0])
    body = tuple(tuple(row.get(head) for head in heads) for row in rows)
    print_table(ResultTable(name, title, tuple(map(Column, heads)), body))


def _print_errors(scored: ScoredAnswers) -> None:
    """Size and direction of the errors by our rules, where there are any."""
    from agent_env.features.papers.temp_answers.commands import right_steps

    mode, answers = list(scored.modes.items())[-1]
    bands = next((list(s.bands) for s in answers.summaries if s.bands), None)
    if bands is None:
        return
    rows: list[dict[str, Cell]] = []
    for file, s in answers.pairs:
        e, steps, ends = s.errors, right_steps(file), s.intervals or {}
        rows.append({
            "file": file.label,
            **{f"EM@{k} %": _cell(s.bands.get(k), ends.get(f"within_{k}")) for k in bands},
            "floor %": _cell(s.floor, ends.get("floor")),
            "round %": _cell(s.rounded, ends.get("rounded")),
            "finer than asked": s.outcomes.get("finer than asked", 0),
            "median error": None if e.median_signed is None else f"{e.median_signed:+g}",
            "too small": e.too_small, "too large": e.too_large, "off by 1": e.off_by_one,
            "transitional": e.transitional,
            "read %": _cell(100 * (1 - s.unparsed / s.n) if s.n else None),
            "calculations right %": None if steps.share is None
            else f"{100 * steps.share:.1f} of {steps.total}",
        })  # fmt: skip
    _print_rows("errors", f"errors, mode {mode}", rows)


def _cell(value: float | None, interval: tuple[float, float] | None = None) -> str | None:
    if value is None:
        return None
    texts = [f"{v:.2f}" if abs(v) < 1e6 else f"{v:.3g}" for v in (value, *(interval or ()))]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]" if interval else texts[0]


def _print_exclusions(scored: ScoredAnswers) -> None:
    """Prints what is in no mean; faults of the questions once for all files."""
    unscaled: dict[tuple[str, str, str], list[int]] = {}
    for k, file in enumerate(scored.files):
        if file.duplicates:
            count, first = len(file.duplicates), file.duplicates[0]
            _say(file, f"{count} rows repeat a question (row {first} first); scored all the same")
        if unmatched := scored.unmatched.get(file.path):
            count, first = len(unmatched), unmatched[0].line
            _say(file, f"{count} rows match no question (row {first} first); left out")
        if unanswered := scored.unanswered.get(file.path):
            _say(file, f"{unanswered} questions have no row")
        for mode, answers in scored.modes.items():
            what, summary = (
                "in no mean" if mode == "v2" else "counted as wrong",
                answers.summaries[k],
            )
            for problem, count in summary.problems.items():
                items = answers.scores.items[k]
                first = next(item.row.line for item in items if item.problem == problem)
                _say(file, f"{mode}: {count} rows {what} (row {first} first): {problem}")
            for unit, count in summary.unscaled.items():
                unscaled.setdefault((file.dataset, mode, unit), []).append(count)
            if coarse := summary.coarse:
                _say(file, f"{mode}: {coarse} dates coarser than asked; wrong, and in no MASE")
    for (dataset, mode, unit), counts in unscaled.items():
        files = f"{len(counts)} file{'s' if len(counts) > 1 else ''}"
        why = f"the gold answers in {unit} do not differ"
        print(f"{dataset}, {mode}: {sum(counts)} answers of {files} in no MASE: {why}")


def _say(file: ResponseFile, text: str) -> None:
    print(f"{file.label}: {text}")


def _print_disagreements(scored: ScoredAnswers) -> None:
    from collections import Counter

    if len(scored.modes) < 2:
        return
    counts = Counter(d.cause for d in scored.disagreements)
    print(f"{len(scored.disagreements)} answers are read or judged differently in the two modes")
    for cause, count in counts.most_common():
        first = next(d for d in scored.disagreements if d.cause == cause)
        print(
            f"  {count:6} {cause}; first {first.file} row {first.paper.row.line}: label "
            f"{first.paper.row.label}, paper {first.paper.amount}, v2 {first.v2.amount}"
        )
