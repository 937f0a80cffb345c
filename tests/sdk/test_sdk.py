"""What others build on."""

import ast
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import agent_env
from agent_env import sdk

MOST = 224
TOPICS = [each.name for each in iter_modules(sdk.__path__)]


@pytest.mark.parametrize("topic", TOPICS)
def test_each_name_that_a_topic_lists_is_there(topic):
    module = import_module(f"agent_env.sdk.{topic}")
    assert all(getattr(module, name) is not None for name in dir(module))


def test_each_name_that_the_second_ring_takes_is_there():
    """mypy trusts a module's `__getattr__`, and most of these imports run late."""
    taken = set()
    for file in Path(agent_env.__file__).parent.glob("*s/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "agent_env.sdk."
            ):
                taken |= {(node.module, each.name) for each in node.names}
    assert len(taken) > 100
    assert [each for each in taken if not hasattr(import_module(each[0]), each[1])] == []


def test_a_name_that_is_not_offered_is_refused():
    with pytest.raises(ImportError, match="make_model_of_nothing"):
        from agent_env.sdk.models import make_model_of_nothing  # noqa: F401


def test_there_are_few_enough_to_be_kept_stable():
    stable = (topic for topic in TOPICS if topic != "inside")
    names = {name for topic in stable for name in dir(import_module(f"agent_env.sdk.{topic}"))}
    assert len(names) <= MOST
