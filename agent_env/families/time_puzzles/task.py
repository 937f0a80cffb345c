"""Time Puzzles as a Task: prompts, worked examples, scorer, shortcuts."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from pydantic import JsonValue

from agent_env.families.time_puzzles.facts import HEAD
from agent_env.families.time_puzzles.guarantees import SPELLED_OUT, names_of
from agent_env.families.time_puzzles.hooks import HOOKS, known_facts
from agent_env.families.time_puzzles.sample import TimePuzzle, time_puzzle, time_puzzles
from agent_env.features.answers.date_answers import parse_date_answer
from agent_env.features.answers.date_sets import days_off, exact_match, f1, jaccard
from agent_env.features.answers.schemas import DATE, list_of
from agent_env.features.facts.tables.tables import FactTables, shipped_tables
from agent_env.sdk.errors import AgentEnvError, ConfigError
from agent_env.sdk.family import AnswerForm, Example, Shortcut, Task
from agent_env.sdk.records import Condition, Episode, Message, Sample, Score
from agent_env.sdk.run import hook
from agent_env.sdk.scoring import episode_score
from agent_env.sdk.web import ChangedPage, ShiftedWorld

MOST_DAYS = 60
"""An answer names no more days."""


def shortcuts(tables: Callable[[], FactTables]) -> tuple[Shortcut, ...]:
    """No date, the majority, all days but for the event, a random value of the event, the gold."""
    return (
        Shortcut.constant("that there is no date", lambda sample: "MY ANSWER: None"),
        Shortcut.majority(answer_text),
        Shortcut(
            "ignore-event",
            f"the days that all facts but the event allow, {MOST_DAYS} at most",
            lambda samples: _without_event(samples, tables, draws=False),
            is_by_question=True,
        ),
        Shortcut(
            "random-value",
            "the days left by a random value of the event that the other facts allow",
            lambda samples: _without_event(samples, tables, draws=True),
            is_candidate=True,
        ),
        Shortcut.oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    return f"MY ANSWER: {', '.join(sample.gold) or 'None'}"


def _without_event(
    samples: Sequence[Sample], tables: Callable[[], FactTables], draws: bool
) -> Callable[[Sample, Random], str | None]:
    """Answers by the other facts; none where the tables of a run made elsewhere are missing."""
    from agent_env.families.time_puzzles.day_sets import DaySets
    from agent_env.families.time_puzzles.guessers import draw_value, event_of, rest_of
    from agent_env.families.time_puzzles.solver import common_days

    try:
        sets = DaySets(common_days(time_puzzles(samples)), tables())
    except AgentEnvError:
        return lambda sample, rng: None

    def guess(sample: Sample, rng: Random) -> str | None:
        for puzzle in time_puzzles([sample]):
            if (event := event_of(puzzle.facts)) is None:
                return None
            rest = rest_of(puzzle, sets)
            days = sets.days.dates(draw_value(event, rest, sets, rng) if draws else rest)
            texts = [day.isoformat() for _, day in zip(range(MOST_DAYS), days, strict=False)]
            return f"MY ANSWER: {', '.join(texts) or 'None'}"
        return None

    return guess


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


WORKED = _toml("worked.toml")["puzzles"]
"""Puzzles with their worked answers: `constraints`, `reasoning` and `answer`."""
NAME = "time-puzzles"
PROMPTS: dict[str, str] = _toml("prompts.toml")
METRICS = {"exact_match": exact_match, "f1": f1, "jaccard": jaccard}
"""Defined for every answer."""
MOST_DATES = 8
"""Of a schema-held answer: a weak model continues until its list is full."""
STRICT = "strict_match"
"""Exact match of an answer in exactly the requested form; else 0."""
DAYS_OFF = "days_off"
"""Defined where gold and answer both have dates, or neither; see `answers.date_sets`."""


def make_task(
    prompt: str = "default",
    tables: Callable[[], FactTables] = shipped_tables,
    world: Callable[[], FactTables] = shipped_tables,
) -> Task:
    """The task with one of the PROMPTS; `tables` date the facts for shortcuts, `world` has all
    events of the web."""
    if prompt not in PROMPTS:
        raise ConfigError(f"unknown prompt '{prompt}'; known: {', '.join(PROMPTS)}")
    template = PROMPTS[prompt]

    def shift(sample: Sample, rng: Random, text_at: Callable[[str], str | None]) -> ShiftedWorld:
        from agent_env.families.time_puzzles.shift import shifted_world

        return shifted_world(time_puzzle(sample), world(), rng, text_at)

    def retell(sample: Sample, *how: Any) -> tuple[ChangedPage, ...]:
        from agent_env.families.time_puzzles.shift import retold_pages

        return retold_pages(world(), time_puzzle(sample), *how)

    def start(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=template.format(**prompt_fields(sample, condition))),)

    def prompt_fields(sample: Sample, condition: Condition) -> dict[str, str]:
        return fields(time_puzzle(sample), condition, tables)

    def on_day(sample: Sample, day: date) -> Mapping[str, JsonValue]:
        from agent_env.families.time_puzzles.present import on_day

        return on_day(time_puzzle(sample), day, tables) if needs_day(time_puzzle(sample)) else {}

    return Task(
        name=NAME,
        sample_type=TimePuzzle,
        prompt=start,
        scorer=score,
        authors_scorer=lambda: hook("authors-of-time-puzzles", "--scorer authors"),
        metrics=("exact_match", STRICT, "f1", "jaccard", DAYS_OFF),
        error_metrics=frozenset({DAYS_OFF}),
        default_conditions=("base", "web", "python", "web+python", "explicit"),
        placeholders={"constraints": True, "first": False, "last": False},
        fields=prompt_fields,
        wording=lambda values: template.format(**values),
        examples=lambda sample, condition: examples(time_puzzle(sample)),
        form=lambda sample: answer_form(time_puzzle(sample)),
        shift=shift,
        retell=retell,
        on_day=on_day,
        needs_day=lambda sample: needs_day(time_puzzle(sample)),
        off_web=lambda sample: "",
        names=lambda sample: names_of(time_puzzle(sample).facts, sample.proofs, world()),
        analysis=HOOKS,
        shortcuts=shortcuts(tables),
    )


def needs_day(puzzle: TimePuzzle) -> bool:
    """Whether a span is counted from the present day, which no constraint names."""
    return any(fact.type == "relative" for fact in puzzle.facts)


def answer_form(puzzle: TimePuzzle) -> AnswerForm:
    """Of its answer: as many dates as any usual puzzle has, a month of them where it has more."""
    most = MOST_DATES if len(puzzle.gold) <= MOST_DATES else 31
    return AnswerForm(list_of(DATE, most), lambda dates: f"MY ANSWER: {', '.join(dates) or 'None'}")


def fields(
    puzzle: TimePuzzle, condition: Condition, tables: Callable[[], FactTables] = shipped_tables
) -> dict[str, str]:
    """The prompt's placeholders: `constraints`, one a line, `first` and `last` year."""
    first, last = puzzle.years.split("-")
    texts = _listed(_texts(puzzle, condition))
    if condition.wording == "facts" and (known := known_facts(puzzle, tables())):
        texts += f"\n\n{HEAD}\n{_listed(known)}"
    return {"constraints": texts, "first": first, "last": last}


