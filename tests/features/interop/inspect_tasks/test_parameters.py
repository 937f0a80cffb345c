"""What a user writes behind -T becomes the options of a run; mistakes are told in one line."""

from datetime import date
from importlib.util import find_spec

import pytest

from agent_env.errors import ConfigError
from tests.lazy_modules import LazyModule

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs the extra inspect")
module = LazyModule("agent_env.features.interop.inspect_tasks.parameters")


def _options(**parameters):
    return module.run_options("time-puzzles", parameters)


def test_parameters_are_those_of_one_condition_as_yaml_gives_them():
    options = _options(condition="python+web", count=60, seed=7, steps=4, tool_protocol="text")
    assert (options.conditions, options.limit, options.seed) == (("python+web",), 60, 7)
    assert (options.limits, options.parameters) == ({"steps": 4}, {"tool_protocol": "text"})
    options = _options(options=["facts=2", "3"], where={"solution_count": 1})
    assert (options.options, options.where) == (("facts=2,3",), ("solution_count=1",))
    assert _options(as_of=date(2020, 1, 2)).web.as_of == "2020-01-02"


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"conut": 3}, "-T conut: there is no such parameter; did you mean count?"),
        ({"temperature": 1}, "-T temperature: Inspect has an option for it: --temperature"),
        ({"tokenizer": "x"}, "-T tokenizer: agent-env run has this option; its tasks in Inspect "
         "do not"),
        ({"condition": ["web", "python"]}, "-T condition=web,python: name one, as a log has one"),
        ({"count": 0}, "count=0: must be greater than or equal to 1"),
    ],
)  # fmt: skip
def test_mistakes_are_told(parameters, problem):
    with pytest.raises(ConfigError) as raised:
        _options(**parameters)
    assert str(raised.value) == problem
