"""What a server's error means: its class, whether it may pass, and a ModelError of one line.

Guarantees: the API key is in no error's text; an error has no cause attached, because the SDK's
own errors may quote the key.
Not covered: a key shorter than eight characters counts as a placeholder and is not blotted out. An
overflow of the context is any refusal that speaks of a size (length, maximum, limit, too long) and
of tokens, context, prompt, input or sequence, whoever words it; not one of rates, credits, images,
or of the reply's own limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.errors import ModelError, ModelErrorKind
from agent_env.models.chat import (
    DEEPEST,
    Json,
    clean,
    record,
    records,
    shallow,
    text,
    tree,
)
from agent_env.models.usage import usage_of
from agent_env.records.waits import retry_after_s

STATUSES = (None, 400, 413, 422, 500)
"""None: an error inside a 200. 500: some proxies, and llama.cpp for a while."""

SIZE = re.compile(
    r"length|maximum|\bmax\b|limits?\b|window|too (?:long|large|many|big)|exceed|longer|larger"
    r"|less than|<=",
    re.I,
)
SUBJECT = re.compile(
    r"token|context|prompts?\b|\binputs?\b|sequence|length of the (?:messages|conversation)",
    re.I,
)
_OUTPUT = (
    r"(?:^|[.;:] |value (?:for|of) )\W?max_?\w*tokens\W{0,3}"
    r"(?:is (?:too|\d)|must|should|cannot|\d{1,9} >)"
)
ANOTHER = re.compile(
    r"per[- ](?:min(?:ute)?|hour|day|second|month)\b|daily|this month|\b[RT]P[MDH]\b"
    r"|rate.?limit|quota|credits?\b|afford"
    r"|thinking|reasoning|budget|\bimages?\b|\baudio\b|\bstop\b|temperature"
    rf"|invalid '(?!input|messages|prompt|contents)|{_OUTPUT}(?!.*(?:context length|input tokens"
    r"|your (?:prompt|messages|request)))",
    re.I,
)
NUMBER = r"\(?(\d{1,3}(?:,\d{3}){1,3}|\d{2,9})(?!\w|[.,]\d)"
CONTEXT = re.compile(
    r"(?:maximum context length(?: is| of)?|maximum (?:model|prompt|input) length(?: is| of)?"
    r"|context (?:length|window|limit)(?: of| is|:)?(?: only)?|context of|available context size"
    rf"|must be <=|must have less than|token limit:) {NUMBER}(?! \+)|\[\d+, ?(\d{{2,9}})\]"
    r"|(?<!\d)\d{1,9} \+ \d{1,9} > (\d{2,9})",
    re.I,
)
REQUEST = re.compile(
    r"(?:requested (?:about |a total of )?|resulted in |request has |input has |prompt contains "
    rf"|request contains |given: |too long: |token count ){NUMBER}"
    r"|(?<!\d)(\d{2,9}) \+ \d{1,9} > \d",
    re.I,
)
LIMIT_BEFORE = re.compile(r"(?:limit|maximum|\bmax\b|window|up to|at most)[^.;]{0,40}$", re.I)
FAILED_CALL = re.compile(
    r"tool_use_failed|malformed_function_call|unexpected_tool_call|too_many_tool_calls"
    r"|(?:fail\w{0,3}|unable|could not|cannot|error) (?:to |in |while )?"
    r"(?:call a (?:function|tool)|(?:pars|read|decod)\w{0,4} (?:the |a )?(?:model'?s? )?"
    r"(?:output|generation|(?:tool|function)[ _-]?calls?))"
    r"|(?:tool|function)[ _-]?calls? (?:pars\w{1,4}|validation) (?:error|failed)"
    r"|model (?:generated|produced|wrote|output) (?:an? )?(?:invalid|malformed)"
    r"|(?:tool|function)[ _-]?calls? (?:arguments )?(?:generated|produced|written) by"
    r"|could not be parsed as an? (?:tool|function)"
    r"|attempted to call (?:a )?tool|failed to parse (?:input|generated)",
    re.I,
)
"""How a server says that it cannot read the call which the model wrote."""
_SENT = ("request", "prompt", "input")
OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
GOOGLE_WAIT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s")
"""A duration as Google's errors write it."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """The figures in such an error."""

    context_tokens: int | None = None
    """What the model reads and writes together; None where the error does not say."""
    request_tokens: int | None = None
    """The request, at some servers with the reply's limit; None where the error does not say."""


