"""Servers of models: those that a run starts itself, and what any server can do."""
