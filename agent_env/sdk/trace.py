"""Traces of episodes, and the folders that hold them."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import EpisodeKey as EpisodeKey
    from agent_env.episodes.trace.fold import Recording as Recording
    from agent_env.episodes.trace.lines import TraceWriter as TraceWriter
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
