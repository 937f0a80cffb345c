"""Commands that ask models: `run` and `resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_env.cli import engine as scale
from agent_env.cli import limits as bound
from agent_env.cli.preflight import print_checks
from agent_env.cli.run import (
    AsJson,
    Run,
    TrustRun,
    json_object,
    print_scores,
    scored_when_stopped,
)
from agent_env.cli.several import resume_several, run_several

Fsync = Literal["replies", "all", "none"]
WHAT = "What is asked"
WORDS = "In which words"
SERVER = bound.SERVER
WEB = "The web"
RUNNING = "The run"


def run(
    task: Annotated[
        str,
        typer.Argument(
            help="time-puzzles, tdbench, tempreason, timeqa, traveler or temp-answers.",
            metavar="TASK",
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="reference (the default), reference-static, openai/NAME, compatible/NAME or "
            "compatible/NAME@URL. Repeatable: each model gets a run of its own below --out.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(
            help="Parts joined by +: base, explicit, cited, web, web-once, cal, events, ci, sql. "
            "Repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    cited_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="What `context build` wrote, for cited or cited:NAME. Repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many samples.", rich_help_panel=WHAT)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the generated samples.", rich_help_panel=WHAT)] = 1,
    dataset: Annotated[
        Path | None, typer.Option(help="A samples.jsonl to ask instead.", rich_help_panel=WHAT)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; default: runs/…", rich_help_panel=RUNNING)
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Episodes at the same time.", rich_help_panel=RUNNING)
    ] = 8,
    repeats: Annotated[
        int, typer.Option(min=1, help="Episodes per sample and condition.", rich_help_panel=WHAT)
    ] = 1,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only samples whose FIELD is A or B: FIELD=A,B. Repeatable.", rich_help_panel=WHAT
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="An option of the task: KEY=VALUE. Repeatable.", rich_help_panel=WHAT),
    ] = None,
    prompt: Annotated[
        str,
        typer.Option(
            help="default, paper, or a file of your own with {constraints} in it.",
            rich_help_panel=WORDS,
        ),
    ] = "default",
    system: Annotated[
        Path | None,
        typer.Option(
            help="A file with a system text before everything else.", rich_help_panel=WORDS
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="tool-loop (zero-shot), cot, few-shot, one-round; docs/tempreason.md has more.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    first_step: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[CONDITION=]CHOICE",
            help="Must (required, the default), may (auto) or must not (none) the first step call "
            "a tool? Such as web=none. both: as two conditions, web and web~auto. Repeatable.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    reply_timeout_s: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds a call may take.",
            show_default="600",
            rich_help_panel=bound.CALLS,
        ),
    ] = None,
    idle_s: bound.IdleS = None,
    tool_protocol: Annotated[
        str,
        typer.Option(
            help="native, or text for models that cannot call tools.", rich_help_panel=SERVER
        ),
    ] = "native",
    text_calls: Annotated[
        str | None,
        typer.Option(
            help="With the text protocol: strict, or lenient, which takes a right call in a block "
            "of any name, such as ```json. Default: lenient where the preflight saw such a block.",
            rich_help_panel=SERVER,
        ),
    ] = None,
    preflight: Annotated[
        bool,
        typer.Option(
            "--preflight/--no-preflight",
            help="Try the server by a few short calls first: which model answers, whether tools "
            "reach it.",
            rich_help_panel=SERVER,
        ),
    ] = True,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Run conditions that the preflight finds meaningless; tables mark them.",
            rich_help_panel=SERVER,
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Only the preflight: print it and run nothing.", rich_help_panel=SERVER
        ),
    ] = False,
    hosted_tools: Annotated[
        bool,
        typer.Option(
            "--hosted-tools", help="OpenAI's web search and code, not ours.", rich_help_panel=SERVER
        ),
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Keeps long replies alive.", rich_help_panel=SERVER)
    ] = False,
    base_url: bound.BaseUrl = None,
    api_key_env: bound.ApiKeyEnvs = None,
    echo_reasoning: bound.EchoReasoning = "auto",
    sandbox: Annotated[
        str,
        typer.Option(
            help="Where code runs: auto or a backend that doctor lists.", rich_help_panel=RUNNING
        ),
    ] = "auto",
    fsync: Annotated[
        Fsync,
        typer.Option(
            help="Force traces to the disk: after paid replies, all events, never.",
            rich_help_panel=RUNNING,
        ),
    ] = "replies",
    tokenizer: Annotated[
        str,
        typer.Option(
            help="Counts what is not told: estimate, o200k_base, cl100k_base, or server: the "
            "model's own (vLLM, llama.cpp).",
            rich_help_panel=RUNNING,
        ),
    ] = "estimate",
    web: Annotated[
        str,
        typer.Option(
            help="sealed (built in), live, record (live and kept), frozen (kept).",
            rich_help_panel=WEB,
        ),
    ] = "sealed",
    search: Annotated[
        str | None,
        typer.Option(
            help="brave, tavily, exa, serper, openai, searxng, wikipedia; or NAME=URL.",
            rich_help_panel=WEB,
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(help="The page store; default: the run's own pages.db.", rich_help_panel=WEB),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(help="YYYY-MM-DD: hide pages dated later.", rich_help_panel=WEB)
    ] = None,
    block_leaks: Annotated[
        bool,
        typer.Option(
            "--block-leaks",
            help="Withhold pages with the puzzle or its answer.",
            rich_help_panel=WEB,
        ),
    ] = False,
    ignore_robots: Annotated[
        bool,
        typer.Option(
            "--ignore-robots", help="Open pages that robots.txt closes.", rich_help_panel=WEB
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="HOST:PORT of your own network that pages may be on. Repeatable.",
            rich_help_panel=WEB,
        ),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sent if given.", rich_help_panel=SERVER)
    ] = None,
    reasoning_effort: Annotated[
        str | None, typer.Option(help="Sent if given.", rich_help_panel=SERVER)
    ] = None,
    max_output_tokens: Annotated[
        int | None, typer.Option(min=1, help="Sent if given.", rich_help_panel=SERVER)
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sent if given.", rich_help_panel=SERVER)
    ] = None,
    model_seed: Annotated[
        int | None,
        typer.Option(help="Each episode's sampling seed is drawn from it.", rich_help_panel=SERVER),
    ] = None,
    parallel_tool_calls: Annotated[
        bool | None, typer.Option(help="Sent if given.", show_default=False, rich_help_panel=SERVER)
    ] = None,
    system_role: Annotated[
        str | None,
        typer.Option(
            help="system, developer, or user for models without either.", rich_help_panel=SERVER
        ),
    ] = None,
    extra_body: Annotated[
        str | None,
        typer.Option(help='More request fields, as JSON: {"top_k": 20}', rich_help_panel=SERVER),
    ] = None,
    steps: bound.Steps = None,
    tool_calls: bound.ToolCalls = None,
    tokens: bound.Tokens = None,
    time_s: bound.TimeS = None,
    tool_limit: bound.ToolLimits = None,
    input_tokens: bound.InputTokens = None,
    output_tokens: bound.OutputTokens = None,
    cost_usd: bound.CostUsd = None,
    answer_notice: bound.AnswerNotice = None,
    fit_context: bound.FitContext = False,
    run_tokens: bound.RunTokens = None,
    run_cost_usd: bound.RunCostUsd = None,
    run_time_s: bound.RunTimeS = None,
    stop_after_failures: bound.Breaker = 20,
    retries: bound.TryAgain = 5,
    retry_time_s: bound.RetryTimeS = 600.0,
    same_error: bound.SameError = 3,
    prices: bound.Prices = None,
    reply_cache: bound.ReplyCacheFile = None,
    engine: scale.EngineName = "local",
    address: scale.Address = None,
    workers: scale.Workers = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model the samples of a task under several conditions.

    Example: agent-env run time-puzzles --model openai/gpt-5 --condition web --condition web+ci
    """
    import asyncio

    from agent_env.runs.options import RunOptions
    from agent_env.runs.prepare import one_per_model
    from agent_env.runs.start import start_run
    from agent_env.wiring.web_options import WebOptions

    sent = {
        "temperature": temperature,
        "top_p": top_p,
        "seed": model_seed,
        "reasoning_effort": reasoning_effort,
        "max_output_tokens": max_output_tokens,
        "parallel_tool_calls": parallel_tool_calls,
        "system_role": system_role,
        "extra_body": json_object(extra_body, "--extra-body"),
        "tool_protocol": None if tool_protocol == "native" else tool_protocol,
        "text_calls": text_calls,
        "stream": stream or None,
        "hosted_tools": hosted_tools or None,
        "reply_timeout_s": reply_timeout_s,
        "idle_s": idle_s,
        "echo_reasoning": None if echo_reasoning == "auto" else echo_reasoning,
    }
    options = RunOptions(
        task=task,
        model=(model or ["reference"])[0],
        conditions=tuple(condition or ()),
        cited_from=tuple(cited_from or ()),
        limit=limit,
        seed=seed,
        dataset=dataset,
        out=out,
        concurrency=concurrency,
        repeats=repeats,
        where=tuple(where or ()),
        prompt=prompt,
        options=tuple(option or ()),
        base_url=base_url,
        api_key_envs=tuple(api_key_env or ()),
        sandbox=sandbox,
        fsync=fsync,
        tokenizer=tokenizer,
        web=WebOptions(
            mode=web,
            search=search,
            pages=pages,
            as_of=as_of,
            block_leaks=block_leaks,
            ignore_robots=ignore_robots,
            allow_hosts=tuple(allow_host or ()),
        ),
        parameters={name: value for name, value in sent.items() if value is not None},
        strategy=strategy,
        system=system,
        first_steps=tuple(first_step or ()),
        steps=steps,
        tool_calls=tool_calls,
        tokens=tokens,
        time_s=time_s,
        limits=bound.episode_limits(
            tool_limit, input_tokens, output_tokens, cost_usd, answer_notice, fit_context
        ),
        calls=bound.call_options(
            bound.run_limits(run_tokens, run_cost_usd, run_time_s),
            retries,
            retry_time_s,
            same_error,
            stop_after_failures,
            prices,
            reply_cache,
        ),
        preflight="anyway" if anyway else "on" if preflight else "off",
    )
    if check:
        print_checks(one_per_model(options, model or ["reference"]), as_json)
        return
    spread = scale.chosen_engine(engine, address, workers, reply_cache, web)
    each = one_per_model(options, model or ["reference"])
    if len(each) > 1:
        run_several(each, spread, as_json)
        return
    with scored_when_stopped(as_json) as (listener, began):
        asyncio.run(start_run(each[0], listener, spread))
    print_scores(began[0], as_json)


