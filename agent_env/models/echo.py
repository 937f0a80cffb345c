"""Whether what a server said goes back to it: `--echo-reasoning auto`, `always` or `never`.

Guarantees: what one server and model said is sent to no other; a field that the server refuses by
name is, under `auto`, not sent again by this process, and that is said once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_env.errors import ModelError
from agent_env.models.cleaning import Json
from agent_env.models.provider_fields import echo_fields, names_in
from agent_env.records.schema import Message

EchoMode = Literal["auto", "always", "never"]
REQUIRED = re.compile(r"must be|missing|is required|passed back|must include|must contain", re.I)
"""An error that names a field because it wants it."""
NEVER_REFUSED = frozenset({"content", "function", "type", "name", "id"})
"""Words that stand in other errors too."""


@dataclass(slots=True)
class Echo:
    """What of its own words a server gets back."""

    mode: EchoMode
    origins: frozenset[str]
    """The server and model that is asked, under all addresses that it had."""
    note: Callable[[str], None] = lambda text: None
    refused: frozenset[str] = frozenset()
    """Names of fields that the server does not take."""
    _reported: set[str] = field(default_factory=set)

    def is_sent(self, message: Message) -> bool:
        """Whether what the message came with goes back to this server."""
        fields = message.provider_fields
        return self.mode != "never" and fields is not None and fields.origin in self.origins

    def fields(self, message: Message) -> tuple[Json, dict[str, Json]]:
        """What goes back of the message, and of its calls by their ids."""
        return echo_fields(message, self.refused) if self.is_sent(message) else ({}, {})

    def classify(
        self, error: ModelError, messages: Sequence[Message], before: frozenset[str]
    ) -> ModelError:
        """The error; one that may pass where the server refused a field of the messages, sent when
        only those of `before` were known to be refused."""
        if self.mode != "auto" or error.status not in (400, 422) or REQUIRED.search(str(error)):
            return error
        sent = {
            name
            for message in messages
            if self.is_sent(message) and message.provider_fields is not None
            for name in names_in(message.provider_fields)
        }
        names = {name for name in sent - before - NEVER_REFUSED if _names(str(error), name)}
        if not names:
            return error
        if names - self.refused:
            self.refused |= names
            self.note(f"{_listed(names)} is not sent back any more: {error}")
        text = f"{error} [it is asked again without {_listed(names)}]"
        return ModelError(text, status=error.status, retryable=True, retry_after_s=0.0)

    def report_excess(self, message: Message) -> None:
        """Says once for each field that it was too large to be kept."""
        fields = message.provider_fields
        for name, why in (fields.left_out if fields is not None else {}).items():
            if name not in self._reported:
                self._reported.add(name)
                self.note(f"the server's field {name} is not kept and not sent back: {why}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) is not None