def overflow(status: int | None, message: str, error: JsonValue) -> Overflow | None:
    """What an error with this status, text and body tells of it; None where it is another error."""
    fields = error.get("error", error) if isinstance(error, dict) else {}
    fields = fields if isinstance(fields, dict) else {}
    labels = f"{fields.get('code')} {fields.get('type')} {message}"
    said = message.lower()
    is_overflow = bool(
        SIZE.search(labels)
        and SUBJECT.search(labels)
        and not ANOTHER.search(message)
        # a 500 without these words is of all slots together, and may pass
        and (status != 500 or ("context" in said and any(word in said for word in _SENT)))
    )
    if status != 413 and (status not in STATUSES or not is_overflow):
        return None
    context, request = _first(CONTEXT, message), _first(REQUEST, message)
    numbers = [m for m in re.finditer(rf"(?<![\w.,-]){NUMBER}", message) if _is_size(message, m)]
    values = sorted({_value(m[1]) for m in numbers})
    is_limit = len(values) == 2 or (
        len(values) == 1 and LIMIT_BEFORE.search(message[: numbers[0].start()])
    )
    context = values[0] if context is None and is_limit else context
    above = [value for value in values if context is not None and value > context]
    if request is None and len(above) == 1:
        request = above[0]
    return Overflow(
        _number(fields.get("n_ctx")) or context, _number(fields.get("n_prompt_tokens")) or request
    )


def _is_size(message: str, number: re.Match[str]) -> bool:
    """Whether it is no code at the start, and not by how much a limit is exceeded."""
    is_code = not message[: number.start()].strip("<(") and message[number.end() :][:1] in (
        ":",
        ">",
    )
    return not is_code and not message[: number.start()].endswith("by ")


def failed_call(status: int | None, message: str, error: JsonValue) -> str | None:
    """What the model wrote as a call that its server refuses, as far as the error tells; None for
    another error."""
    fields = error.get("error", error) if isinstance(error, dict) else {}
    fields = fields if isinstance(fields, dict) else {}
    if "failed_generation" in fields:
        return text(fields, "failed_generation") or message
    said = f"{fields.get('code')} {fields.get('type')} {message}"
    return message if status in STATUSES and FAILED_CALL.search(said) else None


def is_output_limit(facts: Overflow, request: Mapping[str, JsonValue]) -> bool:
    """Whether the reply alone may be as long as the context, so that no request would fit."""
    limits = (_number(request.get(name)) for name in OUTPUT_LIMITS)
    context = facts.context_tokens
    return context is not None and any(n is not None and n >= context for n in limits)


def _first(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message)
    return _value(next(filter(None, match.groups()))) if match else None


def _value(digits: str) -> int:
    return int(digits.replace(",", ""))


def _number(value: JsonValue) -> int | None:
    return value if type(value) is int and value > 0 else None


SETTINGS = {
    "temperature": "--temperature",
    "top_p": "--top-p",
    "seed": "--model-seed",
    "max_tokens": "--max-output-tokens",
    "max_output_tokens": "--max-output-tokens",
    "maxOutputTokens": "--max-output-tokens",
    "reasoning_effort": "--reasoning-effort",
    "reasoning": "--reasoning-effort",
    "thinking": "--reasoning-effort",
    "output_config": "--reasoning-effort or --answer-format",
    "stream_options": "--stream",
}
"""What a field of a request is called where the user sets it."""

