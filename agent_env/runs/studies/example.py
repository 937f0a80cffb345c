"""The study.toml that `study new` writes: it runs as it is, without key or network."""

from __future__ import annotations

from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.runs.studies.read import FILE

EXAMPLE = """\
# A study: every model answers every task under every condition (agent-env docs studies).
# Any option of `agent-env run` may stand here, with _ for -: at the top, in a task or in a model.
conditions = ["base", "explicit"]
repeats = 1
contrasts = ["explicit:base"]   # planned comparisons; those added after the start are exploratory

# [budget]                      # of all models together
# cost_usd = 20.0               # needs prices
# tokens = 5_000_000

[tasks.puzzles]
task = "time-puzzles"
limit = 6
seed = 1
options = { facts = "5-6" }

[models.reference]              # a script that needs no server; replace it by models of yours
model = "reference"

[models.static]
model = "reference-static"

# [models.qwen]
# model = "compatible/Qwen/Qwen3-8B"
# base_url = "http://127.0.0.1:8000/v1"
# api_key_env = "QWEN_KEY"      # the variable's name, never the key
# tool_protocol = "native"      # or "text"
# temperature = 0.0
# concurrency = 4
# budget = { tokens = 1_000_000 }
# prices = { input_per_million = 0.1, output_per_million = 0.4, date = "2026-11-01", source = "…" }
"""


def write_study(folder: Path, text: str = EXAMPLE) -> Path:
    """Writes study.toml into the folder; ConfigError where a study is there."""
    file = folder / FILE
    if file.exists():
        raise ConfigError(f"{file} is there already; name another folder, or edit it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot write to {folder}: {exc.strerror}") from exc
    return file
