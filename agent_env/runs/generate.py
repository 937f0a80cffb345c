"""What `generate` does: make a set and write it.

NAME.jsonl holds the samples, NAME.materials.jsonl their tables, NAME.summary.json what was asked
for and what was left out. All are the same bytes for the same seed and options.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.errors import ConfigError
from agent_env.models.addresses import base_urls, with_variable
from agent_env.records.options import Opt
from agent_env.records.schema import Record
from agent_env.records.tier import Tier
from agent_env.registry import load_path
from agent_env.runs.options.run_options import ApiKeyEnv
from agent_env.runs.servers.probe import resolve_models
from agent_env.tasks.family import Family, SampleSet, by_digest
from agent_env.tasks.sample_files import write_whole
from agent_env.tasks.shortcut_scores import solved_by
from agent_env.wiring.models import make_model
from agent_env.wiring.registry import load_family
from agent_env.wiring.trust import own_plugins

if TYPE_CHECKING:
    from agent_env.runs.start import Listener


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    task: Annotated[str, Opt("time-puzzles, or another", metavar="TASK", argument=True)]
    out: Annotated[Path, Opt("The file to write.")]
    limit: Annotated[int, Opt("How many questions.", min=1)] = 100
    seed: Annotated[int, Opt("The same seed gives the same bytes.", min=0)] = 1
    options: Annotated[
        tuple[str, ...],
        Opt(
            "An option of the task: KEY=VALUE. Repeatable. TASK --help lists them.",
            flag="--option",
        ),
    ] = ()
    """The family's, as KEY=VALUE."""
    difficulty: Annotated[
        str | None,
        Opt("easy, paper (the defaults) or hard; an --option overrides it."),
    ] = None
    form: Annotated[
        str,
        Opt(
            "samples (a line each), or published (time-puzzles: an array, as its authors write).",
            flag="--format",
        ),
    ] = "samples"
    screened_by: Annotated[
        str,
        Opt(
            "Of time-puzzles: models, joined by commas, that date the events from memory; only "
            "those that none can date are used."
        ),
    ] = ""
    base_url: Annotated[str | None, Opt("Address of these models' server.")] = None
    api_key_env: ApiKeyEnv = None


@dataclass(frozen=True, slots=True)
class SolvedByShortcut:
    """The questions of a set that a shortcut answers rightly."""

    name: str
    rule: str
    samples: tuple[str, ...]
    """Their ids."""
    is_flagged: bool
    """Whether the answer comes from the question, which is then too easy."""


@dataclass(frozen=True, slots=True)
class GenerateResult:
    sample_set: SampleSet
    summary: Path
    solved: tuple[SolvedByShortcut, ...] = ()
    """Of each shortcut that sees no gold."""
    tier: Tier | None = None


async def make_set(options: GenerateOptions, listener: Listener) -> GenerateResult:
    family = load_family(options.task, own_plugins())
    chosen = family.read_options(options.options, options.difficulty)
    known = ("samples",) if family.write_foreign is None else ("samples", "published")
    if options.form not in known:
        raise ConfigError(f"unknown format '{options.form}'; known: {', '.join(known)}")
    is_new = not options.out.exists()
    try:  # before the work
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("ab"):
            pass
        if is_new:
            options.out.unlink()
    except OSError as exc:
        raise ConfigError(f"cannot write to {options.out}: {exc.strerror}") from exc
    if options.screened_by:
        chosen = await _screened(chosen, family, options, listener)
    tier = family.tier_of(options.difficulty, chosen)
    sample_set = family.make_tier(options.limit, options.seed, chosen, tier)
    task = family.make_task("default", chosen, by_digest(sample_set.tables))
    if task.needs_day and any(map(task.needs_day, sample_set.samples)):
        raise ConfigError(
            "these questions ask about the present, so their answers are those of a day: run makes "
            f"and asks them: agent-env run {options.task} --option present=true --today YYYY-MM-DD"
        )
    solved = tuple(
        SolvedByShortcut(
            shortcut.name, shortcut.rule, tuple(solved_by(task, shortcut, sample_set.samples)),
            shortcut.is_by_question,
        )
        for shortcut in task.shortcuts
        if not shortcut.sees_gold
    )  # fmt: skip
    summary = _write(sample_set, options, family, chosen, solved, tier)
    return GenerateResult(sample_set, summary, solved, tier)


async def _screened(
    chosen: Record, family: Family, options: GenerateOptions, listener: Listener
) -> Record:
    """The options without what any model of the panel knows."""
    from agent_env.runs.options.run_options import RunOptions

    if family.screening is None:
        raise ConfigError(f"--screened-by: {options.task} has no events to screen")
    names = [name.strip() for name in options.screened_by.split(",") if name.strip()]
    if script := next((name for name in names if name.startswith("reference")), ""):
        raise ConfigError(
            f"--screened-by: {script} is a script and remembers nothing; name a model"
        )
    names = await resolve_models(names, [options.api_key_env] if options.api_key_env else [])
    urls = base_urls(names, options.base_url)
    parameters = with_variable({}, options.api_key_env)
    panel = [
        RunOptions(
            task="",
            model=name,
            base_url=urls[name],
            parameters=parameters,
            out=options.out.with_name(f"{options.out.stem}.screened.{number}"),
        )
        for number, name in enumerate(names, start=1)
    ]
    for model in panel:
        make_model(model.model, model.base_url, parameters, own_plugins())
    screened: Record = await load_path(family.screening)(chosen, panel, options.out, listener)
    return screened


def _write(
    sample_set: SampleSet,
    options: GenerateOptions,
    family: Family,
    chosen: Record,
    solved: tuple[SolvedByShortcut, ...],
    tier: Tier | None,
) -> Path:
    generators = {getattr(sample, "generator", None) for sample in sample_set.samples}
    summary_fields = {
        "task": options.task,
        "generator": next(iter(generators)) if len(generators) == 1 else None,
        "seed": options.seed,
        "asked": options.limit,
        "made": len(sample_set.samples),
        **({} if tier is None else {"tier": tier.model_dump(mode="json")}),
        "options": chosen.model_dump(mode="json"),
        "left_out": dict(sample_set.left_out),
        "solved_by_shortcuts": {
            each.name: {
                "rule": each.rule,
                "solved": len(each.samples),
                "share": len(each.samples) / max(len(sample_set.samples), 1),
            }
            | ({"samples": list(each.samples)} if each.is_flagged else {})
            for each in solved
        },
    }
    summary = options.out.with_name(f"{options.out.stem}.summary.json")
    if options.form == "published" and family.write_foreign is not None:
        write_whole(options.out, family.write_foreign(sample_set.samples, chosen))
    else:
        sample_set.write(options.out)
    write_whole(summary, (json.dumps(summary_fields, ensure_ascii=False, indent=1) + "\n").encode())
    return summary
