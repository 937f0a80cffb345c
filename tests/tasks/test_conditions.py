"""Conditions by name."""

import re
from pathlib import Path

import pytest

import agent_env
from agent_env.errors import ConfigError
from agent_env.features.agents import AGENT
from agent_env.features.evidence import WORLD
from agent_env.records.disturbance import Disturbance, Fault
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import AgentUse, ToolTraits
from agent_env.tasks.conditions import parse_condition, parse_conditions, with_first_steps
from agent_env.tasks.modifiers import FIRST_STEP, FORMAT, Axis, grid, with_modifier

SERVERS = {
    "convert": ToolTraits(name="convert", source="mcp:time/convert"),
    "time_now": ToolTraits(name="time_now", source="mcp:time/now"),
    "db_now": ToolTraits(name="db_now", source="mcp:db/now"),
}
MANY = {f"t{n}": ToolTraits(name=f"t{n}", source=f"mcp:big/t{n}") for n in range(500)}
WEB = ("web_search", "open_page")


@pytest.mark.parametrize(
    ("text", "name", "tools"),
    [
        ("base", "base", ()),
        ("explicit", "explicit", ()),
        ("web", "web", WEB),
        ("cal+web", "web+cal", (*WEB, "calendars")),
        ("explicit+python", "explicit+python", ("python",)),
        ("python+explicit-paper", "explicit-paper+python", ("python",)),
        ("web-once", "web-once", WEB),
        ("python+cited", "cited+python", ("python",)),
        ("cal+cited:gpt-5.1", "cited:gpt-5.1+cal", ("calendars",)),
        ("python+web~auto", "web+python~auto", (*WEB, "python")),
        ("python+web_search", "python+web_search", ("python", "web_search")),
    ],
)
def test_a_name_says_wording_tools_and_strategy_in_one_order(text, name, tools):
    wording = next((p for p in text.split("+") if p.startswith("explicit")), "implicit")
    strategy = "one-round" if text == "web-once" else "tool-loop"
    made = parse_condition(text)
    assert (made.name, made.wording, made.tools, made.strategy) == (name, wording, tools, strategy)
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


PAGES = {
    "cited": ("", "condition 'cited' needs its pages: --cited-from FILE"),
    "cited:a": ("", "condition 'cited:a' needs its pages: --cited-from a=FILE"),
    "cited:b": ("cited:a", "condition 'cited:b' needs its pages: --cited-from b=FILE"),
    "base": ("cited", "no condition uses --cited-from FILE; add --condition cited"),
    "cited:a cal": ("cited:a cited:b", "no condition uses --cited-from b=FILE"),
    "cited cited:a": ("cited:a", "a condition is named twice"),
}
NAMES = {
    "wbe": "unknown condition 'wbe': no part 'wbe'; join these by +: base, facts, explicit, expl",
    "web+": "no part ''",
    "web+web": "names a part twice",
    "base+python": "base means without anything",
    "web+web-once": "web and web-once exclude each other",
    "explicit+explicit-paper": "explicit and explicit-paper exclude each other",
    "web+cited": "cited gives the pages that web would look for, so they exclude each other",
    "cited:a+web-once": "cited gives the pages that web-once would look for",
    "cited:a+cited:b": "only one set of cited pages at a time",
    "cited:": "no part 'cited:'",
    "cited:a/b": "no part 'cited:a/b'",
    "python:a": "no part 'python:a'",
    "web+web_search": "'web+web_search' has the tool web_search twice",
    "web~maybe": "no modifier 'maybe'; known: required, auto, none, blocked, shifted, attacked-",
    "base~auto": "condition 'base~auto': it offers no tools, so it has no choice",
    "web~auto~auto": "auto and auto both say its first step; take one out",
    "web~on-1995-06-01~on-1996-06-01": "on-1995-06-01 and on-1996-06-01 both say its today",
    "web~faults": "~faults does not say which faults; add them by --faults",
    "web~attacked-x": "~attacked-x: write attacked- and one of instruction, false-page",
    "web~by-../x": "name an agent; --agent takes files and commands, too",
    "python~shifted": "it does not read our web",
    "~auto": "no part ''",
}
FIRST_STEPS = {
    "never": "--first-step never: write required, auto, none or both",
    "web=": "--first-step web=: write required, auto, none or both",
    "cal=none": "the run has no such condition, but base, web",
    "wbe=none": "unknown condition 'wbe'",
    "base=auto": "'base': it offers no tools, so it has no choice",
}
TWICE = {
    "both": "'web~auto' is there twice by --first-step both",
    "web~auto=none": "the name says its choice already",
}
OF_SERVERS = {
    "mcp:clock": "there is no MCP server 'clock'; known: mcp:time, mcp:db; name it by --mcp",
    "mcp:time/x mcp:db": "the MCP server time offers no tool 'x'; it offers convert, tim",
    "mcp:time+mcp:time/now": "has the tool time_now twice",
    "mcp:time": "no condition uses mcp:db; add --condition mcp:db",
}


def choose(names, step):
    return with_first_steps(parse_conditions(names), [step])


@pytest.mark.parametrize(
    ("make", "given", "reason"),
    [
        *((parse_condition, (name,), reason) for name, reason in NAMES.items()),
        *(
            (parse_conditions, (names.split(), given.split()), reason)
            for names, (given, reason) in PAGES.items()
        ),
        *((choose, (["base", "web"], step), reason) for step, reason in FIRST_STEPS.items()),
        *((choose, (["web", "web~auto"], step), reason) for step, reason in TWICE.items()),
        *(
            (parse_conditions, (names.split(), (), SERVERS), reason)
            for names, reason in OF_SERVERS.items()
        ),
        (parse_condition, ("mcp:big", MANY), "big offers 500 tools, and models take at most 128"),
    ],
)
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
    by_agent = with_modifier(
        parse_condition("web"), AGENT, AgentUse(name="some", command=("some",))
    )
    assert (by_agent.name, with_first_steps([by_agent], ())) == ("web~by-some", (by_agent,))
    with pytest.raises(ConfigError, match="'web~by-some~schema': answer formats are of our own"):
        with_modifier(by_agent, FORMAT, "schema")


def test_one_file_alone_splits_and_joins_names_at_the_tilde():
    at_tilde = re.compile(r"""\.r?(split|partition)\(["']~|["']~["']\.join|["']~["'] (not )?in\b""")
    package = Path(agent_env.__file__).parent
    using = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if at_tilde.search(file.read_text())
    }
    assert using == {"tasks/features.py"}
