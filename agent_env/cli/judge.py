"""Verdicts on a run's answers beside the scorer's: `judge` asks a model, `label` writes a blind
sheet for annotators.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

from agent_env.cli.options import with_options
from agent_env.cli.run import AsJson, RunPath, for_each_run, print_table, say
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunBudget
    from agent_env.runs.judge import JudgeOptions, JudgeResult
    from agent_env.runs.label import Agreement

MAX_SHOWN = 300
"""Letters of a reply or an error."""


@with_options("agent_env.runs.judge:JudgeOptions")
def judge(options: JudgeOptions, as_json: AsJson = False) -> None:
    """Have a model judge the answers of a run; its verdicts go into the traces.

    Scores stay those of the answer parser; `show` reports each judge's agreement with it.

    Example: agent-env episodes judge runs/td --model compatible/Qwen/Qwen3-8B
    --base-url http://127.0.0.1:8000/v1 --limit 200
    """
    from agent_env.runs.judge import judge_budget

    budget = judge_budget(options, say)  # of all runs together

    def judge_one(path: Path, name: str) -> None:
        _judge(replace(options, run=path), budget, as_json)

    for_each_run(options.run, judge_one, as_json)


def _judge(options: JudgeOptions, budget: RunBudget, as_json: bool) -> None:
    import asyncio

    from agent_env.episodes.calls.options import model_facts
    from agent_env.errors import RunStopped
    from agent_env.runs.judge import agreements, judge_run

    run, model = options.run, options.model
    try:
        result = asyncio.run(judge_run(options, say, budget))
    except RunStopped as exc:
        text = f"stopped: {exc}; the verdicts so far are in the traces, the same command goes on"
        raise RunStopped(text, reason=exc.reason) from exc
    facts = model_facts(options.calls.prices, model, lambda text: None)
    judges = agreements(run, lambda text: None, {model: facts} if facts else None)
    if as_json:
        fields = {"run": str(run), "metric": result.metric, "chosen": result.chosen}
        fields |= {"without_text": result.without_text, "kept": result.kept}
        rows = [row.as_json() for row in judges]
        print(json.dumps({**fields, "says": dict(result.says), "judges": rows}))
    else:
        _print(result)
        if judges:
            from agent_env.analysis.judges import judge_table

            print_table(judge_table(judges, f"judges · {run}"))
    if (error := result.first.get("failed")) is not None:
        say(f"failed {result.says['failed']} times, the first time: {_beginning(error)}")
    if result.has_no_result:
        if (reply := result.first.get("unparsable")) is not None:
            say(f"no reply ends with a verdict; the first one begins: {_beginning(reply)}")
        sys.exit(1)


def _beginning(text: str) -> str:
    return shorten(text, MAX_SHOWN, placeholder=" …") or "(nothing)"


def _print(result: JudgeResult) -> None:
    new = ", ".join(f"{number} {says}" for says, number in sorted(result.says.items())) or "none"
    print(f"{result.chosen} answers by '{result.metric}'; new verdicts: {new}")
    if result.kept:
        print(f"{result.kept} were judged before on the same prompt; --again asks again")
    if result.without_text:
        print(f"{result.without_text} hold no text, so there is nothing to judge")


def label(
    run: RunPath,
    out: Annotated[Path | None, Opt("Write a blind sheet (CSV) here.")] = None,
    read: Annotated[
        list[Path] | None, Opt("A sheet with labels, one for each annotator. Repeatable.")
    ] = None,
    limit: Annotated[int, Opt("How many answers.", min=1)] = 125,
    seed: Annotated[int, Opt("Of the choice.")] = 1,
    metric: Annotated[str | None, Opt("Default: the task's main one.")] = None,
    width: Annotated[
        float, Opt("Of a judge's corrected interval, to tell the labels for.", min=0.01, max=1)
    ] = 0.1,
    as_json: AsJson = False,
) -> None:
    """Write a blind sheet of a run's answers for people to label; read labelled ones back. Of a
    study, one sheet has answers of all its runs.

    Example: agent-env episodes label runs/td --limit 125 --out sheet.csv, then
    agent-env episodes label runs/td --read ada.csv --read carl.csv
    """
    from agent_env.analysis.judge_correction import correction_table
    from agent_env.errors import ConfigError
    from agent_env.runs.label import CLASSES, read_sheets, write_sheet
    from agent_env.runs.study import find_runs

    if (out is None) == (not read):
        raise ConfigError("label needs --out FILE to write a sheet, or --read FILE to read some")
    runs = find_runs([run], say)
    if out is not None:
        count = write_sheet(runs, limit, seed, metric, out, say)
        print(f"{count} answers in {out}; write into `label` one of: {', '.join(CLASSES)}")
        return
    agreement = read_sheets(runs, read or [], metric, say, width)
    if as_json:
        print(json.dumps(asdict(agreement)))
    else:
        _print_agreement(agreement)
        if agreement.corrected:
            print_table(correction_table(agreement.corrected, width))


def _print_agreement(agreement: Agreement) -> None:
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
