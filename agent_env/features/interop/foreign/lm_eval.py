"""Samples of lm-evaluation-harness (`--log_samples`): `samples_TASK_TIME.jsonl`, a line each.

A value that is not a number and a cut line are left out, counted, and named in the notes. Text
that is read can be written as UTF-8, and no number is beyond a float.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_env.features.interop.foreign.log import (
    ForeignEpisode,
    ForeignLog,
    Transcript,
    texts,
)
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.models import read_message, text_in
from agent_env.sdk.records import Message, read_file

FIELDS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps"}
"""Of every line; each name in `metrics` is a field, too."""
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT.*)")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F]).)"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Pairs and other escapes, which are kept, and halves."""


class Unread:
    """Counts what is left out of a log, with the place of the first of each kind."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, what: str, first: str) -> None:
        self._count[what] += 1
        self._first.setdefault(what, first)

    def numbers(self, values: Mapping[str, Any], place: str) -> dict[str, float]:
        """Those that are numbers; what is something else is counted unless it is None."""
        known: dict[str, float] = {}
        for name, value in values.items():
            if isinstance(value, bool | int | float) and math.isfinite(value):
                known[name] = float(value)
            elif value is not None:
                first = f"{str(value)[:40]!r} in {place}"
                self.add(f"values of {name} that are not numbers", first)
        return known

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(
            f"left out: {what} ({count}, the first {self._first[what]})"
            for what, count in self._count.items()
        )


def read_lm_eval(file: Path, with_transcripts: bool) -> ForeignLog | None:
    """The log; None for a file of something else, DatasetError for one without a JSON object. A
    line is of one filter, which is part of the metric's name where there are several, as in the
    harness's own tables. The answer is that of the first filter."""
    unread = Unread()
    rows = _objects(file, unread)
    if not any(row.keys() >= FIELDS for _, row in rows):
        return None
    filters = sorted({str(row.get("filter", "none")) for _, row in rows})
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
    samples: dict[str, dict[str, str]] = {}
    contents: dict[str, str] = {}
    transcripts: dict[str, Transcript | None] = {}
    for line, row in rows:
        if missing := sorted(FIELDS - row.keys()):
            unread.add("lines without a field", f"{missing[0]!r} in {file.name}:{line}")
            continue
        sample = str(row["doc_id"])
        samples[sample] = {"subtask": str(row["task_name"])} if "task_name" in row else {}
        contents[sample] = str(row.get("doc_hash", ""))
        if with_transcripts and sample not in transcripts:
            transcripts[sample] = _transcript(row)
        suffix = f",{row['filter']}" if len(filters) > 1 else ""
        values = {name: row.get(name) for name in _names(row)}
        for name, value in unread.numbers(values, f"{file.name}:{line}").items():
            metrics[sample][name + suffix] = value
    match = _NAME.fullmatch(file.stem)
    about = _about(file, match["time"] if match else "")
    config = _mapping(about.get("config"))
    return ForeignLog(
        file=file,
        source=f"lm-evaluation-harness {about.get('lm_eval_version', 'of unknown version')}",
        task=match["task"] if match else file.stem,
        model=str(about.get("model_name") or file.parent.name or "unknown"),
        episodes=tuple(
            ForeignEpisode(sample, 1, metrics[sample], transcript=transcripts.get(sample))
            for sample in samples
        ),
        samples=samples,
        contents=contents,
        settings=texts({**config, **_mapping(config.get("model_args")), "model": None}),
        notes=("the file tells no tokens and no errors", *unread.notes),
    )


def _transcript(row: Mapping[str, Any]) -> Transcript | None:
    """The prompts of the line, each with a reply for each repeat; where the model was asked for
    likelihoods, one that lists the continuations. None where there is no prompt with a reply."""
    replies: dict[str, list[str]] = defaultdict(list)
    scored: dict[str, list[str]] = defaultdict(list)
    responses = _members(row["resps"])
    for number, request in enumerate(map(_members, _members(row["arguments"]))):
        # the prompt of a chat API is in a list of its own
        single = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in request]
        prompt, rest = [*single, None, None][:2]
        if not isinstance(prompt, str):
            continue
        for reply in _members(responses[number]) if number < len(responses) else ():
            if isinstance(rest, str) and isinstance(reply, list) and reply:
                scored[prompt].append(f"{number}: {rest.strip()} (log-likelihood {reply[0]})")
            else:
                replies[prompt].append(text_in(reply, "\n"))
    replies |= {prompt: ["\n".join(lines)] for prompt, lines in scored.items()}
    if not replies:
        return None
    first = _prompt(next(iter(replies)))
    target, answers = row["target"], _members(row["filtered_resps"])
    questions = [each.content for each in first if each.role == "user"]
    return Transcript(
        messages=tuple(
            each
            for prompt, texts in replies.items()
            for each in (*_prompt(prompt), *(Message(role="assistant", content=x) for x in texts))
        ),
        prompt=len(first),
        question=questions[-1] if questions else None,
        gold=tuple(map(str, target)) if isinstance(target, list) else str(target),
        answer=answers[0] if answers and isinstance(answers[0], str) else None,
    )


def _prompt(text: str) -> tuple[Message, ...]:
    """The messages of a chat, which the harness writes as JSON; else the text as the user's."""
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        value = None
    members = value if isinstance(value, list) else ()
    chat = [read_message(each, "\n") for each in members if isinstance(each, dict)]
    if chat and None not in chat:
        return tuple(each for each in chat if each is not None)
    return (Message(role="user", content=text),)


def _members(value: Any) -> list[Any]:
    """Of a list, or of an object `gen_args_0`, `gen_args_1`, which newer versions write for one."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _about(file: Path, time: str) -> Mapping[str, Any]:
    """The summary of the same run beside it, where there is one that can be read."""
    try:
        beside = file.with_name(f"results_{time}.json")
        return _mapping(parse(read_file(file.parent, beside).decode("utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _names(row: dict[str, Any]) -> list[str]:
    """Of the line's metrics; older files do not list them."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return [str(name) for name in listed]
    known = FIELDS | {"filter", "doc_hash", "prompt_hash", "target_hash", "task_name"}
    return [name for name in row if name not in known]


def _objects(file: Path, unread: Unread) -> list[tuple[int, dict[str, Any]]]:
    """The objects with their lines; DatasetError where no line is one."""
    try:
        text = file.read_text("utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise DatasetError(file, None, "is not UTF-8 text") from None
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            rows.append((number, value))
        else:
            unread.add("lines that are not JSON objects, or are cut off", f"{file.name}:{number}")
    if not rows:
        raise DatasetError(file, None, "holds no JSON object")
    return rows


def parse(text: str) -> Any:
    """The JSON value; half of a surrogate pair, which no file can hold, becomes U+FFFD, and an
    integer beyond a float infinite."""
    whole = (
        _SURROGATES.sub(lambda match: match[1] or "\\ufffd", text) if _HALF.search(text) else text
    )
    return json.loads(
        whole, parse_int=lambda digits: int(digits) if len(digits) <= 300 else float(digits)
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    """The object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}
