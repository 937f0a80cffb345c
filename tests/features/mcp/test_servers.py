"""MCP servers as users write them, on the command line and in Python."""

import pytest

from agent_env.errors import ConfigError
from agent_env.features.mcp.options import McpOptions
from agent_env.features.mcp.servers import servers_of
from agent_env.runs.options.keywords import from_arguments
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.draft import stand_ins
from agent_env.tasks.conditions import parse_conditions


def test_servers_are_named_with_commands_or_urls_also_by_a_mapping():
    options = McpOptions(
        ("time=mcp-server-time --local-timezone 'Asia/Tokyo'", "far=http://127.0.0.1:9/mcp"),
        environment=("time=HOME",),
        isolation=("episode", "far=run"),
    )
    time, far = servers_of(options)
    command = ("mcp-server-time", "--local-timezone", "Asia/Tokyo")
    assert (time.command, time.environment, time.isolation) == (command, ("HOME",), "episode")
    assert (far.url, far.command, far.isolation) == ("http://127.0.0.1:9/mcp", (), "run")
    given = {"task": "time-puzzles", "mcp": {"time": ["mcp-server-time", "-v"], "db": "db x"}}
    options = from_arguments(RunOptions, given, "run")
    commands = [each.command for each in servers_of(options.features["mcp"])]
    assert commands == [("mcp-server-time", "-v"), ("db", "x")]
    assert servers_of(McpOptions()) == ()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (McpOptions(("time",)), r"--mcp 'time': write NAME=COMMAND or NAME=http"),
        (McpOptions(("t=a", "t=b")), r"--mcp t: the name appears twice"),
        (McpOptions(("my time=a",)), r"--mcp 'my time': a server's name is a letter, then"),
        (McpOptions(("t=",)), r"--mcp t: write NAME=COMMAND or NAME=http"),
        (McpOptions(("t='a",)), r"--mcp t: \"'a\" is not a command: No closing quotation"),
        (McpOptions(("t=http://me:pw@h/mcp",)), r"a URL with a password would be stored"),
        (McpOptions(("t=http://h/mcp",), sandboxed=True), r"--mcp t is a URL: --mcp-sandbox and"),
        (McpOptions(("t=a",), environment=("t=A=b",)), r"write NAME=VARIABLE, its name without"),
        (McpOptions(("t=a",), environment=("u=A",)), r"there is no MCP server 'u', but t"),
        (McpOptions(("t=a",), isolation=("call",)), r"--mcp-isolation call: write run or episode"),
    ],
)
def test_mistakes_are_named(options, reason):
    with pytest.raises(ConfigError, match=reason):
        servers_of(options)


def test_conditions_of_a_study_are_known_before_its_servers_are_asked():
    servers = McpOptions({"time": "mcp-server-time", "db": "db"})
    options = RunOptions("time-puzzles", features={"mcp": servers})
    names = ["base", "web+mcp:time", "mcp:time/my tool~auto", "mcp:db"]
    parsed = parse_conditions(names, (), stand_ins(options, names))
    expected = ["base", "web+mcp:time", "mcp:time.my_tool~auto", "mcp:db"]
    assert [condition.name for condition in parsed] == expected
    with pytest.raises(ConfigError, match="no MCP server 'clock'; known: mcp:time, mcp:db"):
        parse_conditions(["mcp:clock"], (), stand_ins(options, ["mcp:clock"]))
