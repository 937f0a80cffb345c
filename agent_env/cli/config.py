"""`run --config FILE`: options of a command from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer


def read_config(context: typer.Context, file: Path | None) -> None:
    """Takes the file's values as the defaults of the command's options; an error names the file,
    the line and the key."""
    from agent_env.errors import ConfigError, DatasetError
    from agent_env.runs.studies.toml_lines import TomlLines

    if file is None:
        return
    try:
        toml = TomlLines(file, file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"--config {file} cannot be read: {exc}") from exc
    known = {each.opts[0].removeprefix("--"): each for each in context.command.params}
    del known["config"]
    values = {}
    for key, value in toml.data.items():
        try:
            if (option := known.get(key.replace("_", "-"))) is None:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean '{near[0]}'?" if near else "run --help-all lists them"
                raise ConfigError(f"there is no such option; {hint}")
            values[option.name] = _value(context, option, value, file.parent)
        except ConfigError as exc:
            raise DatasetError(file, toml.line((key,)), f"{key}: {exc}") from exc
    context.default_map = values


def _value(context: typer.Context, option: Any, value: Any, folder: Path) -> Any:
    """The value as the command line has it: texts, files of the folder with their whole paths."""
    from agent_env.errors import ConfigError
    from agent_env.runs.studies.plan import with_files
    from agent_env.tasks.family import option_texts

    is_several = getattr(option, "multiple", False)
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise ConfigError(f"write true or false, not {value!r}")
        return value
    if is_several:
        parts = option_texts(value) if isinstance(value, Mapping) else value
        parts = parts if isinstance(parts, list | tuple) else [parts]
    else:
        parts = [value]
    if wrong := [each for each in parts if isinstance(each, bool | list | Mapping)]:
        raise ConfigError(f"{wrong[0]!r} is no value; write a text or a number")
    texts = [with_files(folder, str(each)) for each in parts]
    typed = texts if is_several else texts[0]
    try:
        made = option.process_value(context, typed)
    except typer.BadParameter as exc:
        raise ConfigError(exc.message) from exc
    return folder / made if isinstance(made, Path) else typed
