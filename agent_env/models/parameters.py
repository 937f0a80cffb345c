"""What a model is made with, as the user may choose it; run.json keeps it as model_parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from agent_env.errors import ConfigError
from agent_env.records.options import CALLS, SERVER, Opt

IF_GIVEN = "Sent if given."


def _object(value: str | Mapping[str, Any]) -> dict[str, Any]:
    """The object that `--extra-body` has as JSON; ConfigError where it has none."""
    try:
        fields = json.loads(value) if isinstance(value, str) else dict(value)
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"--extra-body is not JSON: {exc}") from None
    if not isinstance(fields, dict):
        raise ConfigError('--extra-body must be a JSON object like {"top_k": 20}')
    return fields


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """Those that the command line has; None is left to the server, or to the adapter."""

    reply_timeout_s: Annotated[
        float | None, Opt("Seconds a call may take.", CALLS, min=0.1, shown="600")
    ] = None
    idle_s: Annotated[
        float | None,
        Opt(
            "Seconds for which a stream may stop once it has begun, such as 300.",
            CALLS,
            min=0.1,
            shown="60",
        ),
    ] = None
    tool_protocol: Annotated[
        str, Opt("native, or text for models that cannot call tools.", SERVER)
    ] = "native"
    text_calls: Annotated[
        str | None,
        Opt(
            "With the text protocol: strict, or lenient, which takes a right call in a block of "
            "any name, such as ```json. Default: lenient where the preflight saw such a block.",
            SERVER,
        ),
    ] = None
    hosted_tools: Annotated[bool, Opt("OpenAI's web search and code, not ours.", SERVER)] = False
    stream: Annotated[bool, Opt("Keeps long replies alive.", SERVER)] = False
    echo_reasoning: Annotated[
        str,
        Opt(
            "Send a server back what it said beside the text, reasoning above all: auto (unless "
            "it refuses), always, never.",
            SERVER,
        ),
    ] = "auto"
    temperature: Annotated[float | None, Opt(IF_GIVEN, SERVER)] = None
    reasoning_effort: Annotated[str | None, Opt(IF_GIVEN, SERVER)] = None
    max_output_tokens: Annotated[int | None, Opt(IF_GIVEN, SERVER, min=1)] = None
    top_p: Annotated[float | None, Opt(IF_GIVEN, SERVER)] = None
    seed: Annotated[
        int | None,
        Opt("Each episode's sampling seed is drawn from it.", SERVER, flag="--model-seed"),
    ] = None
    parallel_tool_calls: Annotated[bool | None, Opt(IF_GIVEN, SERVER, shown=False)] = None
    system_role: Annotated[
        str | None, Opt("system, developer, or user for models without either.", SERVER)
    ] = None
    extra_body: Annotated[
        Mapping[str, Any] | None,
        Opt('More request fields, as JSON: {"top_k": 20}', SERVER, typed=str | None, read=_object),
    ] = None
