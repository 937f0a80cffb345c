"""A real two-node cluster loses a node on the way: no episode and no paid reply is lost."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from agent_env.errors import ConfigError
from agent_env.features.ray.engine import check_engine
from tests import ROOT

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")


@pytest.mark.ray
@needs_ray
def test_removing_a_node_loses_nothing(tmp_path):
    command = [sys.executable, "-m", "tests.ray_cluster", str(tmp_path), "96", "48", "1.0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["same_scores"]
    assert found["episodes"] == 96
    assert found["lost_with_the_node"] >= 20
    assert found["resumed"] >= 1
    assert found["held_asked"] == 0
    assert found["asked_twice"] <= found["lost_with_the_node"]


@needs_ray
def test_what_cannot_be_spread_is_refused_in_words(tmp_path):
    with pytest.raises(ConfigError, match="drop --reply-cache"):
        check_engine(tmp_path / "cache.db", "sealed")
    with pytest.raises(ConfigError, match="--web frozen"):
        check_engine(None, "record")
