"""Results in the shared schema of the EvalEval coalition, Every Eval Ever 0.3.0, and as model
repositories of Hugging Face hold them.

A log of the former is a condition, at data/DATASET/DEVELOPER/MODEL/UUID.json, with the mean of each
metric, its interval and the tools on offer. Beside it, UUID_samples.jsonl has a line for each
episode that has a score. What is exported twice is the same file.

The latter are .eval_results/TASK_CONDITION.yaml, one file for each condition, so that results with
and without tools are entries of their own. The values stand as JSON does, which YAML takes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

from agent_env.extensions.interop.export.chat import arguments_of, as_document, storable
from agent_env.extensions.interop.export.source import (
    COMPATIBLE,
    LOCAL,
    EpisodeRecord,
    MeanScore,
    Source,
    harness,
    hub_model,
    is_plain,
)
from agent_env.sdk.family import needs_sandbox
from agent_env.sdk.records import Condition, Episode, Manifest, Message, ToolSpec


def instance(record: EpisodeRecord, metric: str, right_metric: str) -> Json:
    """The fields of an episode that has a score; correct is what `right_metric` gives 1."""
    episode, score = record.episode, record.score
    prompt, told = record.start.messages, episode.messages[len(record.start.messages) :]
    replies = [message for message in told if message.role == "assistant"]
    is_single = not record.start.tools and len(told) == len(replies) == 1
    kind = "agentic" if record.start.tools else "single_turn" if is_single else "multi_turn"
    question = "\n\n".join(m.content for m in prompt if m.role in ("system", "user"))
    asked = {"raw": question, "reference": list(record.sample.gold)}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    if is_single:
        thoughts = None if replies[0].reasoning is None else [replies[0].reasoning]
        output: Json | None = {"raw": [replies[0].content], "reasoning_trace": thoughts}
    turns = None if is_single else [_turn(n, m) for n, m in enumerate(episode.messages)]
    return {
        "sample_id": episode.sample,
        "sample_hash": hashlib.sha256(text.encode()).hexdigest(),  # as the schema's converters
        "interaction_type": kind,
        "input": asked,
        "output": output if is_single else None,
        "messages": turns,
        "answer_attribution": _attribution(record, is_single),
        "evaluation": {
            "score": score.metrics[metric],
            "is_correct": score.metrics.get(right_metric) == 1.0,
            "num_turns": 1 if is_single else len(episode.messages),
            "tool_calls_count": episode.tool_calls,
        },
        "token_usage": _usage(episode),
        "performance": None
        if episode.duration_s is None
        else {"latency_ms": episode.duration_s * 1000},
        "error": None,
        "metadata": {
            "condition": episode.condition,
            "repeat": str(episode.repeat),
            "outcome": score.outcome,
            "stop_reason": str(episode.stop_reason),
            **{f"score_{name}": str(value) for name, value in score.metrics.items()},
        },
    }


def _turn(number: int, message: Message) -> Json:
    calls = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in arguments_of(call)[0].items()
            },
        }
        for call in message.tool_calls
    ]
    return {
        "turn_idx": number,
        "role": message.role,
        "content": message.content,
        "reasoning_trace": message.reasoning,
        "tool_calls": calls or None,
        "tool_call_id": None if message.tool_call_id is None else [message.tool_call_id],
    }


def _attribution(record: EpisodeRecord, is_single: bool) -> list[Json]:
    """Where the scorer read the answer; empty where it read none."""
    if record.score.answer is None:
        return []
    messages = record.episode.messages
    last = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=0)
    return [
        {
            "turn_idx": 0 if is_single else last,
            "source": "output.raw" if is_single else "messages[turn_idx].content",
            "extracted_value": ", ".join(record.score.answer),
            "extraction_method": record.score.rule or "agent-env",
            "is_terminal": True,
        }
    ]


def _usage(episode: Episode) -> Json | None:
    """None where a count is unknown."""
    if episode.input_tokens is None or episode.output_tokens is None:
        return None
    return {
        "input_tokens": episode.input_tokens,
        "output_tokens": episode.output_tokens,
        "total_tokens": episode.input_tokens + episode.output_tokens,
        "input_tokens_cache_read": episode.cached_tokens,
        "reasoning_tokens": episode.reasoning_tokens,
    }


SCHEMA = "0.3.0"
LEVEL = 0.95
METRIC_IDS = {"exact_match": "exact-match", "f1": "f1", "accuracy": "accuracy"}
"""Metrics that others have too; all others are ours by name."""
Json = dict[str, Any]


def write_eee(source: Source, out: Path) -> dict[str, int]:
    """Write a log and its lines for each condition that has a mean into the folder `out`; episodes
    without a score are in no line and no mean."""
    means, counts = source.results.by_condition(), {"logs": 0, "samples": 0}
    conditions = {condition.name: condition for condition in source.manifest.conditions}
    for name, records in groupby(source, key=lambda record: record.episode.condition):
        condition = conditions.get(name)
        if condition is None or name not in means:
            source.left_out += sum(1 for _ in records)
            continue
        log = _Log(source, condition, out)
        counts["samples"] += log.write_lines(records)
        log.write(means[name])
        counts["logs"] += 1
    return counts


class _Log:
    """The two files of one condition."""

    def __init__(self, source: Source, condition: Condition, out: Path) -> None:
        manifest, benchmark = source.manifest, source.results.benchmark
        self.source, self.condition, self.out = source, condition, out
        self.model = hub_model(manifest.model)
        self.dataset = benchmark.partition("/")[2] if benchmark else manifest.task
        self.name = self.dataset  # of the evaluation; results of one name may be compared
        if not is_plain(condition, manifest):
            self.name += f".{condition.name}"
        self.identity = f"{self.dataset}/{self.model}/{source.run}/{condition.name}"
        uuid = UUID(bytes=hashlib.sha256(self.identity.encode()).digest()[:16], version=4)
        developer, _, name = self.model.partition("/")
        parts = (re.sub(r"[^\w.+-]", "_", part) for part in (self.dataset, developer, name))
        self.file = Path("data", *parts, f"{uuid}.json")
        self.lines = self.file.with_name(f"{uuid}_samples.jsonl")
        self.digest, self.rows = hashlib.sha256(), 0
        self.last_at = ""  # when the last of its episodes ended
        self.tools: tuple[ToolSpec, ...] = ()

    def write_lines(self, records: Iterable[EpisodeRecord]) -> int:
        """Writes a line for each episode with a score of the main metric, or the one chosen."""
        source = self.source
        metric = source.choice.metric or source.task.metrics[0]
        (self.out / self.lines).parent.mkdir(parents=True, exist_ok=True)
        with (self.out / self.lines).open("wb") as file:
            for record in records:
                self.last_at = max(self.last_at, record.events[-1].at)
                self.tools = self.tools or record.start.tools
                if metric not in record.score.metrics:
                    source.left_out += 1
                    continue
                line = {
                    "schema_version": SCHEMA,
                    "evaluation_id": self.identity,
                    "model_id": self.model,
                    "evaluation_name": self.name,
                    "evaluation_result_id": f"{self.identity}/{metric}",
                    **instance(record, metric, source.task.right_metric),
                }
                data = storable(json.dumps(line, ensure_ascii=False) + "\n").encode()
                file.write(data)
                self.digest.update(data)
                self.rows += 1
        if not self.rows:  # the metric is defined for no episode
            (self.out / self.lines).unlink()
        return self.rows

    def write(self, means: Iterable[MeanScore]) -> None:
        """Writes the log, when the lines are there."""
        manifest, results = self.source.manifest, self.source.results
        name, version = harness(manifest)
        notes = [*results.notes, *(manifest.imported.notes if manifest.imported else ())]
        log = {
            "schema_version": SCHEMA,
            "evaluation_id": self.identity,
            "evaluation_timestamp": _epoch(manifest.created_at),
            "retrieved_timestamp": _epoch(self.last_at),
            "source_metadata": {
                "source_name": "agent-env",
                "source_type": "evaluation_run",
                "source_organization_name": results.organization,
                "evaluator_relationship": "other",
                "additional_details": _texts(
                    run=self.source.run, notes=notes, pack=self.source.choice.pack
                ),
            },
            "eval_library": {"name": name, "version": version},
            "model_info": _model(manifest, self.model),
            "evaluation_results": [self._result(mean, manifest) for mean in means],
        }
        if self.rows:
            log["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": self.lines.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": self.digest.hexdigest(),
                "total_rows": self.rows,
            }
        (self.out / self.file).write_bytes(as_document(log))

    def _result(self, mean: MeanScore, manifest: Manifest) -> Json:
        return {
            "evaluation_result_id": f"{self.identity}/{mean.metric}",
            "evaluation_name": self.name,
            "evaluation_timestamp": _epoch(manifest.created_at),
            "source_data": self._data(manifest),
            "metric_config": _metric(mean, harness(manifest)[0]),
            "score_details": _score(mean),
            "generation_config": _generation(manifest, self.condition, self.tools),
        }

    def _data(self, manifest: Manifest) -> Json:
        details = _texts(
            task=manifest.task, file=manifest.dataset, seed=manifest.seed,
            samples=manifest.samples, samples_digest=manifest.samples_digest,
        )  # fmt: skip
        benchmark = self.source.results.benchmark
        kind = {"source_type": "hf_dataset", "hf_repo": benchmark} if benchmark else None
        known = {"dataset_name": self.dataset, **(kind or {"source_type": "other"})}
        return {**known, "additional_details": details}


def _epoch(at: str) -> str:
    return str(int(datetime.fromisoformat(at).timestamp())) if at else "0"


def _texts(**values: object) -> dict[str, str]:
    """The known values as texts, which the schema asks for."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value not in (None, [], ())
    }


