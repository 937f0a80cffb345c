"""What a run claims, each judged again from its files: offline, by whoever has them.

Guaranteed: nothing is believed that can be computed. Traces are checked byte for byte, requests are
built anew from the recorded replies and results, golds are made again and solved by a second
program, answers are scored anew, and every printed figure is compared with what comes out. What
cannot be judged is `unchecked`, with the reason, and never counts as right.
Not guaranteed: that the model said what was recorded. Who writes replies into a trace before it is
packed, or asks ten times and packs the best run, cannot be told from an honest one; only who runs
the model can vouch for that.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from agent_env.episodes.results import earlier_scores, traces_of, version_of
from agent_env.episodes.run_folder import EpisodeKey, digest
from agent_env.episodes.trace.begun import begun_in
from agent_env.episodes.trace.lines import PLACES
from agent_env.errors import AgentEnvError, DatasetError, EpisodeError, boundary
from agent_env.records.options import Opt
from agent_env.records.safe_files import is_safe
from agent_env.records.schema import Episode, Score
from agent_env.records.trace_events import EpisodeResumed, EpisodeStarted, Event, ModelCalled
from agent_env.runs.options import ReplayOptions, TrustRun
from agent_env.runs.run import Run
from agent_env.runs.verify import Judgement, Verdict
from agent_env.wiring.components import versions

NAME = "{}/{}.{}"
"""An episode's, of its condition, sample and repeat."""
REPORT = "report.json"
"""The figures that were printed of a run, in a pack beside its run.json."""
MOST_REPEATS = 10_000
SHOWN = 20
"""Findings of one claim that are listed; the others are counted."""
ADDED = ("ablation", "attacks", "by_day")
"""Fields of a sample that are drawn when a run is planned."""
EQUAL = 1e-9
"""Relative difference up to which two figures are the same: libraries round in other ways."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Options of `verify`."""

    target: Annotated[Path, Opt("A pack, or a run's folder.", metavar="RUN", argument=True)]
    dataset: Annotated[
        Path | None,
        Opt("The published file that the questions came from, where they were not generated."),
    ] = None
    trust_run: TrustRun = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim about a run, and the verdict on it."""

    name: str
    verdict: Verdict
    text: str
    """What was checked, and how many."""
    findings: tuple[str, ...] = ()
    """Where each contradiction is."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The claims of one run."""

    run: str
    """Task, model and identity."""
    claims: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return all(claim.verdict != "fails" for claim in self.claims)

    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        seen = Counter(claim.verdict for claim in self.claims)
        return {"holds": seen["holds"], "fails": seen["fails"], "unchecked": seen["unchecked"]}


@dataclass
class Case:
    """A run under examination; what several checks need is read once."""

    run: Run
    dataset: Path | None = None
    file_findings: tuple[str, ...] | None = None
    """Where the files are not those that the pack lists; None for a folder."""
    files: int = 0
    """Files that the pack lists."""
    broken: list[str] = field(default_factory=list)
    """Why traces cannot be read."""

    @cached_property
    def traces(self) -> dict[str, list[Event]]:
        """The events of each readable episode, by name."""
        return dict(traces_of(self.run, self.broken.append))

    @cached_property
    def scored(self) -> list[tuple[Episode, Score]]:
        """Each episode with its score by the scorer of this installation."""
        return list(self.run.scored(lambda reason: None))


async def verify(case: Case) -> Verification:
    """Judges every claim. Reads the run's folder and writes nothing."""
    manifest = case.run.manifest
    claims = [await _judged(name, check, case) for name, check in CHECKS.items()]
    run = f"{manifest.task}, {manifest.model}, run {manifest.id or 'without identity'}"
    return Verification(run, tuple(claims))


async def _judged(name: str, check: Callable[[Case], Any], case: Case) -> Claim:
    """The claim; one whose check needs what is not there, or is not trusted, is unchecked."""
    try:
        with boundary(EpisodeError, "the check itself failed"):
            verdict, text, findings = await check(case)
    except (DatasetError, EpisodeError) as exc:
        verdict, text, findings = "fails", "what it is checked by cannot be read", [str(exc)]
    except AgentEnvError as exc:
        reason, to_allow, _ = str(exc).partition(". To allow it")
        text = f"{reason}; --trust-run allows it" if to_allow else reason
        verdict, findings = "unchecked", []
    here, there = versions()["code"], case.run.manifest.versions.get("code")
    if verdict == "fails" and here != there:  # a fraud, or what this version does otherwise
        text += f"; it was made by the code {there}, this is {here}: verify it with that version"
    place, texts = str(case.run.path), (text, *map(str, findings))
    text, *lines = (each.replace(f"{place}/", "").replace(place, "it") for each in texts)
    rest = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return Claim(name, verdict, text, (*lines[:SHOWN], *rest))


def _by_findings(text: str, findings: Sequence[str]) -> Judgement:
    return ("fails" if findings else "holds"), text, findings


# Files --------------------------------------------------------------------------------------------


async def _files(case: Case) -> Judgement:
    if case.file_findings is None:
        return "unchecked", "a folder has no list of its files; a pack has one", []
    text = f"{case.files} files are compared with the digests in the pack"
    return _by_findings(text, case.file_findings)


