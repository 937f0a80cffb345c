"""What the contrasts show, in words."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.conclusions import conclusions
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


def in_words(comparison: Comparison) -> ResultTable:
    """A sentence for each contrast, planned ones first."""
    return ResultTable(
        "conclusions",
        "Conclusions",
        (Column("conclusion"),),
        tuple((text,) for text in conclusions(comparison)),
        ("Square brackets: 95 % CI. A rule makes each sentence of its row among the differences.",),
    )


CONCLUSIONS = Statistic("conclusions", in_words, order=1, section="Conclusions", is_main=True)
