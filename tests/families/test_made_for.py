"""How questions are asked: as a set remembers them, another way is a line on the screen; and which
prompts hold all that answers their question."""

import pytest

from agent_env.errors import ConfigError
from agent_env.records.schema import Condition
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.questions import samples_of
from agent_env.tasks.conditions import parse_condition
from agent_env.wiring.registry import load_family
from tests.questions import questions

BASE, WEB = Condition(name="base"), Condition(name="web", tools=("web_search", "open_page"))
SHOWN = ("closed-book", "reasonqa", "open-book")


def asked_anew(file, name, *texts, **made_for):
    """The questions that were made for something, as a run asks them with these options."""
    made, _ = questions(name, 12, **made_for)
    made.write(file)
    read = samples_of(RunOptions(name, dataset=file, options=texts))
    assert len(read.samples) == len(made.samples)
    family = load_family(name)
    return read, family.make_task("default", family.read_options(texts), read.tables_by_digest)


@pytest.mark.parametrize("name", ["tempreason", "timeqa"])
@pytest.mark.parametrize("made_for", SHOWN)
@pytest.mark.parametrize("asked", [None, *SHOWN])
def test_questions_are_asked_as_made_unless_the_option_says_otherwise(
    tmp_path, name, made_for, asked
):
    texts = () if asked is None else (f"setting={asked}",)
    read, task = asked_anew(tmp_path / "set.jsonl", name, *texts, setting=made_for)
    for sample in read.samples:
        prompt = task.prompt(sample, BASE)[0].content
        assert ("Context:" in prompt) is ((asked or made_for) != "closed-book")
        assert sample.context(asked or made_for) in prompt
    count = len(read.samples)
    line = (
        f"{count} of {count} questions were made for setting={made_for} and are asked with "
        f"setting={asked}; --option setting={made_for} asks as they were made"
    )
    assert read.notes == (() if asked in (None, made_for) else (line,))


@pytest.mark.parametrize("made_for", ["open", "closed"])
@pytest.mark.parametrize("asked", [None, "open", "closed"])
def test_a_table_s_questions_remember_their_book(tmp_path, made_for, asked):
    texts = () if asked is None else (f"book={asked}",)
    read, task = asked_anew(tmp_path / "set.jsonl", "tdbench", *texts, book=made_for, rows=40)
    shows = " | " in task.prompt(read.samples[0], BASE)[0].content
    assert shows is ((asked or made_for) == "open")
    assert bool(read.notes) is (asked not in (None, made_for))


def test_a_tie_break_of_the_gold_is_remembered_too(tmp_path):
    own = {"ties": "nearest", "levels": ("L3",)}
    (line,) = asked_anew(tmp_path / "a.jsonl", "tempreason", **own)[0].notes
    assert line.endswith(
        "for ties=nearest and are asked with ties=all; --option ties=nearest asks as they were made"
    )
    assert asked_anew(tmp_path / "b.jsonl", "tempreason", "ties=nearest", **own)[0].notes == ()


def test_what_is_to_be_looked_up_is_not_asked_without_a_web_in_silence(tmp_path):
    table = tmp_path / "intervals.csv"
    rows = "".join(f"P,plays_for,Club {n},{1990 + n}-03-05,{1991 + n}-06-07\n" for n in range(5))
    table.write_text(f"subject,relation,object,start,end\n{rows}")
    made, open_web = questions("tempreason", 12, setting="open-web", intervals=table)
    _, task = questions("tempreason")
    assert "Context" not in task.prompt(made.samples[0], WEB)[0].content
    with pytest.raises(ConfigError, match="was made to be looked up: write --condition web, or"):
        task.prompt(made.samples[0], BASE)
    assert open_web.prompt(made.samples[0], BASE)


@pytest.mark.parametrize(
    ("name", "options", "condition", "is_stated"),
    [
        ("tempreason", {"setting": "reasonqa"}, "base", True),
        ("tempreason", {"setting": "reasonqa"}, "web", True),
        ("tempreason", {"setting": "closed-book"}, "base", False),
        ("tempreason", {"setting": "closed-book", "levels": ["L1"]}, "base", True),
        ("tdbench", {}, "base", True),
        ("tdbench", {"book": "closed"}, "base", False),
        ("tdbench", {}, "sql", False),
        ("traveler", {}, "base", True),
        ("traveler", {}, "events", False),
        ("traveler", {}, "python", False),
        ("temp-answers", {}, "python", True),
    ],
)
def test_a_prompt_states_its_evidence_where_no_tool_has_it(name, options, condition, is_stated):
    made, task = questions(name, **options)
    assert task.analysis.states_evidence(made.samples[0], parse_condition(condition)) is is_stated
