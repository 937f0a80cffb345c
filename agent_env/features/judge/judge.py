"""The command `judge`: selects answers of a run, and lets a model judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Annotated

from pydantic import JsonValue

from agent_env.features.judge.calls import Case, Judge
from agent_env.features.judge.prompt import judge_prompt
from agent_env.features.judge.tables import JudgeRates, is_to_judge, judge_rates
from agent_env.sdk.commands import Opt, OptionGroup
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import (
    ApiKeyEnv,
    Breaker,
    Calls,
    ConcurrencyLimit,
    RunBudget,
    base_urls,
    health_of,
    outage_of,
    priced_facts,
    utc_now,
    with_variable,
)
from agent_env.sdk.models import ModelParameters
from agent_env.sdk.records import Episode, ModelFacts, Score
from agent_env.sdk.run import CallOptions, Run, make_model, own_plugins, score_folder
from agent_env.sdk.trace import EpisodeKey


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    run: Annotated[
        Path, Opt("A run's folder, a study, or a folder of runs.", metavar="RUN", argument=True)
    ]
    model: Annotated[str, Opt("The judge, named as for run.")]
    base_url: Annotated[str | None, Opt("Its address, such as http://127.0.0.1:8000/v1")] = None
    api_key_env: ApiKeyEnv = None
    parameters: Annotated[
        Mapping[str, JsonValue],
        OptionGroup(ModelParameters, only=("temperature", "reasoning_effort", "max_output_tokens")),
    ] = field(default_factory=dict)
    metric: Annotated[str | None, Opt("What is judged; default: the task's main metric.")] = None
    """The metric that the verdicts are compared with; None for the task's main one."""
    conditions: Annotated[
        tuple[str, ...], Opt("Only answers under it. Repeatable.", flag="--condition")
    ] = ()
    limit: Annotated[
        int | None, Opt("How many answers of a run, randomly drawn; default: all.", min=1)
    ] = None
    seed: Annotated[int, Opt("Seed of the random draw.", min=0)] = 1
    again: Annotated[bool, Opt("Ask again where this judge already gave a verdict.")] = False
    concurrency: Annotated[int, Opt("Calls at the same time.", min=1)] = 8
    calls: Annotated[
        CallOptions,
        OptionGroup(
            without=("run_time_s", "reply_cache"),
            help={
                "run_tokens": "Most tokens of this start, input and output.",
                "run_cost_usd": "Most US dollars of this start; needs --prices.",
            },
        ),
    ] = field(default_factory=CallOptions)


@dataclass(frozen=True, slots=True)
class JudgeResult:
    metric: str
    chosen: int
    without_text: int
    """Chosen answers without text."""
    kept: int
    """Chosen answers with an earlier verdict of this judge on the same prompt."""
    says: Mapping[str, int]
    """New verdicts by what they say."""
    first: Mapping[str, str] = field(default_factory=dict)
    """The first reply or error of each kind of verdict."""

    @property
    def has_no_result(self) -> bool:
        """Whether there are new verdicts, but none is right or wrong."""
        return bool(self.says) and self.says.keys() <= {"failed", "unparsable"}


def judge_budget(options: JudgeOptions, note: Callable[[str], None]) -> RunBudget:
    """What the judge may spend; ConfigError for a limit of money without prices."""
    facts = priced_facts(options.calls, options.model, note)
    return RunBudget(limits=options.calls.run, facts=facts)


async def judge_run(
    options: JudgeOptions, note: Callable[[str], None], budget: RunBudget | None = None
) -> JudgeResult:
    """Judges the answers; each verdict is written at once. `budget`: None for its own."""
    if options.model.startswith("reference"):
        raise ConfigError(f"{options.model} is a script and judges nothing; name a model")
    url = base_urls([options.model], options.base_url)[options.model]
    parameters = with_variable(options.parameters, options.api_key_env)
    budget = budget or judge_budget(options, note)
    run, says, first = Run(options.run), Counter[str](), dict[str, str]()

    def on_end(verdict: str, source: str) -> None:
        says.update([verdict])
        first.setdefault(verdict, source)

    async with AsyncExitStack() as stack:
        model = make_model(options.model, url, parameters, own_plugins())
        if (close := getattr(model, "close", None)) is not None:
            stack.push_async_callback(close)
        _ = run.manifest
        stack.enter_context(run.locked())
        metric, chosen, cases = _cases(run, options, note)
        remaining = [c for c in cases if options.again or not c.has_verdict(options.model, metric)]
        judge = Judge(
            folder=run,
            model=model,
            parameters={"base_url": url, **parameters},
            metric=metric,
            calls=Calls(
                pace=ConcurrencyLimit(most=options.concurrency),
                retries=options.calls.retries,
                budget=budget,
                breaker=Breaker(options.calls.breaker),
                outage=outage_of(
                    options.calls.retries, health_of(options.model, url, own_plugins()), note
                ),
            ),
            clock=utc_now,
            concurrency=options.concurrency,
        )
        await judge.run(remaining, on_end)
    return JudgeResult(
        metric, chosen, chosen - len(cases), len(cases) - len(remaining), says, first
    )


def rates(
    run: Path, note: Callable[[str], None], facts: Mapping[str, ModelFacts] | None = None
) -> list[JudgeRates]:
    """What the judges of the run say; empty without judges."""
    folder = Run(run)
    scored = [(episode, score.metrics) for episode, score in score_folder(folder, note)]
    return judge_rates(folder.samples_by_id, scored, facts)


def _cases(
    run: Run, options: JudgeOptions, note: Callable[[str], None]
) -> tuple[str, int, list[Case]]:
    """The metric, the number of chosen answers, and the cases with a text."""
    task, scored = run.task, score_folder(run, note)
    metric = options.metric or task.metrics[0]
    if metric not in task.metrics:
        raise ConfigError(f"unknown metric '{metric}'; known: {', '.join(task.metrics)}")
    names = [condition.name for condition in run.manifest.conditions]
    for name in options.conditions:
        if name not in names:
            raise ConfigError(f"the run has no condition '{name}'; it has {', '.join(names)}")
    answers = [
        (episode, score)
        for episode, score in scored
        if is_to_judge(episode, score.metrics, metric)
        if not options.conditions or episode.condition in options.conditions
    ]
    if not answers:
        raise ConfigError(f"{run.path} has no finished answer for which '{metric}' is defined")
    check_yes_or_no(metric, answers)
    if options.limit is not None:
        answers = Random(options.seed).sample(answers, min(options.limit, len(answers)))
    cases = [
        Case(EpisodeKey(e.sample, e.condition, e.repeat), messages, e.judged)
        for e, _ in answers
        if (messages := judge_prompt(run.asked_sample(e), e, metric)) is not None
    ]
    return metric, len(answers), cases


def check_yes_or_no(metric: str, answers: Sequence[tuple[Episode, Score]]) -> None:
    """ConfigError for a metric with other values than 0 and 1."""
    values = (score.metrics.get(metric, 0) for _, score in answers)
    value = next((each for each in values if each not in (0, 1)), None)
    if value is not None:
        raise ConfigError(
            f"'{metric}' is not a yes or no here ({value:.3g}); name one that is with --metric"
        )
