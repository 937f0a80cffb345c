"""The questions of a reproduction: the authors' files or generated ones, kept in its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.features.papers.paper import Experiment, Questions, Reproduction, Setup
from agent_env.features.papers.responses import ReadSamples
from agent_env.sdk.errors import AgentEnvError, ConfigError
from agent_env.sdk.family import SampleSet, parse_where, select
from agent_env.sdk.records import Record, Sample
from agent_env.sdk.run import RunOptions, samples_of
from agent_env.sdk.trace import samples_bytes, write_whole

PLAN = "reproduce.json"


class Plan(Record):
    """reproduce.json: what fixes questions and words; a folder holds one plan."""

    paper: str
    seed: int
    limit: int | None
    files: dict[str, str]
    """SHA-256 of each file, by the name of its questions."""
    options: tuple[str, ...]
    prompt: str | None
    """Name or SHA-256 of the user's prompt; None for the setups' own."""
    system: str | None


def check_plan(out: Path, plan: Plan) -> None:
    """Writes the plan; ConfigError where the folder holds another one."""
    file = out / PLAN
    if file.exists():
        try:
            before = Plan.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as exc:
            raise ConfigError(f"{file} is not a reproduction's plan; name another --out") from exc
        for name in Plan.model_fields:
            one, other = getattr(before, name), getattr(plan, name)
            if one != other and (name != "files" or _has_other_questions(out, one, other)):
                raise ConfigError(
                    f"{file} has {name} {one}, not {other}; name another --out, or ask as before"
                )
    write_whole(file, plan.model_dump_json(indent=1).encode() + b"\n")


def _has_other_questions(out: Path, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether the folder holds questions that came from another file; a file that was missing
    before may be given later."""
    changed = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    return any(_question_file(out, name).exists() for name in changed)


def _question_file(out: Path, name: str) -> Path:
    return out / "questions" / f"{name}.jsonl"


