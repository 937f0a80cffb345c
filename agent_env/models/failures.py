"""Whatever goes wrong with a server becomes a ModelError of one line.

Guarantees: the API key stands in no error's text; an error has no cause attached, because the SDK's
own errors may quote the key.
Not covered: a key shorter than eight characters counts as a placeholder and is not blotted out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.errors import ModelError
from agent_env.models.cleaning import DEEPEST, Json, clean, shallow, tree
from agent_env.models.error_classes import ErrorClass, classify, status_in
from agent_env.models.json_fields import text, usage_of
from agent_env.records.waits import retry_after_s

UNSENT = ("ConnectError", "UnsupportedProtocol")  # no connection, so nothing was sent


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one model on one server."""

    model: str
    where: str
    key: str | None
    reply_s: float
    """How long a reply may take."""

    def partial(self, events: Sequence[Json]) -> str | None:
        """The end of what the events say, without the key."""
        from agent_env.models.streams import partial_text

        text = partial_text(events)
        return None if text is None else clean(text, self.key)

    def cleaned(self, body: Json) -> Json:
        """The body without the key, lone surrogates and numbers that JSON does not know."""
        try:
            return tree(body, self.key)
        except RecursionError:
            failure = self.unusable(f"sent JSON nested more than {DEEPEST} levels deep")
        raise failure

    def unusable(
        self,
        what: str,
        advice: str = "try again, or ask the server's log",
        answer: Json | None = None,
    ) -> ModelError:
        """The error for a 200 that holds no reply; retryable, for it may be a passing fault."""
        return self._error(f"{what}; {advice}", ErrorClass("unreadable", True, ""), 200, answer)

    def unheld(self, text: str) -> ModelError:
        """The error for a reply without the form that the request asks the server to enforce."""
        what = (
            f"does not hold replies to a JSON schema: it sent {clean(text, self.key)[:60]!r}; "
            "leave --answer-format out, or ask an API of it that does"
        )
        return self._error(what, ErrorClass("bad_request", False, ""), 200)

    def cut(self, events: Sequence[Json], answer: Json | None = None) -> ModelError:
        """The error for a stream that ended before its reply did."""
        text = "ended the stream before the reply was complete; try again"
        error = self._error(text, ErrorClass("connection", True, ""), 200, answer)
        error.partial = self.partial(events)
        return error

    def reported(
        self,
        error: JsonValue,
        body: Json,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        answer: Json | None = None,
    ) -> ModelError:
        """The error that a server describes, by status or inside a 200 (`answer`)."""
        error = shallow(error, self.key)  # before anything is cut short: half a key is one too
        message = _message(error)[:300]
        if status is not None and 300 <= status < 400:
            message = f"a redirect to {(headers or {}).get('location', 'nowhere')}"
        code = status or status_in(error)
        group = classify(code, message, error, body)
        wait = retry_after_s(headers or {})
        pause = "" if wait is None else f" (Retry-After: {wait:g} s)"
        opening = f"answered HTTP {status or 200}{pause}: {message}"
        return self._error(f"{opening}; {group.advice}", group, code or 200, answer, wait)

    def of_exception(self, exc: Exception, body: Json) -> ModelError:
        import openai

        match exc:
            case openai.APIStatusError():
                headers = exc.response.headers
                return self.reported(_plain(exc.body), body, exc.status_code, headers)
            case openai.APITimeoutError() | TimeoutError():
                text = str(exc) or f"gave no reply within {self.reply_s:g} s"
                advice = "" if "--" in text else "; raise --reply-timeout-s or try again"
                return self._error(f"{text}{advice}", ErrorClass("timeout", True, ""))
            case openai.APIConnectionError():
                cause = exc.__cause__ or exc
                failure = self._error(_unconnected(cause), ErrorClass("connection", True, ""))
                failure.unsent = type(cause).__name__ in UNSENT
                return failure
            case openai.APIError():
                return self.reported(_plain(exc.body) or exc.message, body)
        if isinstance(exc, RecursionError):
            return self.unusable(f"sent JSON nested more than {DEEPEST} levels deep")
        text = f"sent what cannot be read ({type(exc).__name__}); try again"
        return self._error(text, ErrorClass("unreadable", True, ""))

    def _error(
        self,
        text: str,
        group: ErrorClass,
        status: int | None = None,
        answer: Json | None = None,
        retry_after_s: float | None = None,
    ) -> ModelError:
        line = " ".join(f"{self.where} ({self.model}) {text}".split())
        return ModelError(
            clean(line, self.key),
            status=status,
            retryable=group.retryable,
            kind=group.kind,
            retry_after_s=retry_after_s,
            usage=usage_of(answer or {}),
            context_tokens=group.overflow.context_tokens if group.overflow else None,
            request_tokens=group.overflow.request_tokens if group.overflow else None,
        )


def _message(error: JsonValue) -> str:
    inner = error.get("error", error) if isinstance(error, dict) else error
    if isinstance(inner, dict):
        inner = text(inner, "message", "detail") or json.dumps(inner)
    return " ".join(str(inner or "nothing more").split())


def _unconnected(cause: BaseException) -> str:
    cause_text = f"({type(cause).__name__}: {cause})"
    if type(cause).__name__ in UNSENT:
        return f"cannot be reached {cause_text}; check that it runs and that the base URL is right"
    return f"broke the connection off {cause_text}; try again"


def _plain(body: object) -> JsonValue:
    return body if isinstance(body, str | dict | list) else None
