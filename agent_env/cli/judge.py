"""The command `judge`: a model's verdicts on a run's answers, beside the reader's."""

from __future__ import annotations

import asyncio
import json
import sys
from textwrap import shorten
from typing import TYPE_CHECKING

from agent_env.cli.options import with_options
from agent_env.cli.run import AsJson, say
from agent_env.cli.tables import print_table

if TYPE_CHECKING:
    from agent_env.runs.judge import JudgeOptions, JudgeResult

SHOWN = 300
"""Letters of a reply or an error."""


@with_options("agent_env.runs.judge:JudgeOptions")
def judge(options: JudgeOptions, as_json: AsJson = False) -> None:
    """Have a model judge the answers of a run; its verdicts go into the traces.

    Scores stay the reader's. `score` tells how each judge agrees with it.

    Example: agent-env judge runs/td --model compatible/Qwen/Qwen3-8B
    --base-url http://127.0.0.1:8000/v1 --sample 200
    """
    from agent_env.episodes.calls.options import model_facts
    from agent_env.errors import RunStopped
    from agent_env.runs.judge import agreements, judge_run

    run, model = options.run, options.model
    try:
        asked = asyncio.run(judge_run(options, say))
    except RunStopped as exc:
        text = f"stopped: {exc}; the verdicts so far are in the traces, the same command goes on"
        raise RunStopped(text, reason=exc.reason) from exc
    facts = model_facts(options.calls.prices, model, lambda text: None)
    found = agreements(run, lambda text: None, {model: facts} if facts else None)
    if as_json:
        told = {"run": str(run), "metric": asked.metric, "chosen": asked.chosen}
        counts = {"without_text": asked.without_text, "kept": asked.kept, "says": dict(asked.says)}
        print(json.dumps(told | counts | {"judges": [row.as_json() for row in found]}))
    else:
        _print(asked)
        if found:
            from agent_env.analysis.judges import judge_table

            print_table(judge_table(found, f"judges · {run}"))
    if (error := asked.first.get("failed")) is not None:
        say(f"failed {asked.says['failed']} times, the first time: {_beginning(error)}")
    if asked.is_vain:
        if (reply := asked.first.get("unparsable")) is not None:
            say(f"no reply ends with a verdict; the first one begins: {_beginning(reply)}")
        sys.exit(1)


def _beginning(text: str) -> str:
    return shorten(text, SHOWN, placeholder=" …") or "(nothing)"


def _print(asked: JudgeResult) -> None:
    new = ", ".join(f"{number} {says}" for says, number in sorted(asked.says.items())) or "none"
    print(f"{asked.chosen} answers by '{asked.metric}'; new verdicts: {new}")
    if asked.kept:
        print(f"{asked.kept} were judged before on the same prompt; --again asks again")
    if asked.without_text:
        print(f"{asked.without_text} hold no text, so there is nothing to judge")
