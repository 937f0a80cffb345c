"""What one server wants of requests beyond its API's documentation, learned from its refusals.

Guarantees: what one server and model said is sent to no other; a request that is refused for a rule
of RULES is sent again by the rule, which holds from then on in this process and is reported once.
The first request of a process may be refused once for each rule. `--echo-reasoning always` and
`never` switch off the rules on fields of the model's own messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Literal

from agent_env.errors import ModelError
from agent_env.models.chat import REASONING, Json, echo_fields, names_in, records
from agent_env.records.schema import Message

EchoMode = Literal["auto", "always", "never"]
REQUIRED = re.compile(r"must be|missing|is required|passed back|must include|must contain", re.I)
"""An error that names a field because it wants it."""
OPTIONAL = ("stop", "stream_options")
"""Fields of a request that are ours and that it can do without."""
NEVER_REFUSED = frozenset({"content", "function", "type", "name", "id"})
"""Words that are in other errors too."""
ORDER = re.compile(
    r"role .?user.? after role .?tool|conversation roles must alternate|roles must alternate", re.I
)
"""An error that refuses a user's message behind a tool's: Mistral's, and that of chat templates."""
JOINS = ("tool", "user")
"""Roles whose message takes in a user's message that follows."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a server wants; each is empty until it refuses a request for it."""

    refused: frozenset[str] = frozenset()
    """Names of fields that it does not take: of the model's messages, OPTIONAL, `max_tokens`."""
    wanted: frozenset[str] = frozenset()
    """Names of reasoning fields that each message of the model must have, if empty."""
    order: frozenset[str] = frozenset()
    """`user`: its messages must not follow a tool's or each other; the one before takes them in."""

    def __or__(self, other: Rules) -> Rules:
        return Rules(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(Rules)))

    def __sub__(self, other: Rules) -> Rules:
        return Rules(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Rules)))

    def sentences(self) -> Iterator[str]:
        """What is done about each."""
        if names := self.refused - {"max_tokens"}:
            yield f"{_listed(names)} is not sent any more"
        if "max_tokens" in self.refused:
            yield "the output limit is sent as max_completion_tokens"
        if self.wanted:
            yield f"{_listed(self.wanted)} is sent empty where the model gave none"
        if self.order:
            yield "a user's message behind a tool's output is sent at the end of that output"


@dataclass(slots=True)
class Dialect:
    """How one server is talked to."""

    mode: EchoMode
    origins: frozenset[str]
    """The server and model that is asked, under all addresses that it had."""
    note: Callable[[str], None] = lambda text: None
    rules: Rules = Rules()
    _reported: set[str] = field(default_factory=set)

    def is_echoed(self, message: Message) -> bool:
        """Whether what the message came with goes back to this server."""
        fields = message.provider_fields
        return self.mode != "never" and fields is not None and fields.origin in self.origins

    def fields(self, message: Message) -> tuple[Json, dict[str, Json]]:
        """What goes back of the message, and of its calls by their ids."""
        echo: tuple[Json, dict[str, Json]] = ({}, {})
        if self.is_echoed(message):
            echo = echo_fields(message, self.rules.refused)
        if self.rules.wanted and message.role == "assistant":
            return dict.fromkeys(sorted(self.rules.wanted), "") | echo[0], echo[1]
        return echo

    def ordered(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages in an order that the server takes."""
        if not self.rules.order:
            return messages
        result: list[Message] = []
        for message in messages:
            if message.role == "user" and result and result[-1].role in JOINS:
                content = f"{result[-1].content}\n\n{message.content}"
                result[-1] = result[-1].model_copy(update={"content": content})
            else:
                result.append(message)
        return result

    def classify(
        self, error: ModelError, messages: Sequence[Message], request: Json, before: Rules
    ) -> ModelError:
        """The error; one that may pass where it tells a rule that the request, made by the rules
        `before`, did not keep."""
        if error.status not in (400, 422, 500):
            return error
        learned = self._rules_in(error, messages, request) - before
        if learned == Rules():
            return error
        if (learned - self.rules) != Rules():
            self.rules |= learned
            self.note(
                f"{'; '.join(learned.sentences())}: the server wants it (HTTP {error.status})"
            )
        text = f"{error} [it is asked again: {'; '.join(learned.sentences())}]"
        return ModelError(text, status=error.status, retryable=True, is_corrected=True)

    def _rules_in(self, error: ModelError, messages: Sequence[Message], request: Json) -> Rules:
        text = str(error)
        follows = any(one.role in JOINS and two.role == "user" for one, two in pairwise(messages))
        order = frozenset({"user"} if follows and ORDER.search(text) else ())
        if error.status == 500:  # llama.cpp's, where a template raises
            return Rules(order=order)
        refused = {name for name in OPTIONAL if name in request and _names(text, name)}
        if "max_tokens" in request and _names(text, "max_completion_tokens"):
            refused.add("max_tokens")
        wanted: set[str] = set()
        if self.mode == "auto" and REQUIRED.search(text):
            wanted = {n for n in REASONING if _names(text, n) and _is_lacking(n, request)}
        elif self.mode == "auto":
            refused |= {n for n in self._echoed(messages) - NEVER_REFUSED if _names(text, n)}
        return Rules(frozenset(refused), frozenset(wanted), order)

    def _echoed(self, messages: Sequence[Message]) -> set[str]:
        return {
            name
            for message in messages
            if self.is_echoed(message) and message.provider_fields is not None
            for name in names_in(message.provider_fields)
        }

    def report_excess(self, message: Message) -> None:
        """Says once for each field that it was too large to be kept."""
        fields = message.provider_fields
        for name, why in (fields.left_out if fields is not None else {}).items():
            if name not in self._reported:
                self._reported.add(name)
                self.note(f"the server's field {name} is not kept and not sent back: {why}")


def _is_lacking(name: str, request: Json) -> bool:
    """Whether one of the model's messages in the request is without the field."""
    return any(
        message.get("role") == "assistant" and name not in message
        for message in records(request, "messages")
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) is not None
