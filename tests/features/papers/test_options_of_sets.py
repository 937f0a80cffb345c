"""Options of a reproduction by its sets of questions."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.papers.questions import QuestionSets
from agent_env.features.papers.timed_facts.reproduction import PAPER


def sets(tmp_path, *texts):
    return QuestionSets(PAPER, (), {"options": texts}, tmp_path)


NEAREST, ALL = ["ties=nearest"], ["ties=all"]


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([], ([], [], [])),
        (["timeqa:setting=open-book"], ([], [], ["setting=open-book"])),
        (["l3:ties=nearest"], ([], NEAREST, [])),
        (NEAREST, (NEAREST, NEAREST, NEAREST)),
        (["ties=all", "l3:ties=nearest"], (ALL, NEAREST, ALL)),
        (["l3:ties=nearest", "ties=all"], (ALL, NEAREST, ALL)),
        (["l2:kinds=team", "l3:kinds=coach"], (["kinds=team"], ["kinds=coach"], [])),
        (["intervals=a:b.csv"], (["intervals=a:b.csv"],) * 3),
        (["l2:intervals=C:/x=y.csv"], (["intervals=C:/x=y.csv"], [], [])),
    ],
)
def test_an_option_that_names_questions_is_of_these_alone(tmp_path, texts, options):
    own = sets(tmp_path, *texts)
    assert tuple(list(own.options_of(name)) for name in ("l2", "l3", "timeqa")) == options


def test_what_the_paper_sets_for_several_is_changed_by_name(tmp_path):
    message = (
        r"--option setting=open-book: the paper says it for each of l2, l3, timeqa, table5, table6;"
        r" name the questions that are to differ, such as --option table6:setting=open-book"
    )
    with pytest.raises(ConfigError, match=message):
        sets(tmp_path, "setting=open-book").check_options(PAPER.setups)
    of_timeqa = [setup for setup in PAPER.setups if setup.questions == "timeqa"]
    sets(tmp_path, "setting=open-book").check_options(of_timeqa)
    sets(tmp_path, "timeqa:setting=open-book", "ties=nearest").check_options(PAPER.setups)
    with pytest.raises(ConfigError, match="there are no questions 'l4'; names: l2, l3, timeqa"):
        sets(tmp_path, "l4:ties=nearest")
    assert {setup.run.options for setup in PAPER.setups} == {("setting=reasonqa",)}
