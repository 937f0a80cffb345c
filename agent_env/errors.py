"""The error tree, and who sees which.

AgentEnvError
  ConfigError      the user's mistake: one line on stderr, exit 2
  DatasetError     a file the user gave, by file and line: one line, exit 2
  StorageError     the disk would not take or give what a run needs: the run stops
  RunStopped       a limit of the whole run, or too many failures: the run stops, to be resumed
  ToolError        shown to the model; the episode goes on
  EpisodeError     recorded on the episode; its siblings go on
    ModelError, SandboxError, SearchError, ReplayError

A reached limit is not an error but a stop reason, failing user code is an ExecResult.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from json import JSONDecodeError
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from agent_env.records.schema import Usage

ModelErrorKind = Literal[
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "authentication",
    "bad_request",
    "context_overflow",
    "unreadable",
]
"""What went wrong with a model call; `unreadable` is a reply that is none."""


class AgentEnvError(Exception):
    """Root of everything this package raises on purpose."""


class ConfigError(AgentEnvError):
    """The user asked for something that cannot be; the text says what and what to do."""


class ConfigErrors(ConfigError):
    """Several of them."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


class DatasetError(AgentEnvError):
    """A file that cannot be read as what it should be."""

    def __init__(self, file: object, line: int | None, reason: str) -> None:
        where = f"{file}:{line}" if line is not None else f"{file}"
        super().__init__(f"{where}: {reason}")


class DatasetErrors(DatasetError):
    """Several defects of one file."""

    SHOWN = 20

    def __init__(self, file: object, defects: Sequence[tuple[int | None, str]]) -> None:
        super().__init__(file, *defects[0])
        each = [str(DatasetError(file, *defect)) for defect in defects]
        more = len(each) - self.SHOWN
        self.lines = (*each[: self.SHOWN], *([f"{file}: {more} more defects"] if more > 0 else ()))
        """A line for each of the first defects, and their number where there are more."""

    def __str__(self) -> str:
        return "\n".join(self.lines)


class StorageError(AgentEnvError):
    """A file of the run could not be written or read."""


class RunStopped(AgentEnvError):
    """The run ended early; its unfinished episodes can be resumed."""

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["tokens", "cost", "time", "failures"],
        at_least: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        """Which limit was reached."""
        self.at_least = at_least
        """The limit that the next call would keep, in tokens or USD, where it is known."""


class RunWaits(AgentEnvError):
    """The run's calls are in batches, and it is to be gone on with when these are done."""


class BatchWait(AgentEnvError):
    """An episode's next model call is in a batch, or will be."""


class ToolError(AgentEnvError):
    """A tool call that failed; its text is the tool's output, written for the model."""


class EpisodeError(AgentEnvError):
    """Ends one episode as failed."""


class ModelError(EpisodeError):
    """The model's server did not give a usable reply."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        kind: ModelErrorKind | None = None,
        retry_after_s: float | None = None,
        is_corrected: bool = False,
        usage: Usage | None = None,
        unsent: bool = False,
        context_tokens: int | None = None,
        request_tokens: int | None = None,
        partial: str | None = None,
        failed_call: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, where there was one."""
        self.retryable = retryable
        """Whether the same request may succeed later."""
        self.kind = kind
        """What went wrong; None where the model's adapter does not say."""
        self.retry_after_s = retry_after_s
        """How long the server asks us to wait, where it says so."""
        self.is_corrected = is_corrected
        """Whether the next request keeps the rule that this one did not: it need not wait."""
        self.usage = usage
        """Tokens that the failed call cost, where the server says so."""
        self.unsent = unsent
        """Whether the request never reached the server."""
        self.context_tokens = context_tokens
        """How many tokens the model reads, where an overflow says so."""
        self.request_tokens = request_tokens
        """How many were sent, where an overflow says so."""
        self.partial = partial
        """The end of what a stream had said before it broke off."""
        self.failed_call = failed_call
        """What the model wrote, or what the server says of it, where it refuses the model's own
        tool call."""


class SandboxError(EpisodeError):
    """The sandbox itself failed, not the code in it."""


class SearchError(EpisodeError):
    """The search provider failed in a way the model cannot mend."""


class ReplayError(EpisodeError):
    """A replayed episode asked for something other than what was recorded."""


