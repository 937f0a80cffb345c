"""What a user asks of early stopping, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import ConfigError
from agent_env.records.manifest import StoppingSettings
from agent_env.records.options import STOPPING, Opt
from agent_env.records.reach import Reach
from agent_env.records.schema import Condition, Sample

if TYPE_CHECKING:
    from agent_env.runs.options import RunOptions
    from agent_env.tasks.task import Task


@dataclass(frozen=True, slots=True)
class StopOptions:
    """When a run stops before all its samples are asked."""

    until: Annotated[
        tuple[str, ...],
        Opt(
            "Stop when this contrast is decided, such as web-base: looked at after each sample, in "
            "an order fixed by the seed. Repeatable: when all are.",
            STOPPING,
            metavar="AFTER-BEFORE",
            manifest="until.contrasts",
        ),
    ] = ()
    alpha: Annotated[
        float,
        Opt(
            "Chance of a difference claimed where there is none, over all looks and contrasts.",
            STOPPING,
            min=0.0001,
            max=0.5,
            manifest="until.alpha",
        ),
    ] = 0.05
    margin: Annotated[
        float | None,
        Opt(
            "Decide for `none larger`, too, where differences up to this size do not matter.",
            STOPPING,
            min=0.001,
            max=0.999,
            manifest="until.margin",
        ),
    ] = None
    max_samples: Annotated[
        int | None,
        Opt("Samples to ask at most.", STOPPING, "--max", min=1, manifest="until.max_samples"),
    ] = None
    effect: Annotated[
        float | None,
        Opt(
            "The difference worth finding: the test is made to need the fewest samples for it.",
            STOPPING,
            min=0.01,
            max=0.99,
            manifest="until.effect",
        ),
    ] = None
    prior_results: Annotated[
        tuple[Path, ...],
        Opt(
            "Runs of other models or conditions on the same samples, which predict part of the "
            "differences. The claims are then on the run's own samples. Repeatable.",
            STOPPING,
            metavar="RUN",
            manifest="until.known",
            reach=Reach.FILE,
        ),
    ] = ()
    together: tuple[str, ...] = ()
    """Names of the runs, side by side, that one test goes over; () for this run alone."""


def stopping_settings(
    options: RunOptions,
    model: str,
    task: Task,
    conditions: Sequence[Condition],
    samples: Sequence[Sample],
    note: Callable[[str], None],
) -> StoppingSettings | None:
    """What run.json says of early stopping; None without `--until`. ConfigError for contrasts that
    it cannot have."""
    stop = options.stop
    if not stop.until:
        if stop != StopOptions():
            raise ConfigError(
                "--alpha, --margin, --max, --effect and --prior-results go with --until; name a "
                "contrast there"
            )
        return None
    from agent_env.analysis.contrast_text import planned_arms
    from agent_env.analysis.sequential.walk import stoppable_contrasts

    if not stop.together:  # else all runs are there before the contrasts can be read
        arms = planned_arms([model], conditions)
        stoppable_contrasts(stop.until, arms, task.metrics[0] in task.error_metrics)
    prior = None
    if stop.prior_results:
        from agent_env.runs.stopping import prior_results

        prior = prior_results(stop.prior_results, model, conditions, samples, note)
    return StoppingSettings(
        contrasts=stop.until,
        alpha=stop.alpha,
        margin=stop.margin,
        max_samples=stop.max_samples,
        together=stop.together,
        seed=options.seed,
        interleaved=True,
        effect=stop.effect,
        known=prior.scores if prior else {},
        known_from=prior.sources if prior else (),
    )
