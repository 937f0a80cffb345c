"""The options of `agent-env fake-server`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, get_args

from agent_env.errors import ConfigError
from agent_env.models.fake_server.conversation import Policy
from agent_env.models.fake_server.faults import parse_errors
from agent_env.models.fake_server.hosting import Hosting
from agent_env.models.fake_server.modes import MODES
from agent_env.models.fake_server.server import FakeServer
from agent_env.models.fake_server.server_endpoints import Tokenizing
from agent_env.records.options import Opt


def _tokenizer(text: str) -> Tokenizing | None:
    choices: dict[str, Tokenizing | None] = {name: name for name in get_args(Tokenizing)}
    choices["none"] = None
    if text not in choices:
        raise ConfigError(f"--tokenizer {text}: write {' or '.join(choices)}")
    return choices[text]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the server answers, and how it fails."""

    policy: Annotated[str | None, Opt("reference or reference-static.", shown="reference")] = None
    script: Annotated[Path | None, Opt("Replies, a JSON object a line.")] = None
    port: Annotated[int, Opt("0: any free one.", min=0, max=65535)] = 0
    latency: Annotated[float, Opt("Seconds before each reply.", min=0.0)] = 0.0
    errors: Annotated[
        Mapping[str, float],
        Opt(
            "Such as 429:0.1,hang:0.05,cut:0.02 (agent-env docs models).",
            typed=str,
            default="",
            read=parse_errors,
        ),
    ] = field(default_factory=dict)
    seed: Annotated[int, Opt("Of the errors.")] = 0
    tokenizer: Annotated[
        Tokenizing | None,
        Opt(
            "Serve POST /tokenize as vllm or llama.cpp has it; or none.", typed=str, read=_tokenizer
        ),
    ] = "vllm"
    mode: Annotated[
        str, Opt(f"Whose rules are enforced: {', '.join(MODES)} (agent-env docs models).")
    ] = "lenient"
    hosting: Hosting = Hosting()
    no_usage: Annotated[bool, Opt("Report no token usage, as some servers do.")] = False

    def server(self, policy: Policy) -> FakeServer:
        """A server that answers by the policy."""
        return FakeServer(
            policy,
            port=self.port,
            latency_s=self.latency,
            errors=self.errors,
            seed=self.seed,
            tokenizer=self.tokenizer,
            tells_usage=not self.no_usage,
            mode=self.mode,
            hosting=self.hosting,
        )
