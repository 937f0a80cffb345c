"""What run.json may hold."""

import pytest
from pydantic import ValidationError

from agent_env.records.manifest import StoppingSettings


@pytest.mark.parametrize("name", ["..", ".", "../other", "/etc", "a/b", "a\\b", ""])
def test_one_test_goes_over_runs_side_by_side_and_nowhere_else(name):
    with pytest.raises(ValidationError):
        StoppingSettings(contrasts=("a:b",), together=(name,))


@pytest.mark.parametrize("name", ["compatible-m", ".hidden", "..three", "x..", "a b"])
def test_any_name_of_a_folder_will_do(name):
    assert StoppingSettings(contrasts=("a:b",), together=(name,)).together == (name,)