ADVICE = {
    401: "check the API key (--api-key-env)",
    402: "check the account's credit",
    403: "check that the API key may use this model",
    404: "check the model's name, and the base URL, which mostly ends in /v1",
    413: "the request is too large; shorten what tools return",
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "it is not followed; give that base URL if it is meant"
    ),
    429: "send fewer requests at a time",
}
TOO_LONG = "the conversation is longer than the model reads; see --fit-context"
GEMINI_WORDS = {
    "thinkingConfig": (re.compile("thinking", re.I), "--reasoning-effort"),
    "responseJsonSchema": (
        re.compile("mime.?type"),
        "--answer-format (schema-last goes with tools)",
    ),
    "toolConfig": (re.compile("tool use with|server.?side", re.I), "--hosted-tools or other tools"),
}
"""What Gemini's error says of a field that it does not name, and the option to leave out."""
NO_TOOLS = re.compile(r"enable-auto-tool-choice|does not support (tools|function)", re.I)
KINDS: dict[str, ModelErrorKind] = {
    "insufficient_quota": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "tokens": "rate_limit",
    "requests": "rate_limit",
    "invalid_api_key": "authentication",
    "authentication_error": "authentication",
    "permission_error": "authentication",
}
"""Classes by the `code` or `type` of an error that came without a status."""


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """The class of an error and what to do about it."""

    kind: ModelErrorKind
    retryable: bool
    advice: str
    overflow: Overflow | None = None
    """Where the conversation is longer than the model reads."""


def classify(
    status: int | None, message: str, error: JsonValue, request: Mapping[str, JsonValue]
) -> ErrorClass:
    """The class of an error with this status (None where it has none), text and body, given
    to a request with these fields."""
    request = {**request, **record(dict(request), "generationConfig")}  # Gemini's place for them
    overflow_facts = overflow(status, message, error)
    if overflow_facts is not None and is_output_limit(overflow_facts, request):
        most = overflow_facts.context_tokens
        return ErrorClass("bad_request", False, f"lower --max-output-tokens far below {most}")
    if overflow_facts is not None:
        advice = ADVICE[413] if status == 413 else TOO_LONG
        return ErrorClass("context_overflow", False, advice, overflow_facts)
    kind = _kind(status, error)
    is_lasting = _has_no_credit(error)
    may_pass = kind in ("rate_limit", "timeout", "server", "connection", "unreadable")
    return ErrorClass(
        kind, may_pass and not is_lasting, _advice(status, kind, message, error, request)
    )


def labels(error: JsonValue) -> tuple[str, str]:
    """The `code` and the `type` of an error object."""
    fields = error if isinstance(error, dict) else {}
    return str(fields.get("code")), str(fields.get("type"))


def _has_no_credit(error: JsonValue) -> bool:
    """Whether waiting does not help: OpenAI's code, a quota of Google's for the day."""
    return "insufficient_quota" in labels(error) or "PerDay" in str(_details(error))


def _details(error: JsonValue) -> list[Json]:
    """What Google adds to its errors."""
    fields = error if isinstance(error, dict) else {}
    return records(record(fields, "error") or fields, "details")


def wait_in(error: JsonValue) -> float | None:
    """Seconds after which the server says that it may be asked again, by Google's RetryInfo."""
    waits = (GOOGLE_WAIT.fullmatch(text(each, "retryDelay")) for each in _details(error))
    return next((float(wait[1]) for wait in waits if wait), None)


def status_in(error: JsonValue) -> int | None:
    """The HTTP status that an error inside a 200 stands for, where it tells."""
    code, kind = labels(error)
    if code.isdecimal() and 400 <= int(code) < 600:
        return int(code)
    return 400 if kind in ("invalid_request_error", "BadRequestError") else None


