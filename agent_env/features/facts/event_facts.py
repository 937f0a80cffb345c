"""Asks models about the rows of an event table: which events can one date from memory, and which
rows are right?

`screen` asks one question per row, without tools. An event is known if all its dates are right at
the precision of its row: a row that states the month asks for the month. Nothing is asked that a
row does not state. `check` has a model with web tools look the dates up and judge them as they are
stated. A verdict counts only if it names a page that was opened in the episode or cited by the
reply; any other counts as unclear.

Answers are on labelled lines. A label begins a line, emphasis marks and letter case aside. Of
repeated labels the last counts.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_env.features.answers.date_answers import parse_date_text
from agent_env.features.facts.tables.event_names import is_point
from agent_env.features.facts.tables.tables import (
    EventRow,
    parse_years,
    shipped_tables,
    spans_text,
    write_csv,
)
from agent_env.features.facts.tables.user_tables import read_user_events
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Family, SampleSet, Task
from agent_env.sdk.models import Limits, Scorer
from agent_env.sdk.records import Condition, Episode, MaterialTable, Message, Record, Sample, Score
from agent_env.sdk.scoring import episode_score
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import MONTH, month_number

if TYPE_CHECKING:
    from agent_env.sdk.run import Listener, RunOptions

ONGOING = "ongoing"


class EventSample(Sample):
    """An event with its table's dates, unchanged."""

    event: str
    kind: str
    start: str = ""
    end: str = ""
    """Empty beside a start: it still lasts."""
    years: str = ""
    """All years in which it took place, as spans such as `1908;1948~1950`."""
    now: str
    """The day as of which it still lasts."""

    @property
    def lasts(self) -> bool:
        """Whether it still lasts, as its table states; a point in time without an end does not."""
        return bool(self.start) and not self.end and not is_point(self.event, self.kind)


def make_samples(
    rows: Iterable[EventRow], task: str, gold: tuple[str, ...], now: date
) -> list[EventSample]:
    """The rows that state any date as samples; an id depends on the event's name alone."""
    return [
        EventSample(
            id=f"event-{hashlib.sha256(row.event.encode()).hexdigest()[:16]}",
            task=task,
            gold=gold,
            event=row.event,
            kind=row.kind,
            start=str(row.start or ""),
            end=str(row.end or ""),
            years=spans_text(row.years),
            now=str(row.now or now),
        )
        for row in rows
        if row.start or row.end or row.years
    ]


def event_sample(sample: Sample) -> EventSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, EventSample):
        raise ConfigError(f"sample '{sample.id}' is not a row of an event table")
    return sample


UNKNOWN = "unknown"
_MONTH_YEAR = re.compile(rf"({MONTH})(?: of)?,? (\d{{4}})", re.I)
_YEARS = re.compile(r"[0-9]{4}(?:~[0-9]{4})?")
_ONGOING = re.compile(r"ongoing|present|still (?:lasts|ongoing|lasting|in office)")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))


class Unreadable(ValueError):
    """The line that cannot be parsed, and why."""


