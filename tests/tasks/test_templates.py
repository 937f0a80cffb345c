"""A user's own words around the questions."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.time_puzzles.task import make_task
from agent_env.features.facts.event_facts import SCREEN
from agent_env.records.schema import Message
from agent_env.tasks import templates
from agent_env.tasks.conditions import parse_condition
from agent_env.testing import puzzle

BASE = parse_condition("base")


def own(tmp_path, text):
    file = tmp_path / "own.txt"
    file.write_text(text)
    return templates.read_text_file(file)


def test_the_line_end_of_a_file_is_not_sent(tmp_path):
    kept = own(tmp_path, "Q {constraints}\n\nGo on. \n\n")
    assert kept.text == "Q {constraints}\n\nGo on. "
    assert kept.digest == own(tmp_path, "Q {constraints}\n\nGo on. ").digest


def test_templates_word_what_they_can(tmp_path):
    task = templates.with_template(make_task(), own(tmp_path, "Q {constraints} {{A}}"))
    (asked,) = task.prompt(puzzle(), BASE)
    assert asked == Message(
        role="user",
        content="Q - The year is the same as that of the first day of the Falklands War. {A}",
    )
    turns = templates.example_turns(task)
    assert [m.role for m in turns(puzzle(), BASE)] == ["user", "assistant", "user", "assistant"]
    assert turns(puzzle(), BASE)[0].content.startswith("Q - The year is between 1996 and 2003")
    assert templates.fill("{a} {{a}} {b}", {"a": "{b}", "b": "}}"}) == "{b} {a} }}"
    task = templates.with_system(make_task(), own(tmp_path, "Be careful."))
    assert [m.role for m in task.prompt(puzzle(), BASE)] == ["system", "user"]
    (tmp_path / "own.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        templates.read_text_file(tmp_path / "own.txt")
    with pytest.raises(ConfigError, match="task event-screen takes no prompt of your own"):
        templates.with_template(
            SCREEN.make_task("default", SCREEN.options(), {}), own(tmp_path, "x")
        )
    assert templates.example_turns(SCREEN.make_task("default", SCREEN.options(), {})) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{constraint}", r"unknown placeholder \{constraint\}; known: \{constraints\}, \{first\}"),
        ("nothing", r"placeholder \{constraints\} is missing; known: \{constraints\}"),
        (" \n", "is empty"),
    ],
)
def test_a_template_that_cannot_be_is_named_with_what_is_known(tmp_path, text, reason):
    with pytest.raises(ConfigError, match=rf"own\.txt:? {reason}"):
        templates.with_template(make_task(), own(tmp_path, text))
