"""Episodes that an agent from outside drives, several at once, each by its handle.

Guaranteed: the agent is told no id of a sample, which would name the generator's seed, but a name
made of it with the run's id, a secret of 128 bits. Tries at a sample are counted, and refused above
`most_tries`. While the run is served, and after its server was killed, no file of its folder holds
a gold answer: samples.jsonl and materials.jsonl are in the server's memory. Nothing is lost with
that memory: the same questions are made again as run.json says, or read again from the user's
dataset, and compared by their digest. Where that would give others, the files stay in the folder.
Not guaranteed: anything against an agent that reads the server's memory, the run's folder or the
dataset, or that makes the questions itself with the seed in run.json (`docs/features/serve.md`).

The agent begins an episode, is asked, and replies step by step, or calls the condition's tools one
by one and submits an answer. Each is a step of an ordinary episode: tools, limits, trace and scorer
are those of any run, and a folder that was interrupted goes on where it was. What the agent does
beside these steps is not seen and not recorded; its time counts as the episode's.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_env.sdk.errors import AgentEnvError, ConfigError, EpisodeError
from agent_env.sdk.records import Message, Reply, ToolCall, ToolSpec
from agent_env.sdk.run import Run, RunOptions, Turn, make_environment, questions_again
from agent_env.sdk.trace import EpisodeKey

if TYPE_CHECKING:
    from agent_env.sdk.records import Condition, Episode, Sample, Score
    from agent_env.sdk.run import DrivenEpisode, Environment, Run, RunOptions


MOST_OPEN = 1000
"""Episodes open at a time."""
MOST_KEPT = 10_000
"""Episodes that are over of which the score can still be asked for."""
MOST_HELD = 256_000_000
"""Letters of the replies of all open episodes."""
LONGEST_ANSWER = 10_000
"""Letters of an answer that are kept of an episode that is over."""
Clock = Callable[[], float]


class ServedRunError(AgentEnvError):
    """What the agent did wrong; told to it."""

    def __init__(
        self, message: str, kind: Literal["unknown", "conflict", "full"] = "conflict"
    ) -> None:
        super().__init__(message)
        self.kind = kind
        """No such thing, not possible in its present state, or too many episodes."""


@dataclass(frozen=True, slots=True)
class EpisodeChoice:
    """Which episode to begin: a sample's, or the next pending one; None leaves it open."""

    sample: str | None = None
    """Its served name."""
    condition: str | None = None
    """Of a sample, None is the first condition."""
    repeat: int | None = None
    """Of a sample; None is the first that nobody has begun."""


@dataclass(frozen=True, slots=True)
class ServedQuestion:
    """What the agent is asked."""

    handle: str
    episode: str
    """CONDITION/NAME.REPEAT, with the sample's served name."""
    turn: Turn
    """With the prompt; of an interrupted episode all messages so far."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turn's."""
        return self.turn.messages


@dataclass(frozen=True, slots=True)
class CallResult:
    text: str
    """The tool's output, with what the episode's rules say beside it."""
    is_error: bool
    is_last: bool
    """Whether the episode takes no further calls."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted answer; without an episode the answer was sent back with `text`."""

    text: str
    episode: Episode | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    episode: str
    """As in `ServedQuestion`."""
    stop_reason: str | None
    failure: str | None
    answer: str | None
    reward: float | None
    metrics: Mapping[str, float]