def labelled(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The text behind each label, up to the next label or the end."""
    pattern = rf"^[\s>*_`#-]*({'|'.join(labels)})[*_` ]*[:：][*_` ]*"
    marks = list(re.finditer(pattern, text, re.I | re.M))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pairs = zip(marks, ends, strict=False)  # without a mark there is one end all the same
    return {mark[1].upper(): text[mark.end() : end].strip() for mark, end in pairs}


def first_line(text: str) -> str:
    """The first line without its emphasis marks."""
    return text.split("\n", 1)[0].strip(" \t*_`.\"'")


def read_bound(line: str) -> str:
    """A date as ISO 8601 at its precision, `ongoing` or `unknown`."""
    text = " ".join(line.translate(_DASHES).split())
    plain = text.lower()
    if plain == UNKNOWN or _ONGOING.fullmatch(plain):
        return UNKNOWN if plain == UNKNOWN else ONGOING
    try:
        return str(PartialDate.parse(text))
    except ValueError:
        pass  # not written the ISO way; it may still be a date
    if (match := _MONTH_YEAR.fullmatch(plain)) is not None:
        return str(PartialDate(int(match[2]), month_number(match[1])))
    reading = parse_date_text(text)
    if reading.dates is None or len(reading.dates) != 1:
        why = reading.rule if not reading.dates else "names several dates"
        raise Unreadable(f"'{line}': {why}")
    return reading.dates[0]


def read_years(line: str) -> str:
    """Years as spans such as `1908;1948~1950`, in order, or `unknown`."""
    text = line.translate(_DASHES).strip()
    if text.lower() == UNKNOWN:
        return UNKNOWN
    parts = re.split(r"(?:(?<!\s)\s++)?[,;]\s*+(?:and\s+)?|(?<!\s)\s++and\s+", text)
    spans = [re.sub(r"(\d)\s*(?:-|~|to)\s*(\d)", r"\1~\2", part) for part in parts]
    if (short := next((s for s in spans if not _YEARS.fullmatch(s)), None)) is not None:
        raise Unreadable(f"'{short}' is neither a year of four digits nor a span of years")
    try:
        years = parse_years(";".join(dict.fromkeys(spans)))
    except ValueError as exc:
        raise Unreadable(str(exc)) from exc
    return spans_text(years)


# Which events does a model know? -----------------------------------------------------------------

SCREENING = "event-screen"

_TEXTS = tomllib.loads(Path(__file__).with_name("event_prompts.toml").read_text(encoding="utf-8"))

FORMS = {4: "the year as YYYY", 7: "the month as YYYY-MM", 10: "the day as YYYY-MM-DD"}
"""The form of the answer, by the length of the stated date."""


def screen_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    samples = make_samples(rows, SCREENING, (), now)
    return tuple(s.model_copy(update={"gold": tuple(_right_answers(s).values())}) for s in samples)


def _right_answers(sample: EventSample) -> dict[str, str]:
    """The right answer by label, as far as the row states it."""
    end = ONGOING if sample.lasts else sample.end
    answers = {"FIRST": sample.start, "LAST": end, "YEARS": sample.years}
    return {label: text for label, text in answers.items() if text}


def _screen_prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    lines = "\n".join(_line(label, event) for label in _right_answers(event))
    text = _TEXTS["screen"].format(event=event.event, kind=event.kind, lines=lines)
    return (Message(role="user", content=text),)


def _line(label: str, event: EventSample) -> str:
    """Depends on the precision of the dates, never on the dates."""
    if label == "FIRST":
        return f"FIRST: when it began, {FORMS[len(event.start)]}"
    if label == "LAST":
        form = FORMS[len(event.end or event.start)]
        return f"LAST: when it ended, {form}, or ONGOING if it still lasted on {event.now}"
    return "YEARS: all years in which it took place, each as YYYY, separated by commas"


def score_screen(sample: Sample, episode: Episode) -> Score:
    """1 where every date asked for is right; with a line that cannot be parsed, unreadable."""
    return episode_score(sample, episode, lambda text: _measure(event_sample(sample), text or ""))


def _measure(sample: EventSample, text: str) -> dict[str, object]:
    gold = _right_answers(sample)
    try:
        # the answer of each line; Unreadable for the first that is missing or cannot be parsed
        labels = tuple(gold)
        lines = labelled(text, ("FIRST", "LAST", "YEARS"))
        answers = {}
        for label in labels:
            if not (line := first_line(lines.get(label, ""))):
                raise Unreadable(f"no line that begins with {label}: and says something")
            answers[label] = read_years(line) if label == "YEARS" else read_bound(line)
    except Unreadable as exc:
        return {"outcome": "unreadable", "rule": str(exc), "metrics": {"known": 0.0}}
    right = all(is_right(gold[label], answers[label]) for label in gold)
    return {
        "outcome": "read",
        "answer": tuple(answers.values()),
        "rule": "labelled lines",
        "metrics": {"known": float(right)},
    }


def is_right(gold: str, answer: str) -> bool:
    """Whether the answer is the stated date or a day or month within it."""
    return answer == gold or answer.startswith(f"{gold}-")


# Which rows are right? ----------------------------------------------------------------------------

CHECKING = "event-check"
Verdict = Literal["correct", "not correct", "unclear"]
VERDICTS: dict[str, Verdict] = {
    "correct": "correct",
    "not correct": "not correct",
    "incorrect": "not correct",
    "unclear": "unclear",
}
MAX_REASON = 600

CHECK_PROMPT: str = _TEXTS["check"]


def check_samples(rows: Iterable[EventRow], now: date) -> tuple[EventSample, ...]:
    """One sample for each row that states a date; its gold is what the table claims."""
    return tuple(make_samples(rows, CHECKING, ("correct",), now))


def _check_prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    event = event_sample(sample)
    text = CHECK_PROMPT.format(event=event.event, kind=event.kind, claim="\n".join(_claims(event)))
    return (Message(role="user", content=text),)


def _claims(event: EventSample) -> Iterable[str]:
    """The row's statements, date by date."""
    for name, day in (("Began", event.start), ("Ended", event.end)):
        if day:
            precision = {4: "year", 7: "month"}.get(len(day), "day")
            yield f"{name}: {day} (stated to the {precision})"
    if event.lasts:
        yield f"Ended: not yet; it still lasted on {event.now}"
    if event.years:
        yield f"Years in which it took place, all of them: {event.years.replace(';', ', ')}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An episode's verdict on its row."""

    verdict: Verdict | None
    """None where it cannot be parsed."""
    why: str
    pages: tuple[str, ...]
    """Those that it names and has opened or cited."""
    rule: str


def judgement(episode: Episode) -> Judgement:
    """The verdict with its reason and pages."""
    fields = labelled(episode.answer or "", ("VERDICT", "WHY", "PAGES"))
    verdict = VERDICTS.get(" ".join(first_line(fields.get("VERDICT", "")).lower().split()))
    why = " ".join(fields.get("WHY", "").split())[:MAX_REASON]
    proper = {ref.url for ref in episode.pages if ref.how == "opened"} | set(episode.citations)
    urls = re.findall(r"https?://(?:(?!,https?://)[^\s<>\"])+", fields.get("PAGES", ""))
    forms = ((url, url.rstrip(".,;:*_`"), url.rstrip(".,;:*_`)]")) for url in urls)
    matches = (next((form for form in each if form in proper), None) for each in forms)
    pages = tuple(dict.fromkeys(url for url in matches if url is not None))
    if verdict is None:
        return Judgement(None, why, pages, "no line that begins with VERDICT: and gives one")
    if verdict != "unclear" and not pages:
        return Judgement("unclear", why, (), f"'{verdict}' without a page that was opened")
    return Judgement(verdict, why, pages, "labelled lines")


def score_check(sample: Sample, episode: Episode) -> Score:
    """1 for the verdict of the answer, 0 for the others; which one is right is not known here."""

    def measure(text: str | None) -> dict[str, object]:
        result = judgement(episode)
        verdicts = sorted(set(VERDICTS.values()))
        return {
            "outcome": "read" if result.verdict else "unreadable",
            "answer": (result.verdict,) if result.verdict else None,
            "rule": result.rule,
            "metrics": {v.replace(" ", "_"): float(v == result.verdict) for v in verdicts},
        }

    return episode_score(sample, episode, measure)


# The two families ---------------------------------------------------------------------------------


def _family(
    name: str, make_prompt: Callable[[Sample, Condition], tuple[Message, ...]],
    scorer: Scorer, metrics: tuple[str, ...], condition: str,
    limits: Limits, make_samples: Callable[[Iterable[EventRow], date], Sequence[EventSample]],
) -> Family:  # fmt: skip
    """A family of questions on rows, by default those of the shipped table; it has one prompt."""

    def make_task(prompt: str, options: Record, tables: Mapping[str, MaterialTable]) -> Task:
        if prompt != "default":
            raise ConfigError(f"unknown prompt '{prompt}'; known: default")
        return Task(
            name=name,
            sample_type=EventSample,
            prompt=make_prompt,
            scorer=scorer,
            metrics=metrics,
            default_conditions=(condition,),
            off_web=lambda sample: "",  # the events are those of its tables
            limits=limits,
        )

    def of_shipped_table(count: int, seed: int, options: Record) -> SampleSet:
        rows = shipped_tables().events
        return SampleSet(tuple(make_samples(rows, datetime.now(UTC).date()))[:count])

    return Family(name, make_task, of_shipped_table)


SCREEN = _family(
    SCREENING, _screen_prompt, score_screen, ("known",), "base", Limits(steps=1, tool_calls=0),
    screen_samples,
)  # fmt: skip
CHECK = _family(
    CHECKING, _check_prompt, score_check, ("correct", "not_correct", "unclear"), "web", Limits(),
    check_samples,
)  # fmt: skip


# Runs over a table --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableAnswers:
    out: Path
    run: Path
    """The run's folder, with every reply."""
    counts: Mapping[str, int]
    """Rows by result."""


async def screen(
    table: Path | None, out: Path, options: RunOptions, listener: Listener, now: date
) -> TableAnswers:
    """Have a model date each event of a table without tools, and write which it knows: `yes`,
    `no`, `unreadable`, or `failed` where no answer came. None is the shipped table.

    Task, dataset, conditions, repeats and prompt of the options are set here. An `options.out` that
    already holds the same questions to the same model is continued.
    """
    samples = screen_samples(_table(table, now), now)
    run, results = await _ask(
        replace(options, task=SCREENING, conditions=("base",)), samples, listener
    )
    lines = [(s.event, _known(score), "; ".join(score.answer or ())) for s, _, score in results]
    write_csv(("event", "known", "answer"), lines, out)
    return TableAnswers(out, run, dict(Counter(line[1] for line in lines).most_common()))


async def dated_by_model(
    rows: Sequence[EventRow], options: RunOptions, listener: Listener, now: date
) -> dict[str, str]:
    """For each event whether the model can date it without tools: a result as `screen` writes."""
    own = replace(options, task=SCREENING, conditions=("base",))
    _, results = await _ask(own, screen_samples(rows, now), listener)
    return {sample.event: _known(score) for sample, _, score in results}


def _known(score: Score) -> str:
    if score.outcome != "read":
        return "unreadable" if score.outcome == "unreadable" else "failed"
    return "yes" if score.metrics["known"] == 1.0 else "no"


async def check(
    table: Path | None, out: Path, options: RunOptions, listener: Listener, now: date
) -> TableAnswers:
    """Have a model with web tools judge each row of a table, and write its verdicts: `correct`,
    `not correct`, `unclear`, `unreadable`, or `failed`, with reasons and pages. Options as in
    `screen`.
    """
    samples = check_samples(_table(table, now), now)
    run, results = await _ask(
        replace(options, task=CHECKING, conditions=("web",)), samples, listener
    )
    lines = []
    for sample, episode, score in results:
        result = judgement(episode)
        verdict = score.outcome if score.outcome == "unreadable" else result.verdict or "failed"
        dates = (sample.start, sample.end, sample.years)
        lines.append((sample.event, *dates, verdict, result.why, " ".join(result.pages)))
    header = ("event", "start", "end", "multi_year_spans", "verdict", "why", "pages")
    write_csv(header, lines, out)
    return TableAnswers(out, run, dict(Counter(line[4] for line in lines).most_common()))


def _table(file: Path | None, now: date) -> tuple[EventRow, ...]:
    return shipped_tables().events if file is None else read_user_events(file, now)


async def _ask(
    options: RunOptions, samples: Sequence[EventSample], listener: Listener
) -> tuple[Path, list[tuple[EventSample, Episode, Score]]]:
    """The run's folder, and samples with their episodes and scores, in the order of the table."""
    from agent_env.sdk.run import ask, score_folder

    run = await ask(options, samples, listener)
    scored = score_folder(run, lambda reason: None)
    by_sample = {episode.sample: (episode, score) for episode, score in scored}
    samples = [event_sample(sample) for sample in run.samples_as(EventSample)]
    return run.path, [(s, *by_sample[s.id]) for s in samples if s.id in by_sample]
