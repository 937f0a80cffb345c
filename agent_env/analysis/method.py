"""What a paper's method section has to say of the runs compared, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.records.manifest import Manifest, Preflight


def method_words(comparison: Comparison, manifests: Mapping[str, Manifest]) -> list[str]:
    """Paragraphs to copy; what differs between the runs stands in the table of settings."""
    return [
        _asked(comparison, manifests),
        _counted(comparison),
        _tested(comparison),
        *comparison.remarks,
    ]


def _asked(comparison: Comparison, manifests: Mapping[str, Manifest]) -> str:
    study = comparison.study
    models = ", ".join(dict.fromkeys(arm.model for arm in study.arms))
    conditions = ", ".join(dict.fromkeys(arm.condition.name for arm in study.arms))
    repeats = sorted({manifest.repeats for manifest in manifests.values()})
    each = " or ".join(map(str, repeats)) if repeats else "an unknown number of"
    return (
        f"Task {study.task}: {len(study.samples)} samples that all runs share, under the "
        f"conditions {conditions}, {each} episode{'s' if repeats != [1] else ''} of each sample "
        f"and condition. Models: {models}.{_first_steps(comparison)}"
    )


def _first_steps(comparison: Comparison) -> str:
    """What shapes every result under tools."""
    choices: dict[str, dict[str, None]] = {}
    for arm in comparison.study.arms:
        if arm.condition.tools:
            choices.setdefault(arm.condition.first_step, {})[arm.condition.name] = None
    words = {
        "required": "had to call a tool (tool_choice: required)",
        "auto": "was free to call a tool (auto)",
        "none": "must not call a tool (none)",
    }
    told = [f"under {', '.join(names)} it {words[choice]}" for choice, names in choices.items()]
    return f" The first step: {'; '.join(told)}; later steps were free." if told else ""


def _counted(comparison: Comparison) -> str:
    arms = comparison.study.arms
    asked = sum(arm.asked for arm in arms)
    finished = sum(o.counts for arm in arms for o in arm.observations)
    kinds = {
        kind: sum(o.outcome == kind for arm in arms for o in arm.observations)
        for kind in ("failed", "unfinished", "unreadable", "scorer_failed")
    }
    missing = sum(arm.missing for arm in arms)
    unscored = kinds["scorer_failed"]
    left_out = f" {unscored:,} whose scorer failed enter no figure." if unscored else ""
    return (
        f"Of {asked:,} episodes asked for, {finished:,} finished; {kinds['failed']:,} failed, "
        f"{kinds['unfinished']:,} were cut off and {missing:,} never began or have no readable "
        "trace: these enter no mean, and are counted as 0 where a figure is said to be of all. "
        f"{kinds['unreadable']:,} finished episodes gave an answer that the reading rules cannot "
        f"read; they score 0.{left_out}"
    )


def _tested(comparison: Comparison) -> str:
    options, clusters = comparison.options, comparison.cluster_count
    return (
        f"Main metric: {comparison.metric}. Intervals are at 95 %: Wilson's for shares, else a "
        f"bootstrap of {clusters} clusters of samples. Differences are paired by sample and tested "
        "by a sign-flip permutation of whole clusters (two-sided, mid-p), corrected by Holm over "
        f"the table; {options.resamples:,} resamples, seed {options.seed}."
    )


def settings(manifests: Mapping[str, Manifest]) -> ResultTable:
    """What determined each run, a row each; what is the same in all has one value."""
    rows = []
    columns = [dict(_settings(manifest)) for manifest in manifests.values()]
    for name in dict.fromkeys(name for column in columns for name in column):
        values: list[Cell] = [column.get(name) for column in columns]
        if any(value is not None for value in values):
            rows.append((name, *values))
    heads = (Column("setting"), *(Column(run) for run in manifests))
    return ResultTable("settings", "How the runs were made", heads, tuple(rows))


def _settings(found: Manifest) -> Iterator[tuple[str, Cell]]:
    web = found.web_settings
    yield "run", found.id
    yield "begun", found.created_at
    yield "task", found.task
    yield "model", found.model
    yield "model parameters", _listed(found.model_parameters)
    yield "prompt", found.prompt_file.name if found.prompt_file else found.prompt
    yield "prompt's digest", found.prompt_file.digest if found.prompt_file else None
    yield "system text's digest", found.system_file.digest if found.system_file else None
    yield "task options", _listed(found.options)
    yield "conditions", ", ".join(c.name for c in found.conditions)
    yield "strategies", ", ".join(dict.fromkeys(c.strategy for c in found.conditions))
    first = ", ".join(f"{c.name} {c.first_step}" for c in found.conditions if c.tools)
    yield "first step", first or None
    yield "preflight", "; ".join(_tried(preflight) for preflight in found.preflights) or None
    yield "samples", found.samples
    yield "samples' digest", found.samples_digest
    yield "seed", found.seed
    yield "dataset", found.dataset
    yield "filters", ", ".join(found.where) or None
    yield "repeats", found.repeats
    yield "limits of an episode", _listed(found.limits)
    yield "limits of the run", _listed(found.run_limits)
    yield "retries", _listed(found.retries)
    yield "reply cache", None if found.reply_cache is None else "used"
    yield "sandbox", found.sandbox
    yield "web", found.web
    yield "web search", web.search
    yield "pages searched by", web.index
    yield "page store's digest", web.pages_digest
    yield "pages as of", web.as_of
    yield "leaks withheld", ("yes" if web.block_leaks else "no") if found.web else None
    for use in found.contexts:
        yield f"pages of {use.name}", f"{use.source_model} {use.source_condition}, {use.digest}"
    yield "tokens counted by", found.tokenizer
    yield "prices of", found.model_facts.date if found.model_facts else None
    yield "knowledge cutoff", found.model_facts.knowledge_cutoff if found.model_facts else None
    for package, version in found.versions.items():
        yield f"version of {package}", version
    yield "trace version", found.v
    yield "changes when resumed", "; ".join(found.changes) or None


def _tried(found: Preflight) -> str:
    """What the preflight saw."""
    told = [f"answered by {found.served_model or 'unknown'}"]
    if found.context_tokens is not None:
        told.append(f"context {found.context_tokens}")
    if found.template_digest is not None:
        told.append(f"template {found.template_digest[:12]}")
    return ", ".join(told)


def _listed(values: Mapping[str, object]) -> str | None:
    told = [f"{name} {value}" for name, value in values.items() if value not in (None, {}, "")]
    return ", ".join(told) or None
