"""The wording of a set by a model, as a task of its own: a query each, all its phrasings at once.

What the model writes is taken where `rewording` reads the question back from it; else the words of
the template stay. So a set worded by a model has the queries, golds and rows of the same set
without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

from agent_env.errors import ConfigError
from agent_env.families.tdbench.rewording import Told, Vocabulary, lines_of, refusal, told, words
from agent_env.families.tdbench.sample import tdbench_sample
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Episode, MaterialTable, Message, Sample, Score
from agent_env.tasks.family import Family, Made, NoOptions, Reworded, Rewording
from agent_env.tasks.task import Task

NAME = "tdbench-wording"

PROMPT = """\
Reword a question. It is asked of a table whose rows each held from a start up to an end, and it \
stands below in {count}, all of which mean exactly the same.

{sentences}

Write {number} of your own that ask for exactly the same, each in other words and another order \
than those above and than each other, as a person would put them.

- Keep these letter by letter: {values}.
- Keep every date at its precision, in any usual notation, and what is said of it: whether \
something began or ended then, and whether before it, after it or exactly on it. "Until after" a \
day must stay that, or become "still" on that day. Say it in plain verbs of beginning, ending and \
staying, the verb before its dates. Where a time is told by a distance from a date, keep the \
distance.
- Add no other name, number, date or condition, deny nothing, and do not answer.
- If it speaks of what is listed, say so too.

Write one question on each line and nothing else."""
PROMPT_DIGEST = sha256(PROMPT.encode()).hexdigest()[:12]
NO_LINE, TWICE, NO_REPLY = "no line for it in the reply", "the same words twice", "no reply"


class WordingSample(Sample):
    """One query with what any wording of it must say; `gold` is empty."""

    told: tuple[Told, ...]
    """By phrasing."""


def wording_samples(
    samples: Sequence[Sample], tables: Mapping[str, MaterialTable]
) -> tuple[WordingSample, ...]:
    """One for each query of a set."""
    known = Vocabulary(tables)
    return tuple(
        WordingSample(id=query, task=NAME, gold=(), told=tuple(told(one, known) for one in group))
        for query, group in groupby(map(tdbench_sample, samples), lambda sample: sample.query)
    )


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    asked = _wording_sample(sample)
    count = len(asked.told)
    text = PROMPT.format(
        count="one sentence" if count == 1 else f"{count} sentences",
        number="one" if count == 1 else str(count),
        sentences="\n".join(one.template for one in asked.told),
        values="; ".join(dict.fromkeys(asked.told[0].values)),
    )
    return (Message(role="user", content=text),)


@dataclass(frozen=True, slots=True)
class Worded:
    """A phrasing: the model's words, or why the template's stay."""

    text: str | None
    refused: str | None


def read_reply(reply: str | None, wanted: Sequence[Told]) -> list[Worded]:
    """One for each phrasing, in order."""
    if reply is None:
        return [Worded(None, NO_REPLY) for _ in wanted]
    lines = [*lines_of(reply), *[None] * len(wanted)]
    seen = {words(one.template) for one in wanted}
    found = []
    for line, one in zip(lines, wanted, strict=False):
        reason = NO_LINE if line is None else refusal(line, one)
        if line is not None and reason is None:
            reason = TWICE if words(line) in seen else None
            seen.add(words(line))
        found.append(Worded(None if reason else line, reason))
    return found


def score(sample: Sample, episode: Episode) -> Score:
    """`kept`: the share of the phrasings that are taken."""
    common = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    found = read_reply(episode.answer, _wording_sample(sample).told)
    kept = [one.text for one in found if one.text is not None]
    rule = "; ".join(one.refused or "taken" for one in found)
    metrics = {"kept": len(kept) / len(found)}
    fields = {"outcome": "read", "answer": tuple(kept), "rule": rule, "metrics": metrics}
    return Score.model_validate({**common, **fields})


def reworded(
    samples: Sequence[Sample],
    asked: Iterable[Sample],
    replies: Mapping[str, str],
    model: str,
) -> Reworded:
    """The set with what `replies` hold for each query; a query without one keeps its template."""
    found = iter(_all(asked, replies))
    refused: Counter[str] = Counter()
    made = []
    for sample in samples:
        worded = next(found)
        if worded.text is None:
            refused[worded.refused or ""] += 1
            made.append(sample)
            continue
        update = {"question": worded.text, "worded_by": model, "wording_prompt": PROMPT_DIGEST}
        made.append(sample.model_copy(update=update))
    return Reworded(tuple(made), dict(refused.most_common()))


def _all(asked: Iterable[Sample], replies: Mapping[str, str]) -> Iterator[Worded]:
    for one in map(_wording_sample, asked):
        yield from read_reply(replies.get(one.id), one.told)


def _wording_sample(sample: Sample) -> WordingSample:
    if not isinstance(sample, WordingSample):
        raise ConfigError(f"sample '{sample.id}' is no query to be worded")
    return sample


def _make_task(prompt: str) -> Task:
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")
    return Task(
        name=NAME,
        sample_type=WordingSample,
        prompt=_prompt,
        scorer=score,
        metrics=("kept",),
        default_conditions=("base",),
        limits=Limits(steps=1, tool_calls=0),
    )


def _none(count: int, seed: int, options: NoOptions) -> Made:
    raise ConfigError("queries are worded by: agent-env generate tdbench --wording model:NAME")


FAMILY = Family(NAME, lambda prompt, options, tables: _make_task(prompt), _none)

REWORDING = Rewording(NAME, PROMPT, PROMPT_DIGEST, wording_samples, reworded)