async def _traces(case: Case) -> Judgement:
    total = len(case.traces) + len(case.broken)
    text = f"{len(case.traces)} of {total} traces are whole, and their checksums are right"
    return _by_findings(text, case.broken)


# Questions ----------------------------------------------------------------------------------------


async def _questions(case: Case) -> Judgement:
    """The samples are those that were asked, and their source gives them again."""
    from agent_env.runs.plan import made_again

    run, manifest = case.run, case.run.manifest
    data = run.read("samples.jsonl")
    same, number = digest(data) == manifest.samples_digest, len(data.splitlines())
    findings = [] if same else ["samples.jsonl: its digest is not the one in run.json"]
    about = f"the digest of {number} samples is compared with run.json"
    if number != manifest.samples:  # nor are so many made as a stranger likes
        findings.append(f"run.json: says {manifest.samples} samples, and {number} are there")
        return _by_findings(about, findings)
    if manifest.imported is not None or (manifest.dataset is not None and case.dataset is None):
        source = manifest.imported.file if manifest.imported else manifest.dataset
        where = "" if manifest.imported else f"; --dataset {source} compares them with it"
        return _by_findings(f"{about}; they came from {source}{where}", findings)
    again = made_again(run, case.dataset)["samples.jsonl"]
    findings += _differing_lines(data, again, "samples.jsonl")
    origin = f"seed {manifest.seed}" if manifest.dataset is None else str(case.dataset)
    return _by_findings(f"{about}, and each question and gold with what {origin} gives", findings)


def _differing_lines(stored: bytes, again: bytes, file: str) -> Iterator[str]:
    """Each line of samples that is another when it is made again."""
    before, now = list(map(_as_made, stored.splitlines())), list(map(_as_made, again.splitlines()))
    for number, (old, new) in enumerate(zip(before, now, strict=False), start=1):
        fields = [] if old is None or new is None else [n for n in new if old.get(n) != new[n]]
        if old != new:
            what = f" in {', '.join(fields)}" if fields else ""
            yield f"{file}:{number}: is not what its source gives{what}"
    if len(before) != len(now):
        yield f"{file}: has {len(before)} samples, where its source gives {len(now)}"


def _as_made(line: bytes) -> dict[str, Any] | None:
    """A sample without what disturbed worlds and the days of conditions add; None for no object."""
    try:
        sample = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(sample, dict):
        return None
    return {name: each for name, each in sample.items() if name not in ADDED}


async def _gold(case: Case) -> Judgement:
    """The golds are found by the family's second solver, which reads the question's words and
    shares no code with the generator."""
    from agent_env.runs.verify.gold import solved_again

    return await solved_again(case.run)


# What was said and done ---------------------------------------------------------------------------


async def _requests(case: Case) -> Judgement:
    """Each request follows from the replies and results before it."""
    from agent_env.runs.replay import replay

    run = case.run
    agents = [c.name for c in run.manifest.conditions if c.agent is not None]
    if agents:
        names = ", ".join(agents)
        return "unchecked", f"{names}: an agent of somebody else would have to run again", []
    results = await replay(run, ReplayOptions(), lambda text: None)
    findings = []
    for each in results:
        if each.verdict != "same":
            first = f"step {each.drift[0].step}: {each.drift[0].what}" if each.drift else ""
            findings.append(f"{each.episode}: {each.reason or f'{first} does not follow'}")
    same = f"{len(results) - len(findings)} of {len(results)}"
    return _by_findings(f"{same} episodes take the same course when replayed", findings)


async def _pages(case: Case) -> Judgement:
    from agent_env.runs.verify.pages import checked_pages

    return checked_pages(case.run, case.traces)


async def _model(case: Case) -> Judgement:
    """The model of run.json is the one that every episode names."""
    manifest, findings = case.run.manifest, []
    served: Counter[str] = Counter()
    replies = 0
    for name, events in case.traces.items():
        asked = [e.model for e in events if isinstance(e, EpisodeStarted | EpisodeResumed)]
        for model in dict.fromkeys(each for each in asked if each is not None):
            if model != manifest.model and not any(model in c for c in manifest.changes):
                findings.append(f"{name}: asked {model}, and run.json says {manifest.model}")
        for event in events:
            if isinstance(event, ModelCalled) and event.reply is not None:
                replies += 1
                served.update([event.reply.model] if event.reply.model else [])
    names = ", ".join(f"{name} in {number:,}" for name, number in served.most_common()) or "none"
    told = f"the server's own name in {replies:,} replies: {names}"
    text = f"{manifest.model} is the model in run.json and {len(case.traces)} traces; {told}"
    return _by_findings(text, findings)


# What came of it ----------------------------------------------------------------------------------


