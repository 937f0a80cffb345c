"""The wording of a set by a model, as a task of its own: a query each, all its phrasings at once.

The model's words are taken where `rewording` reads the same question from them; else the template's
stay. So a set worded by a model has the queries, golds and rows of the same set without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby

from agent_env.families.tdbench.rewording import (
    ColumnValues,
    Requirements,
    lines_of,
    refusal,
    requirements,
    words,
)
from agent_env.families.tdbench.sample import tdbench_sample
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Rewording, RewordingResult, wording_family
from agent_env.sdk.records import Condition, Episode, MaterialTable, Message, Sample, Score
from agent_env.sdk.scoring import episode_score

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
    """One query with the requirements of its wordings; `gold` is empty."""

    told: tuple[Requirements, ...]
    """By phrasing."""


def wording_samples(
    samples: Sequence[Sample], tables: Mapping[str, MaterialTable]
) -> tuple[WordingSample, ...]:
    """One for each query of a set."""
    values = ColumnValues(tables)
    queries = groupby(map(tdbench_sample, samples), lambda sample: sample.query)
    return tuple(
        WordingSample(
            id=query, task=NAME, gold=(), told=tuple(requirements(one, values) for one in phrasings)
        )
        for query, phrasings in queries
    )


def _prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    phrasings = _wording_sample(sample).told
    count = len(phrasings)
    text = PROMPT.format(
        count="one sentence" if count == 1 else f"{count} sentences",
        number="one" if count == 1 else str(count),
        sentences="\n".join(one.template for one in phrasings),
        values="; ".join(dict.fromkeys(phrasings[0].values)),
    )
    return (Message(role="user", content=text),)


@dataclass(frozen=True, slots=True)
class Wording:
    """A phrasing: the model's words, or the reason why the template's stay."""

    text: str | None
    reason: str | None


def read_reply(reply: str | None, phrasings: Sequence[Requirements]) -> list[Wording]:
    """One for each phrasing, in order."""
    if reply is None:
        return [Wording(None, NO_REPLY) for _ in phrasings]
    lines = [*lines_of(reply), *[None] * len(phrasings)]
    earlier = {words(one.template) for one in phrasings}
    wordings = []
    for line, one in zip(lines, phrasings, strict=False):
        reason = NO_LINE if line is None else refusal(line, one)
        if line is not None and reason is None:
            reason = TWICE if words(line) in earlier else None
            earlier.add(words(line))
        wordings.append(Wording(None if reason else line, reason))
    return wordings


def score(sample: Sample, episode: Episode) -> Score:
    """`kept`: the share of the phrasings for which the model's words are taken."""
    return episode_score(sample, episode, lambda text: _measure(_wording_sample(sample), text))


def _measure(sample: WordingSample, text: str | None) -> dict[str, object]:
    wordings = read_reply(text, sample.told)
    texts = tuple(one.text for one in wordings if one.text is not None)
    rule = "; ".join(one.reason or "taken" for one in wordings)
    kept = len(texts) / len(wordings)
    return {"outcome": "read", "answer": texts, "rule": rule, "metrics": {"kept": kept}}


def reworded(
    samples: Sequence[Sample],
    queries: Iterable[Sample],
    replies: Mapping[str, str],
    model: str,
) -> RewordingResult:
    """The set with the words of `replies`, which are by query; a query without one keeps its
    template."""
    wordings = (
        wording
        for query in map(_wording_sample, queries)
        for wording in read_reply(replies.get(query.id), query.told)
    )
    reasons: Counter[str] = Counter()
    results = []
    for sample, wording in zip(samples, wordings, strict=False):
        if wording.text is None:
            reasons[wording.reason or ""] += 1
            results.append(sample)
            continue
        update = {"question": wording.text, "worded_by": model, "wording_prompt": PROMPT_DIGEST}
        results.append(sample.model_copy(update=update))
    return RewordingResult(tuple(results), dict(reasons.most_common()))


def _wording_sample(sample: Sample) -> WordingSample:
    if not isinstance(sample, WordingSample):
        raise ConfigError(f"sample '{sample.id}' is no query to be worded")
    return sample


FAMILY = wording_family(
    NAME,
    WordingSample,
    _prompt,
    score,
    "queries are worded by: agent-env generate tdbench --wording model:NAME",
)
REWORDING = Rewording(NAME, PROMPT, PROMPT_DIGEST, wording_samples, reworded)