def _model(manifest: Manifest, model: str) -> Json:
    kind = manifest.model.partition("/")[0]
    is_local, is_open = manifest.model.startswith(LOCAL), manifest.model.startswith(COMPATIBLE)
    known: Json = {"inference_engine": {"name": "llama.cpp"}} if is_local else {}
    if "/" in manifest.model and not (is_local or is_open or manifest.imported):
        known = {"inference_platform": kind}
    managed = "externally_managed" if "inference_platform" in known else "unknown"
    return {
        "name": manifest.model,
        "id": model,
        "developer": model.partition("/")[0],
        **known,
        "additional_details": {
            "deployment_type": "self_deployed" if is_local else managed,
            "model_availability": "unknown",
            **_texts(served_model=manifest.served_model),
        },
    }


def _metric(mean: MeanScore, library: str) -> Json:
    known = mean.metric in METRIC_IDS
    low, high = (0, 1) if mean.is_bounded else ("-Infinity", "Infinity")
    return {
        "metric_id": METRIC_IDS[mean.metric] if known else f"{library}.{mean.metric}",
        "metric_name": mean.metric,
        "metric_unit": "proportion" if mean.is_bounded else "points",
        "lower_is_better": mean.is_error,
        "score_type": "continuous",
        "min_score": 0 if mean.is_error else low,
        "max_score": high,
    }


