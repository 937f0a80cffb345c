"""Outside agents drive episodes: their model calls and tool calls come to us, and go into
the trace as those of our own loop do."""

from agent_env.features.agents.files import read
from agent_env.features.agents.process_loop import loop

__all__ = ["loop", "read"]
