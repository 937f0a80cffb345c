"""One episode of a run: how it went, what it scored; forks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from agent_env.api.objects import Held, ModelLike
from agent_env.errors import DatasetError
from agent_env.records.schema import Usage
from agent_env.runs.attribute import AttributeOptions
from agent_env.runs.keywords import from_arguments, with_keywords
from agent_env.runs.options import ForkOptions

if TYPE_CHECKING:
    from agent_env.analysis.attribution import Attribution
    from agent_env.analysis.diagnosis import Diagnosis
    from agent_env.api.keywords import AttributeKeywords, ForkKeywords
    from agent_env.api.runs import Run
    from agent_env.records import schema
    from agent_env.records.schema import Message, Sample, Score
    from agent_env.runs.opened import OpenRun


@dataclass(frozen=True, slots=True, repr=False)
class Episode:
    """One attempt at one sample under one condition."""

    name: str
    """CONDITION/SAMPLE.REPEAT."""
    trace: Path
    """The file with its events."""
    sample: Sample
    """The question with its gold answer."""
    record: schema.Episode
    """All that its trace says: steps, tools, pages, tokens, ends."""
    result: Score
    """What the scorer read and found."""
    _run: OpenRun

    @property
    def answer(self) -> str | None:
        """The text of the answer; None where there is none."""
        return self.record.answer

    @property
    def score(self) -> Mapping[str, float]:
        """By metric; empty where there was nothing to score."""
        return self.result.metrics

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls; None where any of them is unknown."""
        return self.record.usage

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation."""
        return self.record.messages

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why its answer is wrong, by rules; None where that is unknown."""
        return self._run.judge(self._run.read(self.trace).events).diagnosis

    def transcript(self, full: bool = False) -> str:
        """The episode readably, as `agent-env show` prints it; long texts cut unless `full`."""
        from agent_env.runs.score import episode_text

        return "\n\n".join(episode_text(self.trace, full, self._run.current.objects))

    @with_keywords(ForkOptions)
    async def fork(
        self,
        *,
        model: ModelLike | None = None,
        progress: bool = True,
        **options: Unpack[ForkKeywords],
    ) -> Run:
        """Keeps the episode up to step `at` and lets it go on otherwise; gives back the run of the
        forks, by default in RUN/forks/. `edit={"1": text}` replaces the result of that step's first
        tool call; the other keywords are the options of `agent-env fork`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> forks = asyncio.run(episode.fork(at=0, repeats=2, out="runs/forks"))
            >>> [fork.name for fork in forks.episodes()]
            ['base/tp-1-00001.1', 'base/tp-1-00001.2']
        """
        from agent_env.api.runs import Run
        from agent_env.runs.fork import fork
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.score import score_folder
        from agent_env.runs.terminal import say

        held = Held(self._run.current.objects)
        name = None if model is None else held.model(model)
        chosen = from_arguments(ForkOptions, {**options, "model": name}, "fork")
        with progress_shown(progress) as shown:
            made = await fork(self.trace, chosen, shown.listener, held.objects)
        score_folder(made, say)
        return Run(made.path, held.objects)

    @with_keywords(AttributeOptions)
    async def attribute(
        self, *, progress: bool = True, **options: Unpack[AttributeKeywords]
    ) -> Attribution:
        """Where its outcome turned: forks of each step are asked anew, and the share of right ends
        is compared before and after it. The keywords are the options of `agent-env attribute`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> result = asyncio.run(episode.attribute(forks=3, progress=False))
            >>> [(step.actions, step.forks) for step in result.steps]
            [('answer', 3)]
        """
        from agent_env.runs.attribute import ask_and_read, plan_attribution
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.terminal import say

        chosen = from_arguments(AttributeOptions, options, "attribute")
        plan = plan_attribution(self.trace, chosen, say, self._run.current.objects)
        with progress_shown(progress) as shown:
            return await ask_and_read(plan, shown.listener)

    def __repr__(self) -> str:
        end = self.record.stop_reason or self.record.status
        metrics = [f", {name} {value:.4g}" for name, value in self.score.items()][:1]
        return f"Episode({self.name!r}: {end}{''.join(metrics)})"


def read_episode(run: OpenRun, trace: Path) -> Episode:
    """The episode of a trace; DatasetError where it cannot be read."""
    from agent_env.episodes.trace.fold import fold
    from agent_env.episodes.trace.lines import read_trace

    folder, events = run.current, read_trace(trace)
    problem = folder.misfit(trace, folder.identity(), events) if events else "holds no event"
    if problem is not None:
        raise DatasetError(trace, 1, problem.removeprefix(f"{trace}:1: "))
    record = fold(events)
    if record.sample not in folder.samples_by_id:
        raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{record.sample}'")
    sample = folder.asked_sample(record)
    score = folder.task.score(folder.samples_by_id[record.sample], record)
    return Episode(folder.key_of(trace), trace, sample, record, score, run)
