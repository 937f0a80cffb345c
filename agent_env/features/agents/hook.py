"""The hook `agents` of the engine: what it asks for episodes of outside agents."""

from agent_env.features.agents.process_loop import loop

__all__ = ["loop"]
