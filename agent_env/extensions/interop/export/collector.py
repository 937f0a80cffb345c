"""Guards the headers of the environment, which may hold a key, on their way to a collector.

Guarantees: headers that stand beside an endpoint in the environment go to that server alone.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from agent_env.sdk.errors import ConfigError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


def check_headers(endpoint: str) -> None:
    """ConfigError where the headers of the environment would go to another server than its own."""
    configured_url = next(
        (os.environ[name] for name in ENDPOINTS if os.environ.get(name)), endpoint
    )
    headers = next((name for name in HEADERS if os.environ.get(name)), None)
    if headers is not None and urlsplit(configured_url)[:2] != urlsplit(endpoint)[:2]:
        raise ConfigError(
            f"--endpoint {endpoint}: {headers} is set for {configured_url} and would go there too; "
            "unset it, or leave --endpoint out"
        )
