"""What answers rest on: webs without or with other facts, faults of tools, attacks of pages; what
a budget of calls gives, and which step turned an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

from agent_env.sdk.commands import DISTURBANCES, Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature, Modifier, tools_of
from agent_env.sdk.inside import ORIGINAL, wording_of
from agent_env.sdk.records import AttackName, Condition, Disturbance, Reach

if TYPE_CHECKING:
    from agent_env.sdk.family import Task
    from agent_env.sdk.records import Episode, Sample, Score
    from agent_env.sdk.run import Draft, RunOptions

WORLDS = "blocked", "shifted"
ATTACKS: tuple[AttackName, ...] = get_args(AttackName)


@dataclass(frozen=True, slots=True)
class EvidenceOptions:
    """Faults of tools, attacks of pages, webs without or with other facts."""

    faults: Annotated[
        tuple[str, ...],
        Opt(
            "Each condition again with faults of its tools, as web~faults: "
            "web_search=empty:0.2,open_page=timeout:0.1,python=crash:0.05. Kinds: error, timeout, "
            "rate-limit, truncated, malformed, crash; empty, stale, other, wrong. Repeatable: a "
            "condition for each, named by its highest rate.",
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
            "contradiction. Repeatable: a condition for each.",
            DISTURBANCES,
            "--attack",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()
    web_ablations: Annotated[
        tuple[str, ...],
        Opt(
            "Beside each condition that looks up on our web, the same without the pages that "
            "prove the answer (blocked, as web~blocked), or in a world where these things have "
            "other dates (shifted, as web~shifted). Repeatable.",
            DISTURBANCES,
            "--web-ablation",
            metavar="WORLD",
            manifest="conditions",
            reach=Reach.NOTHING,
        ),
    ] = ()


def _world(text: str) -> Disturbance:
    if text.startswith("faults"):
        raise ConfigError(f"~{text} does not say which faults; add them by --faults")
    if text in WORLDS:
        return Disturbance.model_validate({"suffix": text, "ablation": text})
    if (attack := text.removeprefix("attacked-")) not in ATTACKS:
        raise ConfigError(f"~{text}: write attacked- and one of {', '.join(ATTACKS)}")
    return Disturbance.model_validate({"suffix": text, "attack": attack})


def _why_not(condition: Condition, disturbance: Disturbance) -> str | None:
    """An ablation takes the evidence away, which a prompt with the dates or a tool that reads the
    tables would give again."""
    tools = tools_of([condition])
    if disturbance.faults:
        is_hit = any(fault.tool in condition.tools for fault in disturbance.faults)
        return None if is_hit else "none of its tools has such faults"
    if not any(traits.needs_web for traits in tools):
        return "it does not read our web; add --condition web"
    if condition.today is not None:
        option = "--attack" if disturbance.attack else "--web-ablation"
        return f"the pages and answers that it changes are those of no day; leave {option} out"
    gives = condition.wording != "implicit" or any(traits.needs_table for traits in tools)
    if disturbance.ablation and gives:
        return "the prompt or a tool gives what the web is searched for; add --condition web"
    return None


WORLD = Modifier(
    "disturbance", ("web_ablations", "faults", "attacks"),
    (*WORLDS, "attacked-NAME", "faults", "faults-RATE"), _world,
    lambda value: str(value.suffix), _why_not, is_beside=True,
)  # fmt: skip


def values(
    options: EvidenceOptions, of_run: RunOptions, conditions: Sequence[Condition]
) -> Mapping[str, Sequence[Any]]:
    """What the options do to the conditions' worlds; ConfigError for what none can have."""
    if options == EvidenceOptions():
        return {}
    from agent_env.features.evidence.options import disturbed

    return {WORLD.key: disturbed(options, conditions, of_run.web_mode == "hosted")}


def plan(draft: Draft, options: EvidenceOptions) -> Draft:
    """The samples with what the worlds of the conditions change for them."""
    if all(each.disturbance is None for each in draft.conditions):
        return draft
    from agent_env.features.evidence.ablation import check_ablations
    from agent_env.features.evidence.attacks import changed_samples

    if not draft.is_again:
        check_ablations(draft.options, draft.task, draft.conditions, draft.note)
    samples, left_out = changed_samples(
        draft.sample_set, draft.options, draft.conditions, draft.task, draft.pages, draft.note
    )
    return replace(
        draft,
        sample_set=samples,
        left_out={**draft.left_out, **left_out},
        settings={**draft.settings, "evidence": {}},
    )


def score(task: Task, sample: Sample, episode: Episode, score: Score) -> Score:
    """The score; under a web ablation with the search results and pages that the model was shown,
    and in a shifted world with whether its answer is that of the plain one."""
    world = WORLD.text_in(episode.condition)
    if sample.ablation is None or not score.metrics or world not in WORLDS:
        return score
    extra = {"pages_shown": float(len(episode.pages))}
    if world == "shifted":
        plain = task.scorer(sample.worded(wording_of(episode.condition)), episode)
        extra[ORIGINAL] = plain.metrics.get(task.right_metric, 0.0)
    return score.model_copy(update={"metrics": score.metrics | extra})


FEATURE = Feature(
    "evidence",
    options=EvidenceOptions,
    modifiers=(WORLD,),
    values=values,
    plan=plan,
    score=score,
    tables=tuple(
        f"agent_env.features.evidence.statistics:{name}"
        for name in ("ablation", "attacks", "faults")
    ),
)