@dataclass(slots=True)
class Opened:
    key: EpisodeKey
    driven: DrivenEpisode
    turn: Turn
    used_s: float
    """When the agent was last heard of."""
    size: int = 0
    """Letters of its replies."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def steps(self) -> int:
        """Replies so far."""
        return sum(message.role == "assistant" for message in self.turn.messages)


class ServedRun:
    """The episodes of a run, the pending ones handed out in order. Made by `open_served_run`."""

    def __init__(
        self, environment: Environment, on_end: Callable[[EpisodeKey, Score], None],
        clock: Clock = time.monotonic, most_tries: int | None = None,
    ) -> None:  # fmt: skip
        self.environment = environment
        """Whose episodes these are."""
        self._on_end, self._clock, self._most_tries = on_end, clock, most_tries
        self._open: dict[str, Opened] = {}
        self._over: dict[str, Ending] = {}
        self._begun: set[EpisodeKey] = set()
        self._names = served_names(environment.folder)
        self._samples = {self._names[sample.id]: sample for sample in environment.samples}
        traces = environment.folder.traces()
        self._tries = Counter(trace.stem.rpartition(".")[0] for trace in traces)
        self._left: dict[str | None, Iterator[tuple[EpisodeKey, Sample, Condition]]] = {}

    @property
    def folder(self) -> Path:
        return self.environment.folder.path

    @property
    def samples(self) -> tuple[str, ...]:
        """The served names, in the run's order."""
        return tuple(self._samples)

    @property
    def handles(self) -> tuple[str, ...]:
        """Of the open episodes."""
        return tuple(self._open)

    async def begin(
        self, agent: str, choice: EpisodeChoice = EpisodeChoice()
    ) -> ServedQuestion | None:
        """The chosen episode, for the agent of this name; None where no pending one is left."""
        if len(self._open) >= MOST_OPEN:
            raise ServedRunError(f"{MOST_OPEN} episodes are open; end one of them first", "full")
        item = self._next(choice) if choice.sample is None else self._named(choice)
        if item is None:
            return None
        key, sample, condition = item
        self._begun.add(key)
        self._tries[sample.id] += not self.environment.folder.trace(key).exists()
        driven = self.environment.attempt(key, sample, condition, agent)
        handle = secrets.token_hex(8)  # nobody guesses the episode of another agent
        self._open[handle] = opened = Opened(key, driven, Turn(), self._clock())
        try:
            async with opened.lock:
                opened.turn = await driven.reset()
        except BaseException:
            del self._open[handle]
            raise
        if opened.turn.done:  # its tools could not be had, or its time was up before
            self._end(handle, opened)
        return ServedQuestion(handle, self.name(key), opened.turn)

    def name(self, key: EpisodeKey) -> str:
        return replace(key, sample=self._names[key.sample]).name

    async def step(self, handle: str, reply: Reply, number: int | None = None) -> tuple[Turn, Turn]:
        """The turn that the reply answers, and the next one. The step is made and recorded to its
        end, even where the caller stops waiting. `number` is the step's, from 1, where the agent
        wants to be sure that none is made twice."""
        return await self._made(handle, lambda turn: reply, number)

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> CallResult:
        text = json.dumps(dict(arguments), ensure_ascii=False)

        def reply(turn: Turn) -> Reply:
            call = ToolCall(id=f"mcp_{len(turn.messages)}", name=tool, arguments=text)
            message = Message(role="assistant", tool_calls=(call,))
            return Reply(message=message, finish_reason="tool_calls")

        before, turn = await self._made(handle, reply)
        call_id = f"mcp_{len(before.messages)}"
        outputs = [m.content for m in turn.new if m.role == "tool" and m.tool_call_id == call_id]
        rules = [m.content for m in turn.new if m.role == "user"]
        if turn.done:
            rules.append(_over(turn))
        text = "\n\n".join((*outputs, *rules))
        return CallResult(text, any(o.startswith("Error") for o in outputs), turn.done)

    async def submit(self, handle: str, answer: str) -> Submission:
        """Ends the episode with this answer, unless the task's rules send it back."""
        message = Message(role="assistant", content=answer)
        _, turn = await self.step(handle, Reply(message=message, finish_reason="stop"))
        if not turn.done:
            return Submission("\n\n".join(m.content for m in turn.new if m.role == "user"))
        return Submission(_over(turn), turn.episode, turn.score)

    async def give_up(self, handle: str, reason: str) -> Ending:
        opened = self.opened(handle)
        async with opened.lock:
            if handle in self._open:
                opened.turn = await opened.driven.step(EpisodeError(reason))
                self._end(handle, opened)
        return self._over[handle]

    async def give_up_idle(self, longest_s: float) -> None:
        """Ends the episodes whose agents have not been heard of for so long."""
        for handle, opened in list(self._open.items()):
            if not opened.lock.locked() and self._clock() - opened.used_s >= longest_s:
                await self.give_up(handle, f"idle: no step came for {longest_s:g} s")

    async def close(self) -> None:
        """Leaves what is open unfinished; a later one over the folder continues with it."""
        for opened in self._open.values():
            await opened.driven.close()
        self._open.clear()

    def opened(self, handle: str) -> Opened:
        """The open episode; ServedRunError where it is over or there is none."""
        if handle in self._over:
            ending = self._over[handle]
            raise ServedRunError(
                f"episode '{handle}' is over ({ending.failure or ending.stop_reason})"
            )
        if handle not in self._open:
            raise ServedRunError(f"there is no open episode '{handle}'", "unknown")
        return self._open[handle]

    def ending(self, handle: str) -> Ending:
        """How the episode ended; ServedRunError where it has not, or there is none."""
        if handle not in self._over:
            self.opened(handle)
            raise ServedRunError(f"episode '{handle}' is not over: it has no score yet")
        return self._over[handle]

    def _next(self, choice: EpisodeChoice) -> tuple[EpisodeKey, Sample, Condition] | None:
        name = choice.condition
        if name not in self._left:
            condition = None if name is None else self._condition(name)
            self._left[name] = self.environment.pending(condition)
        return next(
            (
                item
                for item in self._left[name]
                if item[0] not in self._begun and not self._is_used_up(item[0])
            ),
            None,
        )

    def _is_used_up(self, key: EpisodeKey) -> bool:
        """Whether the episode would be one try too many."""
        most, is_new = self._most_tries, not self.environment.folder.trace(key).exists()
        return most is not None and is_new and self._tries[key.sample] >= most

    def _named(self, choice: EpisodeChoice) -> tuple[EpisodeKey, Sample, Condition]:
        sample, condition = (
            self._samples.get(choice.sample or ""),
            self._condition(choice.condition),
        )
        if sample is None:
            raise ServedRunError(f"there is no sample '{choice.sample}' here", "unknown")
        if choice.repeat is None:
            key = self._free_key(sample, condition)
        else:
            key = EpisodeKey(sample.id, condition.name, choice.repeat)
        if key in self._begun or self.environment.folder.is_finished(key):
            raise ServedRunError(
                f"episode {self.name(key)} has been begun; name another repeat, or none"
            )
        if self._is_used_up(key):
            raise ServedRunError(
                f"sample '{choice.sample}' has had its {self._most_tries} tries; name another"
            )
        return key, sample, condition

    def _condition(self, name: str | None) -> Condition:
        for condition in self.environment.conditions:
            if name in (None, condition.name):
                return condition
        names = ", ".join(condition.name for condition in self.environment.conditions)
        raise ServedRunError(f"there is no condition '{name}' here; there are: {names}", "unknown")

    def _free_key(self, sample: Sample, condition: Condition) -> EpisodeKey:
        """The first repeat that nobody has begun."""
        while True:
            key = self.environment.free_key(sample, condition)
            if key not in self._begun:
                return key

    async def _made(
        self, handle: str, reply: Callable[[Turn], Reply], number: int | None = None
    ) -> tuple[Turn, Turn]:
        opened = self.opened(handle)
        return await asyncio.shield(
            asyncio.ensure_future(self._step(handle, opened, reply, number))
        )

    async def _step(
        self, handle: str, opened: Opened, reply: Callable[[Turn], Reply], number: int | None
    ) -> tuple[Turn, Turn]:
        async with opened.lock:
            self.opened(handle)  # another step may have ended it meanwhile
            if number is not None and number != opened.steps + 1:
                raise ServedRunError(
                    f"step {number} of '{handle}' is not due: {opened.steps + 1} is the next"
                )
            before = opened.turn
            said = reply(before)
            size = len(said.model_dump_json())
            if sum(each.size for each in self._open.values()) + size > MOST_HELD:
                raise ServedRunError(
                    f"the open episodes hold {MOST_HELD:,} letters of replies; end one of them "
                    "first", "full",
                )  # fmt: skip
            opened.size += size
            opened.turn = await opened.driven.step(said)
            opened.used_s = self._clock()
            if opened.turn.done:
                self._end(handle, opened)
            return before, opened.turn

    def _end(self, handle: str, opened: Opened) -> None:
        turn = opened.turn
        if self._open.pop(handle, None) is None:
            return
        assert turn.episode is not None  # done
        assert turn.score is not None
        if len(self._over) >= MOST_KEPT:
            del self._over[next(iter(self._over))]
        answer = turn.episode.answer
        self._over[handle] = Ending(
            self.name(opened.key), turn.episode.stop_reason, turn.episode.failure,
            answer and answer[:LONGEST_ANSWER], turn.reward, turn.score.metrics,
        )  # fmt: skip
        self._on_end(opened.key, turn.score)


