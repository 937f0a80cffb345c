"""Conditions by name."""

from __future__ import annotations

import pytest

from agent_env.errors import ConfigError
from agent_env.tasks.conditions import parse_condition


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
        ("wbe", "unknown condition 'wbe': no part 'wbe'; join these by +: base, explicit, web"),
        ("web+", "no part ''"),
        ("web+web", "names a part twice"),
        ("base+ci", "base means without anything"),
        ("web+web-once", "exclude each other"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_condition(name)
    assert reason in str(caught.value)