def _texts(puzzle: TimePuzzle, condition: Condition) -> tuple[str, ...]:
    """The constraints in the condition's wording. In `explicit-paper`, as in the paper's second
    set, those of other calendars stay as they are."""
    if condition.wording in ("implicit", "facts"):
        return puzzle.constraints
    texts = puzzle.explicit_constraints
    if condition.wording == "explicit" or len(puzzle.facts) != len(texts):
        return texts
    triples = zip(puzzle.facts, puzzle.constraints, texts, strict=True)
    return tuple(
        implicit if isinstance(fact, SPELLED_OUT) else explicit
        for fact, implicit, explicit in triples
    )


def _listed(constraints: tuple[str, ...]) -> str:
    return "\n".join(f"- {text}" for text in constraints)


def examples(puzzle: TimePuzzle) -> tuple[Example, ...]:
    """Two worked puzzles, over the same years as the puzzle's."""
    first, last = puzzle.years.split("-")
    return tuple(
        Example(
            {"constraints": _listed(worked["constraints"]), "first": first, "last": last},
            f"{worked['reasoning']}\n\nMY ANSWER: {', '.join(worked['answer'])}",
        )
        for worked in WORKED
    )


def score(sample: Sample, episode: Episode) -> Score:
    """Exact match, F1 and Jaccard (Appendix B.1) of an answer in any clear form, 0 if unparsable;
    exact match in the requested form; distance in days."""
    is_final = episode.stop_reason in (None, "answered")
    gold = frozenset(sample.gold)
    return episode_score(sample, episode, lambda text: _measure(gold, text, is_final))


def _measure(gold: frozenset[str], text: str | None, is_final: bool) -> dict[str, object]:
    reading = parse_date_answer(text, is_final=is_final)
    if reading.dates is None:
        zeros = dict.fromkeys(("exact_match", STRICT, *METRICS), 0.0)
        return {"outcome": "unreadable", "rule": reading.rule, "metrics": zeros}
    predicted = frozenset(reading.dates)
    exact = exact_match(gold, predicted)
    values = {"exact_match": exact, STRICT: exact if reading.is_as_asked else 0.0}
    values |= {name: metric(gold, predicted) for name, metric in METRICS.items()}
    if (days := days_off(gold, predicted)) is not None:
        values[DAYS_OFF] = days
    return {"outcome": "read", "answer": reading.dates, "rule": reading.rule, "metrics": values}
