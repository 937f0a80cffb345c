"""How questions are put: the order of the parts, the worked example, and who can be asked so."""

from __future__ import annotations

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tempreason.family import FAMILY
from agent_env.families.time_puzzles.task import make_task as time_puzzles
from agent_env.families.timed_facts.extraction import read_extraction
from agent_env.families.timed_facts.orders import ORDERS, STRATEGY_NAMES
from agent_env.families.timed_facts.solver import solve
from agent_env.graph.strategies import make_strategy
from agent_env.records.schema import Condition, Message

OPTIONS = FAMILY.options.model_validate({"levels": ("L2",)})
TASK = FAMILY.make_task("default", OPTIONS, {})
SAMPLES = FAMILY.make_samples(2, 1, OPTIONS).samples


def asked(strategy: str, number: int = 0) -> tuple[Message, ...]:
    return TASK.prompt(SAMPLES[number], Condition(name="base", strategy=strategy))


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
def test_parts_stand_in_the_order_of_the_papers_name(strategy: str, order: tuple[str, ...]) -> None:
    (message,) = asked(strategy)
    places = [message.content.index(part) for part in order]
    assert places == sorted(places)


@pytest.mark.parametrize("strategy", ORDERS)
def test_one_worked_example_comes_first_where_it_is_wished(strategy: str) -> None:
    example, answered, own = asked(f"{strategy}-1shot")
    assert (example.role, answered.role, own.role) == ("user", "assistant", "user")
    assert own == asked(strategy)[0]
    assert "Alda Venn" in example.content
    assert "{" not in answered.content.replace('{"', "").replace("{\n", "")


def test_the_worked_extraction_is_one_that_solves_the_worked_question() -> None:
    _, answered, _ = asked("extract-run-1shot", 1)
    found = read_extraction(answered.content)
    names = solve(found.facts, found.query).answers
    _, said, _ = asked("standard-1shot", 1)
    assert all(name in said.content for name in names)


def test_the_worked_program_prints_the_worked_answer() -> None:
    _, answered, _ = asked("code-run-1shot")
    code = answered.content.removeprefix("```python\n").removesuffix("\n```")
    printed: list[str] = []
    exec(code, {"print": printed.append})
    _, said, _ = asked("standard-1shot")
    assert said.content.removeprefix("Answer: ").strip('[]"') in printed[0]


def test_a_family_without_a_context_cannot_be_asked_so() -> None:
    task, condition = time_puzzles(), Condition(name="base", strategy="standard")
    with pytest.raises(ConfigError, match="unknown strategy 'standard'; known: tool-loop, "):
        make_strategy(condition, task.prompt, of_task=task.strategies)


def test_every_order_can_be_had_with_and_without_an_example() -> None:
    assert len(STRATEGY_NAMES) == 16
