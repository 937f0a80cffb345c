"""Which prompts hold all that answers their question."""

import pytest

from agent_env.registry import Plugins
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.family import by_digest
from agent_env.wiring.registry import FAMILIES


@pytest.mark.parametrize(
    ("name", "options", "condition", "is_stated"),
    [
        ("tempreason", ["setting=reasonqa"], "base", True),
        ("tempreason", ["setting=reasonqa"], "web", True),
        ("tempreason", ["setting=closed-book"], "base", False),
        ("tempreason", ["setting=closed-book", "levels=L1"], "base", True),
        ("tdbench", [], "base", True),
        ("tdbench", ["book=closed"], "base", False),
        ("tdbench", [], "sql", False),
        ("traveler", [], "base", True),
        ("traveler", [], "events", False),
        ("traveler", [], "python", False),
        ("temp-answers", [], "python", True),
    ],
)
def test_a_prompt_states_its_evidence_where_no_tool_has_it(name, options, condition, is_stated):
    family = Plugins().find(FAMILIES, name)
    chosen = family.read_options(options)
    found = family.make_samples(1, 1, chosen)
    task = family.make_task("default", chosen, by_digest(found.tables))
    (sample,) = found.samples
    assert task.analysis.states_evidence is not None
    assert task.analysis.states_evidence(sample, parse_condition(condition)) is is_stated
