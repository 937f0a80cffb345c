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
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import AgentEnvError, ConfigError, DatasetError, EpisodeError
from agent_env.sdk.family import Task, by_digest, parse_condition
from agent_env.sdk.inside import (
    NO_PLUGINS,
    PLACES,
    ReplayOptions,
    TraceError,
    TrustRun,
    begun_in,
    boundary,
    digest,
    earlier_scores,
    is_safe,
    read_events,
    traces_of,
    version_of,
    versions,
)
from agent_env.sdk.models import Model
from agent_env.sdk.records import Condition, Episode, Sample, Score, read_file
from agent_env.sdk.run import Run, load_family, make_model
from agent_env.sdk.trace import (
    EpisodeKey,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    ModelCalled,
    ToolCalled,
    parse_samples,
)

if TYPE_CHECKING:
    from agent_env.sdk.web import SqlitePages

Verdict = Literal["holds", "fails", "unchecked"]
Judgement = tuple[Verdict, str, Sequence[str]]
"""The verdict, what was checked, and where each contradiction is."""
PAGES = "pages.db"

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
    target: Annotated[Path, Opt("A pack, or a run's folder.", metavar="RUN", argument=True)]
    dataset: Annotated[
        Path | None,
        Opt("The published file that the questions came from, where they were not generated."),
    ] = None
    trust_run: TrustRun = False


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    verdict: Verdict
    text: str
    """What was checked, and how many."""
    findings: tuple[str, ...] = ()
    """Where each contradiction is."""


@dataclass(frozen=True, slots=True)
class Verification:
    run: str
    """Task, model and identity."""
    claims: tuple[Claim, ...]

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return all(claim.verdict != "fails" for claim in self.claims)

    def counts(self) -> dict[str, int]:
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
    from agent_env.sdk.inside import left_out_again, made_again

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
    try:
        again = made_again(run, case.dataset)["samples.jsonl"]
    except ConfigError as exc:
        if any(needs in str(exc) for needs in (". To allow it", "pip install")):
            raise
        return _by_findings(about, [*findings, f"run.json: {exc}"])
    findings += _differing_lines(data, again, "samples.jsonl")
    if manifest.left_out:
        with boundary(EpisodeError, "why samples were left out cannot be found again"):
            reasons = left_out_again(run, case.dataset)
        findings += [
            f"run.json: {sample} is left out ({why!r}), and "
            + (f"the reason is {reasons[sample]!r}" if sample in reasons else "it can be asked")
            for sample, why in manifest.left_out.items()
            if reasons.get(sample) != why
        ]
        about += f", {len(manifest.left_out)} left out, each with its reason"
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
    shares no code with the generator: of the wording that states everything, and of each wording
    that is asked and has another gold. There the solver looks up the shipped tables, and where it
    misses the gold that proves nothing."""
    run, manifest = case.run, case.run.manifest
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
        gold = sample.in_world(explicit.world).gold
        if (answer := await _wrong_answer(task, sample, explicit, solver)) is not None:
            findings.append(f"{sample.id}: the gold is {', '.join(gold or ()) or 'none'}, and the "
                            f"second solver finds {answer}")  # fmt: skip
            continue
        others = [each for each in asked if sample.in_world(each.world).gold != gold]
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


# What was said and done ---------------------------------------------------------------------------


async def _requests(case: Case) -> Judgement:
    from agent_env.sdk.inside import replay

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
    """Pages have the digests that are their names, and all that were read are among them."""
    from agent_env.sdk.inside import problems

    run, manifest, traces = case.run, case.run.manifest, case.traces
    plain = {c.name for c in manifest.conditions if c.disturbance is None and c.today is None}
    opened = {
        (name, page.url, page.digest)
        for name, events in traces.items()
        if name.partition("/")[0] in plain
        for event in events
        if isinstance(event, ToolCalled)
        for page in event.result.pages
        if page.digest is not None
    }
    findings = list(_context_problems(run, traces))
    contexts = f"{len(manifest.contexts)} files of cited pages" if manifest.contexts else ""
    if manifest.web is None:
        text = contexts or "no condition has a web"
        return _by_findings(text, findings)
    store = _store(run)
    if store is None:
        text = f"{len(opened)} pages were opened in a live web, and none was kept"
        return ("fails" if findings else "unchecked"), text, findings
    with closing(store):
        rows = list(store.fetches(stands_only=False))
        for problem in problems(store):
            places = [row.asked for row in rows if (row.digest or "none") in problem]
            findings.append(f"{PAGES}: {problem}{' at ' if places else ''}{', '.join(places)}")
        if manifest.web_settings.pages_digest not in (None, store.digest()):
            findings.append(f"{PAGES}: its digest is not the one in run.json")
        have = {(url, row.digest) for row in rows for url in (row.asked, row.url)}
        digests = {digest for _, digest in have}
        for name, url, digest in sorted(opened):
            if digest not in digests:
                findings.append(f"{name}: the page {url} that was opened is not in the store")
            elif (url, digest) not in have:
                findings.append(f"{name}: the page {url} has another content in the store")
        number = sum(1 for _ in store.urls())
    text = f"{number:,} pages have their digests, {len(opened)} opened ones among them"
    if made := [each.name for each in manifest.conditions if each.tools and each.name not in plain]:
        text += f"; the pages of {', '.join(made)} are made for each sample, and are not compared"
    return _by_findings(f"{text}{contexts and f'; {contexts}'}", findings)


def _store(run: Run) -> SqlitePages | None:
    """The run's own store, else the one that it names, else the sealed web, made again."""
    from agent_env.sdk.inside import check_store, open_sealed, store_path
    from agent_env.sdk.web import SqlitePages

    manifest, settings = run.manifest, run.manifest.web_settings
    day = settings.as_of if manifest.web in ("record", "frozen") else None
    if is_safe(run.path, run.path / PAGES):
        check_store(run, run.path / PAGES)
        return SqlitePages(run.path / PAGES, read_only=True, as_of=day)
    if settings.pages is not None:
        return SqlitePages(store_path(run.path), read_only=True, as_of=day)
    if manifest.web == "sealed":
        web = open_sealed(settings, Path(":memory:"), run.materials())
        assert web.store is not None  # it is a store
        return web.store
    return None


