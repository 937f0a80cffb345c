"""The recipe for results by pull request is a workflow whose commands exist."""

import re
from pathlib import Path

import yaml

from agent_env.cli.tree import Commands

FILE = Path(__file__).parents[2] / "docs/board-workflow.example.yml"


def test_it_runs_commands_that_exist_with_the_right_to_read_alone():
    workflow = yaml.safe_load(FILE.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = workflow["jobs"]["verify"]["steps"]
    commands = re.findall(r"agent-env (\w+)", " ".join(step.get("run", "") for step in steps))
    assert commands == ["verify", "board"]
    assert set(commands) <= set(Commands().paths)
