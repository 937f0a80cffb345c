"""OpenEnv's HTTP and WebSocket server over the environment.

uvicorn agent_env_openenv.server.app:app --port 8000
"""

from __future__ import annotations

import os

from openenv.core.env_server.http_server import create_app

try:
    from ..models import AgentEnvAction, AgentEnvObservation
    from .agent_env_environment import AgentEnvEnvironment
except ImportError:  # run from its own folder, as OpenEnv's images do
    from models import AgentEnvAction, AgentEnvObservation
    from server.agent_env_environment import AgentEnvEnvironment

app = create_app(
    AgentEnvEnvironment,
    AgentEnvAction,
    AgentEnvObservation,
    env_name="agent_env",
    max_concurrent_envs=int(os.environ.get("MAX_CONCURRENT_ENVS", "64")),
)


def main() -> None:
    """The command `server`."""
    import argparse

    import uvicorn

    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    words = parser.parse_args()
    uvicorn.run(app, host=words.host, port=words.port)


if __name__ == "__main__":
    main()
