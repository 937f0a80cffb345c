"""The command that serves the fake model server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def fake_server(
    policy: Annotated[
        str | None, typer.Option(help="reference or reference-static.", show_default="reference")
    ] = None,
    script: Annotated[Path | None, typer.Option(help="Replies, a JSON object a line.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    latency: Annotated[float, typer.Option(min=0.0, help="Seconds before each reply.")] = 0.0,
    errors: Annotated[
        str, typer.Option(help="Such as 429:0.1,hang:0.05,cut:0.02 (docs/models.md).")
    ] = "",
    seed: Annotated[int, typer.Option(help="Of the errors.")] = 0,
    tokenizer: Annotated[
        str, typer.Option(help="Serve POST /tokenize as vllm or llama.cpp has it; or none.")
    ] = "vllm",
    mode: Annotated[
        str,
        typer.Option(
            help="Whose rules are enforced: lenient, openai, deepseek, kimi, gemini, minimax, glm,"
            " openrouter, vllm, llama.cpp, no-echo, no-echo-422, future (docs/models.md)."
        ),
    ] = "lenient",
    key: Annotated[str | None, typer.Option(help="The only API key that is taken.")] = None,
    serve_model: Annotated[
        str | None,
        typer.Option(help="The one model: others are refused, by lenient and llama.cpp replaced."),
    ] = None,
    answer_as: Annotated[
        str | None, typer.Option(help="The model's name in replies, whatever was asked for.")
    ] = None,
    context: Annotated[
        int | None, typer.Option(min=1, help="Tokens of prompt and reply; more is an error.")
    ] = None,
    drop_tools: Annotated[
        bool, typer.Option("--drop-tools", help="Let no tool reach the prompt, without a word.")
    ] = False,
    loading_s: Annotated[
        float, typer.Option(min=0.0, help="Answer 503 `Loading model` for so many seconds.")
    ] = 0.0,
    piece_delay_s: Annotated[
        float, typer.Option(min=0.0, help="Seconds before each piece of a streamed reply.")
    ] = 0.0,
    redirect_to: Annotated[
        str | None, typer.Option(help="Send each request on, such as to http://127.0.0.1:9999.")
    ] = None,
    hide_truncation: Annotated[
        bool, typer.Option("--hide-truncation", help="Responses: `completed` of cut replies too.")
    ] = False,
    no_usage: Annotated[
        bool, typer.Option("--no-usage", help="Tell no tokens, as some servers do.")
    ] = False,
) -> None:
    """Serve both model APIs on loopback, to rehearse a run before paying for it.

    Example: agent-env fake-server --policy reference --mode deepseek --errors 429:0.1,cut:0.02
    """
    import asyncio

    from agent_env.cli.run import one_of, say
    from agent_env.errors import ConfigError
    from agent_env.models.fake_server import (
        FakeServer,
        Hosting,
        model_policy,
        parse_errors,
        script_policy,
    )
    from agent_env.wiring.models import make_model

    if policy is not None and script is not None:
        raise ConfigError("--policy and --script exclude each other")
    if script is None:
        name = policy or "reference"
        if name not in ("reference", "reference-static"):
            raise ConfigError(f"unknown policy '{name}'; known: reference, reference-static")
        chosen = model_policy(make_model(name, None, {}))
    else:
        chosen = script_policy(script)
    ways: tuple[Literal["vllm", "llama.cpp", "none"], ...] = ("vllm", "llama.cpp", "none")
    counts = one_of(tokenizer, ways, "--tokenizer")
    server = FakeServer(
        chosen,
        port=port,
        latency_s=latency,
        errors=parse_errors(errors) if errors else {},
        seed=seed,
        tokenizer=None if counts == "none" else counts,
        tells_usage=not no_usage,
        mode=mode,
        hosting=Hosting(
            key=key,
            context_tokens=context,
            drops_tools=drop_tools,
            loading_s=loading_s,
            redirects_to=redirect_to,
            serves=serve_model,
            answers_as=answer_as,
            hides_truncation=hide_truncation,
            piece_delay_s=piece_delay_s,
        ),
    )

    async def go() -> None:
        async with server:
            print(server.url, flush=True)
            asked = f"agent-env run time-puzzles --model compatible/x --base-url {server.url}"
            say(f"Ctrl-C ends it. Ask it by: {asked}")
            await asyncio.Event().wait()

    try:
        asyncio.run(go())
    except OSError as exc:
        raise ConfigError(f"cannot listen on port {port}: {exc.strerror or exc}") from exc
