"""A fictional world for the tests of this folder."""

import pytest

from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.tables.tables import write_intervals, write_world


@pytest.fixture(scope="package")
def intervals(tmp_path_factory):
    """The tables of a fictional world as `web build` writes them."""
    file = tmp_path_factory.mktemp("world") / "pages.intervals.csv"
    tables = make_world(400, 3)
    write_world(tables, file.with_name("pages.facts.csv"))
    write_intervals(tables.intervals, file)
    return file
