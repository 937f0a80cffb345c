"""Questions about the present on several days: their gold by a second solver, and policies that
read, remember or ignore the date are told apart."""

from collections import Counter
from datetime import date
from itertools import groupby, product

import pytest

from agent_env.families.tdbench.reading import parse_question
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.sources import NOW, sources
from agent_env.features.clock import DAY
from agent_env.features.clock.answers import in_years
from agent_env.features.clock.plan import on_their_days
from agent_env.features.facts.tables.temporal_table import as_of
from agent_env.records.schema import Condition, Message, World
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.questions import samples_of, task_of
from agent_env.tasks.family import by_digest
from agent_env.tasks.modifiers import with_modifier
from agent_env.tasks.task import CannotShift
from agent_env.testing import calls
from tests.ended import ended

DAYS = ("1995-06-01", "2003-06-01", "2012-01-01", "2024-12-31")
CONDITIONS = [with_modifier(Condition(name="base"), DAY, day) for day in DAYS]


@pytest.fixture(scope="module")
def asked():
    """The task, and those of at most 40 questions whose answer moves."""
    options = ("kinds=current", "book=closed", "phrasings=1", "domains=offices,laws", "rows=120")
    run = RunOptions("tdbench", options=options, limit=40)
    made = samples_of(run)
    task = task_of(run, by_digest(made.tables))
    moving, left_out = on_their_days(made, CONDITIONS, task, print)
    same = "the answer is the same on each of the days as in the present"
    assert set(left_out.values()) == {same}
    assert len(moving.samples) + len(left_out) == len(made.samples)
    return task, moving.samples


@pytest.fixture(scope="module")
def holding():
    """A second solver, over the tables and not the samples: by sample and day the answers of its
    group that last in the table as of that day, in the order in which they began."""
    options = TdbenchOptions(kinds=("current",), domains=("offices", "laws"), rows=120)
    tables = {each.domain.name: each.table for each in sources(options, 1)}

    def answers(sample, day, lasting=True):
        table = as_of(tables[sample.domain], date.fromisoformat(day))
        places = table.places(list(sample.asked))
        (answer,) = table.places(sample.answers)
        own = [r for r in table.rows if [r.values[p] for p in places] == [*sample.asked.values()]]
        rows = sorted(own, key=lambda row: row.start)
        return [row.values[answer] for row in rows if row.end is None or not lasting]

    return answers


def episode(sample, condition, names, messages=()):
    text = "ANSWER:\n" + ("\n".join(names) if names else "no answer")
    return ended(text, sample.id, condition.name, stop_reason="answered", messages=messages)


def test_the_gold_of_each_day_is_that_of_the_table_as_of_it_and_the_question_names_no_day(
    asked, holding
):
    task, samples = asked
    golds = {sample.id: {sample.gold} for sample in samples}
    for sample, condition in product(samples, CONDITIONS):
        own = sample.in_world(condition.world)
        assert sorted(own.gold) == sorted(holding(sample, condition.today)), sample.id
        golds[sample.id].add(own.gold)
        (message,) = task.prompt_under(sample, condition)
        assert "2025" not in message.content
        assert condition.today not in message.content
        assert "oday" in message.content or "currently" in message.content
        assert set(own.outdated) <= set(own.others)
        assert not set(own.others) & set(own.gold)
    assert all(len(each) > 1 for each in golds.values())


def test_policies_that_read_remember_or_ignore_the_date_are_told_apart_exactly(asked, holding):
    task, samples = asked
    policies = {
        "reads": lambda sample, day: holding(sample, day),
        "remembers": lambda sample, day: holding(sample, str(NOW)),
        "ignores the date": lambda sample, day: holding(sample, DAYS[-1], lasting=False)[:1],
    }
    seen = {name: Counter() for name in policies}
    for name, sample, condition in product(policies, samples, CONDITIONS):
        names = policies[name](sample, condition.today)
        metrics = task.score(sample, episode(sample, condition, names)).metrics
        golds = {day: set(sample.in_world(World(today=day)).gold) for day in DAYS}
        is_right = set(names) == golds[condition.today]
        expected = {
            "answer": is_right,
            "follows_clock": is_right,
            "other_day": not is_right and set(names) in golds.values(),
            "present": not is_right and set(names) == set(sample.gold),
        }
        assert {key: metrics[key] for key in expected} == expected, (name, sample.id)
        seen[name].update(expected)
    episodes = len(samples) * len(DAYS)
    reads, remembers, ignores = seen.values()
    assert (reads["answer"], reads["present"], reads["other_day"]) == (episodes, 0, 0)
    assert remembers["answer"] + remembers["present"] == episodes
    assert remembers["present"] > 0 < ignores["other_day"]
    assert ignores["answer"] + ignores["present"] < episodes
    assert reads != remembers != ignores != reads


