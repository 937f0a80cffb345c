"""The command on response files: score-answers."""

from __future__ import annotations

import json
import sys
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
        from agent_env.features.papers.temp_answers.commands import write_disagreements

        if len(scored.summaries) < 2:
            raise ConfigError("--disagreements compares the modes; leave --mode out")
        try:
            write_disagreements(disagreements, scored.disagreements)
        except OSError as exc:
            raise ConfigError(f"cannot write to {disagreements}: {exc.strerror}") from exc
    if as_json:
        print(json.dumps(commands.as_json(scored)))
        _fail_for_unjudged(scored)
        return
    _print_files(scored)
    _print_errors(scored)
    _print_exclusions(scored)
    _print_disagreements(scored)
    _fail_for_unjudged(scored)


def _fail_for_unjudged(scored: ScoredAnswers) -> None:
    """Exits 1 where a file has no row that can be judged."""
    for file in scored.unjudged:
        print(f"{file.label}: judged 0 of {len(file.rows)} rows", file=sys.stderr)
    if scored.unjudged:
        sys.exit(1)


def _print_files(scored: ScoredAnswers) -> None:
    from agent_env.features.papers.temp_answers.paper_measures import baselines
    from agent_env.sdk.results import Column, ResultTable

    heads = (
        "file", "n", "EM %", "sMAPE %", "n sMAPE", "MASE", "n MASE", "unparsed", "±1 of wrong",
    )  # fmt: skip
    for mode, summaries in scored.summaries.items():
        rows: list[tuple[Cell, ...]] = []
        for file, s in zip(scored.files, summaries, strict=True):
            ends = s.intervals or {}
            off = s.errors.off_by_one_share
            rows.append(
                (file.label, s.n, _cell(s.exact_match, ends.get("exact_match")),
                 _cell(s.smape, ends.get("smape")), s.n_smape,
                 _cell(s.mase, ends.get("mase")), s.n_mase, s.unparsed,
                 None if off is None else f"{off:.1%}")
            )  # fmt: skip
        for g in baselines(scored.answers(mode)):
            values = [_cell(value) for value in (g.exact_match, g.smape, g.mase)]
            name = f"always the {g.name}: {g.dataset} {g.split}"
            rows.append((name, None, values[0], values[1], None, values[2], None, None, None))
        columns = tuple(map(Column, heads))
        print_table(ResultTable(mode, f"mode {mode}", columns, tuple(rows)))


def _print_errors(scored: ScoredAnswers) -> None:
    """Size and direction of the errors by our rules, where there are any."""
    from agent_env.features.papers.temp_answers.commands import right_steps
    from agent_env.sdk.results import Column, ResultTable

    mode = list(scored.summaries)[-1]
    summaries = scored.summaries[mode]
    if not any(s.bands for s in summaries):
        return
    bands = list(next(s.bands for s in summaries if s.bands))
    heads = (
        "file", *(f"EM@{k} %" for k in bands), "floor %", "round %", "finer than asked",
        "median error", "too small", "too large", "off by 1", "transitional", "read %",
        "calculations right %",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for file, s in zip(scored.files, summaries, strict=True):
        e, steps, ends = s.errors, right_steps(file), s.intervals or {}
        rows.append(
            (file.label,
             *(_cell(s.bands.get(k), ends.get(f"within_{k}")) for k in bands),
             _cell(s.floor, ends.get("floor")), _cell(s.rounded, ends.get("rounded")),
             s.outcomes.get("finer than asked", 0),
             None if e.median_signed is None else f"{e.median_signed:+g}",
             e.too_small, e.too_large, e.off_by_one, e.transitional,
             _cell(100 * (1 - s.unparsed / s.n) if s.n else None),
             None if steps.share is None else f"{100 * steps.share:.1f} of {steps.total}")
        )  # fmt: skip
    columns = tuple(map(Column, heads))
    print_table(ResultTable("errors", f"errors, mode {mode}", columns, tuple(rows)))


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
        for mode, summaries in scored.summaries.items():
            what = "in no mean" if mode == "v2" else "counted as wrong"
            for problem, count in summaries[k].problems.items():
                items = scored.scores[mode].items[k]
                first = next(item.row.line for item in items if item.problem == problem)
                _say(file, f"{mode}: {count} rows {what} (row {first} first): {problem}")
            for unit, count in summaries[k].unscaled.items():
                unscaled.setdefault((file.dataset, mode, unit), []).append(count)
            if coarse := summaries[k].coarse:
                _say(file, f"{mode}: {coarse} dates coarser than asked; wrong, and in no MASE")
    for (dataset, mode, unit), counts in unscaled.items():
        files = f"{len(counts)} file{'s' if len(counts) > 1 else ''}"
        why = f"the gold answers in {unit} do not differ"
        print(f"{dataset}, {mode}: {sum(counts)} answers of {files} in no MASE: {why}")


def _say(file: ResponseFile, text: str) -> None:
    print(f"{file.label}: {text}")


def _print_disagreements(scored: ScoredAnswers) -> None:
    from collections import Counter

    if len(scored.summaries) < 2:
        return
    counts = Counter(d.cause for d in scored.disagreements)
    print(f"{len(scored.disagreements)} answers are read or judged differently in the two modes")
    for cause, count in counts.most_common():
        first = next(d for d in scored.disagreements if d.cause == cause)
        print(
            f"  {count:6} {cause}; first {first.file} row {first.row.line}: label "
            f"{first.row.label}, paper {first.paper}, v2 {first.v2}"
        )
