"""A user's own prompt for a family's questions: a template with placeholders, a system text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.records.manifest import TextFile
from agent_env.records.schema import Condition, Message, Sample
from agent_env.tasks.task import Task

MARK = re.compile(r"\{\{|\}\}|\{(\w+)\}")
"""A placeholder, or a literal brace."""


def read_text_file(file: Path) -> TextFile:
    """The file as a run stores it, without the line end of its last line, which can turn a small
    model's answer; ConfigError if it is not text."""
    try:
        text = file.read_text(encoding="utf-8").rstrip("\n")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text") from None
    if not text.strip():
        raise ConfigError(f"{file} is empty")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return TextFile(name=file.name, digest=digest, text=text)


def with_template(task: Task, template: TextFile) -> Task:
    """The task with its question worded by the template; ConfigError for an invalid template."""
    fields = task.fields
    if fields is None:
        raise ConfigError(f"{template.name}: task {task.name} takes no prompt of your own")
    known = task.placeholders
    used = {mark[1] for mark in MARK.finditer(template.text)} - {None}
    names = ", ".join(f"{{{name}}}" for name in known)
    for name in sorted(used - set(known)):
        raise ConfigError(
            f"{template.name}: unknown placeholder {{{name}}}; known: {names};"
            " write {{ and }} for braces"
        )
    if name := next((n for n, is_required in known.items() if is_required and n not in used), ""):
        raise ConfigError(f"{template.name}: placeholder {{{name}}} is missing; known: {names}")
    wording = partial(fill, template.text)

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="user", content=wording(fields(sample, condition))),)

    return replace(task, prompt=prompt, wording=wording)


def example_turns(task: Task) -> Callable[[Sample, Condition], tuple[Message, ...]] | None:
    """The family's worked examples as turns, worded like its question; None without examples."""
    examples, wording = task.examples, task.wording
    if examples is None or wording is None:
        return None

    def turns(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        messages: list[Message] = []
        for example in examples(sample, condition):
            messages.append(Message(role="user", content=wording(example.fields)))
            messages.append(Message(role="assistant", content=example.answer))
        return tuple(messages)

    return turns


def with_system(task: Task, system: TextFile) -> Task:
    """The task with a system text before everything else."""
    plain = task.prompt

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        return (Message(role="system", content=system.text), *plain(sample, condition))

    return replace(task, prompt=prompt)


def with_texts(task: Task, template: TextFile | None, system: TextFile | None) -> Task:
    """The task with the user's template and system text, if given."""
    task = task if template is None else with_template(task, template)
    return task if system is None else with_system(task, system)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders replaced, in one pass."""
    return MARK.sub(lambda mark: values[mark[1]] if mark[1] else mark[0][0], template)
