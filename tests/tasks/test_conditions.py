"""Conditions by name."""

from __future__ import annotations

import pytest

from agent_env.errors import ConfigError
from agent_env.records.disturbance import Disturbance, Fault
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.conditions import (
    is_twin,
    parse_condition,
    parse_conditions,
    with_disturbances,
    with_first_steps,
    with_formats,
)


def test_parts_come_in_one_order_whatever_the_user_writes() -> None:
    assert parse_condition("ci+web").name == "web+ci"
    assert parse_condition("ci+web") == parse_condition("web+ci")


@pytest.mark.parametrize(
    ("name", "wording", "tools", "strategy"),
    [
        ("base", "implicit", (), "tool-loop"),
        ("explicit", "explicit", (), "tool-loop"),
        ("web", "implicit", ("web_search", "open_page"), "tool-loop"),
        ("web+cal", "implicit", ("web_search", "open_page", "calendars"), "tool-loop"),
        ("explicit+ci", "explicit", ("python",), "tool-loop"),
        ("explicit-paper+ci", "explicit-paper", ("python",), "tool-loop"),
        ("web-once", "implicit", ("web_search", "open_page"), "one-round"),
    ],
)
def test_a_name_says_wording_tools_and_strategy(
    name: str, wording: str, tools: tuple[str, ...], strategy: str
) -> None:
    condition = parse_condition(name)
    assert (condition.wording, condition.tools, condition.strategy) == (wording, tools, strategy)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "wbe",
            "unknown condition 'wbe': no part 'wbe'; join these by +: base, facts, explicit, expl",
        ),
        ("web+", "no part ''"),
        ("web+web", "names a part twice"),
        ("base+ci", "base means without anything"),
        ("web+web-once", "web and web-once exclude each other"),
        ("explicit+explicit-paper", "explicit and explicit-paper exclude each other"),
        ("web+cited", "cited gives the pages that web would look for, so they exclude each other"),
        ("cited:a+web-once", "cited gives the pages that web-once would look for"),
        ("cited:a+cited:b", "only one set of cited pages at a time"),
        ("cited:", "no part 'cited:'"),
        ("cited:a/b", "no part 'cited:a/b'"),
        ("ci:a", "no part 'ci:a'"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_condition(name)
    assert reason in str(caught.value)


def test_cited_bears_a_name_and_comes_before_tools() -> None:
    plain, named = parse_condition("ci+cited"), parse_condition("cal+cited:gpt-5.1")
    assert (plain.name, plain.context, plain.tools) == ("cited+ci", "cited", ("python",))
    assert (named.name, named.context) == ("cited:gpt-5.1+cal", "cited:gpt-5.1")
    assert parse_condition("web").context is None


def test_a_plain_cited_stands_for_every_set_of_pages() -> None:
    made = parse_conditions(["base", "cited", "ci+cited"], ["cited:a", "cited:b"])
    names = [condition.name for condition in made]
    assert names == ["base", "cited:a", "cited:b", "cited:a+ci", "cited:b+ci"]
    assert [c.name for c in parse_conditions(["cited"], ["cited"])] == ["cited"]


@pytest.mark.parametrize(
    ("names", "contexts", "reason"),
    [
        (["cited"], [], "condition 'cited' needs its pages: --cited-from FILE"),
        (["cited:a"], [], "condition 'cited:a' needs its pages: --cited-from a=FILE"),
        (["cited:b"], ["cited:a"], "condition 'cited:b' needs its pages: --cited-from b=FILE"),
        (["base"], ["cited"], "no condition uses --cited-from FILE; add --condition cited"),
        (["cited:a"], ["cited:a", "cited:b"], "no condition uses --cited-from b=FILE"),
        (["cited", "cited:a"], ["cited:a"], "a condition is named twice"),
    ],
)
def test_conditions_and_pages_must_belong_together(
    names: list[str], contexts: list[str], reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_conditions(names, contexts)
    assert reason in str(caught.value)


def test_both_first_steps_are_two_conditions_side_by_side() -> None:
    parsed = parse_conditions(["base", "web", "ci"])
    made = [(c.name, c.first_step) for c in with_first_steps(parsed, ["both", "ci=none"])]
    assert made == [
        ("base", "auto"), ("web", "required"), ("web~auto", "auto"), ("ci", "none"),
    ]  # fmt: skip


def test_a_name_may_say_the_first_steps_choice() -> None:
    free = parse_condition("ci+web~auto")
    assert (free.name, free.first_step) == ("web+ci~auto", "auto")
    assert free.tools == ("web_search", "open_page", "python")
    assert with_first_steps([free], ["none"]) == (free,)
    assert Condition.model_validate_json(free.model_dump_json()) == free


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("web~maybe", "after ~ write one of required, auto, none"),
        ("base~auto", "condition 'base~auto' offers no tools, so it has no choice"),
        ("web~auto~auto", "after ~ write one of"),
        ("~auto", "no part ''"),
    ],
)
def test_a_wrong_choice_behind_the_name_is_refused(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_condition(name)


def test_a_condition_is_not_made_twice_by_both() -> None:
    parsed = parse_conditions(["web", "web~auto"])
    with pytest.raises(ConfigError, match="'web~auto' is there twice by --first-step both"):
        with_first_steps(parsed, ["both"])
    with pytest.raises(ConfigError, match="the name says its choice already"):
        with_first_steps(parsed, ["web~auto=none"])


def test_each_condition_with_tools_has_the_first_step_that_is_asked_of_it() -> None:
    conditions = parse_conditions(["base", "web", "ci", "web+ci"])

    def steps(*asked: str) -> list[str]:
        return [c.first_step for c in with_first_steps(conditions, asked)]

    assert steps() == ["auto", "required", "required", "required"]
    assert steps("none") == ["auto", "none", "none", "none"]
    assert steps("ci+web=none", "web=auto") == ["auto", "auto", "required", "none"]
    assert steps("ci=required", "auto") == ["auto", "auto", "required", "auto"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("never", "--first-step never: write required, auto, none or both"),
        ("web=", "--first-step web=: write required, auto, none or both"),
        ("cal=none", "the run has no such condition, but base, web"),
        ("wbe=none", "unknown condition 'wbe'"),
        ("base=auto", "'base' offers no tools, so it has no choice"),
    ],
)
def test_a_first_step_that_cannot_be_is_refused(asked: str, found: str) -> None:
    with pytest.raises(ConfigError) as error:
        with_first_steps(parse_conditions(["base", "web"]), [asked])
    assert found in str(error.value)


