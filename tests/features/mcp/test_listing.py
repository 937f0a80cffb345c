"""Names for models: each its own, never one of ours, whatever a server calls its tools."""

import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.features.mcp.hosts import keep_names, with_names
from agent_env.features.mcp.records import McpServer, McpTool

OURS = {"python", "web_search"}


def listed(name, *tools):
    """A server that was read already."""
    own = tuple(McpTool(name=tool, offered=tool) for tool in tools)
    return McpServer(name=name, command=("server",), tools=own)


def names(*servers):
    return [[tool.offered for tool in each.tools] for each in with_names(servers, OURS)]


def test_names_are_prefixed_where_they_stand_twice_are_ours_or_cannot_be_called():
    a, b = names(listed("a", "read"), listed("b", "read", "write"))
    assert (a, b) == (["a_read"], ["b_read", "write"])
    assert names(listed("fs", "python", "web_search")) == [["fs_python", "fs_web_search"]]
    (odd,) = names(listed("a", "my tool", "my.tool", "2nd", "été"))
    assert odd == ["a_my_tool", "a_my_tool_2", "tool_2nd", "t"]
    before = listed("a").model_copy(update={"tools": (McpTool(name="read", offered="a_read"),)})
    now = keep_names(before, listed("a", "a_read", "read"), OURS)
    assert [tool.offered for tool in now.tools] == ["a_a_read", "a_read"]


@settings(max_examples=40)
@given(st.lists(st.lists(st.text(string.printable, max_size=80), max_size=6), max_size=4))
def test_all_names_are_valid_and_different(tools):
    servers = [listed(f"s{at}", *each) for at, each in enumerate(tools)]
    every = [name for each in names(*servers) for name in each]
    assert len(set(every)) == len(every)
    assert not OURS.intersection(every)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name) for name in every)