def resume(
    folder: Run,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Episodes at once.")] = None,
    run_tokens: bound.RunTokens = None,
    run_cost_usd: bound.RunCostUsd = None,
    run_time_s: bound.RunTimeS = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on though code, model or limits changed.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Another model from here on.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The model's server is elsewhere now.")
    ] = None,
    api_key_env: bound.ApiKeyEnv = None,
    steps: bound.Steps = None,
    tool_calls: bound.ToolCalls = None,
    tokens: bound.Tokens = None,
    time_s: bound.TimeS = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Go on though another server drops the tools.")
    ] = False,
    engine: scale.EngineName = "local",
    address: scale.Address = None,
    workers: scale.Workers = None,
    trust_run: TrustRun = False,
    as_json: AsJson = False,
) -> None:
    """Finish a run: missing episodes, and those cut off or failed from their last event on. The
    folder of several models' runs goes on with all of them.

    Recorded replies and tool results are used again; nothing paid for is asked for twice.

    Example: agent-env resume runs/time-puzzles-20260101-120000 --run-tokens 2000000
    """
    import asyncio

    from agent_env.episodes.run_folder import RunFolder
    from agent_env.runs.options import ResumeOptions
    from agent_env.runs.resume import resume as resume_run

    options = ResumeOptions(
        concurrency=concurrency,
        accept_changes=accept_changes,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        steps=steps,
        tool_calls=tool_calls,
        tokens=tokens,
        time_s=time_s,
        run=bound.run_limits(run_tokens, run_cost_usd, run_time_s),
        trust_run=trust_run,
        anyway=anyway,
    )
    spread = scale.chosen_engine(engine, address, workers)
    if resume_several(folder, options, spread, as_json):
        return
    with scored_when_stopped(as_json) as (listener, _):
        asyncio.run(resume_run(RunFolder(folder), options, listener, spread))
    print_scores(folder, as_json)
