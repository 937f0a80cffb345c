"""The headers of the environment go to the server that they stand beside."""

import pytest

from agent_env.errors import ConfigError
from agent_env.extensions.interop.export.collector import check_headers


def test_headers_go_to_no_other_server(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic example")
    check_headers("http://127.0.0.1:6006")  # no other server is named
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://traces.example/api/otel")
    check_headers("https://traces.example/v1/traces")
    for other in ("http://127.0.0.1:6006", "http://traces.example/api/otel"):
        with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_HEADERS is set for https"):
            check_headers(other)
