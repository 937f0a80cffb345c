"""Traces of episodes, and the folders that hold them."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.episodes.index import Index as Index
    from agent_env.episodes.index_pages import SORTS as SORTS
    from agent_env.episodes.index_pages import VERDICTS as VERDICTS
    from agent_env.episodes.index_pages import EpisodeFilter as EpisodeFilter
    from agent_env.episodes.results import episodes_of as episodes_of
    from agent_env.episodes.results import scored_episodes as scored_episodes
    from agent_env.episodes.run_folder import EpisodeKey as EpisodeKey
    from agent_env.episodes.run_folder import RunFolder as RunFolder
    from agent_env.episodes.run_folder import digest as digest
    from agent_env.episodes.run_folder import manifest_bytes as manifest_bytes
    from agent_env.episodes.run_folder import materials_beside as materials_beside
    from agent_env.episodes.run_folder import parse_samples as parse_samples
    from agent_env.episodes.run_folder import read_materials as read_materials
    from agent_env.episodes.run_folder import read_samples as read_samples
    from agent_env.episodes.run_folder import samples_bytes as samples_bytes
    from agent_env.episodes.run_folder import write_whole as write_whole
    from agent_env.episodes.trace.fold import Recording as Recording
    from agent_env.episodes.trace.fold import fold as fold
    from agent_env.episodes.trace.fold import gave_nothing as gave_nothing
    from agent_env.episodes.trace.fold import paid_usd as paid_usd
    from agent_env.episodes.trace.fold import sent_messages as sent_messages
    from agent_env.episodes.trace.lines import TraceWriter as TraceWriter
    from agent_env.episodes.trace.lines import is_finished as is_finished
    from agent_env.episodes.trace.lines import read_trace as read_trace
    from agent_env.episodes.trace.texts import Texts as Texts
    from agent_env.records.trace_events import EpisodeFailed as EpisodeFailed
    from agent_env.records.trace_events import EpisodeFinished as EpisodeFinished
    from agent_env.records.trace_events import EpisodeResumed as EpisodeResumed
    from agent_env.records.trace_events import EpisodeStarted as EpisodeStarted
    from agent_env.records.trace_events import Event as Event
    from agent_env.records.trace_events import Judged as Judged
    from agent_env.records.trace_events import ModelCalled as ModelCalled
    from agent_env.records.trace_events import ToolCalled as ToolCalled

__getattr__, __dir__ = on_demand(__file__)
