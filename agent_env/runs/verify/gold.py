"""Golds found a second time, by a program that knows the question's words and nothing else."""

from __future__ import annotations

from agent_env.protocols import Model
from agent_env.records.schema import Condition, Episode, Sample
from agent_env.registry import NO_PLUGINS
from agent_env.runs.run import Run
from agent_env.runs.verify import Judgement
from agent_env.tasks.conditions import parse_condition, sample_under
from agent_env.tasks.family import by_digest
from agent_env.tasks.sample_files import parse_samples
from agent_env.tasks.task import Task
from agent_env.wiring.models import make_model
from agent_env.wiring.registry import load_family


async def solved_again(run: Run) -> Judgement:
    """The judgement on the golds, of the wording that states everything, and of each wording that
    is asked and has another gold: there the solver looks up the shipped tables, and where it misses
    the gold that proves nothing."""
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
    wordings = dict.fromkeys(each.wording for each in manifest.conditions)
    asked = [parse_condition("base" if each == "implicit" else each) for each in wordings]
    explicit, solver = parse_condition("explicit"), make_model("reference", None, {}, NO_PLUGINS)
    with_tables = make_model("rememberer", None, {}, NO_PLUGINS)
    findings, missed = [], 0
    for sample in samples:
        gold = sample_under(sample, explicit).gold
        if (answer := await _wrong_answer(task, sample, explicit, solver)) is not None:
            findings.append(f"{sample.id}: the gold is {', '.join(gold or ()) or 'none'}, and the "
                            f"second solver finds {answer}")  # fmt: skip
            continue
        others = [each for each in asked if sample_under(sample, each).gold != gold]
        wrong = [await _wrong_answer(task, sample, each, with_tables) for each in others]
        missed += any(answer is not None for answer in wrong)
    solved = len(samples) - len(findings) - missed
    text = f"{solved} of {len(samples)} golds are found by a second solver from the question"
    if findings and manifest.dataset is not None:
        text += f"; {manifest.dataset} may have other conventions, so the others prove nothing"
        return "unchecked", text, findings
    return ("fails" if findings else "unchecked" if missed else "holds"), text, findings


async def _wrong_answer(
    task: Task, sample: Sample, condition: Condition, solver: Model
) -> str | None:
    """What the solver answers; None where that is right."""
    messages = task.prompt_under(sample, condition)
    reply = (await solver.generate(messages, ())).message
    episode = Episode(
        sample=sample.id, condition=condition.name, repeat=1, model=solver.name,
        messages=(*messages, reply), status="finished", answer=reply.content,
        stop_reason="answered",
    )  # fmt: skip
    score = task.score(sample, episode)
    if score.metrics.get(task.right_metric) == 1:
        return None
    return ", ".join(score.answer or ()) or reply.content[:100]