def _kind(status: int | None, error: JsonValue) -> ModelErrorKind:
    is_unknown_key = any(each.get("reason") == "API_KEY_INVALID" for each in _details(error))
    if status in (401, 402, 403) or is_unknown_key:
        return "authentication"
    if status == 429:
        return "rate_limit"
    if status in (408, 504):
        return "timeout"
    if status is not None and status < 500 and status not in (409, 425):
        return "bad_request"
    return next((KINDS[label] for label in labels(error) if label in KINDS), "server")


def _advice(
    status: int | None,
    kind: ModelErrorKind,
    message: str,
    error: JsonValue,
    request: Mapping[str, JsonValue],
) -> str:
    if _has_no_credit(error):
        return "the account has no credit left"
    if kind == "bad_request" and (setting := _field_advice(message, error, request)) is not None:
        return setting
    if kind == "server" or status is None:
        return "try again later"
    return ADVICE.get(status, "change the request")


def _field_advice(message: str, error: JsonValue, request: Mapping[str, JsonValue]) -> str | None:
    """What to change where the server refuses a field that was sent."""
    param = error.get("param") if isinstance(error, dict) else None
    text = f"{param.partition('.')[0] if isinstance(param, str) else ''} {message}"
    if "tools" in request and NO_TOOLS.search(message):
        return (
            "this server calls no tools for this model; use --tool-protocol text, or start the "
            "server with its tool parser"
        )
    for name, (words, option) in GEMINI_WORDS.items():
        if name in request and words.search(message):
            return f"this model does not take it; leave {option} out or change it"
    if "tool_choice" in request and re.search(r"tool[_ ]choice|\brequired\b", text):
        return "this model refuses a required tool call; use --first-step auto"
    if (re.search(r"(?<!\w)(system|developer)(?!\w)", message)) and "role" in message.lower():
        return "this model refuses the role of the system text; change --system-role"
    field = next((f for f in SETTINGS if f in request and _names(text, f)), None)
    if field is not None:
        return f"this model refuses {field}; leave {SETTINGS[field]} out or change it"
    unknown = next((f for f in request if f not in _OURS and _names(text, f)), None)
    return None if unknown is None else f"this model refuses {unknown}; take it out of --extra-body"


_OURS = frozenset(
    "model messages input tools tool_choice stream store contents generationConfig toolConfig"
    " systemInstruction system cache_control".split()
)


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence) is not None


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
        if isinstance(error, list) and error:  # Google's, of some streams
            error = error[0]
        error = shallow(error, self.key)  # before anything is cut short: half a key is one too
        inner = error.get("error", error) if isinstance(error, dict) else error
        if isinstance(inner, dict):
            inner = text(inner, "message", "detail") or json.dumps(inner)
        message = " ".join(str(inner or "nothing more").split())[:300]
        if status is not None and 300 <= status < 400:
            message = f"a redirect to {(headers or {}).get('location', 'nowhere')}"
        code = status or status_in(error)
        group = classify(code, message, error, body)
        wait = retry_after_s(headers or {})
        wait = wait_in(error) if wait is None else wait
        pause = "" if wait is None else f" (Retry-After: {wait:g} s)"
        opening = f"answered HTTP {status or 200}{pause}: {message}"
        failure = self._error(f"{opening}; {group.advice}", group, code or 200, answer, wait)
        failure.failed_call = failed_call(code, message, error)
        return failure

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
        if type(exc).__name__ == "StreamError":  # ours, of `bounded`
            return self.unusable(f"sent what is not read: {exc}")
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


def _unconnected(cause: BaseException) -> str:
    cause_text = f"({type(cause).__name__}: {cause})"
    if type(cause).__name__ in UNSENT:
        return f"cannot be reached {cause_text}; check that it runs and that the base URL is right"
    return f"broke the connection off {cause_text}; try again"


def _plain(body: object) -> JsonValue:
    return body if isinstance(body, str | dict | list) else None
