"""Studies of one run, made of single scored episodes."""

from dataclasses import replace
from typing import get_args

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.provenance import TraceProvenance, with_worlds
from agent_env.analysis.study import Arm, Study, observe
from agent_env.errors import ConfigError
from agent_env.features.evidence import WORLD
from agent_env.records.disturbance import WebAblation
from agent_env.records.schema import Condition, Sample
from agent_env.tasks.conditions import parse_conditions, with_first_steps
from agent_env.tasks.modifiers import with_modifier
from agent_env.tasks.task import AnalysisHooks


def _condition(name):
    """The condition as a run has it, with the ablation that its name states."""
    plain, _, suffix = name.rpartition("~")
    is_ablated = suffix in get_args(WebAblation)
    try:
        parsed = parse_conditions([plain if is_ablated else name])
    except ConfigError:  # of a fork, or a name of the test's own
        return Condition(name=name)
    (made,) = with_first_steps(parsed, ())
    return with_modifier(made, WORLD, WORLD.parse(suffix)) if is_ablated else made


def study_of(scored, conditions, metrics, samples=None, hooks=AnalysisHooks()):
    """Each condition as an arm; `samples` where they are more than an id."""
    found = list(scored)
    names = dict.fromkeys(episode.sample for episode, _ in found)
    given = tuple(samples or (Sample(id=name, task="t", gold=()) for name in names))
    by_id = {sample.id: sample for sample in given}
    made = {name: _condition(name) for name in {*conditions, *(e.condition for e, _ in found)}}
    records = [
        TraceProvenance(by_id[e.sample], e, score, made[e.condition], metrics[0], None).record()
        for e, score in found
    ]
    pairs = list(zip(found, with_worlds(records, made.values()), strict=True))
    arms = tuple(
        Arm(
            label=name, run="run", model="m", condition=made[name], asked=len(given),
            observations=tuple(
                replace(observe(episode, score), provenance=record)
                for (episode, score), record in pairs
                if episode.condition == name
            ),
        )
        for name in conditions
    )  # fmt: skip
    return Comparison(Study("t", metrics, arms, given, (), hooks=hooks))
