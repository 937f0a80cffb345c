"""The command `judge`: a model's verdicts on a run's answers, beside the reader's."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli import limits as bound
from agent_env.cli.run import print_judges, say

if TYPE_CHECKING:
    from agent_env.runs.judge import Asked

SHOWN = 300
"""Letters of a reply or an error."""


def judge(
    run: Annotated[Path, typer.Argument(help="A run's folder.", metavar="RUN")],
    model: Annotated[str, typer.Option(help="The judge: openai/NAME or compatible/NAME.")],
    base_url: Annotated[
        str | None, typer.Option(help="Of its server, such as http://127.0.0.1:8000/v1")
    ] = None,
    api_key_env: bound.ApiKeyEnv = None,
    metric: Annotated[
        str | None, typer.Option(help="What is judged; default: the task's main metric.")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(help="Only answers under it. Repeatable.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="So many answers, by lot; default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the lot.")] = 1,
    again: Annotated[
        bool, typer.Option("--again", help="Ask also where this judge gave a verdict before.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls at the same time.")] = 8,
    temperature: Annotated[float | None, typer.Option(help="Sent if given.")] = None,
    reasoning_effort: Annotated[str | None, typer.Option(help="Sent if given.")] = None,
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="Sent if given.")] = None,
    run_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="In and out, of this start.", rich_help_panel=bound.RUN),
    ] = None,
    run_cost_usd: Annotated[
        float | None,
        typer.Option(min=0.0, help="Of this start; needs --prices.", rich_help_panel=bound.RUN),
    ] = None,
    retries: bound.TryAgain = 5,
    retry_time_s: bound.RetryTimeS = 600.0,
    same_error: bound.SameError = 3,
    stop_after_failures: bound.Breaker = 20,
    prices: bound.Prices = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, for machines.")
    ] = False,
) -> None:
    """Have a model judge the answers of a run; its verdicts go into the traces.

    Scores stay the reader's. `score` tells how each judge agrees with it.

    Example: agent-env judge runs/td --model compatible/Qwen/Qwen3-8B
    --base-url http://127.0.0.1:8000/v1 --sample 200
    """
    from agent_env.episodes.calls.options import model_facts
    from agent_env.errors import RunStopped
    from agent_env.runs.judge import JudgeOptions, agreements, judge_run

    sent = {
        "temperature": temperature,
        "reasoning_effort": reasoning_effort,
        "max_output_tokens": max_output_tokens,
    }
    options = JudgeOptions(
        run=run,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        parameters={name: value for name, value in sent.items() if value is not None},
        metric=metric,
        conditions=tuple(condition or ()),
        sample=sample,
        seed=seed,
        again=again,
        concurrency=concurrency,
        calls=bound.call_options(
            bound.run_limits(run_tokens, run_cost_usd, None),
            retries,
            retry_time_s,
            same_error,
            stop_after_failures,
            prices,
            None,
        ),
    )
    try:
        asked = asyncio.run(judge_run(options, say))
    except RunStopped as exc:
        text = f"stopped: {exc}; the verdicts so far are in the traces, the same command goes on"
        raise RunStopped(text, reason=exc.reason) from exc
    facts = model_facts(prices, model, lambda text: None)
    found = agreements(run, lambda text: None, {model: facts} if facts else None)
    if as_json:
        told = {"run": str(run), "metric": asked.metric, "chosen": asked.chosen}
        counts = {"without_text": asked.without_text, "kept": asked.kept, "says": dict(asked.says)}
        print(json.dumps(told | counts | {"judges": [row.as_json() for row in found]}))
    else:
        _print(asked)
        print_judges(found, run)
    if (error := asked.first.get("failed")) is not None:
        say(f"failed {asked.says['failed']} times, the first time: {_beginning(error)}")
    if asked.is_vain:
        if (reply := asked.first.get("unparsable")) is not None:
            say(f"no reply ends with a verdict; the first one begins: {_beginning(reply)}")
        sys.exit(1)


def _beginning(text: str) -> str:
    return shorten(text, SHOWN, placeholder=" …") or "(nothing)"


def _print(asked: Asked) -> None:
    new = ", ".join(f"{number} {says}" for says, number in sorted(asked.says.items())) or "none"
    print(f"{asked.chosen} answers by '{asked.metric}'; new verdicts: {new}")
    if asked.kept:
        print(f"{asked.kept} were judged before on the same prompt; --again asks again")
    if asked.without_text:
        print(f"{asked.without_text} hold no text, so there is nothing to judge")
