"""Results as Hugging Face's model repositories hold them: .eval_results/TASK_CONDITION.yaml.

One file for each condition, so that results with and without tools are entries of their own. The
values stand as JSON does, which YAML takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.export.chat import storable
from agent_env.extensions.interop.export.source import MeanScore, Source, harness, is_plain
from agent_env.sdk.records import Condition, Manifest


def write(source: Source, out: Path) -> dict[str, int]:
    """Write an entry for each condition that has a mean of the main metric, or of the one that was
    chosen, into the folder `out`. What would be no result of the benchmark is left out: conditions
    that cannot mean anything, tell part of the answer, or have their world changed on purpose, and
    forks."""
    manifest, results, count = source.manifest, source.results, 0
    metric = source.choice.metric or source.task.metrics[0]
    means = {mean.condition: mean for mean in results.means if mean.metric == metric}
    folder = out / ".eval_results"
    folder.mkdir()
    for condition in manifest.conditions:
        mean = means.get(condition.name)
        if mean is None or mean.problem is not None or not is_plain(condition, manifest):
            continue
        entry = {
            "dataset": {"id": results.benchmark, "task_id": results.benchmark_task},
            "value": mean.value,
            "date": manifest.created_at,
            "notes": _notes(condition, mean, manifest),
        }
        name = re.sub(r"[^A-Za-z0-9._+~-]", "_", f"{results.benchmark_task}_{condition.name}")
        (folder / f"{name}.yaml").write_text("\n".join(_yaml(entry)) + "\n", encoding="utf-8")
        count += 1
    return {"results": count}


def _notes(condition: Condition, mean: MeanScore, manifest: Manifest) -> str:
    none = "no-tools" if manifest.imported is None else "tools unknown"
    tools = f"tools: {', '.join(condition.tools)}" if condition.tools else none
    better = "lower is better" if mean.is_error else "higher is better"
    return (
        f"{tools}; condition {condition.name}; mean of {mean.metric}, {better}; {mean.interval}; "
        f"{mean.samples} samples, {mean.episodes} episodes; model {manifest.model}; "
        f"{' '.join(harness(manifest))}"
    )


def _yaml(entry: Mapping[str, Any], before: str = "- ") -> list[str]:
    lines = []
    for name, value in entry.items():
        if isinstance(value, Mapping):
            lines += [f"{before}{name}:", *_yaml(value, "    ")]
        else:
            lines.append(f"{before}{name}: {storable(json.dumps(value, ensure_ascii=False))}")
        before = before if before == "    " else "  "
    return lines
