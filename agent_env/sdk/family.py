"""What a family of questions is made of."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.tasks.answer_forms import AnswerForm as AnswerForm
    from agent_env.tasks.conditions import WORDINGS as WORDINGS
    from agent_env.tasks.conditions import parse_condition as parse_condition
    from agent_env.tasks.conditions import tools_of as tools_of
    from agent_env.tasks.family import Family as Family
    from agent_env.tasks.family import SampleSet as SampleSet
    from agent_env.tasks.family import by_digest as by_digest
    from agent_env.tasks.family import option_texts as option_texts
    from agent_env.tasks.family import record_options as record_options
    from agent_env.tasks.faults import ConstraintRef as ConstraintRef
    from agent_env.tasks.faults import Faults as Faults
    from agent_env.tasks.faults import MissedDate as MissedDate
    from agent_env.tasks.faults import Source as Source
    from agent_env.tasks.faults import WrongDate as WrongDate
    from agent_env.tasks.features import Feature as Feature
    from agent_env.tasks.features import Modifier as Modifier
    from agent_env.tasks.modifiers import modifiers as modifiers
    from agent_env.tasks.sample_files import parse_where as parse_where
    from agent_env.tasks.sample_files import select as select
    from agent_env.tasks.shortcuts import Shortcut as Shortcut
    from agent_env.tasks.task import AnalysisHooks as AnalysisHooks
    from agent_env.tasks.task import CannotShift as CannotShift
    from agent_env.tasks.task import Example as Example
    from agent_env.tasks.task import PublishedScorer as PublishedScorer
    from agent_env.tasks.task import StrategyParts as StrategyParts
    from agent_env.tasks.task import Task as Task

__getattr__, __dir__ = on_demand(__file__)