def first_problem(problems: Sequence[Mapping[str, Any]]) -> str:
    """The first of a pydantic error's problems as `field: what is wrong`."""
    first = problems[0]
    field = ".".join(map(str, first["loc"]))
    if missing := _missing_field(first, field):
        return missing
    if first["type"] == "extra_forbidden":
        return f"unknown field '{field}'"
    text = str(first["msg"]).removeprefix("Value error, ")  # pydantic's word for ours
    return f"{field}: {text}" if field else text


def user_problem(problems: Sequence[Mapping[str, Any]], known: Iterable[str]) -> str:
    """The same of what a user wrote, in our words; `known` are the keys there are."""
    first = problems[0]
    field = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
    if missing := _missing_field(first, field):
        return missing
    if first["type"] == "extra_forbidden":
        return f"unknown key '{field}'; {suggestion(field.rpartition('.')[2], known)}"
    if first["type"] == "literal_error":
        text = f"{field}: '{first['input']}' is not {first['ctx']['expected']}"
        return text.removeprefix(": ")
    return f"{field}: {first['msg'].replace('Input should be', 'must be')}".removeprefix(": ")


def nearest(text: str, names: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names that may have been meant: those that go on from the text, then the likest ones."""
    names = list(names)
    longer = [name for name in names if text and name.startswith(text)]
    near = get_close_matches(text, names, n=most, cutoff=cutoff)
    return list(dict.fromkeys([*longer, *near]))[:most]


def did_you_mean(text: str, names: Iterable[str]) -> str:
    """A question, with a space behind it, for the nearest name; empty where none is near."""
    return "".join(f"did you mean {name}? " for name in nearest(text, names))


def suggestion(text: str, names: Iterable[str]) -> str:
    """The same, and all the names that are known."""
    names = list(names)
    return f"{did_you_mean(text, names)}known: {', '.join(names) or 'none'}"


def _missing_field(problem: Mapping[str, Any], field: str) -> str:
    """The problem where a field is not there, also that which tells kinds of records apart."""
    if problem["type"] == "union_tag_not_found":
        field = problem["ctx"]["discriminator"].strip("'")
    elif problem["type"] != "missing":
        return ""
    return f"field '{field}' is missing"


def syntax_problem(exc: Exception) -> tuple[int | None, str]:
    """Of an error of tomllib or json: its line, where it says one, and what is wrong there."""
    if isinstance(exc, JSONDecodeError):
        return exc.lineno, f"is not JSON: {exc.msg} at column {exc.colno}"
    text, place, end = str(exc).partition(" (at line ")
    line = end.partition(",")[0]
    return int(line) if place and line.isdecimal() else None, f"is not TOML: {text}"


@contextmanager
def boundary(kind: type[EpisodeError], what: str) -> Iterator[None]:
    """Turn any foreign exception raised inside into `kind`, named by `what`, cause kept."""
    try:
        yield
    except AgentEnvError:
        raise
    except Exception as exc:  # the one place where everything foreign becomes ours
        where = f" at {place}" if (place := place_of(exc)) else ""
        raise kind(f"{what}: {type(exc).__name__}: {exc}{where}") from exc


# Errors in the code of others --------------------------------------------------------------------

_HOUSE = str(Path(__file__).parent)
_LIBRARY = str(Path(os.__file__).parent)
"""The folder of the standard library."""


def error_text(exc: BaseException) -> str:
    """The error of a plugged-in function in one line, with the place in its file."""
    text, place = " ".join(f"{type(exc).__name__}: {exc}"[:300].split()), place_of(exc)
    return f"{text} at {place}" if place else text


def place_of(exc: BaseException) -> str:
    """FILE:LINE of the innermost code that is neither ours nor Python's; "" where there is none."""
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{_shown(exc.filename)}:{exc.lineno}"
    place, trace = "", exc.__traceback__
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code.co_filename):
            place = f"{_shown(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def place_in(frame: FrameType | None) -> str:
    """The same of a frame that runs."""
    while frame is not None:
        if not _is_ours(frame.f_code.co_filename):
            return f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _is_ours(file: str) -> bool:
    is_library = file.startswith(_LIBRARY) and "site-packages" not in file
    return file.startswith((_HOUSE, "<frozen")) or is_library


def _shown(file: str) -> str:
    """A file of an installed package from its package on; any other whole."""
    _, separator, inside = file.rpartition("site-packages/")
    return inside if separator else file