def _score(mean: MeanScore) -> Json:
    uncertainty: Json = {"num_samples": mean.samples}
    if mean.low is not None and mean.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": mean.low, "upper": mean.high, "confidence_level": LEVEL, "method": mean.method,
        }  # fmt: skip
    without = mean.method if mean.low is None else None
    return {
        "score": mean.value,
        "uncertainty": uncertainty,
        "details": _texts(
            finished_episodes=mean.episodes, no_interval=without, problem=mean.problem
        ),
    }


def _generation(manifest: Manifest, condition: Condition, tools: Iterable[ToolSpec]) -> Json:
    names = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens"}
    settings: Mapping[str, Any] = manifest.model_parameters
    limits: Mapping[str, Any] = {
        "time_limit": manifest.limits.get("time_s"), "token_limit": manifest.limits.get("tokens")
    }  # fmt: skip
    arguments: Json = {
        to: settings[name] for name, to in names.items() if settings.get(name) is not None
    }
    if condition.tools:
        arguments["agentic_eval_config"] = {
            "available_tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": {"json_schema": json.dumps(tool.parameters)},
                }
                for tool in tools
            ],
            "additional_details": _texts(
                web=manifest.web,
                **{f"limit_{name}": value for name, value in manifest.limits.items()},
            ),
        }  # fmt: skip
    if whole := {name: value for name, value in limits.items() if type(value) is int}:
        arguments["eval_limits"] = whole
    if manifest.sandbox is not None and needs_sandbox(condition):
        arguments["sandbox"] = {"type": manifest.sandbox}
    about: Json = {f"option_{name}": value for name, value in manifest.options.items()}
    if manifest.imported is None:
        fields = condition.model_dump(mode="json", exclude={"tools", "own_tools"})
        about |= {f"condition_{name}": value for name, value in fields.items()}
        about |= {"prompt": manifest.prompt, "seed": settings.get("seed")}
    return {
        "generation_args": arguments,
        "additional_details": _texts(repeats=manifest.repeats, **about),
    }


def write_hub(source: Source, out: Path) -> dict[str, int]:
    """Write an entry for each condition that has a mean of the main metric, or of the one that was
    chosen, into the folder `out`. What would be no result of the benchmark is left out: conditions
    that cannot mean anything, tell part of the answer, or have their world changed on purpose, and
    forks."""
    manifest, results, count = source.manifest, source.results, 0
    metric, pack = source.choice.metric or source.task.metrics[0], source.choice.pack
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
            "notes": "; ".join(filter(None, (_notes(condition, mean, manifest), pack))),
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