async def _scores(case: Case) -> Judgement:
    """Every answer is judged again, and the stored verdict is the same."""
    if (source := case.run.manifest.imported) is not None:
        return "unchecked", f"the scores are those of {source.tool}; none is computed here", []
    stored = earlier_scores(case.run)
    now = {(s.condition, s.sample, s.repeat): s for _, s in case.scored}
    if not stored.scores:
        return "unchecked", f"{len(now)} answers were judged; no earlier scores are stored", []
    findings = []
    for key, score in now.items():
        if (old := stored.scores.get(key)) is None:
            findings.append(f"{NAME.format(*key)}: has no stored score")
        else:
            findings += [f"{NAME.format(*key)}: {each}" for each in _score_differences(old, score)]
    strays = stored.scores.keys() - now
    findings += [f"{NAME.format(*key)}: has a score and no trace" for key in strays]
    ours = version_of(case.run.task.scorer)
    by = "" if stored.scorer in (None, ours) else f" (stored by {stored.scorer})"
    return _by_findings(f"{len(now)} answers were judged again by {ours}{by}", findings)


def _score_differences(old: Score, now: Score) -> Iterator[str]:
    for what in ("outcome", "answer"):
        before, after = getattr(old, what), getattr(now, what)
        if before != after:
            yield f"{what} {before} is stored, {after} comes out"
    yield from differences(old.metrics, {n: now.metrics.get(n) for n in old.metrics})


async def _figures(case: Case) -> Judgement:
    """Every figure of report.json comes out again."""
    if not is_safe(case.run.path, case.run.path / REPORT):
        return "unchecked", f"there is no {REPORT}; agent-env pack writes one", []
    printed = json.loads(case.run.read(REPORT))
    number = sum(1 for _ in _leaves(printed, ""))
    text = f"{number} printed values are compared with what comes out"
    return _by_findings(text, list(differences(printed, report_of(case.run))))


def report_of(run: Run) -> dict[str, Any]:
    """The figures that `agent-env show --json` prints, computed from the traces."""
    from agent_env.runs.score import read_scores

    scores = read_scores(run, None, lambda text: None, keep=False)
    whole: dict[str, Any] = json.loads(json.dumps(scores.as_json(False)))
    return {name: value for name, value in whole.items() if name != "run"}  # where it is


def differences(stated: object, now: object) -> Iterator[str]:
    """Where two JSON values differ, by path."""
    before, after = dict(_leaves(stated, "")), dict(_leaves(now, ""))
    for path in dict.fromkeys((*before, *after)):
        old, new = before.get(path, "nothing"), after.get(path, "nothing")
        if not _is_equal(old, new):
            yield f"{path}: {old} is stated, {new} comes out"


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value


def _is_equal(one: object, two: object) -> bool:
    if isinstance(one, float | int) and isinstance(two, float | int):
        return math.isclose(one, two, rel_tol=EQUAL, abs_tol=EQUAL)
    return one == two


async def _episodes(case: Case) -> Judgement:
    """Nothing was dropped: each episode that was planned is there, as finished or as failed."""
    run, manifest = case.run, case.run.manifest
    ends = Counter(episode.status for episode, _ in case.scored)
    told = f"{ends['finished']} finished, {ends['failed']} failed, {ends['unfinished']} cut off"
    if manifest.left_out:
        told += f"; {len(manifest.left_out)} samples were left out, with their reasons"
    have = {run.key_of(trace) for trace in run.traces()}
    findings = [
        f"{name}: is not there; it never began or was dropped"
        for condition in manifest.conditions
        for sample in run.samples
        for repeat in range(1, min(manifest.repeats, MOST_REPEATS) + 1)
        if (name := EpisodeKey(sample.id, condition.name, repeat).name) not in have
    ]
    planned = manifest.planned_episodes
    return _by_findings(f"{planned - len(findings)} of {planned} episodes are there: {told}",
                        findings)  # fmt: skip


async def _repeats(case: Case) -> Judgement:
    """No attempt was chosen among several: each episode was begun once."""
    run, findings = case.run, list[str]()
    more = sum(int(n.rpartition(".")[2]) > run.manifest.repeats for n in case.traces)
    begun = begun_in(run)
    aside: Counter[str] = Counter()
    for place in PLACES[1:]:
        for file in sorted((run.path / place).glob("*/*.jsonl")):
            aside[f"{file.parent.name}/{file.stem.rpartition('.')[0]}"] += 1
    for name, times in begun.items():
        events, here = case.traces.get(name), 1 + aside[name]
        if len(times) > here:
            findings.append(f"{name}: was begun {len(times)} times, and {here} traces are here")
        elif events and events[0].at not in times:
            findings.append(f"{name}: was begun at {times[-1]}, and its trace at {events[0].at}")
    if not begun and not findings:
        return "unchecked", "the run has no list of the episodes that were begun", []
    kept = f", {aside.total()} broken traces were set aside and kept" if aside else ""
    kept += f", {more} are further tries of agents that were served" if more else ""
    return _by_findings(f"{len(begun)} episodes are in the list of those begun{kept}", findings)


CHECKS: Mapping[str, Callable[[Case], Any]] = {
    "files": _files,
    "traces": _traces,
    "questions": _questions,
    "gold": _gold,
    "requests": _requests,
    "pages": _pages,
    "model": _model,
    "scores": _scores,
    "figures": _figures,
    "episodes": _episodes,
    "repeats": _repeats,
}
"""By the claim's name."""
