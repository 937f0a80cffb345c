"""python -m agent_env is the same as agent-env."""

from agent_env.cli.app import main

main()
