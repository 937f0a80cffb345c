"""What the commands that run episodes share: progress, interruption, scores."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from agent_env.cli.tables import print_table

if TYPE_CHECKING:
    from agent_env.analysis.judges import JudgeAgreement
    from agent_env.analysis.summary import Result, Summary
    from agent_env.analysis.treatment import Treatment
    from agent_env.episodes.rescoring import Rescored
    from agent_env.records.schema import Score
    from agent_env.runs.run import Run
    from agent_env.runs.start import Listener

SHOWN_CHANGES = 10

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
RunPath = Annotated[Path, typer.Argument(help="A run's folder.", metavar="RUN")]
Choice = TypeVar("Choice", bound=str)


@contextmanager
def listening() -> Iterator[tuple[Listener, list[Run]]]:
    """Progress on stderr: a bar on a terminal, plain lines elsewhere; Ctrl-C, or a signal to end,
    says how to go on."""
    from agent_env.cli.progress import Progress
    from agent_env.errors import RunStopped, StorageError

    progress = Progress()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with progress:
            yield progress.listener, progress.runs
    except KeyboardInterrupt:
        if progress.runs:
            say(f"Stopped. Go on with: agent-env resume {progress.runs[0].path}")
        else:
            say("Stopped before the first episode.")
        sys.exit(130)
    except RunStopped as exc:
        from agent_env.episodes.calls.options import how_to_go_on

        text = f"stopped: {exc}; go on with: {how_to_go_on(progress.runs[0], exc)}"
        raise RunStopped(text, reason=exc.reason) from exc
    except StorageError as exc:
        if not progress.runs:
            raise
        raise StorageError(f"{exc}; go on with: agent-env resume {progress.runs[0].path}") from exc


@contextmanager
def scored_when_stopped(as_json: bool) -> Iterator[tuple[Listener, list[Run]]]:
    """`listening`, with the scores so far of a run that a limit stopped."""
    from agent_env.errors import RunStopped

    with listening() as (listener, runs):
        try:
            yield listener, runs
        except RunStopped:
            with suppress(SystemExit):  # the stop itself is exit 1, and has more to say
                print_scores(runs[0], as_json)
            raise


def one_of(given: str, known: tuple[Choice, ...], option: str) -> Choice:
    """The choice as given; ConfigError where it is none of them."""
    from agent_env.errors import ConfigError

    found = next((choice for choice in known if choice == given), None)
    if found is None:
        raise ConfigError(f"{option} {given}: write {' or '.join(known)}")
    return found


def say(text: str) -> None:
    """A line for the user, apart from the output."""
    print(text, file=sys.stderr, flush=True)


def print_scores(
    run: Run, as_json: bool, prices: Path | None = None, changes: bool = False
) -> Rescored:
    """The run's scores, at other prices than its own and with their `changes` against the earlier
    ones if so wished; exit code 1 where episodes were run and none came to its end."""
    from agent_env.analysis.consistency import consistency, consistency_table, queries_of
    from agent_env.analysis.judges import judge_agreements
    from agent_env.analysis.summary import Result, summarise
    from agent_env.analysis.tables import summary_table
    from agent_env.analysis.treatment import served_notice, treatments_of
    from agent_env.episodes.contexts.copies import told as told_of
    from agent_env.episodes.rescoring import against, earlier_scores
    from agent_env.runs.score import (
        clusters_of,
        facts_of,
        interrupted_totals,
        late_samples,
        never_began,
        preflight_totals,
        score_folder,
    )

    earlier = earlier_scores(run)
    task, manifest, scored = run.task, run.manifest(), score_folder(run, say)
    rescored = against(earlier, [score for _, score in scored], task.scorer)
    facts = facts_of(manifest, prices, say)
    late = late_samples(run, facts)
    for use in manifest.contexts:
        say(told_of(use))
    results = [Result(episode, score) for episode, score in scored]
    names = [condition.name for condition in manifest.conditions]
    queries = queries_of(run.samples)
    clusters = clusters_of(run.samples, task)
    summaries = summarise(
        results, names, task.metrics, facts, queries, task.error_metrics, clusters
    )
    same = consistency((score for _, score in scored), queries, names, task.metrics[0])
    judges = judge_agreements(run.samples_by_id, scored)
    missing = never_began(run, manifest)
    arrived = treatments_of(manifest, ((r.episode, r.counts) for r in results))
    served = served_notice(manifest, (r.episode.served_models for r in results))
    if as_json:
        told = _as_json(run.path, summaries)
        told |= {"never_began": {name: number for name, (number, _) in missing.items()}}
        cut = interrupted_totals(run, facts)
        told |= {"interrupted": cut.as_json(), "after_cutoff": late.as_json() if late else None}
        if same:
            told["phrasings"] = {row.condition: row.as_json() for row in same}
        told["judges"] = [row.as_json() for row in judges]
        told["treatment"] = {row.condition: row.as_json() for _, row in arrived}
        told["preflight"] = preflight_totals(manifest, facts)
        told["served_models"] = served
        print(json.dumps(told | {"rescored": rescored.as_json()} if changes else told))
    else:
        title = f"{task.name} · {manifest.model} · {run.path}"
        print_table(summary_table(summaries, task.metrics, title, missing, manifest.problems))
        print_treatment(arrived)
        if same:
            print_table(consistency_table(same, task.metrics[0]))
        print_judges(judges, run.path)
    if changes:
        _tell_changes(rescored)
    _tell_failures(results)
    if served is not None:
        say(served)
    if late is not None and late.samples:
        say(
            f"{len(late.samples)} of {late.asked} samples ask for an event after the model's "
            f"knowledge cutoff, {late.knowledge_cutoff}; agent-env score --json lists them"
        )
    if results and not any(result.counts for result in results):
        sys.exit(1)
    return rescored


def print_treatment(found: Sequence[tuple[str, Treatment]]) -> None:
    """Whether the tools arrived, where any were offered."""
    if found:
        from agent_env.analysis.treatment import treatment_sheet
        from agent_env.runs.compare import terminal_table

        sheet = treatment_sheet(found)
        print(sheet.title)
        print_table(terminal_table(sheet))
        for note in sheet.notes:
            print(f"  {note}")


def print_judges(found: Sequence[JudgeAgreement], folder: Path) -> None:
    """How the judges agree with the reader, where there are any."""
    if found:
        from agent_env.analysis.judges import judge_table

        print_table(judge_table(found, f"judges · {folder}"))


def _tell_changes(rescored: Rescored) -> None:
    """How many verdicts are other ones now, and the first of them."""
    if not rescored.compared:
        return
    before, now = rescored.earlier, rescored.scorer
    scorer = "the same scorer" if before == now else f"scorer {before or 'unknown'} → {now}"
    number = len(rescored.changed) or "none"
    say(f"{number} of {rescored.compared} earlier verdicts changed; {scorer}")
    for change in rescored.changed[:SHOWN_CHANGES]:
        say(f"  {change.episode}: {_verdict(change.before)} → {_verdict(change.now)}")
    if (more := len(rescored.changed) - SHOWN_CHANGES) > 0:
        say(f"  and {more} more; --json has all")


def _verdict(score: Score) -> str:
    metrics = ", ".join(f"{name} {value:g}" for name, value in score.metrics.items())
    answer = "nothing" if score.answer is None else ", ".join(score.answer) or "none"
    return f"{answer} ({score.outcome}; {metrics})"


def _tell_failures(results: list[Result]) -> None:
    """The three commonest reasons why episodes failed, and why scorers did."""
    reasons = Counter(r.episode.failure for r in results if r.episode.failure is not None)
    for reason, number in reasons.most_common(3):
        say(f"failed {number} times: {' '.join(reason.split())}")
    if reasons:
        say("agent-env resume runs the failed episodes again.")
    unscored = Counter(r.score.rule for r in results if r.score.outcome == "scorer_failed")
    for rule, number in unscored.most_common(3):
        say(f"not scored {number} times, in no mean: {rule}")


def _as_json(folder: Path, summaries: list[Summary]) -> dict[str, object]:
    return {"run": str(folder), "conditions": {row.condition: row.as_json() for row in summaries}}


def print_trails(run: Run, as_json: bool) -> None:
    """Whether what had to be looked up was found, read and used."""
    from agent_env.analysis.trails import summarise_trails, trail_json, trail_table
    from agent_env.runs.score import follow_run

    names, trails = follow_run(run, say)
    summaries = summarise_trails(trails, names)
    if as_json:
        conditions = {row.condition: row.as_json() for row in summaries}
        episodes = [trail_json(trail) for trail in trails]
        print(json.dumps({"run": str(run.path), "conditions": conditions, "episodes": episodes}))
        return
    print_table(trail_table(summaries, f"evidence · {run.manifest().model} · {run.path}"))
