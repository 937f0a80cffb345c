"""What others build on."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from agent_env import sdk

MOST = 285
TOPICS = [each.name for each in iter_modules(sdk.__path__)]


@pytest.mark.parametrize("topic", TOPICS)
def test_each_name_that_a_topic_lists_is_there(topic):
    module = import_module(f"agent_env.sdk.{topic}")
    assert all(getattr(module, name) is not None for name in dir(module))


def test_a_name_that_is_not_offered_is_refused():
    with pytest.raises(ImportError, match="make_model_of_nothing"):
        from agent_env.sdk.models import make_model_of_nothing  # noqa: F401


def test_there_are_few_enough_to_be_kept_stable():
    names = {name for topic in TOPICS for name in dir(import_module(f"agent_env.sdk.{topic}"))}
    assert len(names) <= MOST
