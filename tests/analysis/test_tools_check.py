"""Whether tools arrived, told from the episodes alone; what nobody knows is None."""

import pytest

from agent_env.analysis import tools_check
from agent_env.analysis.study import Arm, observe, served_notice, with_mark
from agent_env.records.manifest import Preflight
from agent_env.records.schema import Condition, Score
from tests.ended import ended
from tests.ended import manifest as plain_manifest
from tests.tables import tables

BASE = Condition(name="base")
WEB = Condition(name="web", tools=("web_search",), first_step="required")
SPELLED = Condition(name="explicit", wording="explicit")
CALL = '<tool_call>{"name": "web_search", "arguments": {}}</tool_call>'


def manifest(*conditions, **fields):
    return plain_manifest(conditions=conditions, model="compatible/smollm2", **fields)


def episode(condition, sample, tokens, **fields):
    seen = {"first_input_tokens": tokens, "tools": condition.tools} | fields
    return ended(sample=sample, condition=condition.name, **seen)


def arms_of(run, episodes):
    scores = [
        Score(sample=each.sample, condition=each.condition, repeat=1, outcome="read")
        for each in episodes
    ]
    seen = {
        name: tuple(
            observe(e, s) for e, s in zip(episodes, scores, strict=True) if e.condition == name
        )
        for name in (condition.name for condition in run.conditions)
    }
    return [
        Arm(
            with_mark(each.name, run.problems), "r", run.model, each, seen[each.name],
            asked=len(episodes), problem=run.problems.get(each.name),
        )
        for each in run.conditions
    ]  # fmt: skip


def told(*episodes, run=None):
    arms = arms_of(run or manifest(BASE, WEB), episodes)
    return [row for _, row in tools_check.tools_checks(arms)]


def test_tokens_are_compared_with_the_bare_condition():
    counts = [("a", 500), ("a", 520), ("b", 610), ("c", 9000), ("d", None)]
    bare = episode(BASE, "a", 100), episode(BASE, "b", 200)
    (row,) = told(*bare, *(episode(WEB, *each) for each in counts))
    assert (row.added_input_tokens, row.pairs) == (410.0, 2)
    (row,) = told(episode(BASE, "a", None), episode(WEB, "a", 500))
    assert (row.added_input_tokens, row.pairs) == (None, 0)
    (row,) = told(episode(WEB, "a", 500), run=manifest(SPELLED, WEB))
    assert row.added_input_tokens is None
    spelled_web = Condition(name="explicit+web", wording="explicit", tools=("web_search",))
    cited = Condition(name="cited", context="cited")
    cited_ci = Condition(name="cited+python", context="cited", tools=("python",))
    known = (BASE, WEB, SPELLED, spelled_web, cited, cited_ci)
    arms = arms_of(manifest(*known), ())
    bare = [tools_check.bare_of(arms[place], arms) for place in (1, 3, 5)]
    assert [arm.condition for arm in bare] == [BASE, SPELLED, cited]


def test_calls_are_counted_and_the_table_says_what_is_wrong():
    (row,) = told(
        episode(WEB, "a", 1, tool_calls=2, required_call=True),
        episode(WEB, "b", 1, hosted_calls=1, required_call=True),
        episode(WEB, "c", 1, required_call=False, answer=CALL),
        episode(WEB, "d", 1),
    )
    assert (row.called, row.episodes, row.obeyed, row.required) == (2, 4, 2, 3)
    assert (row.calls_in_text, row.forms) == (1, ("<tool_call>",))
    used = [episode(WEB, str(n), 9, tool_calls=1) for n in range(2)]
    idle = [episode(WEB, str(n), 9) for n in range(2, 5)]
    run = manifest(BASE, WEB)
    for episodes, notes in (
        (used, []),
        ([*used, *idle], ["only 2 of 5 episodes under web called a tool"]),
        (idle, ["no episode under web called a tool, so nothing is said about its tools"]),
    ):
        assert list(tools_check.unused_tools(arms_of(run, episodes))) == notes
    check = {"condition": "web", "problem": "the server drops its tools"}
    tried = {"at": "", "model": "compatible/smollm2", "conditions": [check]}
    alike = [episode(BASE, "a", 31), episode(WEB, "a", 31)]
    made = arms_of(manifest(BASE, WEB, preflights=[tried]), alike)
    table = tools_check.tools_check_table(tools_check.tools_checks(made))
    (row,) = table.rows
    cells = [column.text(cell) for cell, column in zip(row, table.columns, strict=True)]
    assert cells == ["web (!)", "required", "+0", "0.00", "–", "0"]
    (problem,) = tools_check.tools_problems(made)
    assert problem == "web (!): cannot mean anything: the server drops its tools."
    assert [column.name for column in table.without_empty().columns][-1] == "with a call"
    (problem,) = tools_check.tools_problems(arms_of(run, alike))
    alike = "the first calls had no more input tokens than without tools"
    assert problem == f"web: {alike}; the server may drop them."


@pytest.mark.parametrize("case", tables(__file__)["served"])
def test_another_model_is_said(case):
    tried = Preflight(at="", model="compatible/smollm2", served_model=case.get("before"))
    seen = list(map(tuple, case["seen"]))
    assert served_notice(manifest(BASE, preflights=(tried,)), seen) == case.get("notice")