def test_a_tools_name_is_a_part_and_its_alias_the_same_condition() -> None:
    assert parse_condition("python+calendars") == parse_condition("cal+ci")
    assert parse_condition("query_events").name == "events"
    alone = parse_condition("ci+web_search")
    assert (alone.name, alone.tools) == ("ci+web_search", ("python", "web_search"))
    with pytest.raises(ConfigError, match="'web\\+web_search' has the tool web_search twice"):
        parse_condition("web+web_search")


def test_a_condition_of_built_in_tools_is_stored_as_before() -> None:
    assert "own_tools" not in parse_condition("web+ci").model_dump()


SERVERS = {
    "convert": ToolTraits(name="convert", mcp="time/convert"),
    "time_now": ToolTraits(name="time_now", mcp="time/now"),
    "db_now": ToolTraits(name="db_now", mcp="db/now"),
}


def test_the_tools_of_an_mcp_server_are_a_part_whole_or_each() -> None:
    whole = parse_condition("mcp:time+web", SERVERS)
    assert (whole.name, whole.tools) == (
        "web+mcp:time",
        ("web_search", "open_page", "convert", "time_now"),
    )
    assert [traits.mcp for traits in whole.own_tools] == ["time/convert", "time/now"]
    for text in ("mcp:time/now", "mcp:time/time_now", "mcp:time.time_now"):
        one = parse_condition(text, SERVERS)
        assert (one.name, one.tools) == ("mcp:time.time_now", ("time_now",))


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (
            ["mcp:clock"],
            "there is no MCP server 'clock'; known: mcp:time, mcp:db; name it by --mcp",
        ),
        (
            ["mcp:time/x", "mcp:db"],
            "the MCP server time offers no tool 'x'; it offers convert, tim",
        ),
        (["mcp:time+mcp:time/now"], "has the tool time_now twice"),
        (["mcp:time"], "no condition uses the MCP server db; add --condition mcp:db"),
    ],
)
def test_mistakes_about_mcp_servers_are_named(names: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_conditions(names, (), SERVERS)


def test_a_server_of_too_many_tools_is_to_be_named_by_tool() -> None:
    many = {f"t{n}": ToolTraits(name=f"t{n}", mcp=f"big/t{n}") for n in range(500)}
    with pytest.raises(
        ConfigError, match="big offers 500 tools, and models take at most 128; name"
    ):
        parse_condition("mcp:big", many)
    assert parse_condition("mcp:big/t7+mcp:big/t8", many).tools == ("t7", "t8")


def test_a_disturbance_makes_a_twin_of_each_condition_that_it_concerns() -> None:
    shifted = Disturbance(suffix="shifted", ablation="shifted")
    faults = Disturbance(suffix="faults", faults=(Fault(tool="python", kind="crash", rate=0.1),))
    made = with_disturbances(parse_conditions(["base", "web+ci", "ci"]), [shifted, faults])
    assert [(c.name, c.disturbance) for c in made] == [
        ("base", None),
        ("web+ci", None),
        ("web+ci~shifted", shifted),
        ("web+ci~faults", faults),
        ("ci", None),
        ("ci~faults", faults),
    ]


SHIFTED = Disturbance(suffix="shifted", ablation="shifted")


def test_a_name_does_not_depend_on_whether_the_format_or_the_world_was_chosen_first() -> None:
    first = with_formats(with_disturbances(parse_conditions(["web"]), [SHIFTED]), ["schema"])
    then = with_disturbances(parse_conditions(["web~schema"]), [SHIFTED])
    assert [each.name for each in first] == ["web~schema", "web~shifted~schema"]
    assert first == then


def test_twins_differ_in_one_field_whatever_their_names_are() -> None:
    conditions = with_first_steps(parse_conditions(["web"]), ["both"])
    worlds = with_disturbances(conditions, [SHIFTED])
    made = {each.name: each for each in with_formats(worlds, ["free", "schema"])}
    assert len(made) == 8

    def twins(name: str, field: str) -> list[str]:
        return [o for o in made if o != name and is_twin(made[name], made[o], field)]

    assert twins("web~auto~shifted~schema", "disturbance") == ["web~auto~schema"]
    assert twins("web~auto~shifted~schema", "answer_format") == ["web~auto~shifted"]
    assert twins("web~auto~shifted~schema", "first_step") == ["web~shifted~schema"]
