"""Conditions by name."""

import re

import pytest

from agent_env.errors import ConfigError
from agent_env.features.agents import AGENT
from agent_env.features.evidence import WORLD
from agent_env.records.disturbance import Disturbance, Fault
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import AgentUse, ToolTraits
from agent_env.tasks.conditions import parse_condition, parse_conditions, with_first_steps
from agent_env.tasks.modifiers import FIRST_STEP, FORMAT, Axis, grid, with_modifier
from tests import ROOT
from tests.tables import tables

SERVERS = {
    "convert": ToolTraits(name="convert", source="mcp:time/convert"),
    "time_now": ToolTraits(name="time_now", source="mcp:time/now"),
    "db_now": ToolTraits(name="db_now", source="mcp:db/now"),
}
MANY = {f"t{n}": ToolTraits(name=f"t{n}", source=f"mcp:big/t{n}") for n in range(500)}
WEB = ("web_search", "open_page")
CASES = tables(__file__)


@pytest.mark.parametrize(("text", "name", "tools"), CASES["named"])
def test_a_name_says_wording_tools_and_strategy_in_one_order(text, name, tools):
    wording = next((p for p in text.split("+") if p.startswith("explicit")), "implicit")
    strategy = "one-round" if text == "web-once" else "tool-loop"
    made = parse_condition(text)
    assert (made.name, made.tools) == (name, tuple(tools))
    assert (made.wording, made.strategy) == (wording, strategy)
    assert made.context == next((p for p in name.split("+") if p.startswith("cited")), None)
    assert made.first_step == "auto"
    assert "own_tools" not in made.model_dump()  # of built-in tools it is stored as before
    assert Condition.model_validate_json(made.model_dump_json()) == made


def test_names_that_stand_for_others():
    assert parse_condition("python+calendars") == parse_condition("cal+python")
    assert parse_condition("query_events").name == "events"
    made = parse_conditions(["base", "cited", "python+cited"], ["cited:a", "cited:b"])
    names = [condition.name for condition in made]
    assert names == ["base", "cited:a", "cited:b", "cited:a+python", "cited:b+python"]
    assert [c.name for c in parse_conditions(["cited"], ["cited"])] == ["cited"]
    made = parse_conditions(["cited~schema"], ["cited:a", "cited:b"])
    assert [each.name for each in made] == ["cited:a~schema", "cited:b~schema"]
    whole = parse_condition("mcp:time+web", SERVERS)
    assert (whole.name, whole.tools) == ("web+mcp:time", (*WEB, "convert", "time_now"))
    assert [traits.source for traits in whole.own_tools] == ["mcp:time/convert", "mcp:time/now"]
    for text in ("mcp:time/now", "mcp:time/time_now", "mcp:time.time_now"):
        one = parse_condition(text, SERVERS)
        assert (one.name, one.tools) == ("mcp:time.time_now", ("time_now",))
    assert parse_condition("mcp:big/t7+mcp:big/t8", MANY).tools == ("t7", "t8")


def choose(names, step):
    return with_first_steps(parse_conditions(names), [step])


REFUSED = [
    *((parse_condition, [name], why) for name, why in CASES["names"].items()),
    *((parse_conditions, [a.split(), b.split()], why) for a, (b, why) in CASES["pages"].items()),
    *((choose, [["base", "web"], step], why) for step, why in CASES["first_steps"].items()),
    *((choose, [["web", "web~auto"], step], why) for step, why in CASES["twice"].items()),
    *((parse_conditions, [a.split(), (), SERVERS], why) for a, why in CASES["of_servers"].items()),
    (parse_condition, ["mcp:big", MANY], "big offers 500 tools, and models take at most 128"),
]


@pytest.mark.parametrize(("make", "given", "reason"), REFUSED)
def test_what_cannot_be_says_what_is_wrong(make, given, reason):
    with pytest.raises(ConfigError) as caught:
        make(*given)
    assert reason in str(caught.value)


