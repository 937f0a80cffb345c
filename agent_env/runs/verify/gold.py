"""Golds found a second time, by a program that knows the question's words and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_env.protocols import Model
from agent_env.records.schema import Condition, Episode, Sample
from agent_env.registry import NO_PLUGINS
from agent_env.runs.run import Run
from agent_env.runs.verify.verdict import Judgement
from agent_env.tasks.conditions import parse_condition, sample_under
from agent_env.tasks.family import by_digest
from agent_env.tasks.sample_files import parse_samples
from agent_env.tasks.task import Task
from agent_env.wiring.models import make_model
from agent_env.wiring.registry import load_family

SOLVERS = ("reference", "rememberer")
"""Scripted models: what the prompt states, and what the shipped tables say where it does not."""
DEFAULT_WORDING = {"implicit": "base"}


async def solved_again(run: Run) -> Judgement:
    """Verdict, text and findings on the golds of each wording that the run asks.

    A sample whose prompt states all that it takes must be solved; where something has to be looked
    up, a solver that does not know it may miss the gold, which proves nothing.
    """
    manifest = run.manifest
    if manifest.imported is not None:
        return "unchecked", f"the golds are those of {manifest.imported.file}", []
    _ = run.task  # ConfigError for code that is not trusted
    family = load_family(manifest.task, run.plugins)
    if family.reference is None:
        return "unchecked", f"{manifest.task} has no second solver: its golds are the file's", []
    options = family.checked_options(manifest.options)
    task = family.make_task("default", options, by_digest(run.materials()))
    # of a file that was changed, too: the claim on the questions says so
    samples = parse_samples(run.path / "samples.jsonl", run.read("samples.jsonl"), task.sample_type)
    asked = dict.fromkeys(DEFAULT_WORDING.get(c.wording, c.wording) for c in manifest.conditions)
    conditions = [parse_condition(name) for name in dict.fromkeys((*asked, "explicit"))]
    solvers = [make_model(name, None, {}, NO_PLUGINS) for name in SOLVERS]
    findings, solved = [], 0
    for sample in samples:
        found = {c.name: await _answers(task, sample, c, solvers) for c in conditions}
        is_solved = all(None in each for name, each in found.items() if name in asked)
        solved += is_solved
        if None not in found["explicit"]:
            gold = ", ".join(sample_under(sample, "explicit").gold) or "none"
            findings.append(f"{sample.id}: the gold is {gold}, and the solver finds "
                            f"{next(iter(found['explicit']), 'none')}")  # fmt: skip
        elif not is_solved and _has_own_gold(sample, asked):
            findings.append(f"{sample.id}: the gold of one wording is not the one that is found")
    text = f"{solved} of {len(samples)} golds are found by a second solver from the question"
    if manifest.dataset is not None and findings:
        text += "; a published file may follow other conventions (docs/time-puzzles.md)"
    is_sure = solved + len(findings) == len(samples)
    return ("fails" if findings else "holds" if is_sure else "unchecked"), text, findings


def _has_own_gold(sample: Sample, wordings: Mapping[str, None]) -> bool:
    """Whether a wording that is asked has another gold than the explicit one."""
    golds = {sample_under(sample, wording).gold for wording in (*wordings, "explicit")}
    return len(golds) > 1


async def _answers(
    task: Task, sample: Sample, condition: Condition, solvers: Sequence[Model]
) -> dict[str | None, None]:
    """The answers of the solvers that are wrong; None for one that is right, which ends it."""
    wrong: dict[str | None, None] = {}
    for solver in solvers:
        messages = task.prompt_under(sample, condition)
        reply = (await solver.generate(messages, ())).message
        episode = Episode(
            sample=sample.id, condition=condition.name, repeat=1, model=solver.name,
            messages=(*messages, reply), status="finished", answer=reply.content,
            stop_reason="answered",
        )  # fmt: skip
        score = task.score(sample, episode)
        if score.metrics.get(task.right_metric) == 1:
            return {None: None}
        wrong[", ".join(score.answer or ()) or reply.content[:100]] = None
    return wrong
