"""Samples of lm-evaluation-harness (`--log_samples`): `samples_TASK_TIME.jsonl`, a line each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.foreign.fields import (
    Unread,
    mapping,
    message,
    objects,
    parse,
    plain_text,
    read_object,
    texts,
)
from agent_env.extensions.interop.foreign.log import ForeignEpisode, ForeignLog, Transcript
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.records import Message

FIELDS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps"}
"""Of every line; each name in `metrics` is a field, too."""
_NAME = re.compile(r"samples_(?P<task>.+?)_(?P<time>\d{4}-\d\d-\d\dT.*)")


def read_lm_eval(
    file: Path, rows: Sequence[tuple[int, dict[str, Any]]], unread: Unread, with_transcripts: bool
) -> ForeignLog:
    """The log. `rows` are the file's objects with their lines: one for each filter; the filter is
    part of the metric's name where there are several, as in the harness's own tables. The answer is
    that of the first filter."""
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
    config = mapping(about.get("config"))
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
        settings=texts({**config, **mapping(config.get("model_args")), "model": None}),
        notes=("the file tells no tokens and no errors", *unread.notes),
    )


def _transcript(row: Mapping[str, Any]) -> Transcript | None:
    """The prompts of the line, each with a reply for each repeat; where the model was asked for
    likelihoods, one that lists the continuations. None where there is no prompt with a reply."""
    replies: dict[str, list[str]] = defaultdict(list)
    scored: dict[str, list[str]] = defaultdict(list)
    responses = _members(row["resps"])
    for number, request in enumerate(map(_members, _members(row["arguments"]))):
        # the prompt of a chat API stands in a list of its own
        single = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in request]
        prompt, rest = [*single, None, None][:2]
        if not isinstance(prompt, str):
            continue
        for reply in _members(responses[number]) if number < len(responses) else ():
            if isinstance(rest, str) and isinstance(reply, list) and reply:
                scored[prompt].append(f"{number}: {rest.strip()} (log-likelihood {reply[0]})")
            else:
                replies[prompt].append(plain_text(reply))
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
        chat = [message(each) for each in objects(parse(text))]
    except (ValueError, RecursionError):
        chat = []
    if chat and None not in chat:
        return tuple(each for each in chat if each is not None)
    return (Message(role="user", content=text),)


def _members(value: Any) -> list[Any]:
    """Of a list, or of an object `gen_args_0`, `gen_args_1`, which newer versions write for one."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _about(file: Path, time: str) -> dict[str, Any]:
    """The summary of the same run beside it, where there is one that can be read."""
    try:
        return read_object(file.with_name(f"results_{time}.json"), file.parent)
    except (ConfigError, DatasetError):
        return {}


def _names(row: dict[str, Any]) -> list[str]:
    """Of the line's metrics; older files do not list them."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return [str(name) for name in listed]
    known = FIELDS | {"filter", "doc_hash", "prompt_hash", "target_hash", "task_name"}
    return [name for name in row if name not in known]
