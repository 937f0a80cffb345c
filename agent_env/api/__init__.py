"""The Python API: what `import agent_env` offers, listed in `agent_env/__init__.py`."""
