"""Tasks as environments: a policy resets and steps episodes, and gets rewards.

Episodes are recorded like those of a run: the folder can be scored, shown, replayed and exported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_env.episodes.calls.retries import silent
from agent_env.errors import ConfigError
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.plan import plan_run
from agent_env.runs.run import Run
from agent_env.runs.start import open_plan
from agent_env.wiring.components import RunComponents, open_components
from agent_env.wiring.trust import check_trust, without_model

if TYPE_CHECKING:
    from agent_env.episodes.driven import DrivenEpisode
    from agent_env.episodes.rerun.resume import TraceOpener
    from agent_env.episodes.run_folder import EpisodeKey, Pending
    from agent_env.episodes.runner import Runner, Seams
    from agent_env.graph.loop import AgentLoop
    from agent_env.protocols import Model
    from agent_env.records.schema import Condition, Episode, Sample, Score
    from agent_env.tasks.task import Task


async def make_environment(
    options: RunOptions,
    note: Callable[[str], None] = silent,
    is_sealed: bool = False,
    has_one_condition: bool = False,
) -> Run:
    """Creates the folder of an environment as `agent-env run` does; `options.model` is only the
    policy's name. `is_sealed`: the samples are kept from the folder until `release`.
    `has_one_condition`: ConfigError for several, before anything is written."""
    if options.model == RunOptions(options.task).model:
        options = replace(options, model="policy")  # the default model name in the traces
    async with AsyncExitStack() as stack:
        plan = await plan_run(options, note, stack, is_asked=False)
        if has_one_condition:
            _only(plan.manifest.conditions)
        return open_plan(plan, note, stack, is_sealed)


def _only(conditions: Sequence[Condition]) -> Condition:
    if len(conditions) != 1:
        names = ", ".join(condition.name for condition in conditions)
        raise ConfigError(f"one --condition, not {names}: its tools are listed once for all")
    return conditions[0]


@asynccontextmanager
async def open_environment(
    folder: Run, trust_run: bool = False, note: Callable[[str], None] = silent
) -> AsyncIterator[Environment]:
    """The environment of a folder, with its tools; one process at a time. ConfigError without
    `trust_run` for another user's folder that reaches outside itself."""
    from agent_env.episodes.rerun.resume import TraceOpener, limits_of
    from agent_env.episodes.runner import Runner, rarely_collected, utc_now
    from agent_env.episodes.trace.texts import Texts
    from agent_env.graph.loop import AgentLoop

    folder.check_ours("stepped")
    manifest, task = folder.manifest, folder.task
    async with AsyncExitStack() as stack:
        stack.enter_context(folder.locked())
        stack.enter_context(rarely_collected())
        ours = without_model(manifest)
        check_trust(folder, ours, note, confirmed=trust_run, option="trust_run=True")
        components = await open_components(folder, ours, task, stack, plugins=folder.plugins)
        texts = Texts(folder.texts)
        stack.callback(texts.close)
        runner = Runner(
            folder=folder,
            model_name=manifest.model,
            open_seams=components.open_seams,
            tokenizer=components.tokenizer,
            limits=limits_of(manifest),
            concurrency=manifest.concurrency,
            seed=manifest.seed or 0,
            run_id=manifest.id,
            silence_fails=False,
        )
        yield Environment(
            folder=folder,
            task=task,
            samples=folder.samples,
            conditions=manifest.conditions,
            name=manifest.model,
            components=components,
            runner=runner,
            opener=TraceOpener(folder, manifest.id, utc_now, texts, print),
            loop=AgentLoop(),
        )


@dataclass(frozen=True, slots=True)
class Environment:
    """Samples, conditions and any number of concurrent episodes."""

    folder: Run
    task: Task
    samples: tuple[Sample, ...]
    conditions: tuple[Condition, ...]
    name: str
    """Of the policy."""
    components: RunComponents
    runner: Runner
    opener: TraceOpener
    loop: AgentLoop
    _begun: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def the_condition(self) -> Condition:
        """Of an environment with exactly one; ConfigError for others."""
        return _only(self.conditions)

    def episode(self, sample: str, condition: str | None = None) -> DrivenEpisode:
        """A new, unstarted attempt at a sample, under the named condition or the first."""
        chosen = next((s for s in self.samples if s.id == sample), None)
        under = next((c for c in self.conditions if condition in (None, c.name)), None)
        if chosen is None or under is None:
            raise ConfigError(f"{self.folder.path} has no sample {sample} under {condition}")
        return self.attempt(self.free_key(chosen, under), chosen, under)

    def fresh(
        self, sample: str, condition: Condition, repeat: int, policy: str
    ) -> tuple[EpisodeKey, DrivenEpisode]:
        """A new attempt of this repeat by the policy, whatever was recorded of an earlier one; the
        policy is spoken to by the run's tool protocol."""
        from agent_env.episodes.run_folder import EpisodeKey
        from agent_env.wiring.models import model_settings

        key = EpisodeKey(sample, condition.name, repeat)
        self.folder.trace(key).unlink(missing_ok=True)
        parameters = self.folder.manifest.model_parameters
        settings = model_settings({k: v for k, v in parameters.items() if k != "base_url"})
        asked = self.folder.samples_by_id[sample]
        return key, self.attempt(key, asked, condition, policy, settings.with_protocol)

    def attempt(
        self,
        key: EpisodeKey,
        sample: Sample,
        condition: Condition,
        policy: str | None = None,
        protocol: Callable[[Model], Model] = lambda model: model,
    ) -> DrivenEpisode:
        """The attempt of this key, by the policy of this name: a new one, or what is left of one
        that was interrupted. `protocol` makes the loop's model of the one that hands requests
        out."""
        from agent_env.episodes.driven import DrivenEpisode

        async def run(model: Model) -> None:
            opened = self.opener.open(key)
            if opened is None:
                raise ConfigError(f"{self.folder.trace(key)} is left alone: see the message above")
            asked = protocol(model)

            @asynccontextmanager
            async def open_seams(sample: Sample, condition: Condition) -> AsyncIterator[Seams]:
                async with self.components.open_seams(sample, condition) as seams:
                    yield replace(seams, model=asked)

            runner = replace(self.runner, open_seams=open_seams)
            await runner.episode(key, sample, condition, self.loop, *opened)

        def judge() -> tuple[Episode, Score]:
            episode = self.recorded(key)
            assert episode is not None  # it ended
            return episode, self.task.score(sample, episode)

        return DrivenEpisode(policy or self.name, run, judge, self.task.metrics[0])

    def recorded(self, key: EpisodeKey) -> Episode | None:
        """The episode as far as it is recorded; None where it was not begun."""
        from agent_env.episodes.trace.fold import fold
        from agent_env.episodes.trace.lines import read_trace

        if not self.folder.trace(key).exists():
            return None
        return fold(read_trace(self.folder.trace(key), self.opener.texts))

    def pending(self, condition: Condition | None = None) -> Pending:
        """The episodes asked for and not finished, in the run's order."""
        from agent_env.episodes.run_folder import pending

        conditions = self.conditions if condition is None else (condition,)
        return pending(self.folder, self.samples, conditions, self.folder.manifest.repeats)

    def free_key(self, sample: Sample, condition: Condition) -> EpisodeKey:
        """The next repeat without a trace."""
        from agent_env.episodes.run_folder import EpisodeKey

        while True:
            self._begun[sample.id, condition.name] += 1
            number = self._begun[sample.id, condition.name]
            key = EpisodeKey(sample.id, condition.name, number)
            if not self.folder.trace(key).exists():
                return key