@dataclass(slots=True)
class QuestionSets:
    """Every set of questions, made when it is first needed."""

    paper: Reproduction
    given: Sequence[str]
    """`[NAME=]FILE`."""
    run: Mapping[str, Any]
    """Options of the run that the user gives."""
    out: Path
    files: dict[str, Path] = field(default_factory=dict)
    _unreadable: dict[str, str] = field(default_factory=dict)
    """Why a file that the user gave cannot be read, by the name of its questions."""
    _sets: dict[str, SampleSet] = field(default_factory=dict)
    _whole: dict[str, int] = field(default_factory=dict)
    """Number of questions before the limit."""
    _read: dict[str, dict[str, dict[str, list[Sample]]]] = field(default_factory=dict)
    """Samples by questions, reading and id."""

    def __post_init__(self) -> None:
        known = [each.name for each in self.paper.questions]
        for text in self.given:
            name, equals, file = text.partition("=")
            if not equals or name not in known:
                name, file = known[0], text
                if len(known) > 1:
                    raise ConfigError(
                        f"--dataset {text}: write NAME=FILE; names: {', '.join(known)}"
                    )
            if name in self.files:
                raise ConfigError(f"--dataset {name} is given twice")
            self.files[name] = Path(file)
        for text in self.run.get("options", ()):
            owner, colon, _ = text.partition("=")[0].rpartition(":")
            if colon and owner not in known:
                raise ConfigError(
                    f"--option {text}: there are no questions '{owner}'; names: {', '.join(known)}"
                )

    def check_options(self, setups: Iterable[Setup]) -> None:
        """ConfigError for an option of no named questions that the paper sets for several."""
        fixed: dict[str, dict[str, None]] = {}
        for setup in setups:
            for text in setup.run.options:
                fixed.setdefault(text.partition("=")[0], {})[setup.questions] = None
        for text in self.run.get("options", ()):
            names = tuple(fixed.get(text.partition("=")[0].strip(), ()))
            if len(names) > 1:
                raise ConfigError(
                    f"--option {text}: the paper says it for each of {', '.join(names)}; name the "
                    f"questions that are to differ, such as --option {names[-1]}:{text}"
                )

    def options_of(self, name: str) -> tuple[str, ...]:
        """The user's KEY=VALUE texts for these questions; NAME:KEY=VALUE wins over KEY=VALUE."""
        texts = [text.strip() for text in self.run.get("options", ())]
        plain = [text for text in texts if ":" not in text.partition("=")[0]]
        return with_own(
            plain, [t.removeprefix(f"{name}:") for t in texts if t.startswith(f"{name}:")]
        )

    def read_files(self, note: Callable[[str], None]) -> None:
        """Reads every file. An invalid one costs the setups that ask its questions; the error is
        raised where no file can be read."""
        errors: list[AgentEnvError] = []
        for name, path in list(self.files.items()):
            try:
                if not path.exists():
                    raise ConfigError(f"--dataset {path}: there is no such file")
                self._sets[name] = self._make(self._questions(name))
            except AgentEnvError as exc:
                errors.append(exc)
                self._unreadable[name] = str(exc)
                del self.files[name]
        if errors and not self.files:
            raise errors[0]
        for name, reason in self._unreadable.items():
            note(f"--dataset {name}: {reason}; what needs it is not run")

    def is_generated(self, name: str) -> bool:
        """Whether the questions are neither of a file nor printed in the paper."""
        return name not in self.files and self._questions(name).printed is None

    def plan(self, paper: str) -> Plan:
        prompt = self.run.get("prompt")
        system = self.run.get("system")
        return Plan(
            paper=paper,
            seed=self.run.get("seed", 1),
            limit=self.run.get("limit"),
            files={name: _file_digest(path) for name, path in self.files.items()},
            options=tuple(self.run.get("options", ())),
            prompt=None if prompt is None else _digest_or_name(Path(prompt)),
            system=None if system is None else _file_digest(system),
        )

    def run_options(self, setup: Setup, options: RunOptions) -> tuple[RunOptions, bytes]:
        """The options with the setup's questions as their dataset, and the bytes of the samples
        that they select."""
        samples = self._set(setup.questions).samples
        chosen = select(samples, [parse_where(text) for text in options.where])
        if not chosen:
            raise ConfigError(f"none of {len(samples)} questions has {', '.join(options.where)}")
        return replace(options, dataset=self._file(setup.questions)), samples_bytes(chosen)

    def of_file(self, name: str) -> SampleSet | None:
        """The questions of the user's file; None where there is none."""
        return self._set(name) if name in self.files else None

    def notes(self, setup: Setup) -> Iterable[str]:
        """Where the questions come from, how many there are, in whose words."""
        questions = self._questions(setup.questions)
        count = len(self._set(questions.name).samples)
        if questions.name in self.files:
            whole = self._whole[questions.name]
            part = f"{count} of {whole}, evenly spaced," if count < whole else f"all {count}"
            yield f"Questions: {part} of the file {self.files[questions.name].name}."
        elif questions.printed is not None:
            yield f"Questions: the paper's own, {count}."
        else:
            yield (
                f"Questions: {count} generated here with seed {self.run.get('seed', 1)}, not the "
                f"paper's {questions.count}: {questions.about} can be named by "
                f"--dataset {questions.name}=FILE."
            )
        if "prompt" in self.run:
            yield f"Prompt: {Path(self.run['prompt']).name}, as it stands."
        else:
            yield (
                f"Prompt: '{setup.run.prompt}', in words of our own; --prompt FILE loads another "
                "text, such as the authors', verbatim."
            )

    def readings(
        self,
        experiment: Experiment,
        setups: Mapping[str, Setup],
        runs: Mapping[str, Sequence[object]],
        answered: Mapping[str, Sequence[object]],
    ) -> list[str]:
        """Other readings of the gold of the questions that the experiment measures; none for
        generated ones."""
        names = {
            setups[name].questions
            for name in experiment.setups
            if name in setups and (runs.get(name) or answered.get(name))
        }
        found: dict[str, None] = {}
        for name in names & set(self.files):
            found |= dict.fromkeys(self._readings(name))
        return list(found)

    def read_as(self, samples: Sequence[Sample], reading: str) -> ReadSamples:
        """The samples under this reading; "" is their own."""
        other = {k: v for by in self._read.values() for k, v in by.get(reading, {}).items()}
        return ReadSamples(
            {sample.id: tuple(other.get(sample.id, (sample,))) for sample in samples}
        )

    def _readings(self, name: str) -> Mapping[str, Mapping[str, Sequence[Sample]]]:
        if name not in self._read:
            make = self.paper.readings
            made = {} if make is None else make(self._set(name).samples)
            own = self._read[name] = {reading: {} for reading in made}
            for reading, samples in made.items():
                for sample in samples:
                    own[reading].setdefault(sample.id, []).append(sample)
        return self._read[name]

    def _questions(self, name: str) -> Questions:
        return next(each for each in self.paper.questions if each.name == name)

    def _file(self, name: str) -> Path:
        return _question_file(self.out, name)

    def _set(self, name: str) -> SampleSet:
        if name in self._unreadable:
            raise ConfigError(self._unreadable[name])
        if name not in self._sets:
            questions = self._questions(name)
            is_kept = self._file(name).exists()  # the plan is the same
            self._sets[name] = self._kept(questions) if is_kept else self._make(questions)
        if not self._file(name).exists():
            self._sets[name].write(self._file(name))
        return self._sets[name]

    def _kept(self, questions: Questions) -> SampleSet:
        """The generated questions that the folder holds."""
        texts = with_own(questions.options, self.options_of(questions.name))
        file = self._file(questions.name)
        return samples_of(RunOptions(questions.task, dataset=file, options=texts))

    def _make(self, questions: Questions) -> SampleSet:
        """The whole file or as many questions of it as the limit says, evenly spaced; else
        generated ones."""
        path, limit = self.files.get(questions.name), self.run.get("limit")
        texts = with_own(questions.options, self.options_of(questions.name))
        options = RunOptions(
            questions.task,
            dataset=path,
            options=texts,
            seed=self.run.get("seed", 1),
            limit=None if path else limit or questions.count,
        )
        if path is not None and questions.read is not None:
            made = questions.read(path)
        elif path is None and questions.printed is not None:
            made = questions.printed()
        else:
            made = samples_of(options)
        self._whole[questions.name] = len(made.samples)
        if path is None or limit is None or limit >= len(made.samples):
            return made
        every = [made.samples[k * len(made.samples) // limit] for k in range(limit)]
        return replace(made, samples=tuple(every))


def with_own(texts: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """KEY=VALUE texts of the paper, except those whose key is among the user's own, and these."""
    keys = {text.partition("=")[0].strip() for text in own}
    return (*(text for text in texts if text.partition("=")[0].strip() not in keys), *own)


def _file_digest(path: Path) -> str:
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        parts = (f"{file.relative_to(path)} {_file_digest(file)}" for file in files)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as exc:
        raise ConfigError(f"cannot read {path}: {exc.strerror}") from exc


def _digest_or_name(prompt: Path) -> str:
    return _file_digest(prompt) if prompt.suffix or len(prompt.parts) > 1 else str(prompt)
