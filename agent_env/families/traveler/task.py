"""TRAVELER as a Task: twelve prompts, exact and soft scores."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent_env.errors import ConfigError
from agent_env.families.traveler import truth
from agent_env.families.traveler.answers import read_answer
from agent_env.families.traveler.configurations import configuration
from agent_env.families.traveler.events import COLUMNS
from agent_env.families.traveler.hooks import HOOKS
from agent_env.families.traveler.sample import NAME, NOTHING, TravelerSample, traveler_sample
from agent_env.families.traveler.wording import PROMPT, fields
from agent_env.records.schema import Condition, Episode, MaterialTable, Message, Sample, Score
from agent_env.tasks.task import Task

METRICS = ("accuracy", "of_ceiling", "ceiling", "always_no")
"""The score; score by ceiling; what the best answer gets; what nobody, no, 0 or never gets."""

PLACEHOLDERS = {
    "question": True,
    "events": False,
    "now": False,
    "manner": False,
    "note": False,
    "form": False,
}


def make_task(prompt: str, materials: Mapping[str, MaterialTable]) -> Task:
    """The task in one of the twelve configurations; `default` is the slides' choice."""
    chosen = configuration(prompt)

    def filled(sample: Sample, condition: Condition) -> dict[str, str]:
        asked = traveler_sample(sample)
        return fields(asked, condition, table_of(asked, materials), chosen)

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=PROMPT.format(**filled(sample, condition))),)

    def setup(sample: Sample, condition: Condition) -> str:
        return python_events(traveler_sample(sample), table_of(sample, materials))

    return Task(
        name=NAME,
        sample_type=TravelerSample,
        prompt=start,
        scorer=score,
        metrics=METRICS,
        ceiling_metric="of_ceiling",
        default_conditions=("base", "events", "ci"),
        placeholders=PLACEHOLDERS,
        fields=filled,
        wording=lambda values: PROMPT.format(**values),
        setup=setup,
        analysis=HOOKS,
    )


def table_of(sample: Sample, materials: Mapping[str, MaterialTable]) -> MaterialTable:
    """The sample's event list."""
    found = next((materials[digest] for digest in sample.materials if digest in materials), None)
    if found is None:
        raise ConfigError(f"the event list of sample '{sample.id}' is missing")
    return found


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
    asked = traveler_sample(sample)
    common = {
        "sample": sample.id,
        "condition": episode.condition,
        "repeat": episode.repeat,
    }
    if episode.status != "finished":
        return Score.model_validate({**common, "outcome": episode.status})
    reading = read_answer(asked.template, episode.answer, asked.subjects)
    return Score.model_validate(
        {
            **common,
            "outcome": "unreadable" if reading.answer is None else "read",
            "answer": reading.answer,
            "rule": reading.rule,
            "metrics": measured(asked, reading.answer),
        }
    )


def measured(sample: TravelerSample, answer: tuple[str, ...] | None) -> dict[str, float]:
    """METRICS of an answer in normal form, None for an unreadable one; of a vague Who also the
    mean over its subjects, of a vague How often the distance to the expected number."""
    values = truth.worth(sample.template, sample.chances) if sample.chances else None

    def worth_of(said: tuple[str, ...]) -> float:
        return float(said == sample.gold) if values is None else values.of(said)

    best = 1.0 if values is None else values.of(values.best)
    worth = 0.0 if answer is None else worth_of(answer)
    found = {
        "accuracy": worth,
        "of_ceiling": worth / best if best else 0.0,  # hundreds of subjects can be too many
        "ceiling": best,
        "always_no": worth_of(NOTHING[sample.template]),
    }
    if not sample.chances or answer is None:
        return found
    if sample.template == "who":
        return found | {"per_subject": truth.per_subject(sample.chances, answer)}
    error = truth.count_error(sample.chances, answer) if sample.template == "how-often" else None
    return found if error is None else found | {"count_error": error}
