"""OpenEnv's server before `agent-env serve http`."""