def _context_problems(run: Run, traces: Mapping[str, Sequence[Event]]) -> Iterator[str]:
    """Episodes under cited pages whose text is not that of the run's file."""
    from agent_env.sdk.inside import episode_contexts, read_copies

    copies = read_copies(run, run.manifest)
    for read in episode_contexts(run) if copies else ():
        row = copies[read.context].by_sample.get(read.sample)
        start = next(iter(traces.get(read.episode, ())), None)
        given = start.context if isinstance(start, EpisodeStarted) else None
        if row is None or read.digest is None or given != row.digest:
            yield f"{read.episode}: its pages are not those of {read.context}"


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
    if case.run.has_recorded_scores:
        name = case.run.manifest.scorer
        return "unchecked", f"the function {name}, which gave the scores, is not here", []
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
    if not is_safe(case.run.path, case.run.path / REPORT):
        return "unchecked", f"there is no {REPORT}; agent-env pack writes one", []
    printed = json.loads(case.run.read(REPORT))
    number = sum(1 for _ in _leaves(printed, ""))
    text = f"{number} printed values are compared with what comes out"
    return _by_findings(text, list(differences(printed, report_of(case.run))))


def report_of(run: Run) -> dict[str, Any]:
    """The figures that `agent-env show --json` prints, computed from the traces."""
    from agent_env.sdk.inside import read_scores

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
    """Nothing was dropped: each episode that was planned is there, and has an end."""
    run, manifest = case.run, case.run.manifest
    ends = Counter(episode.status for episode, _ in case.scored)
    told = f"{ends['finished']} finished, {ends['failed']} failed, {ends['unfinished']} cut off"
    if manifest.left_out:
        number = len(manifest.left_out)
        were = "sample was" if number == 1 else "samples were"
        told += f"; {number} {were} left out, with the reason"
    have = {run.key_of(trace) for trace in run.traces()}
    findings = [
        f"{NAME.format(episode.condition, episode.sample, episode.repeat)}: began and has no end"
        for episode, _ in case.scored
        if episode.status == "unfinished"
    ]
    findings += [
        f"{name}: is not there; it never began or was dropped"
        for condition in manifest.conditions
        for sample in run.samples
        for repeat in range(1, min(manifest.repeats, MOST_REPEATS) + 1)
        if (name := EpisodeKey(sample.id, condition.name, repeat).name) not in have
    ]
    planned = manifest.planned_episodes
    absent = len(findings) - ends["unfinished"]
    return _by_findings(f"{planned - absent} of {planned} episodes are there: {told}", findings)


async def _repeats(case: Case) -> Judgement:
    """No attempt was chosen among several: each episode was begun once, and a trace that was set
    aside continues in the one that counts, or says nothing."""
    run, findings, unknown = case.run, list[str](), list[str]()
    more = sum(int(n.rpartition(".")[2]) > run.manifest.repeats for n in case.traces)
    begun = begun_in(run)
    aside: Counter[str] = Counter()
    for file in sorted((run.path / "broken").glob("*/*.jsonl")):
        name = f"{file.parent.name}/{file.stem.rpartition('.')[0]}"
        aside[name] += 1
        try:
            lines = read_events(file)
        except TraceError as exc:
            lines = exc.sound
        replies = sum(isinstance(event, ModelCalled) for event in lines.events)
        counts = run.path / PLACES[0] / f"{name}.jsonl"
        has_it = counts.exists() and run.read(f"{PLACES[0]}/{name}.jsonl")
        if not lines.events:
            unknown.append(f"{name}: was asked again; what broken/ has of it cannot be read")
        elif problem := run.misfit(counts, run.identity(), lines.events):
            unknown.append(f"{name}: was asked again; {problem}")
        elif replies and not (
            has_it and has_it.startswith(read_file(run.path, file)[: lines.size])
        ):
            findings.append(f"{name}: was asked again, though broken/ has {replies} replies to it")
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
    text = f"{len(begun)} episodes are in the list of those begun{kept}"
    verdict: Verdict = "fails" if findings else "unchecked" if unknown else "holds"
    return verdict, text, findings + unknown


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
