"""Faults as a user names them, and those that no call could have."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.evidence.options import fault_levels
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.conditions import parse_conditions

CONDITIONS = parse_conditions(["web+cal+python"])


def test_a_text_names_tools_servers_and_levels():
    (level,) = fault_levels(["cal=wrong:0.1,web=error:0.2"], CONDITIONS)
    tools = [("calendars", "wrong", 0.1), ("web_search", "error", 0.2), ("open_page", "error", 0.2)]
    assert (level.suffix, [(f.tool, f.kind, f.rate) for f in level.faults]) == ("faults", tools)
    for texts, suffixes in (
        (["python=empty:0.1,python=stale:0.2", "python=empty:0.05"], ["faults-0.3", "faults-0.05"]),
        (["python=empty:0.1", "python=stale:0.1"], ["faults-1", "faults-2"]),
    ):
        assert [each.suffix for each in fault_levels(texts, CONDITIONS)] == suffixes
    own = tuple(ToolTraits(name=f"t{n}", source=f"mcp:srv/t{n}") for n in (1, 2))
    condition = Condition(name="mcp:srv", tools=("t1", "t2"), own_tools=own)
    (level,) = fault_levels(["mcp:srv=stale:0.5"], [condition])
    assert [f.tool for f in level.faults] == ["t1", "t2"]
    with pytest.raises(ConfigError, match="runs at the provider"):
        fault_levels(["web_search=error:0.1"], CONDITIONS, is_hosted=True)
