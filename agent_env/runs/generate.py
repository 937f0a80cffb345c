"""What `generate` does for every family but Time Puzzles: make a set, have it worded, write it.

NAME.jsonl holds the samples, NAME.materials.jsonl their tables, NAME.summary.json what was asked
for, what was left out, and who worded the questions. All but the last are the same bytes for the
same seed, options and replies; so is the last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.run_folder import materials_beside, samples_bytes, write_whole
from agent_env.errors import ConfigError, RunStopped
from agent_env.models.addresses import base_urls, with_variable
from agent_env.records.schema import Record
from agent_env.tasks.family import Made, Rewording, by_digest, read_options
from agent_env.wiring.models import make_model
from agent_env.wiring.registry import load, load_family

if TYPE_CHECKING:
    from agent_env.analysis.totals import Totals
    from agent_env.runs.start import Listener

TEMPLATE = "template"
BY_MODEL = "model:"


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What the user asks of a set."""

    task: str
    out: Path
    count: int
    seed: int
    options: tuple[str, ...] = ()
    """The family's, as KEY=VALUE."""
    wording: str = TEMPLATE
    """`template` or `model:NAME`."""
    base_url: str | None = None
    api_key_env: str | None = None
    run: Path | None = None
    """Where the model's replies are kept; None: NAME.wording beside the set."""
    limits: RunLimits = field(default_factory=RunLimits)
    """Of the wording."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Who worded the questions, and why how many kept the template's words."""

    model: str
    prompt: str
    prompt_digest: str
    run: str
    """The folder with every reply."""
    questions: int
    worded: int
    refused: Mapping[str, int]
    """Questions that keep the template's words, by reason."""
    queries: int
    answered: int
    """Queries for which a reply came."""
    totals: Totals
    """Of all calls, cut off ones too."""
    stopped: str = ""
    """Why the model was not asked to the end; empty where it was."""

    def as_json(self) -> dict[str, object]:
        """The object of the summary."""
        kept = self.questions - self.worded
        share = {"kept_template": kept, "share_kept_template": kept / self.questions}
        return {k: v for k, v in asdict(self).items() if k != "totals"} | share | {
            "tokens": self.totals.as_json()
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadeSet:
    """A written set."""

    made: Made
    summary: Path
    wording: Wording | None = None


async def make_set(options: GenerateOptions, listener: Listener) -> MadeSet:
    """Make, word and write a set. Nothing that happens to the model ends it or loses a question."""
    family = load_family(options.task)
    model = _model(options)
    chosen = read_options(family, options.options)
    made = family.make_samples(options.count, options.seed, chosen)
    wording = None
    if model is not None:
        made, wording = await _worded(made, model, options, listener)
    summary = _write(made, options, chosen, wording)
    return MadeSet(made, summary, wording)


def write_samples(made: Made, out: Path) -> None:
    """Write samples, whole or not at all; tables go into a file beside."""
    if made.tables:
        write_whole(materials_beside(out), samples_bytes(made.tables))
    write_whole(out, samples_bytes(made.samples))


def _model(options: GenerateOptions) -> str | None:
    """The model that words the questions; ConfigError where it cannot be asked."""
    if options.wording == TEMPLATE:
        return None
    if not options.wording.startswith(BY_MODEL):
        raise ConfigError(
            f"--wording '{options.wording}': write template, or model:NAME, such as "
            "model:compatible/NAME with --base-url"
        )
    if load_family(options.task).rewording is None:
        raise ConfigError(f"--wording: no model can word the questions of {options.task}")
    name = options.wording.removeprefix(BY_MODEL)
    if name.startswith("reference"):
        raise ConfigError(f"--wording: {name} is a script and words nothing; name a model")
    url = base_urls([name], options.base_url)[name]
    make_model(name, url, with_variable({}, options.api_key_env))
    return name


async def _worded(
    made: Made, model: str, options: GenerateOptions, listener: Listener
) -> tuple[Made, Wording]:
    from agent_env.analysis.totals import totals
    from agent_env.episodes.calls.options import CallOptions, interrupted
    from agent_env.episodes.trace.fold import fold
    from agent_env.runs.ask import ask
    from agent_env.runs.options import RunOptions
    from agent_env.runs.run import Run
    from agent_env.runs.score import score_folder

    by_model: Rewording = load(load_family(options.task).rewording or "")
    questions = by_model.samples(made.samples, by_digest(made.tables))
    folder = Run(options.run or options.out.with_name(f"{options.out.stem}.wording"))
    wanted = RunOptions(
        task=by_model.task,
        model=model,
        conditions=("base",),
        base_url=options.base_url,
        parameters=with_variable({}, options.api_key_env),
        out=folder.path,
        calls=CallOptions(run=options.limits),
    )
    stopped = ""
    try:
        await ask(wanted, questions, listener)
    except RunStopped as exc:
        stopped = str(exc)
    scored = score_folder(folder, listener.note)
    replies = {e.sample: e.answer for e, _ in scored if e.status == "finished" and e.answer}
    found = by_model.apply(made.samples, questions, replies, model)
    cut = [fold(events) for events in interrupted(folder)]
    wording = Wording(
        model=model,
        prompt=by_model.prompt,
        prompt_digest=by_model.prompt_digest,
        run=folder.path.name,
        questions=len(made.samples),
        worded=len(made.samples) - sum(found.refused.values()),
        refused=found.refused,
        queries=len(questions),
        answered=len(replies),
        totals=totals([*(episode for episode, _ in scored), *cut], None),
        stopped=stopped,
    )
    return replace(made, samples=found.samples), wording


def _write(made: Made, options: GenerateOptions, chosen: Record, wording: Wording | None) -> Path:
    """The set and its summary."""
    generators = {getattr(sample, "generator", None) for sample in made.samples}
    told = {
        "task": options.task,
        "generator": next(iter(generators)) if len(generators) == 1 else None,
        "seed": options.seed,
        "asked": options.count,
        "made": len(made.samples),
        "options": chosen.model_dump(mode="json"),
        "left_out": dict(made.left_out),
        "wording": wording.as_json() if wording else TEMPLATE,
    }
    summary = options.out.with_name(f"{options.out.stem}.summary.json")
    write_samples(made, options.out)
    write_whole(summary, (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode())
    return summary
