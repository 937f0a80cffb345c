"""Options that several commands share: limits, retries, prices, the reply cache, keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.episodes.calls.options import CallOptions

EPISODE = "Limits of an episode"
RUN = "Limits of the whole run"
CALLS = "Model calls"
SERVER = "The model"

Steps = Annotated[
    int | None, typer.Option(min=1, help="Model calls per episode.", rich_help_panel=EPISODE)
]
ToolCalls = Annotated[int | None, typer.Option(min=0, help="Per episode.", rich_help_panel=EPISODE)]
Tokens = Annotated[
    int | None, typer.Option(min=1, help="Per episode, in and out.", rich_help_panel=EPISODE)
]
TimeS = Annotated[
    float | None, typer.Option(min=0.1, help="Seconds per episode.", rich_help_panel=EPISODE)
]
ToolLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--tool-limit",
        metavar="TOOL=CALLS",
        help="Calls of one tool, such as python=10; then it is withdrawn. Repeatable.",
        rich_help_panel=EPISODE,
    ),
]
InputTokens = Annotated[int | None, typer.Option(min=1, help="Sent.", rich_help_panel=EPISODE)]
OutputTokens = Annotated[int | None, typer.Option(min=1, help="Got.", rich_help_panel=EPISODE)]
CostUsd = Annotated[
    float | None, typer.Option(min=0.0, help="Needs --prices.", rich_help_panel=EPISODE)
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The environment variable with the key of the model's server."
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Of the server of compatible/ models, such as http://127.0.0.1:8000/v1",
        rich_help_panel=SERVER,
    ),
]
ApiKeyEnvs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[MODEL=]NAME",
        help="The environment variable with a model's key, such as compatible/x=X_KEY. Repeatable.",
        show_default="OPENAI_API_KEY, COMPATIBLE_API_KEY",
        rich_help_panel=SERVER,
    ),
]
EchoReasoning = Annotated[
    str,
    typer.Option(
        help="Send a server back what it said beside the text, reasoning above all: auto (unless "
        "it refuses), always, never.",
        rich_help_panel=SERVER,
    ),
]
AnswerNotice = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Replies left when the model is told that it must answer; 0: never told.",
        show_default="2",
        rich_help_panel=EPISODE,
    ),
]
FitContext = Annotated[
    bool,
    typer.Option(
        "--fit-context",
        help="Cut old tool outputs where the model's context is full, and go on; counted.",
        rich_help_panel=EPISODE,
    ),
]
RunTokens = Annotated[
    int | None,
    typer.Option(min=1, help="In and out, all episodes and resumes.", rich_help_panel=RUN),
]
RunCostUsd = Annotated[
    float | None,
    typer.Option(min=0.0, help="All episodes and resumes; needs --prices.", rich_help_panel=RUN),
]
RunTimeS = Annotated[
    float | None, typer.Option(min=0.1, help="Seconds from this start.", rich_help_panel=RUN)
]
Breaker = Annotated[
    int,
    typer.Option(
        "--stop-after-failures",
        min=0,
        help="Model calls in a row that all failed; 0: never.",
        rich_help_panel=RUN,
    ),
]
TryAgain = Annotated[
    int,
    typer.Option(
        "--retries", min=0, help="Further calls after one that failed.", rich_help_panel=CALLS
    ),
]
RetryTimeS = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Seconds in which they may start; also how long a run waits for a server that is "
        "away, such as 3600.",
        rich_help_panel=CALLS,
    ),
]
IdleS = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        help="Seconds for which a stream may stop once it has begun, such as 300.",
        show_default="60",
        rich_help_panel=CALLS,
    ),
]
SameError = Annotated[
    int,
    typer.Option(
        min=1, help="The same error so often on one request is final.", rich_help_panel=CALLS
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(help="A table of models: docs/limits.md has the form.", rich_help_panel=CALLS),
]
ReplyCacheFile = Annotated[
    Path | None,
    typer.Option(
        "--reply-cache",
        help="Keep replies here, and take those that are here.",
        rich_help_panel=CALLS,
    ),
]


def episode_limits(
    tool_limit: list[str] | None,
    input_tokens: int | None,
    output_tokens: int | None,
    cost_usd: float | None,
    answer_notice: int | None,
    fit_context: bool = False,
) -> dict[str, object]:
    """Those that were given, by their names in protocols.Limits."""
    from agent_env.episodes.calls.options import per_tool

    given = {
        "per_tool": per_tool(tuple(tool_limit)) if tool_limit else None,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cost_usd": cost_usd,
        "notice": answer_notice,
        "fit_context": fit_context or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def run_limits(tokens: int | None, cost_usd: float | None, time_s: float | None) -> RunLimits:
    """Limits of the whole run."""
    from agent_env.episodes.calls.budget import RunLimits

    return RunLimits(tokens, cost_usd, time_s)


def call_options(
    run: RunLimits,
    retries: int,
    retry_time_s: float,
    same_error: int,
    breaker: int,
    prices: Path | None,
    reply_cache: Path | None,
) -> CallOptions:
    """How model calls are made."""
    from agent_env.episodes.calls.options import CallOptions
    from agent_env.episodes.calls.retries import Retries

    rules = Retries(attempts=retries + 1, time_s=retry_time_s, same=same_error)
    return CallOptions(run, rules, breaker or None, prices, reply_cache)
