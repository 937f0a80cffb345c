"""What a user asks of faults and attacks, and the twins of conditions that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from agent_env.records.disturbance import Disturbance
from agent_env.records.options import DISTURBANCES, Opt
from agent_env.records.reach import Reach
from agent_env.records.schema import Condition
from agent_env.tasks.disturbances import attack_twins, fault_levels, web_ablations

if TYPE_CHECKING:
    from agent_env.runs.options import RunOptions


@dataclass(frozen=True, slots=True)
class DisturbanceOptions:
    """Faults of tools and attacks of pages."""

    faults: Annotated[
        tuple[str, ...],
        Opt(
            "Each condition again with faults of its tools, as web~faults: "
            "web_search=empty:0.2,open_page=timeout:0.1,python=crash:0.05. Kinds: error, timeout, "
            "rate-limit, truncated, malformed, crash; empty, stale, other, wrong. Repeatable: a "
            "twin for each, named by its highest rate.",
            DISTURBANCES,
            metavar="TOOL=KIND:RATE,…",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    attacks: Annotated[
        tuple[str, ...],
        Opt(
            "Each condition with our sealed web again with pages that attack, as "
            "web~attacked-false-page: instruction, false-page (at rank 1), forged-format, "
            "contradiction. Repeatable: a twin for each.",
            DISTURBANCES,
            "--attack",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    faults_in_a_row: Annotated[
        int,
        Opt(
            "Faults of successive calls of one tool, at most.",
            DISTURBANCES,
            min=1,
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = 2


def disturbances_of(
    options: RunOptions, conditions: Sequence[Condition]
) -> tuple[Disturbance, ...]:
    """What the options of a run do to the worlds of its conditions; ConfigError for what no
    condition can have."""
    its, is_hosted = options.disturbance, options.web_mode == "hosted"
    levels = fault_levels(its.faults, its.faults_in_a_row, conditions, is_hosted)
    attacks = attack_twins(its.attacks, conditions)
    return (*web_ablations(options.web_ablations), *levels, *attacks)
