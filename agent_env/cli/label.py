"""The command `label`: a blind sheet for annotators, and their agreement with the scorer."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import AsJson, RunPath, say

if TYPE_CHECKING:
    from agent_env.runs.label import Agreement


def label(
    run: RunPath,
    out: Annotated[Path | None, typer.Option(help="Write a blind sheet (CSV) here.")] = None,
    read: Annotated[
        list[Path] | None,
        typer.Option(help="A sheet with labels, one for each annotator. Repeatable."),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="How many answers.")] = 125,
    seed: Annotated[int, typer.Option(help="Of the choice.")] = 1,
    metric: Annotated[str | None, typer.Option(help="Default: the task's main one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a blind sheet of a run's answers for people to label; read labelled ones back. Of a
    study, one sheet has answers of all its runs.

    Example: agent-env label runs/td --sample 125 --out sheet.csv, then
    agent-env label runs/td --read ada.csv --read carl.csv
    """
    from agent_env.errors import ConfigError
    from agent_env.runs.label import CLASSES, read_sheets, write_sheet
    from agent_env.runs.study import find_runs

    if (out is None) == (not read):
        raise ConfigError("label needs --out FILE to write a sheet, or --read FILE to read some")
    runs = find_runs([run], say)
    if out is not None:
        count = write_sheet(runs, sample, seed, metric, out, say)
        print(f"{count} answers in {out}; write into `label` one of: {', '.join(CLASSES)}")
        return
    agreement = read_sheets(runs, read or [], metric, say)
    if as_json:
        print(json.dumps(asdict(agreement)))
    else:
        _print(agreement)


def _print(agreement: Agreement) -> None:
    names = ", ".join(agreement.annotators)
    print(f"{agreement.items} answers labelled by {names}; {agreement.tied} tied")
    print(f"scorer by '{agreement.metric}' against the annotators:")
    print(f"{'class':12} {'P':>6} {'R':>6} {'F1':>6} {'scorer':>7} {'people':>7} {'alpha':>6}")
    for c in agreement.classes:
        figures = " ".join(_figure(value) for value in (c.precision, c.recall, c.f1))
        alpha = _figure(agreement.class_alpha[c.name])
        print(f"{c.name:12} {figures} {c.measured:7} {c.true:7} {alpha}")
    print(f"scorer and people, Cohen's kappa:    {_figure(agreement.scorer_kappa)}")
    for judge, with_people in agreement.judges.items():
        figures_ = f"{_figure(with_people.kappa)}, agreement {with_people.agreement:.3f}"
        print(f"judge {judge} and people, kappa: {figures_} of {with_people.items}")
    print(f"among people, mean Cohen's kappa:    {_figure(agreement.kappa)}")
    print(f"among people, Krippendorff's alpha:  {_figure(agreement.alpha)}")


def _figure(value: float | None) -> str:
    return f"{'-':>6}" if value is None else f"{value:6.3f}"
