"""The shortcuts of a task: what they answer, and that they see no gold."""

import pytest

from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.tasks.shortcut_scores import answered_by
from tests.families.tdbench.leaders import TABLE, current, hops, question

TABLES = {TABLE.digest: TABLE}
GROUP = ((0, 1, 2, 3),)


@pytest.mark.parametrize(
    ("sample", "right"),
    [
        (question(1, relevant=GROUP), {"oracle"}),
        (question(relevant=GROUP), {"constant", "oracle"}),
        (current().model_copy(update={"relevant": GROUP}), {"latest-row", "oracle"}),
        (hops().model_copy(update={"relevant": GROUP}), {"oracle"}),
    ],
)
def test_a_question_is_solved_by_these_only(sample, right):
    task = make_task("default", TdbenchOptions(), TABLES)
    solved = {
        shortcut.name
        for shortcut in task.shortcuts
        for _, _, score in answered_by(task, shortcut, [sample])
        if score.metrics["answer"] == 1
    }
    assert solved - {"random-row", "ignore-entity"} == right
