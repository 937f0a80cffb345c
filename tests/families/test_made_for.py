"""A set remembers how its questions are to be asked; another way is a line on the screen."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.family import FAMILY as TDBENCH
from agent_env.families.timed_facts.family import TEMPREASON, TIMEQA
from agent_env.records.schema import Condition
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.questions import samples_of
from agent_env.tasks.family import by_digest

BASE, WEB = Condition(name="base"), Condition(name="web", tools=("web_search", "open_page"))
SHOWN = ("closed-book", "reasonqa", "open-book")


def made(family, **options):
    chosen = family.options.model_validate(options)
    return family.make_samples(12, 1, chosen)


@pytest.mark.parametrize("family", [TEMPREASON, TIMEQA], ids=lambda family: family.name)
@pytest.mark.parametrize("made_for", SHOWN)
@pytest.mark.parametrize("asked", [None, *SHOWN])
def test_questions_are_asked_as_made_unless_the_option_says_otherwise(
    tmp_path, family, made_for, asked
):
    file = tmp_path / "set.jsonl"
    found = made(family, setting=made_for)
    found.write(file)
    texts = () if asked is None else (f"setting={asked}",)
    read = samples_of(RunOptions(family.name, dataset=file, options=texts))
    task = family.make_task("default", family.read_options(texts), {})
    for sample in read.samples:
        prompt = task.prompt(sample, BASE)[0].content
        assert ("Context:" in prompt) is ((asked or made_for) != "closed-book")
        assert sample.context(asked or made_for) in prompt
    count = len(found.samples)
    line = (
        f"{count} of {count} questions were made for setting={made_for} and are asked with "
        f"setting={asked}; --option setting={made_for} asks as they were made"
    )
    assert read.notes == (() if asked in (None, made_for) else (line,))


@pytest.mark.parametrize("made_for", ["open", "closed"])
@pytest.mark.parametrize("asked", [None, "open", "closed"])
def test_a_table_s_questions_remember_their_book(tmp_path, made_for, asked):
    file = tmp_path / "set.jsonl"
    made(TDBENCH, book=made_for, rows=40).write(file)
    texts = () if asked is None else (f"book={asked}",)
    read = samples_of(RunOptions("tdbench", dataset=file, options=texts))
    task = TDBENCH.make_task("default", TDBENCH.read_options(texts), by_digest(read.tables))
    shows = " | " in task.prompt(read.samples[0], BASE)[0].content
    assert shows is ((asked or made_for) == "open")
    assert bool(read.notes) is (asked not in (None, made_for))


def test_a_tie_break_of_the_gold_is_remembered_too(tmp_path):
    file = tmp_path / "set.jsonl"
    made(TEMPREASON, ties="nearest", levels=("L3",)).write(file)
    (line,) = samples_of(RunOptions("tempreason", dataset=file)).notes
    assert line.endswith("for ties=nearest and are asked with ties=all; --option ties=nearest asks "
                         "as they were made")  # fmt: skip
    same = RunOptions("tempreason", dataset=file, options=("ties=nearest",))
    assert samples_of(same).notes == ()


def test_what_is_to_be_looked_up_is_not_asked_without_a_web_in_silence(tmp_path):
    table = tmp_path / "intervals.csv"
    rows = "".join(f"P,plays_for,Club {n},{1990 + n}-03-05,{1991 + n}-06-07\n" for n in range(5))
    table.write_text(f"subject,relation,object,start,end\n{rows}")
    sample = made(TEMPREASON, setting="open-web", intervals=table).samples[0]
    task = TEMPREASON.make_task("default", TEMPREASON.read_options(()), {})
    assert "Context" not in task.prompt(sample, WEB)[0].content
    with pytest.raises(ConfigError, match="was made to be looked up: write --condition web, or"):
        task.prompt(sample, BASE)
    chosen = TEMPREASON.read_options(("setting=open-web",))
    assert TEMPREASON.make_task("default", chosen, {}).prompt(sample, BASE)
