"""agent-env episodes judge."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from agent_env.sdk.commands import AsJson, for_each_run, print_table, say, with_options

if TYPE_CHECKING:
    from agent_env.features.judge.judge import JudgeOptions
    from agent_env.sdk.inside import RunBudget

MAX_LETTERS = 300
"""Letters of a reply or an error."""


@with_options("agent_env.features.judge.judge:JudgeOptions")
def judge(options: JudgeOptions, as_json: AsJson = False) -> None:
    """Have a model judge the answers of a run; its verdicts go into the traces.

    Scores stay those of the answer parser; `show` tells how many each judge calls right.

    Example: agent-env episodes judge runs/td --model compatible/Qwen/Qwen3-8B
    --base-url http://127.0.0.1:8000/v1 --limit 200
    """
    import asyncio

    from agent_env.features.judge.judge import judge_budget
    from agent_env.sdk.inside import resolve_model

    model = asyncio.run(resolve_model(options.model, options.api_key_env))
    options = replace(options, model=model)
    budget = judge_budget(options, say)  # of all runs together

    def judge_one(path: Path, name: str) -> None:
        _judge(replace(options, run=path), budget, as_json)

    for_each_run(options.run, judge_one, as_json)


def _judge(options: JudgeOptions, budget: RunBudget, as_json: bool) -> None:
    import asyncio

    from agent_env.features.judge.judge import judge_run, rates
    from agent_env.sdk.errors import RunStopped
    from agent_env.sdk.inside import model_facts

    run, model = options.run, options.model
    try:
        result = asyncio.run(judge_run(options, say, budget))
    except RunStopped as exc:
        text = f"stopped: {exc}; the verdicts so far are in the traces, the same command goes on"
        raise RunStopped(text, reason=exc.reason) from exc
    facts = model_facts(options.calls.prices, model, lambda text: None)
    judges = rates(run, lambda text: None, {model: facts} if facts else None)
    if as_json:
        fields = {"run": str(run), "metric": result.metric, "chosen": result.chosen}
        fields |= {"without_text": result.without_text, "kept": result.kept}
        rows = [row.as_json() for row in judges]
        print(json.dumps({**fields, "says": dict(result.says), "judges": rows}))
    else:
        new = (
            ", ".join(f"{number} {says}" for says, number in sorted(result.says.items())) or "none"
        )
        print(f"{result.chosen} answers by '{result.metric}'; new verdicts: {new}")
        if result.kept:
            print(f"{result.kept} were judged before on the same prompt; --again asks again")
        if result.without_text:
            print(f"{result.without_text} hold no text, so there is nothing to judge")
        if judges:
            from agent_env.features.judge.tables import judge_table

            print_table(judge_table({str(run): judges}, f"judges · {run}"))
    if (error := result.first.get("failed")) is not None:
        say(f"failed {result.says['failed']} times, the first time: {_beginning(error)}")
    if result.has_no_result:
        if (reply := result.first.get("unparsable")) is not None:
            say(f"no reply ends with a verdict; the first one begins: {_beginning(reply)}")
        sys.exit(1)


def _beginning(text: str) -> str:
    return shorten(text, MAX_LETTERS, placeholder=" …") or "(nothing)"
