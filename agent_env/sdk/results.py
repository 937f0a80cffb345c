"""Estimates, tables and figures of results."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison as Comparison
    from agent_env.analysis.contrasts import disturbed_arms as disturbed_arms
    from agent_env.analysis.drawing import clean as clean
    from agent_env.analysis.drawing import literal as literal
    from agent_env.analysis.drawing import save as save
    from agent_env.analysis.drawing import series_look as series_look
    from agent_env.analysis.first_page import SvgFigure as SvgFigure
    from agent_env.analysis.html import inline_svg as inline_svg
    from agent_env.analysis.html import page as page
    from agent_env.analysis.html import rendered as rendered
    from agent_env.analysis.intervals import Estimate as Estimate
    from agent_env.analysis.intervals import Means as Means
    from agent_env.analysis.intervals import Measurement as Measurement
    from agent_env.analysis.intervals import rank_correlation as rank_correlation
    from agent_env.analysis.result_tables import Cell as Cell
    from agent_env.analysis.result_tables import Column as Column
    from agent_env.analysis.result_tables import ResultTable as ResultTable
    from agent_env.analysis.statistics import Statistic as Statistic
    from agent_env.analysis.study import QUANTITIES as QUANTITIES
    from agent_env.analysis.study import Arm as Arm
    from agent_env.analysis.study import Observation as Observation
    from agent_env.analysis.study import RunData as RunData
    from agent_env.analysis.study import Study as Study
    from agent_env.analysis.study import assemble as assemble

__getattr__, __dir__ = on_demand(__file__)
