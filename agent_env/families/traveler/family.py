"""TRAVELER as a family."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent_env.families.traveler import truth
from agent_env.families.traveler.answers import read_answer
from agent_env.families.traveler.events import COLUMNS
from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.sample import NAME, NOTHING, TravelerSample, traveler_sample
from agent_env.families.traveler.truth import Answer
from agent_env.families.traveler.wording import PROMPT, fields, find_configuration
from agent_env.features.answers.schemas import DATE, INTEGER, list_of
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import AnalysisHooks, AnswerForm, Family, Shortcut, Task
from agent_env.sdk.records import (
    Condition,
    Episode,
    MaterialTable,
    Message,
    Sample,
    Score,
    one_of,
    or_null,
)
from agent_env.sdk.scoring import episode_score

Occurrence = tuple[str, str]
"""Subject and local day."""
Index = Mapping[tuple[str, str], Sequence[Occurrence]]
"""By event type and location."""
TimeBlind = Callable[[TravelerSample], Answer | None]
"""None where the sample's event list is not there."""


HIDDEN = {"gold": (), "matches": "none", "chances": {}}


def shortcuts(blind: TimeBlind) -> tuple[Shortcut, ...]:
    """No, nobody, 0 or never; the majority of the template; the time ignored; the gold."""

    def ignore_time(sample: Sample) -> str | None:
        own = traveler_sample(sample)
        answer = blind(own)
        return None if answer is None else _worded(own.template, answer)

    return (
        Shortcut.constant("no, nobody, 0, never", lambda sample: _worded(_template(sample), None)),
        Shortcut.majority(answer_text, _template),
        Shortcut.by_question(
            "ignore-time",
            "by all events that fit but for their time",
            lambda sample, rng: ignore_time(sample),
        ),
        Shortcut.oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it; of a vague question the most probable answer."""
    return _worded(_template(sample), sample.gold)


def _template(sample: Sample) -> str:
    return traveler_sample(sample).template


def _worded(template: str, answer: Answer | None) -> str:
    names = {"who": "nobody", "when": "never"}
    text = ", ".join(NOTHING[template] if answer is None else answer)
    return f"MY ANSWER: {text or names.get(template, '')}"


def time_blind(materials: Mapping[str, MaterialTable]) -> TimeBlind:
    """The answers over these event lists."""
    indices: dict[str, Index] = {}

    def answer(sample: TravelerSample) -> Answer | None:
        digest = next((digest for digest in sample.materials if digest in materials), None)
        if digest is None:
            return None
        if digest not in indices:
            table, index = materials[digest], defaultdict[tuple[str, str], list[Occurrence]](list)
            at = [table.columns.index(name) for name in ("event", "location", "subject", "time")]
            for row in table.rows:
                event, location, subject, time = (str(row[column]) for column in at)
                index[event, location].append((subject, time[:10]))
            indices[digest] = index
        there = indices[digest].get((sample.event, sample.location), ())
        own = [o for o in there if sample.subject in (None, o[0])]
        return truth.crisp_answer(sample.template, own)

    return answer


METRICS = ("accuracy", "of_ceiling", "ceiling")
"""The score; score by ceiling; the best answer's score; the score of nobody, no, 0 or never."""

PLACEHOLDERS = {
    "question": True, **dict.fromkeys(("events", "now", "manner", "note", "form"), False)
}  # fmt: skip


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Category, template, time expression, number of events and number of matches."""
    own = traveler_sample(sample)
    return {
        "category": (own.category,),
        "template": (own.template,),
        "expression": (own.expression,),
        "events": (str(own.size),),
        "matches": (own.matches,),
    }


def cluster(sample: Sample) -> str:
    """The list of events that the question is about."""
    return sample.materials[0] if sample.materials else ""


def states_evidence(sample: Sample, condition: Condition) -> bool:
    """Whether the list is in the prompt, not in a tool."""
    return not {"query_events", "python"} & set(condition.tools)


def proving_texts(sample: Sample, materials: Mapping[str, MaterialTable]) -> tuple[str, ...] | None:
    """Subject, day and clock time of the last event that fits; of each subject named, or as many
    events as are counted."""
    own = traveler_sample(sample)
    if not materials.keys() & {*own.materials}:
        return None
    if own.gold == NOTHING[own.template]:
        return ()
    rows = [[str(cell) for cell in row] for row in table_of(own, materials).rows]
    fitting = sorted(
        (time, subject)
        for event, subject, location, time, *_ in rows
        if (event, location) == (own.event, own.location)
        and own.subject in (None, subject)
        and (own.since or "") <= time[:10] <= (own.until or "9999")
    )
    if own.template == "who":
        last = {subject: time for time, subject in fitting if subject in own.gold}
        fitting = [(time, subject) for subject, time in last.items()]
    else:
        fitting = fitting[-int(own.gold[0]) if own.template == "how-often" else -1 :]
    texts = (text for time, subject in fitting for text in (subject, time[:10], time[11:16]))
    return tuple(dict.fromkeys(texts))


HOOKS = AnalysisHooks(groups, cluster, "list of events", states_evidence=states_evidence)


def make_task(prompt: str, materials: Mapping[str, MaterialTable]) -> Task:
    """The task in one of the twelve configurations; `default` is the slides' choice."""
    configuration = find_configuration(prompt)

    def prompt_fields(sample: Sample, condition: Condition) -> dict[str, str]:
        own = traveler_sample(sample)
        return fields(own, condition, table_of(own, materials), configuration)

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        text = PROMPT.format(**prompt_fields(sample, condition))
        return (Message(role="user", content=text),)

    def setup(sample: Sample, condition: Condition) -> str:
        return python_events(traveler_sample(sample), table_of(sample, materials))

    return Task(
        name=NAME,
        sample_type=TravelerSample,
        prompt=start,
        scorer=score,
        metrics=METRICS,
        ceiling_metric="of_ceiling",
        default_conditions=("base", "events", "python"),
        placeholders=PLACEHOLDERS,
        fields=prompt_fields,
        wording=lambda values: PROMPT.format(**values),
        form=lambda sample: answer_form(traveler_sample(sample)),
        setup=setup,
        analysis=replace(HOOKS, proving_texts=partial(proving_texts, materials=materials)),
        shortcuts=shortcuts(time_blind(materials)),
        hidden=HIDDEN,
    )


def answer_form(sample: TravelerSample) -> AnswerForm:
    """By the template; names are chosen from all that the vocabulary has."""
    match sample.template:
        case "who":
            most = len(sample.subjects)
            answer = list_of(one_of(sample.subjects), most)
            return AnswerForm(answer, lambda names: f"MY ANSWER: {', '.join(names) or 'nobody'}")
        case "did":
            return AnswerForm(one_of(("yes", "no")), "MY ANSWER: {}".format)
        case "how-often":
            return AnswerForm(INTEGER, "MY ANSWER: {}".format)
    return AnswerForm(or_null(DATE), lambda day: f"MY ANSWER: {day or 'never'}")


def table_of(sample: Sample, materials: Mapping[str, MaterialTable]) -> MaterialTable:
    """The sample's event list."""
    for digest in sample.materials:
        if digest in materials:
            return materials[digest]
    raise ConfigError(f"the event list of sample '{sample.id}' is missing")


def python_events(sample: TravelerSample, table: MaterialTable) -> str:
    """Code that sets `events` and `now` in a Python session."""
    rows = [[str(cell) for cell in row[: len(COLUMNS)]] for row in table.rows]
    return (
        "import datetime, json\n"
        "events = [\n"
        "    dict(zip(('event', 'subject', 'location', 'time'),\n"
        "             (*row[:3], datetime.datetime.fromisoformat(row[3]))))\n"
        f"    for row in json.loads({json.dumps(rows, ensure_ascii=False)!r})\n"
        "]\n"
        f"now = datetime.datetime.fromisoformat({sample.now!r})\n"
    )


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match, or the probability that the answer is the true one; with its ceiling."""
    return episode_score(sample, episode, lambda text: _measure(traveler_sample(sample), text))


def _measure(sample: TravelerSample, text: str | None) -> dict[str, object]:
    parsed = read_answer(sample.template, text, sample.subjects)
    return {
        "outcome": "unreadable" if parsed.answer is None else "read",
        "answer": parsed.answer,
        "rule": parsed.rule,
        "metrics": answer_metrics(sample, parsed.answer),
    }


def answer_metrics(sample: TravelerSample, answer: truth.Answer | None) -> dict[str, float]:
    """METRICS of an answer in normal form, None for an unreadable one; of a vague Who also the
    mean over its subjects, of a vague How often the distance to the expected number."""
    values = truth.answer_probabilities(sample.template, sample.chances) if sample.chances else None

    def value_of(answer: truth.Answer) -> float:
        return float(answer == sample.gold) if values is None else values.of(answer)

    best = 1.0 if values is None else values.of(values.best)
    value = 0.0 if answer is None else value_of(answer)
    metrics = {
        "accuracy": value,
        "of_ceiling": value / best if best else 0.0,  # 0 where hundreds of subjects underflow
        "ceiling": best,
    }
    if not sample.chances or answer is None:
        return metrics
    if sample.template == "who":
        return metrics | {"per_subject": truth.per_subject(sample.chances, answer)}
    error = truth.count_error(sample.chances, answer) if sample.template == "how-often" else None
    return metrics if error is None else metrics | {"count_error": error}


FAMILY = Family(
    NAME,
    lambda prompt, options, materials: make_task(prompt, materials),
    make_samples,
    Options,
    reference="agent_env.families.traveler.reference:next_step",
    levels=Path(__file__).with_name("difficulty.toml"),
)
