"""The method section of a paper on the runs compared, as text and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.summary import on_forms
from agent_env.records.manifest import Manifest, Preflight


def method_words(comparison: Comparison, manifests: Mapping[str, Manifest]) -> list[str]:
    """Paragraphs to copy; what differs between the runs stands in the table of settings."""
    return [
        _design_text(comparison, manifests),
        _outcome_text(comparison),
        _test_text(comparison),
        *comparison.remarks,
    ]


def _design_text(comparison: Comparison, manifests: Mapping[str, Manifest]) -> str:
    study = comparison.study
    models = ", ".join(dict.fromkeys(arm.model for arm in study.arms))
    conditions = ", ".join(dict.fromkeys(arm.name_in_run for arm in study.arms))
    repeats = sorted({manifest.repeats for manifest in manifests.values()})
    each = " or ".join(map(str, repeats)) if repeats else "an unknown number of"
    return (
        f"Task {study.task}: {len(study.samples)} samples that all runs share, under the "
        f"conditions {conditions}, {each} episode{'s' if repeats != [1] else ''} of each sample "
        f"and condition. Models: {models}.{_first_steps(comparison)}"
        f"{''.join(f' {note}' for note in on_forms(arm.condition for arm in study.arms))}"
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
    texts = [f"under {', '.join(names)} it {words[choice]}" for choice, names in choices.items()]
    return f" The first step: {'; '.join(texts)}; later steps were free." if texts else ""


def _outcome_text(comparison: Comparison) -> str:
    arms = comparison.study.arms
    planned = sum(arm.asked for arm in arms)
    finished = sum(o.counts for arm in arms for o in arm.observations)
    kinds = {
        kind: sum(o.outcome == kind for arm in arms for o in arm.observations)
        for kind in ("failed", "unfinished", "unreadable", "scorer_failed")
    }
    missing = sum(arm.missing for arm in arms)
    unscored = kinds["scorer_failed"]
    unscored_text = f" {unscored:,} whose scorer failed enter no figure." if unscored else ""
    return (
        f"Of {planned:,} episodes asked for, {finished:,} finished; {kinds['failed']:,} failed, "
        f"{kinds['unfinished']:,} were cut off and {missing:,} never began or have no readable "
        "trace: these enter no mean, and are counted as 0 where a figure is said to be of all. "
        f"{kinds['unreadable']:,} finished episodes gave an answer that the reading rules cannot "
        f"read; they score 0.{unscored_text}"
    )


def _test_text(comparison: Comparison) -> str:
    options, clusters = comparison.options, comparison.cluster_count
    return (
        f"Main metric: {comparison.metric}. Intervals are at 95 %: Wilson's for shares, else a "
        f"bootstrap of {clusters} clusters of samples. Differences are paired by sample and tested "
        "by a sign-flip permutation of whole clusters (two-sided, mid-p), corrected by Holm over "
        f"the table; {options.resamples:,} resamples, seed {options.seed}."
    )


def settings(manifests: Mapping[str, Manifest]) -> ResultTable:
    """The settings of each run, one a row."""
    rows = []
    columns = [dict(_settings(manifest)) for manifest in manifests.values()]
    for name in dict.fromkeys(name for column in columns for name in column):
        values: list[Cell] = [column.get(name) for column in columns]
        if any(value is not None for value in values):
            rows.append((name, *values))
    heads = (Column("setting"), *(Column(run) for run in manifests))
    return ResultTable("settings", "How the runs were made", heads, tuple(rows))


def _settings(manifest: Manifest) -> Iterator[tuple[str, Cell]]:
    web = manifest.web_settings
    yield "run", manifest.id
    if (source := manifest.imported) is not None:
        yield "log of another tool", f"{source.file}, {source.tool}"
        yield "what it lacks", " ".join(source.notes) or None
    yield "begun", manifest.created_at if source is None else None
    yield "task", manifest.task
    yield "model", manifest.model
    yield "model parameters", _pairs_text(manifest.model_parameters)
    yield "prompt", manifest.prompt_file.name if manifest.prompt_file else manifest.prompt or None
    yield "prompt's digest", manifest.prompt_file.digest if manifest.prompt_file else None
    yield "system text's digest", manifest.system_file.digest if manifest.system_file else None
    yield "task options", _pairs_text(manifest.options)
    if source is None:
        yield "conditions", ", ".join(c.name for c in manifest.conditions)
        yield "strategies", ", ".join(dict.fromkeys(c.strategy for c in manifest.conditions))
        first = ", ".join(f"{c.name} {c.first_step}" for c in manifest.conditions if c.tools)
        yield "first step", first or None
    yield "preflight", "; ".join(_preflight_text(p) for p in manifest.preflights) or None
    yield "samples", manifest.samples
    yield "samples' digest", manifest.samples_digest
    yield "seed", manifest.seed
    yield "dataset", manifest.dataset
    yield "filters", ", ".join(manifest.where) or None
    yield "repeats", manifest.repeats
    if (until := manifest.until) is not None:
        rest = {"alpha": until.alpha, "margin": until.margin, "max": until.max_samples}
        yield "stops early by", f"{', '.join(until.contrasts)}; {_pairs_text(rest)}"
    yield "limits of an episode", _pairs_text(manifest.limits)
    yield "limits of the run", _pairs_text(manifest.run_limits)
    yield "retries", _pairs_text(manifest.retries)
    yield "reply cache", None if manifest.reply_cache is None else "used"
    yield "sandbox", manifest.sandbox
    yield "web", manifest.web
    yield "web search", web.search
    yield "pages searched by", web.index
    yield "page store's digest", web.pages_digest
    yield "pages as of", web.as_of
    yield "leaks withheld", ("yes" if web.block_leaks else "no") if manifest.web else None
    for use in manifest.contexts:
        yield f"pages of {use.name}", f"{use.source_model} {use.source_condition}, {use.digest}"
    yield "tokens counted by", manifest.tokenizer if source is None else None
    yield "prices of", manifest.model_facts.date if manifest.model_facts else None
    facts = manifest.model_facts
    yield "knowledge cutoff", facts.knowledge_cutoff if facts else None
    for package, version in manifest.versions.items():
        yield f"version of {package}", version
    yield "trace version", manifest.v
    yield "changes when resumed", "; ".join(manifest.changes) or None


def _preflight_text(preflight: Preflight) -> str:
    """What the preflight saw."""
    parts = [f"answered by {preflight.served_model or 'unknown'}"]
    if preflight.context_tokens is not None:
        parts.append(f"context {preflight.context_tokens}")
    if preflight.template_digest is not None:
        parts.append(f"template {preflight.template_digest[:12]}")
    return ", ".join(parts)


def _pairs_text(values: Mapping[str, object]) -> str | None:
    pairs = [f"{name} {value}" for name, value in values.items() if value not in (None, {}, "")]
    return ", ".join(pairs) or None