def _over(turn: Turn) -> str:
    assert turn.episode is not None  # done
    if turn.episode.failure is not None:
        return f"The episode failed: {turn.episode.failure}."
    return f"The episode is over ({turn.episode.stop_reason})."


def served_names(folder: Run) -> dict[str, str]:
    """A name for each sample, by its id: the same each time the run is served, and told by the id
    of no other run."""
    secret = (folder.manifest.id or "").encode()
    return {
        sample.id: hmac.digest(secret, sample.id.encode(), "sha256").hex()[:16]
        for sample in folder.samples
    }


async def served_folder(
    options: RunOptions, note: Callable[[str], None], has_one_condition: bool = False
) -> Run:
    """The run of `options.out` where there is one, which continues with its own options; else a new
    one of these. The agent's tokens are not seen, so nothing limits them."""
    if options.out is not None and (options.out / "run.json").exists():
        note(f"{options.out} goes on, with the options that it was begun with")
        run = Run.open(options.out)
        seal(run, options.dataset, note)
        return run
    limits = {"tokens": None, **options.limits}
    options = replace(options, limits=limits)
    run = await make_environment(options, note, is_sealed=True, has_one_condition=has_one_condition)
    # writes the held samples of a new run where they could not be made again
    try:
        questions_again(run, options.dataset)
    except ConfigError as exc:
        run.release()
        note(f"{run.path / SAMPLES_FILE} is readable, gold answers included: {exc}")
    return run


