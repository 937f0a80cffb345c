"""A statistic is one file: laid beside the others it is in every list, and no other is touched."""

import pytest

from agent_env.analysis import statistics
from agent_env.analysis.comparison import Comparison
from agent_env.errors import ConfigError
from tests.analysis.simulated import Plant, study

COUNTED = """
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic

def counted(comparison):
    rows = tuple((arm.label, len(arm.observations)) for arm in comparison.study.arms)
    return ResultTable("counted", "Counted", (Column("condition"), Column("n", 0)), rows)

STATISTIC = Statistic("counted", counted, order=15, in_score=True)
"""


def test_a_module_of_the_package_is_a_statistic(tmp_path, monkeypatch):
    made = Comparison(study(Plant(samples=8), {"base": 0.0, "web": 0.1}, ("m",), seed=1))
    with pytest.raises(ConfigError, match="unknown table 'counted'; known: conclusions, cond"):
        statistics.statistics_named(made, ["counted"])
    (tmp_path / "counted.py").write_text(COUNTED)
    monkeypatch.setattr(statistics, "__path__", [*statistics.__path__, str(tmp_path)])
    names = [statistic.name for statistic in statistics.statistics_of(made)]
    assert names[1:4] == ["conditions", "shortcuts", "counted"]
    (table,) = statistics.tables_of(made, statistics.statistics_named(made, ["counted"]))
    assert table.rows == (("base", 8), ("web", 8))
