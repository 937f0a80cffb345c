"""The command `reproduce`: a paper's experiments, its figures beside ours."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from agent_env.sdk.commands import AsJson, Opt, Wide, print_table, say, with_options

if TYPE_CHECKING:
    from agent_env.features.papers.engine import ReproduceOptions
    from agent_env.sdk.run import Listener


@with_options(
    "agent_env.features.papers.engine:ReproduceOptions",
    first=("model", "file", "responses", "only", "limit", "option", "base-url", "api-key-env",
           "out", "run-tokens", "run-cost-usd", "list", "check", "wide"),
)  # fmt: skip
def reproduce(
    options: ReproduceOptions,
    listed: Annotated[
        bool, Opt("Print the paper's experiments and what they need.", flag="--list")
    ] = False,
    check: Annotated[bool, Opt("Only say what the runs will use: ask no question.")] = False,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Run a paper's experiments and set its figures beside ours, as tables, figures, one page.

    Example: agent-env study reproduce time-puzzles --model openai/gpt-5 --dataset puzzles.json
    """
    import asyncio

    from agent_env.features.papers import engine, pages
    from agent_env.features.papers.results import experiment_table, overview

    if listed:
        for table in pages.contents(engine.load_reproduction(options.paper)):
            print_table(table, wide)
        return
    if check:
        print(asyncio.run(engine.forecast(options, _progress, say)))
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        result = asyncio.run(engine.reproduce(options, _progress, say))
    except KeyboardInterrupt:
        say("Stopped. The same command continues.")
        sys.exit(130)
    files = pages.write_results(result, say)
    if as_json:
        print(json.dumps(pages.results_json(result), ensure_ascii=False))
    else:
        for each in result.results:
            if each.is_reproduced:
                print_table(experiment_table(each, brief=True), wide)
        print_table(overview(result.results), wide)
    say(f"wrote {len(files)} files, last {files[-1]}")
    if result.stopped:
        say(f"stopped: {result.stopped}; the same command continues")
    if result.stopped or not any(each.is_reproduced for each in result.results):
        sys.exit(1)


@contextmanager
def _progress() -> Iterator[Listener]:
    from agent_env.sdk.run import Progress

    with Progress() as progress:
        yield progress.listener
