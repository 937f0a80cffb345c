"""Faults as a user names them, and those that no call could have."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.evidence import WORLD
from agent_env.features.evidence.options import ATTACKS, fault_levels, worlds
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.conditions import parse_conditions
from agent_env.tasks.modifiers import Axis, grid

CONDITIONS = parse_conditions(["web+cal+python"])


def test_a_text_names_tools_servers_and_levels():
    (level,) = fault_levels(["cal=wrong:0.1,web=error:0.2"], CONDITIONS)
    assert level.suffix == "faults"
    assert [(f.tool, f.kind, f.rate) for f in level.faults] == [
        ("calendars", "wrong", 0.1),
        ("web_search", "error", 0.2),
        ("open_page", "error", 0.2),
    ]

    def suffixes(*texts):
        return [each.suffix for each in fault_levels(texts, CONDITIONS)]

    assert suffixes("python=empty:0.1,python=stale:0.2", "python=empty:0.05") == [
        "faults-0.3",
        "faults-0.05",
    ]
    assert suffixes("python=empty:0.1", "python=stale:0.1") == ["faults-1", "faults-2"]
    own = tuple(ToolTraits(name=f"t{n}", source=f"mcp:srv/t{n}") for n in (1, 2))
    condition = Condition(name="mcp:srv", tools=("t1", "t2"), own_tools=own)
    (level,) = fault_levels(["mcp:srv=stale:0.5"], [condition])
    assert [f.tool for f in level.faults] == ["t1", "t2"]
    with pytest.raises(ConfigError, match="runs at the provider"):
        fault_levels(["web_search=error:0.1"], CONDITIONS, is_hosted=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sql=error:0.1", "no condition has the tool 'sql'; they have web_search, open_page"),
        ("python=slow:0.1", "unknown kind 'slow'; write one of error, timeout,"),
        ("python=error:1.2", "rate '1.2'; write TOOL=KIND:RATE with 0 < RATE <= 1"),
        ("python=error", "rate ''; write TOOL=KIND:RATE"),
        ("python=error:nan", "rate 'nan'"),
        ("python=error:0.7,python=empty:0.4", "the rates of python sum to 1.1; at most 1"),
        ("cal=crash:0.1", "calendars runs no program that could crash; write error"),
        ("web_search=other:0.1", "web_search opens no page by its address"),
    ],
)
def test_faults_that_no_call_could_have_are_refused(text, message):
    with pytest.raises(ConfigError) as refusal:
        fault_levels([text], CONDITIONS)
    assert message in str(refusal.value)


def test_attacks_that_no_page_could_make_are_refused():
    with pytest.raises(ConfigError, match="--attack phishing: write one of instruction, false-pa"):
        worlds("--attack", ["phishing"], ATTACKS, "attacked-")
    (attack,) = worlds("--attack", ["false-page"], ATTACKS, "attacked-")
    axis = Axis(WORLD, (attack,), "--attack")
    with pytest.raises(ConfigError, match="no condition can be ~attacked-false-page: 'python': it"):
        grid(parse_conditions(["python"]), [axis])