def test_an_answer_is_right_from_one_change_to_the_next_or_never(asked, holding):
    task, samples = asked
    said = 0
    for sample, condition, day in product(samples, CONDITIONS, DAYS):
        if not (names := holding(sample, day)):
            continue
        metrics = task.score(sample, episode(sample, condition, names)).metrics
        changes = sorted(set(task.changes(sample)))
        held = [set(names) == set(holding(sample, str(change))) for change in changes]
        if len([is_held for is_held, _ in groupby(held) if is_held]) > 1:
            continue  # which of them it means depends on the condition's day
        at = in_years(date.fromisoformat(day))
        assert metrics["right_since"] == in_years(changes[held.index(True)])
        assert metrics["right_since"] <= at < metrics.get("right_until", 9999.0)
        said += 1
    assert said > 100
    metrics = task.score(samples[0], episode(samples[0], CONDITIONS[0], ["Nobody Atall"])).metrics
    assert not {"right_since", "right_until"} & set(metrics)


@pytest.mark.parametrize(
    ("pairs", "date_asked", "looks_up"),
    [
        ([("calendars", '{"date": "today"}', "1995-06-01 is a Thursday, day 152")], 1, 0),
        ([("python", "{}", "datetime.datetime(1995, 6, 1, 12, 0, 3)")], 1, 0),
        ([("calendars", '{"date": "1995-06-01"}', "1995-06-01 is a Thursday")], 0, 0),
        ([("python", "{}", "1995-06-02")], 0, 0),
        ([("web_search", '{"query": "what is the date today"}', "It is 1 June 1995")], 1, 1),
        ([("web_search", '{"query": "Chancellor"}', "Page of 1 June 1995")], 0, 1),
        ([("sql", "{}", "no rows"), ("python", "{}", "June 1, 1995")], 1, 1),
        ([], 0, 0),
    ],
)
def test_who_asks_for_the_date_and_who_looks_up(asked, pairs, date_asked, looks_up):
    (task, (sample, *_)), messages = asked, []
    for n, (name, arguments, output) in enumerate(pairs, start=1):
        messages.append(calls((name, arguments), first_id=n).message)
        messages.append(Message(role="tool", tool_call_id=f"call_{n}", content=output))
    metrics = task.score(sample, episode(sample, CONDITIONS[0], (), messages)).metrics
    assert (metrics["date_asked"], metrics["looks_up"]) == (date_asked, looks_up)


def test_what_is_not_there_on_a_day_is_not_asked(asked):
    task, samples = asked
    for day, reason in (("1700-01-01", "had begun on 1700-01-01"), ("2025-07-01", "is as of 2025")):
        with pytest.raises(CannotShift, match=reason):
            task.on_day(samples[0], date.fromisoformat(day))
    opened = samples[0].model_copy(update={"book": "open"})
    with pytest.raises(CannotShift, match="take --option book=closed"):
        task_of(RunOptions("tdbench"), {}).on_day(opened, date(2003, 6, 1))
    run = RunOptions("time-puzzles", limit=12)
    made = samples_of(run)
    kept, left_out = on_their_days(made, CONDITIONS[:1], task_of(run, {}), lambda text: None)
    assert set(left_out.values()) == {"what they ask about comes after 1995-06-01"}
    last = {s.id: max(d for proof in s.proofs for d in proof.dates) for s in made.samples}
    assert {name for name, day in last.items() if day > "1995-06-01"[: len(day)]} == set(left_out)
    assert all(sample.by_day == {} for sample in kept.samples)
    for style, sample in enumerate(samples[:3]):
        (parse, *_) = parse_question(sample.in_world(World(today=DAYS[style])).question)
        assert (parse.kind, parse.keys) == ("current", sample.asked)
