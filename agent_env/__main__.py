"""python -m agent_env is the same as agent-env."""

from agent_env.cli import main

main()
