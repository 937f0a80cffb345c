"""How questions are put: the order of the parts, the worked example, and who can be asked so."""

import asyncio
import json

import pytest

from agent_env.families.timed_facts.family import TEMPREASON
from agent_env.families.timed_facts.generating import TimedOptions
from agent_env.families.timed_facts.score import score
from agent_env.families.timed_facts.task import make_task
from agent_env.features.extraction.extraction import read_extraction
from agent_env.features.extraction.solver import TIES, Fact, Query, solve
from agent_env.features.extraction.strategies import ORDERS
from agent_env.records.schema import Condition
from tests.families.timed_facts.asking import REFERENCE, ask, episode

OPTIONS = TEMPREASON.options.model_validate({"levels": ("L2",)})
TASK = TEMPREASON.make_task("default", OPTIONS, {})
SAMPLES = TEMPREASON.make_samples(2, 1, OPTIONS).samples


def asked(strategy, number=0):
    return TASK.prompt(SAMPLES[number], Condition(name="base", strategy=strategy))


def printed(program):
    """What the program of a reply prints, line by line."""
    lines = []
    exec(program.removeprefix("```python\n").removesuffix("\n```"), {"print": lines.append})
    return lines


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("standard", ("Context:", "Question:", "Answer:")),
        ("cot-qcra", ("Question:", "Context:", "Reasoning:", "Answer:")),
        ("cot-cqra", ("Context:", "Question:", "Reasoning:", "Answer:")),
        ("cot-qcar", ("Question:", "Context:", "Answer:", "Reasoning:")),
        ("cot-cqar", ("Context:", "Question:", "Answer:", "Reasoning:")),
    ],
)
def test_parts_stand_in_the_order_of_the_papers_name(strategy, order):
    (message,) = asked(strategy)
    places = [message.content.index(part) for part in order]
    assert places == sorted(places)


@pytest.mark.parametrize("strategy", ORDERS)
def test_one_worked_example_comes_first_where_it_is_wished(strategy):
    example, answered, own = asked(f"{strategy}-1shot")
    assert (example.role, answered.role, own.role) == ("user", "assistant", "user")
    assert own == asked(strategy)[0]
    assert "Alda Venn" in example.content
    assert "{" not in answered.content.replace('{"', "").replace("{\n", "")


def test_worked_examples_tie_breaks_and_contexts_are_right():
    _, answered, _ = asked("extract-run-1shot", 1)
    found = read_extraction(answered.content)
    _, said, _ = asked("standard-1shot", 1)
    assert all(name in said.content for name in solve(found.facts, found.query).answers)
    _, answered, _ = TASK.prompt(L1, Condition(name="base", strategy="extract-run-1shot"))
    found = read_extraction(answered.content)
    assert solve(found.facts, found.query).answers == ("Jan, 1992",)
    _, program, _ = TASK.prompt(L1, Condition(name="base", strategy="code-run-1shot"))
    assert printed(program.content) == ["Jan, 1992"]
    chosen = TEMPREASON.options.model_validate({"levels": ("L3",), "ties": "nearest"})
    (sample,) = TEMPREASON.make_samples(1, 1, chosen).samples
    (message,) = TEMPREASON.make_task("default", chosen, {}).prompt(sample, Condition(name="base"))
    assert "the one meant is the last to end before, or the first to end after" in message.content
    (plain,) = TASK.prompt(sample, Condition(name="base"))
    assert "begin in the same month" not in plain.content


L1 = TASK.sample_type(
    id="s", task="tempreason", gold=("Mar, 0998",), level="L1", cell="L1-single",
    question="What is the time 5 years and 4 months before Jul, 1003?",
)  # fmt: skip


@pytest.mark.parametrize("strategy", [*ORDERS, "extract-run-1shot", "cot-qcar-1shot"])
def test_a_question_of_time_and_time_is_asked_without_facts(strategy):
    """`code-run` has the program, which a sandbox would run, in the reply."""
    if strategy == "code-run":
        (prompt,) = TASK.prompt(L1, Condition(name="python", strategy=strategy))
        reply = asyncio.run(REFERENCE.generate([prompt], ()))
        finished = episode(f"Answer: {printed(reply.message.content)[0]}")
    else:
        finished = ask(TASK, L1, strategy)
    assert not any("facts of the" in m.content or "Alda" in m.content for m in finished.messages)
    assert score(L1, finished).metrics["sem"] == 1.0


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("relation", "name"), [("before", "Quay Town"), ("after", "Vell Rovers")])
def test_a_program_follows_the_tie_break_of_its_prompt(ties, relation, name):
    spells = (
        ("Vell Rovers", "1990-01", "1993-01"),
        ("Ostrel F.C.", "1993-03", "1995-01"),
        ("Marn United", "1993-03", None),
        ("Quay Town", "2000-02", "2005-12"),
    )
    facts = tuple(
        Fact(topic="Ada Lorn", kind="team", value=value, start=start, end=end)
        for value, start, end in spells
    )
    question = f"Which team did Ada Lorn play for {relation} {name}?"
    own = {"question": question, "level": "L3", "facts": facts, "gold": ("x", "y")}
    task = make_task("tempreason", "either", TimedOptions(), ties=ties)
    asked = Condition(name="python", strategy="code-run")
    (prompt,) = task.prompt(L1.model_copy(update=own), asked)
    reply = asyncio.run(REFERENCE.generate([prompt], ()))
    answers = solve(facts, Query(relation, name), ties=ties).answers
    assert json.loads(printed(reply.message.content)[0]) == list(answers)
    assert len(answers) == (2 if ties == "all" else 1)
