"""What a report on these runs discloses, item by item, and what would supply the rest.

The items are the five fields of Moghadasi and Ghaderi 2026 (arXiv:2605.21404: benchmark, harness,
inference, cost, failures), the reporting part of the Agentic Benchmark Checklist (Zhu et al. 2025,
arXiv:2507.02825), what a log of Inspect records, and our own on where answers come from. An item
is disclosed where every run states it; what is unknown is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.analysis.totals import sum_known
from agent_env.records.manifest import Manifest
from agent_env.version import __version__


@dataclass(frozen=True, slots=True)
class Disclosed:
    """What an item is looked for in: one run of a comparison."""

    manifest: Manifest
    arms: Sequence[Arm]
    comparison: Comparison

    def parameter(self, name: str) -> str | None:
        """A parameter of the model's requests."""
        value = self.manifest.model_parameters.get(name)
        return None if value is None else str(value)

    @property
    def outcomes(self) -> str:
        """Episodes by how they ended."""
        counts = sum((arm.outcomes for arm in self.arms), Counter[str]())
        return ", ".join(f"{name} {number}" for name, number in counts.items() if number)

    def total(self, name: str) -> float | None:
        """A sum over all episodes; None where a part is unknown."""
        spent = [arm.spent for arm in self.arms]
        return sum_known([None if each is None else getattr(each, name) for each in spent])


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a report should say."""

    field: str
    name: str
    find: Callable[[Disclosed], str | None]
    """What the run states; None where it states nothing."""
    supply: str
    """What makes it stated."""


def _found(value: object) -> str | None:
    return None if value in (None, "", (), {}) else str(value)


def _served(run: Disclosed) -> str | None:
    seen = {name for arm in run.arms for each in arm.observations for name in each.served_models}
    return _found(", ".join(sorted(seen)) or run.manifest.served_model)


def _tokens(run: Disclosed) -> str | None:
    sources = {s for arm in run.arms for each in arm.observations for s in each.usage_sources}
    total = run.total("input_tokens"), run.total("output_tokens")
    is_told = None not in total and sources and "estimate" not in sources
    return f"{total[0]:,.0f} in, {total[1]:,.0f} out" if is_told else None


def _cost(run: Disclosed) -> str | None:
    cost = run.total("cost_usd")
    return None if cost is None else f"{cost:.4f} USD"


def _environment(run: Disclosed) -> str | None:
    manifest = run.manifest
    pages = manifest.web_settings.pages_digest
    if (manifest.web or "sealed") in ("sealed", "record", "frozen"):
        web = f", {manifest.web} web {(pages or '')[:12]}" if manifest.web else ""
        return f"{manifest.sandbox or 'no code is run'}{web}"
    return None


def _planned(run: Disclosed) -> str | None:
    manifest = run.manifest
    if manifest.study is not None:
        return f"study {manifest.study.name} {manifest.study.digest[:12]}"
    return None if manifest.until is None else ", ".join(manifest.until.contrasts)


def _judges(run: Disclosed) -> str | None:
    return _found(", ".join({each.label for arm in run.arms for each in arm.observations
                             if each.label is not None}))  # fmt: skip


BENCHMARK, HARNESS, INFERENCE, COST = "benchmark", "harness", "inference", "cost"
FAILURES, CHECKLIST, OURS = "failures", "checklist", "evidence"
RUN = "agent-env run …"
ITEMS = (
    Item(BENCHMARK, "task and code", lambda r: _found(
        f"{r.manifest.task} {r.manifest.versions.get('code', '')}".strip()), RUN),
    Item(BENCHMARK, "samples by digest", lambda r: _found(r.manifest.samples_digest[:12]), RUN),
    Item(BENCHMARK, "where the samples come from", lambda r: _found(
        r.manifest.dataset or (None if r.manifest.seed is None else f"seed {r.manifest.seed}")),
        RUN),
    Item(BENCHMARK, "number of samples and filters", lambda r: _found(
        " ".join((str(r.manifest.samples), *r.manifest.where))), RUN),
    Item(HARNESS, "loop or agent", lambda r: _found(", ".join(dict.fromkeys(
        c.agent.name if c.agent else c.strategy for c in r.manifest.conditions))), RUN),
    Item(HARNESS, "prompt", lambda r: _found(
        r.manifest.prompt_file.digest[:12] if r.manifest.prompt_file else r.manifest.prompt), RUN),
    Item(HARNESS, "tools of each condition", lambda r: _found("; ".join(
        f"{c.name}: {', '.join(c.tools) or 'none'}" for c in r.manifest.conditions)), RUN),
    Item(HARNESS, "versions", lambda r: _found(r.manifest.versions.get("agent-env")), RUN),
    Item(HARNESS, "fixed environment", _environment, f"{RUN} --web record, then --web frozen"),
    Item(HARNESS, "limits of an episode", lambda r: _found(
        r.manifest.limits.get("steps") and f"{r.manifest.limits['steps']} steps"), RUN),
    Item(INFERENCE, "model as the server names it", _served, "a server that names its model"),
    Item(INFERENCE, "temperature", lambda r: r.parameter("temperature"), f"{RUN} --temperature"),
    Item(INFERENCE, "most output tokens", lambda r: r.parameter("max_output_tokens"),
         f"{RUN} --max-output-tokens"),
    Item(INFERENCE, "sampling seed", lambda r: r.parameter("seed"), f"{RUN} --model-seed"),
    Item(INFERENCE, "date", lambda r: _found(r.manifest.created_at), RUN),
    Item(COST, "tokens as the provider counts them", _tokens, "a server that tells usage"),
    Item(COST, "prices with their date", lambda r: _found(
        r.manifest.model_facts and r.manifest.model_facts.date), f"{RUN} --prices FILE"),
    Item(COST, "cost of the run", _cost, f"{RUN} --prices FILE"),
    Item(FAILURES, "how episodes ended", lambda r: _found(r.outcomes), RUN),
    Item(FAILURES, "nothing dropped", lambda r: None if any(a.missing for a in r.arms)
         else "no episode is missing", "agent-env resume RUN"),
    Item(CHECKLIST, "confidence intervals", lambda r: _found(r.comparison.metric), RUN),
    Item(CHECKLIST, "repeats", lambda r: str(r.manifest.repeats) if r.manifest.repeats > 1
         else None, f"{RUN} --repeats 3"),
    Item(CHECKLIST, "baseline without tools", lambda r: _found(", ".join(
        a.condition.name for a in r.arms if not a.condition.tools)), f"{RUN} --condition base"),
    Item(CHECKLIST, "trivial baselines", lambda r: _found(
        len(r.comparison.study.shortcuts(r.comparison.study.samples)) or None),
        "shortcuts of the family (agent-env docs plugins)"),
    Item(CHECKLIST, "knowledge cutoff", lambda r: _found(
        r.manifest.model_facts and r.manifest.model_facts.knowledge_cutoff),
        f"{RUN} --prices FILE with knowledge_cutoff"),
    Item(CHECKLIST, "answers labelled by people", _judges, "agent-env episodes label RUN"),
    Item(OURS, "read, remembered or guessed", lambda r: _found(", ".join(
        a.condition.name for a in r.arms if a.condition.disturbance)),
        f"{RUN} --web-ablation shifted"),
    Item(OURS, "contrasts planned before the data", _planned, "agent-env study new, or --until"),
)  # fmt: skip


@Statistic("disclosure", order=900, section="Disclosure").of
def disclosure(comparison: Comparison) -> ResultTable:
    """Each item, the missing ones first, with what would supply them."""
    study = comparison.study
    runs = [
        Disclosed(manifest, [arm for arm in study.arms if arm.run == name], comparison)
        for name, manifest in study.manifests.items()
    ]
    rows, missing = [], []
    for item in ITEMS if runs else ():
        values = [item.find(run) for run in runs]
        known = [value for value in values if value is not None]
        if len(known) == len(runs):
            rows.append((item.field, item.name, "; ".join(dict.fromkeys(known)), None))
        else:
            missing.append((item.field, item.name, "missing", item.supply))
    columns = (Column("field"), Column("item"), Column("stated"), Column("supplied by"))
    title = f"What a report discloses: {len(rows)} of {len(ITEMS)} items"
    notes = (
        "Fields benchmark to failures: arXiv:2605.21404; checklist: arXiv:2507.02825.",
        "An item that not every run states is missing.",
    )
    return ResultTable("disclosure", title, columns, (*missing, *rows), notes)


def bibliography(comparison: Comparison) -> str:
    """BibTeX of this environment in its version, and of the task's paper where it has one."""
    entry = (
        "@software{agent_env,\n"
        "  title = {agent-env: an evaluation environment for temporal reasoning with tools},\n"
        f"  version = {{{__version__}}}\n}}\n"
    )
    paper = comparison.study.hooks.bibliography
    return entry if paper is None else f"{entry}\n{paper.read_text('utf-8')}"
