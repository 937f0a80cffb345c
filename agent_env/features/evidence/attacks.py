"""Attacks of a new run: the wrong answer that each plants, and the pages that want it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from agent_env.features.evidence.ablation import ablations_of, note_left_out, with_ablations
from agent_env.features.evidence.attack_pages import AttackTarget, attack_on
from agent_env.features.evidence.overlay import stored_page, stored_text
from agent_env.sdk.errors import AgentEnvError, ConfigError
from agent_env.sdk.family import Faults, SampleSet, Shortcut, Task, tools_of
from agent_env.sdk.records import AttackName, Condition, Episode, Proof, Sample, SampleAttack
from agent_env.sdk.run import RunOptions
from agent_env.sdk.web import SqlitePages

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


def changed_samples(
    made: SampleSet,
    options: RunOptions,
    conditions: Sequence[Condition],
    task: Task,
    pages: Callable[[], AbstractContextManager[SqlitePages | None]],
    note: Callable[[str], None],
) -> tuple[SampleSet, dict[str, str]]:
    """The samples with what the run's ablations and attacks change for them, and why others were
    left out; all conditions ask the same ones. ConfigError where none is left."""
    names = _attacks_of(conditions)
    ablations = ablations_of(conditions)
    if not names and not ablations:
        return made, {}
    with pages() as store:
        ablated, left_out = with_ablations(made, ablations, options, task, store, note)
        attacked, others = with_attacks(ablated, options, conditions, task, store, note)
        return attacked, left_out | others


def _attacks_of(conditions: Sequence[Condition]) -> list[AttackName]:
    return [
        name
        for each in conditions
        if each.disturbance is not None and (name := each.disturbance.attack) is not None
    ]


def with_attacks(
    made: SampleSet,
    options: RunOptions,
    conditions: Sequence[Condition],
    task: Task,
    store: SqlitePages | None,
    note: Callable[[str], None],
) -> tuple[SampleSet, dict[str, str]]:
    """The samples with the run's attacks on them, and why others were left out: all conditions ask
    the same ones. ConfigError where none can be attacked, or the web is not the sealed one."""
    names = _attacks_of(conditions)
    if not names:
        return made, {}
    if options.web_mode != "sealed":
        raise ConfigError(
            f"--attack {names[0]}: only pages of our own can attack, and --web is "
            f"{options.web_mode}; take the sealed web (leave --web and --hosted-tools out)"
        )
    disturbed = [condition for condition in conditions if condition.disturbance is not None]
    tool = next(traits.name for traits in tools_of(disturbed) if traits.needs_web)
    planted = planted_answers(task, made.samples, options.seed)
    maker = task.analysis.fault_finder
    find_faults = None if maker is None else maker()
    samples: list[Sample] = []
    left_out: dict[str, str] = {}
    for sample in made.samples:
        attacks: list[SampleAttack] = []
        for name in dict.fromkeys(names):
            its = planted.get(sample.id)
            if its is None:
                left_out[sample.id] = "no wrong answer to plant is known"
                break
            faults = find_faults(sample, its.values) if find_faults else Faults()
            broken = {ref.index for wrong in faults.wrong for ref in wrong.violates}
            proof = _proof_of(sample, broken)
            if broken and proof is None and name in ("false-page", "contradiction"):
                left_out[sample.id] = "no wrong answer follows from one false page"
                break
            urls = dict.fromkeys((*(proof.urls if proof else ()), *sample.evidence))
            pages = [page for url in urls if (page := stored_page(store, url)) is not None]
            retell = (
                partial(task.retell, sample, proof.constraint, partial(stored_text, store))
                if task.retell and proof
                else None
            )
            target = AttackTarget(pages, proof, sample.gold, its.values, its.text, tool, retell)
            rng = Random(f"attack/{options.seed}/{sample.id}/{name}")
            attack = attack_on(name, target, rng)
            if attack is None:
                left_out[sample.id] = f"no page that proves them can be changed by {name}"
                break
            attacks.append(attack)
        else:
            samples.append(sample.model_copy(update={"attacks": tuple(attacks)}))
    note_left_out(left_out, len(made.samples), note)
    if not samples:
        first, reason = next(iter(left_out.items()))
        raise ConfigError(f"--attack {names[0]}: no sample can be asked, '{first}': {reason}")
    return replace(made, samples=tuple(samples)), left_out


def _proof_of(sample: Sample, broken: set[int]) -> Proof | None:
    """Of the only broken constraint; where it is not known what is broken, of one that asks for a
    year, month or day, if any does. None where no page can say what breaks them."""
    if broken:
        return next((p for p in sample.proofs if broken == {p.constraint}), None)
    dated = (p for p in sample.proofs if p.shares in ("year", "month", "day"))
    return next(dated, next(iter(sample.proofs), None))


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


def _wrong_answers(
    task: Task, sample: Sample, guess: Callable[[Sample, Random], str | None], rng: Random
) -> Iterator[Planted]:
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
