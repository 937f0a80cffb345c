"""Web ablations of a new run: what they change for each sample, drawn before the first episode.

A page is blocked if it is a proving page, or if it states the same date of the same thing: all
words of a proving page's title are in its own title, and the date anywhere on it; or both stand
in one line, as in a list. A date counts as stated in any usual notation, and a year also as "25
years after" on a page that tells of it that much later. What states other dates, such as an
outdated copy, stays. Of a sample that names pages and no dates, every page that names the thing is
blocked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from agent_env.features.evidence import WORLD
from agent_env.features.evidence.overlay import stored_page, stored_text
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import CannotShift, SampleSet, Task, tools_of
from agent_env.sdk.records import Condition, Proof, Sample, SampleAblation
from agent_env.sdk.run import RunOptions
from agent_env.sdk.scoring import stands_in
from agent_env.sdk.web import ShiftedWorld, SqlitePages, TextIndex, index_of, page_key, words_of

NAMED = 5
"""Samples that a note names."""


def check_ablations(
    options: RunOptions,
    task: Task,
    conditions: Sequence[Condition],
    note: Callable[[str], None],
) -> None:
    """ConfigError for an ablation of a web that is not ours to change; a note on conditions that
    get no ablation."""
    names, mode = ablations_of(conditions), options.web_mode
    if not names:
        return
    option = f"--web-ablation {names[0]}"
    if mode in ("hosted", "live"):
        whose = "the provider's own web" if mode == "hosted" else "the live web"
        advice = "leave --hosted-tools out" if mode == "hosted" else "take --web record"
        raise ConfigError(f"{option}: {whose} cannot be changed by us; {advice}")
    if "shifted" in names and mode != "sealed":
        raise ConfigError(
            f"--web-ablation shifted: recorded pages (--web {mode}) cannot be written anew; take "
            "--web-ablation blocked, or the sealed web"
        )
    if "shifted" in names and task.shift is None:
        raise ConfigError(
            f"--web-ablation shifted: {task.name} has no shifted worlds; take --web-ablation "
            "blocked"
        )
    whole = [c.name for c in conditions if reads_web(c) and _is_never_ablated(c, conditions)]
    if whole:
        note(
            f"no ablation of {', '.join(whole)}: the prompt or a tool gives what the web is to be "
            "searched for"
        )


def ablations_of(conditions: Sequence[Condition]) -> list[str]:
    """The ablations of the conditions, each once."""
    worlds = (each.disturbance for each in conditions if each.disturbance is not None)
    return list(dict.fromkeys(each.ablation for each in worlds if each.ablation is not None))


def reads_web(condition: Condition) -> bool:
    """Whether one of its tools uses the run's web."""
    return any(traits.needs_web for traits in tools_of([condition]))


def _is_ablated(condition: Condition) -> bool:
    return condition.disturbance is not None and condition.disturbance.ablation is not None


def _is_never_ablated(condition: Condition, conditions: Sequence[Condition]) -> bool:
    return condition.disturbance is None and not any(
        _is_ablated(each) and WORLD.is_twin(each, condition) for each in conditions
    )


def with_ablations(
    made: SampleSet,
    names: Sequence[str],
    options: RunOptions,
    task: Task,
    store: SqlitePages | None,
    note: Callable[[str], None],
) -> tuple[SampleSet, dict[str, str]]:
    """The samples with what the ablations change for them, without those that have no proving page
    or no shifted world, and why; ConfigError where none has."""
    if not names:
        return made, {}
    samples: list[Sample] = []
    left_out: dict[str, str] = {}
    text_at = partial(stored_text, store)
    is_sealed = store is not None and options.web_mode == "sealed"
    index = index_of(store, note) if store is not None and is_sealed else None
    for sample in made.samples:
        try:
            # CannotShift where there is nothing to block or no shifted world
            blocked = proving_pages(sample, store, index)
            if not blocked:
                raise CannotShift("the web has no page that proves their answers")
            shifted: ShiftedWorld | None = None
            if "shifted" in names:
                assert task.shift is not None  # checked before
                shifted = task.shift(sample, Random(f"shift/{options.seed}/{sample.id}"), text_at)
            is_blocked = "blocked" in names
            changes = SampleAblation(blocked=blocked if is_blocked else (), shifted=shifted)
            samples.append(sample.model_copy(update={"ablation": changes}))
        except CannotShift as exc:
            left_out[sample.id] = str(exc)
    if not samples:
        first, reason = next(iter(left_out.items()))
        raise ConfigError(
            f"--web-ablation {names[0]}: no sample can be asked, such as '{first}': {reason}"
        )
    note_left_out(left_out, len(made.samples), note)
    return replace(made, samples=tuple(samples)), left_out


def note_left_out(left_out: Mapping[str, str], count: int, note: Callable[[str], None]) -> None:
    """Names the samples that are left out of so many, by reason."""
    for reason in dict.fromkeys(left_out.values()):
        own = [name for name, why in left_out.items() if why == reason]
        names = ", ".join(own[:NAMED]) + (", …" if len(own) > NAMED else "")
        note(f"left {len(own)} of {count} samples out, as {reason}: {names}")


# Which pages prove a sample ---------------------------------------------------------------------

_LATER = re.compile(r"\b(\d{1,3}) years (?:after|later|on|since)\b")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def proving_pages(
    sample: Sample, store: SqlitePages | None, index: TextIndex | None
) -> tuple[str, ...]:
    """Addresses of the store's pages that state what proves the sample; without an index, only
    those that the sample names, and without a store all of these. Empty where the store has none
    of them."""
    proofs = sample.proofs or tuple(
        Proof(constraint=0, urls=(url,), dates=(), shares="span") for url in sample.evidence
    )
    urls = dict.fromkeys((*sample.evidence, *(url for proof in proofs for url in proof.urls)))
    if store is None:
        return tuple(urls)
    own = {url: page for url in urls if (page := stored_page(store, page_key(url))) is not None}
    found = dict.fromkeys(own)
    if index is not None:
        for proof in proofs:
            for title in dict.fromkeys(own[url].title for url in proof.urls if url in own):
                found |= dict.fromkeys(_stating(index, title, proof))
    return tuple(found)


def _stating(index: TextIndex, title: str, proof: Proof) -> Iterator[str]:
    """The pages that state one of the proof's dates of what has this title."""
    words = set(words_of(title))
    for url, page_title, text in index.with_words(sorted(words)):
        is_about = words <= set(words_of(page_title))
        for line in text.splitlines():
            if (is_about or words <= set(words_of(line))) and _states(proof, line):
                yield url
                break


def _states(proof: Proof, line: str) -> bool:
    """Any mention counts where the sample names no dates."""
    if not proof.dates or any(stands_in(date, line) for date in proof.dates):
        return True
    told = {int(n) for n in _LATER.findall(line)}
    years = {int(year) - n for year in _YEAR.findall(line) for n in told}
    return any(int(date[:4]) in years for date in proof.dates)
