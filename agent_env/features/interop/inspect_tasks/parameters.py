"""The parameters of a task, `-T NAME=VALUE`, as the options of a run.

They are the keywords of `ae.run`, but for what Inspect decides: the model, how often and how many
at a time it is asked, and where the log goes. `condition` is one, `count` the number of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from typing import Any, get_origin

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import modifiers, option_texts
from agent_env.sdk.run import Keyword, RunOptions, from_arguments, keywords_of, task_of

RENAMED = {"condition": "conditions", "count": "limit"}
INSTEAD = {
    "model": "--model",
    "base_url": "--model-base-url",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "max_output_tokens": "--max-tokens",
    "reasoning_effort": "--reasoning-effort",
    "model_seed": "--seed",
    "reply_cache": "--cache",
    "retries": "--max-retries",
    "cost_usd": "--cost-limit",
    "concurrency": "--max-samples",
    "repeats": "--epochs",
    "out": "--log-dir",
    "limit": "--limit, or -T count=NUMBER",
    "conditions": "-T condition=NAME",
}
"""What Inspect has for these options of a run."""
OTHERS = ("task", "serve", "api_key_envs", "tokenizer", "answer_formats")
"""Options of a run that are about its model or its folder."""
TEXTS = ("options", "where")
"""Of the form KEY=VALUE."""


def run_options(family: str, parameters: Mapping[str, Any]) -> RunOptions:
    """The run of these parameters, of one condition; ConfigError where one cannot be."""
    of_run = keywords_of(RunOptions)
    known = {name: of_run[theirs] for name, theirs in RENAMED.items()}
    known |= {name: key for name, key in of_run.items() if _is_ours(key)}
    values: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in known:
            raise ConfigError(_unknown(name, known))
        if value is not None:
            values[RENAMED.get(name, name)] = _value(name, value, known[name])
    if "conditions" in values:
        values["conditions"] = _plain(values)
    try:
        options: RunOptions = from_arguments(RunOptions, {"task": family, **values}, family)
    except ConfigError as exc:
        name, equals, problem = str(exc).partition("=")
        ours = next((ours for ours, theirs in RENAMED.items() if theirs == name), name)
        raise ConfigError(ours + equals + problem) from None
    if options.conditions:
        return options
    return replace(options, conditions=task_of(options, {}).default_conditions[:1])


def _plain(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The condition without the modifiers that another parameter makes."""
    names = values["conditions"]
    if len(names) != 1:
        raise ConfigError(f"-T condition={','.join(map(str, names))}: name one, as a log has one")
    name = str(names[0])
    for modifier in (each for each in modifiers() if values.keys() & {*each.options}):
        name = modifier.cut_from(name)
    return (name,)


def _is_ours(key: Keyword) -> bool:
    part = key.option.path[0]
    if part == "parameters":
        return key.name == "tool_protocol"
    return part != "calls" and key.name not in (*INSTEAD, *OTHERS)


def _unknown(name: str, known: Mapping[str, Keyword]) -> str:
    if name in INSTEAD:
        return f"-T {name}: Inspect has an option for it: {INSTEAD[name]}"
    if name in keywords_of(RunOptions):
        return f"-T {name}: agent-env run has this option; its tasks in Inspect do not"
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    return f"-T {name}: there is no such parameter; {hint}"


def _value(name: str, value: Any, key: Keyword) -> Any:
    """The value as YAML on the command line gave it, in the type of its option: `a=1,2` came as
    the list of `a=1` and `2`."""
    if isinstance(value, Mapping) and name in TEXTS:
        return option_texts(value)
    if isinstance(value, date):
        return value.isoformat()
    if get_origin(key.type) is not tuple:
        return value
    items = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(_joined(map(str, items))) if name in TEXTS else tuple(items)


def _joined(pieces: Iterator[str]) -> list[str]:
    texts: list[str] = []
    for piece in pieces:
        if texts and "=" not in piece:
            texts[-1] += f",{piece}"
        else:
            texts.append(piece)
    return texts