@asynccontextmanager
async def open_served_run(
    environment: Environment,
    on_end: Callable[[EpisodeKey, Score], None],
    most_tries: int | None = None,
    ended_by_agent: bool = False,
) -> AsyncIterator[ServedRun]:
    """The run of the environment's folder, which holds its samples afterwards. `ended_by_agent`:
    whoever answers can end it, so they are written only where no episode is left."""
    served_run = ServedRun(environment, on_end, most_tries=most_tries)
    try:
        yield served_run
    finally:
        await served_run.close()
        if not (ended_by_agent and next(served_run.environment.pending(), None) is not None):
            environment.folder.release()


async def tools_of(environment: Environment) -> tuple[ToolSpec, ...]:
    """The tools of its condition; ConfigError unless it has exactly one."""
    condition = environment.the_condition
    async with environment.components.open_seams(environment.samples[0], condition) as seams:
        return seams.toolbox.specs


SAMPLES_FILE, TABLES_FILE = "samples.jsonl", "materials.jsonl"


def seal(run: Run, dataset: Path | None, note: Callable[[str], None]) -> None:
    """Takes the samples of a run that goes on out of its folder, or makes those of an interrupted
    run again. ConfigError where these cannot be had."""
    is_there = (run.path / SAMPLES_FILE).exists()
    try:
        files = questions_again(run, dataset)
    except ConfigError as exc:
        if not is_there:
            raise
        note(f"{run.path / SAMPLES_FILE} stays readable, gold answers included: {exc}")
        return
    run.hold(files)
    for name in files:
        (run.path / name).unlink(missing_ok=True)
