"""Attacks of a new run: the wrong answer that each plants, and the pages that want it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random

from agent_env.errors import AgentEnvError, ConfigError
from agent_env.records.disturbance import AttackName, SampleAttack
from agent_env.records.schema import Condition, Episode, Sample
from agent_env.runs.ablation import AblatedSet, note_left_out, open_web_store, with_ablations
from agent_env.runs.options import RunOptions
from agent_env.tasks.family import SampleSet
from agent_env.tasks.shortcuts import Guess, Shortcut
from agent_env.tasks.task import Task
from agent_env.tasks.tool_registry import traits_of
from agent_env.web.ablation import stored_page
from agent_env.web.attacks import AttackTarget, attack_on

TRIES = 12
"""Answers that are drawn of one shortcut until one is wrong throughout."""
MOST = 8
"""Values of a planted answer."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A wrong answer."""

    values: tuple[str, ...]
    text: str
    """As the prompt asks for it."""


def apply_disturbances(
    made: SampleSet,
    options: RunOptions,
    conditions: Sequence[Condition],
    task: Task,
    note: Callable[[str], None],
) -> AblatedSet:
    """The samples with what the run's ablations and attacks change for them; all conditions ask the
    same ones. ConfigError where none is left."""
    ablated = with_ablations(made, options, task, note)
    attacked, left_out = with_attacks(ablated.made, options, conditions, task, note)
    return AblatedSet(attacked, ablated.left_out | left_out)


def with_attacks(
    made: SampleSet,
    options: RunOptions,
    conditions: Sequence[Condition],
    task: Task,
    note: Callable[[str], None],
) -> tuple[SampleSet, dict[str, str]]:
    """The samples with the run's attacks on them, and why others were left out: all conditions ask
    the same ones. ConfigError where none can be attacked, or the web is not the sealed one."""
    names: list[AttackName] = [
        name
        for each in conditions
        if each.disturbance is not None and (name := each.disturbance.attack) is not None
    ]
    if not names:
        return made, {}
    if options.web_mode != "sealed":
        raise ConfigError(
            f"--attack {names[0]}: only pages of our own can attack, and --web is "
            f"{options.web_mode}; take the sealed web (leave --web and --hosted-tools out)"
        )
    tool = next(t.name for c in conditions if c.disturbance for t in traits_of(c) if t.needs_web)
    planted = planted_answers(task, made.samples, options.seed)
    samples: list[Sample] = []
    left_out: dict[str, str] = {}
    with ExitStack() as stack:
        store, _ = open_web_store(options, made.tables, stack)
        for sample in made.samples:
            attacks: list[SampleAttack] = []
            for name in dict.fromkeys(names):
                its = planted.get(sample.id)
                if its is None:
                    left_out[sample.id] = "no wrong answer to plant is known"
                    break
                proof = next((p for p in sample.proofs if p.shares in ("year", "month", "day")),
                             next(iter(sample.proofs), None))  # fmt: skip
                urls = dict.fromkeys((*(proof.urls if proof else ()), *sample.evidence))
                pages = [page for url in urls if (page := stored_page(store, url)) is not None]
                target = AttackTarget(pages, proof, sample.gold, its.values, its.text, tool)
                rng = Random(f"attack/{options.seed}/{sample.id}/{name}")
                attack = attack_on(name, target, rng)
                if attack is None:
                    left_out[sample.id] = (
                        f"no page of the web proves them and can be made to attack by {name}"
                    )
                    break
                attacks.append(attack)
            else:
                samples.append(sample.model_copy(update={"attacks": tuple(attacks)}))
    note_left_out(left_out, len(made.samples), note)
    if not samples:
        first, reason = next(iter(left_out.items()))
        raise ConfigError(f"--attack {names[0]}: no sample can be asked, '{first}': {reason}")
    return replace(made, samples=tuple(samples)), left_out


def planted_answers(task: Task, samples: Sequence[Sample], seed: int) -> Mapping[str, Planted]:
    """By sample, a wrong answer that a shortcut gives: first those that fit all of the question but
    what must be looked up."""
    planted: dict[str, Planted] = {}
    usable = [each for each in task.shortcuts if not each.sees_gold and each.name != "constant"]
    for shortcut in sorted(usable, key=lambda each: not each.is_candidate):
        try:
            guess = shortcut.make(samples)
        except AgentEnvError:
            continue
        for sample in samples:
            if sample.id not in planted:
                rng = Random(f"plant/{seed}/{sample.id}/{shortcut.name}")
                its = next(_wrong_answers(task, sample, guess, rng), None)
                if its is not None:
                    planted[sample.id] = its
    return planted


def _wrong_answers(task: Task, sample: Sample, guess: Guess, rng: Random) -> Iterator[Planted]:
    shown = sample.model_copy(update=dict(task.hidden))
    for _ in range(TRIES):
        text = guess(shown, rng)
        if text is None:
            return
        episode = Episode(
            sample=sample.id, condition=Shortcut.CONDITION, repeat=1, model="", status="finished",
            answer=text, stop_reason="answered",
        )  # fmt: skip
        values = task.score(sample, episode).answer or ()
        if 0 < len(values) <= MOST and not set(values) & set(sample.gold):
            yield Planted(values, text)
