"""The token of `agent-env serve`: one is made unless it is named, or none is asked for."""

from __future__ import annotations

import pytest

from agent_env.errors import ConfigError
from agent_env.extensions.serve.hosting import token_of


def test_a_token_is_made_that_nobody_guesses_and_each_time_another() -> None:
    tokens = {token_of(host, None, False) for host in ("127.0.0.1", "0.0.0.0", "localhost")}
    assert [len(token or "") for token in tokens] == [32, 32, 32]


def test_the_variables_token_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVE_TOKEN", " abc \n")
    assert token_of("127.0.0.1", "SERVE_TOKEN", False) == "abc"
    monkeypatch.setenv("SERVE_TOKEN", " ")
    with pytest.raises(ConfigError, match="the variable holds no token"):
        token_of("127.0.0.1", "SERVE_TOKEN", False)


def test_none_is_for_loopback_alone_and_only_where_it_is_asked_for() -> None:
    assert token_of("localhost", None, True) is None
    with pytest.raises(ConfigError, match=r"--host 0\.0\.0\.0 is reached by others"):
        token_of("0.0.0.0", None, True)
    with pytest.raises(ConfigError, match="contradict each other"):
        token_of("127.0.0.1", "SERVE_TOKEN", True)
