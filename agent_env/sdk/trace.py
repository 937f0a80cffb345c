"""Traces of episodes, and the folders that hold them."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.episodes.contexts import episode_contexts as episode_contexts
    from agent_env.episodes.contexts import read_copies as read_copies
    from agent_env.episodes.results import earlier_scores as earlier_scores
    from agent_env.episodes.results import traces_of as traces_of
    from agent_env.episodes.results import version_of as version_of
    from agent_env.episodes.run_folder import EpisodeKey as EpisodeKey
    from agent_env.episodes.run_folder import RunFolder as RunFolder
    from agent_env.episodes.run_folder import begun_in as begun_in
    from agent_env.episodes.run_folder import digest as digest
    from agent_env.episodes.trace.fold import Recording as Recording
    from agent_env.episodes.trace.lines import BEGUN as BEGUN
    from agent_env.episodes.trace.lines import PLACES as PLACES
    from agent_env.episodes.trace.lines import TraceError as TraceError
    from agent_env.episodes.trace.lines import TraceWriter as TraceWriter
    from agent_env.episodes.trace.lines import read_events as read_events
    from agent_env.episodes.trace.texts import Texts as Texts
    from agent_env.records.trace_events import EpisodeFailed as EpisodeFailed
    from agent_env.records.trace_events import EpisodeFinished as EpisodeFinished
    from agent_env.records.trace_events import EpisodeResumed as EpisodeResumed
    from agent_env.records.trace_events import EpisodeStarted as EpisodeStarted
    from agent_env.records.trace_events import Event as Event
    from agent_env.records.trace_events import ModelCalled as ModelCalled
    from agent_env.records.trace_events import ToolCalled as ToolCalled
    from agent_env.tasks.sample_files import materials_beside as materials_beside
    from agent_env.tasks.sample_files import parse_samples as parse_samples
    from agent_env.tasks.sample_files import read_materials as read_materials
    from agent_env.tasks.sample_files import samples_bytes as samples_bytes
    from agent_env.tasks.sample_files import task_in as task_in
    from agent_env.tasks.sample_files import write_whole as write_whole

__getattr__, __dir__ = on_demand(__file__)
