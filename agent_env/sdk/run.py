"""Runs: begun, opened, read."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.episodes.calls.options import CallOptions as CallOptions
    from agent_env.episodes.driven import DrivenEpisode as DrivenEpisode
    from agent_env.episodes.driven import Turn as Turn
    from agent_env.extras import check_sdk as check_sdk
    from agent_env.graph.loop import EpisodeState as EpisodeState
    from agent_env.graph.loop import Loop as Loop
    from agent_env.graph.loop import Outcome as Outcome
    from agent_env.permits import Permit as Permit
    from agent_env.protocols import Tool as Tool
    from agent_env.registry import Registry as Registry
    from agent_env.registry import hook as hook
    from agent_env.registry import load_path as load_path
    from agent_env.registry import ours as ours
    from agent_env.runs.comparing.indexed_run import IndexedRun as IndexedRun
    from agent_env.runs.environment import Environment as Environment
    from agent_env.runs.environment import make_environment as make_environment
    from agent_env.runs.environment import open_environment as open_environment
    from agent_env.runs.forecast import forecast_text as forecast_text
    from agent_env.runs.options.keywords import Keyword as Keyword
    from agent_env.runs.options.keywords import from_arguments as from_arguments
    from agent_env.runs.options.keywords import keywords_of as keywords_of
    from agent_env.runs.options.run_options import RunOptions as RunOptions
    from agent_env.runs.planning.draft import Draft as Draft
    from agent_env.runs.planning.questions import samples_of as samples_of
    from agent_env.runs.planning.questions import task_of as task_of
    from agent_env.runs.planning.questions_again import questions_again as questions_again
    from agent_env.runs.resume import ask as ask
    from agent_env.runs.resume import begin_or_continue as begin_or_continue
    from agent_env.runs.run import Run as Run
    from agent_env.runs.scores.assessment import assess as assess
    from agent_env.runs.scores.score import score_folder as score_folder
    from agent_env.runs.screen.progress import Progress as Progress
    from agent_env.runs.start import Listener as Listener
    from agent_env.runs.study import runs_below as runs_below
    from agent_env.runs.waiting import wait_for as wait_for
    from agent_env.sandbox.programs import AGENT_PORT as AGENT_PORT
    from agent_env.sandbox.programs import AgentEnding as AgentEnding
    from agent_env.sandbox.programs import ConfinedAgent as ConfinedAgent
    from agent_env.sandbox.programs import start_agent as start_agent
    from agent_env.wiring.models import make_model as make_model
    from agent_env.wiring.registry import FAMILIES as FAMILIES
    from agent_env.wiring.registry import load_family as load_family
    from agent_env.wiring.trust import own_call as own_call
    from agent_env.wiring.trust import own_plugins as own_plugins
    from agent_env.wiring.web import WebOptions as WebOptions
    from agent_env.worker.host import each_of as each_of

__getattr__, __dir__ = on_demand(__file__)