def test_each_condition_with_tools_has_the_first_step_that_is_asked_of_it():
    conditions = parse_conditions(["base", "web", "python", "web+python"])

    def steps(*asked):
        return [c.first_step for c in with_first_steps(conditions, asked)]

    assert steps() == ["auto", "required", "required", "required"]
    assert steps("none") == ["auto", "none", "none", "none"]
    assert steps("python+web=none", "web=auto") == ["auto", "auto", "required", "none"]
    assert steps("python=required", "auto") == ["auto", "auto", "required", "auto"]
    made = with_first_steps(conditions[:3], ["both", "python=none"])
    assert [(c.name, c.first_step) for c in made] == [
        ("base", "auto"), ("web", "required"), ("web~auto", "auto"), ("python", "none"),
    ]  # fmt: skip
    free = parse_condition("web~auto")
    assert with_first_steps([free], ["none"]) == (free,)


SHIFTED = Disturbance(suffix="shifted", ablation="shifted")


def worlds(conditions, *disturbances):
    return grid(conditions, [Axis(WORLD, disturbances, "--web-ablation")])


def formats(conditions, *names):
    return grid(conditions, [Axis(FORMAT, names, "--answer-format")])


def test_twins_differ_from_the_conditions_that_they_concern():
    faults = Disturbance(suffix="faults", faults=(Fault(tool="python", kind="crash", rate=0.1),))
    made = worlds(parse_conditions(["base", "web+python", "python"]), SHIFTED, faults)
    assert [(c.name, c.disturbance) for c in made] == [
        ("base", None), ("web+python", None), ("web+python~shifted", SHIFTED),
        ("web+python~faults", faults),
        ("python", None), ("python~faults", faults),
    ]  # fmt: skip
    first = formats(worlds(parse_conditions(["web"]), SHIFTED), "schema")
    then = worlds(parse_conditions(["web~schema"]), SHIFTED)
    assert [each.name for each in first] == ["web~schema", "web~shifted~schema"]
    assert first == then
    conditions = with_first_steps(parse_conditions(["web"]), ["both"])
    made = {each.name: each for each in formats(worlds(conditions, SHIFTED), "free", "schema")}
    assert len(made) == 8

    def twins(name, modifier):
        return [o for o in made if o != name and modifier.is_twin(made[name], made[o])]

    assert twins("web~auto~shifted~schema", WORLD) == ["web~auto~schema"]
    assert twins("web~auto~shifted~schema", FORMAT) == ["web~auto~shifted"]
    assert twins("web~auto~shifted~schema", FIRST_STEP) == ["web~shifted~schema"]


def test_a_condition_of_the_grid_can_be_typed_as_it_is_named():
    grid_of_two = formats(worlds(parse_conditions(["web~on-1995-06-01~auto"])), "free", "schema")
    shifted = formats(worlds(parse_conditions(["web~auto"]), SHIFTED), "free", "schema")
    for made in (*grid_of_two, *shifted):
        assert parse_condition(made.name) == made
    assert parse_condition("web~schema~shifted").name == "web~shifted~schema"
    with pytest.raises(ConfigError, match="those of no day; leave --web-ablation out"):
        parse_condition("web~shifted~on-1995-06-01")
    agent = AgentUse(name="some", command=("some",))
    by_agent = with_modifier(parse_condition("web"), AGENT, agent)
    assert (by_agent.name, with_first_steps([by_agent], ())) == ("web~by-some", (by_agent,))
    with pytest.raises(ConfigError, match="'web~by-some~schema': answer formats are of our own"):
        with_modifier(by_agent, FORMAT, "schema")


def test_one_file_alone_splits_and_joins_names_at_the_tilde():
    at_tilde = re.compile(r"""\.r?(split|partition)\(["']~|["']~["']\.join|["']~["'] (not )?in\b""")
    files = (ROOT / "agent_env").rglob("*.py")
    using = [file for file in files if at_tilde.search(file.read_text())]
    assert using == [ROOT / "agent_env/tasks/features.py"]
