"""A study on disk: the user's study.toml, study.json beside it, and a run folder for each task and
model below: STUDY/TASK/MODEL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agent_env.features.studies.plan import Budget, StudyPlan, Texts
from agent_env.features.studies.read import FILE, plan_of, read_text
from agent_env.sdk.errors import ConfigError, DatasetError, DatasetErrors, first_problem
from agent_env.sdk.inside import (
    NOTHING,
    ListenerFor,
    ManyOptions,
    ModelRuns,
    ResumeOptions,
    RunFolder,
    StudyUse,
    TomlLines,
    check_resumed,
    digest,
    knows_study,
    make_all,
    record_run,
    record_study,
    run_many,
)
from agent_env.sdk.records import Stored, read_file, replace_file
from agent_env.sdk.run import Run, RunOptions, own_call

if TYPE_CHECKING:
    from agent_env.sdk.inside import RunBudget

RECORD = "study.json"
CHANGEABLE = frozenset(
    {
        "concurrency", "run_tokens", "run_cost_usd", "run_time_s", "prices", "base_url",
        "api_key_env", "budget", "contrasts",
    }
)  # fmt: skip
"""Entries of study.toml that may change after the start, in any table."""


class StudyChange(Stored):
    at: str
    """ISO 8601, UTC."""
    digest: str
    """Of the file as changed."""
    fields: tuple[str, ...]


class StudyRecord(Stored):
    """study.json: the study as it began."""

    name: str
    digest: str
    """SHA-256 of `text`."""
    begun_at: str
    """ISO 8601, UTC."""
    text: str
    """study.toml at the start; its contrasts are the planned ones."""
    changes: tuple[StudyChange, ...] = ()

    @property
    def key(self) -> str:
        """By which this user's record knows it."""
        return digest(f"{self.begun_at}\0{self.digest}".encode())[:40]


@dataclass(frozen=True, slots=True)
class RunPlace:
    task: str
    model: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.task}/{self.model}"

    @property
    def is_begun(self) -> bool:
        return (self.path / "run.json").exists()


class StudyFolder:
    """The study in a folder, or of a study.toml. Its file is read, and checked, at first use."""

    def __init__(self, path: Path | str) -> None:
        target = Path(path)
        if target.name != FILE and target.is_file():
            raise ConfigError(
                f"{target} is a file; a study is a folder with {FILE}, such as agent-env study new "
                "FOLDER writes"
            )
        self.path = target.parent if target.name == FILE else target
        self.file = self.path / FILE
        self._permit = NOTHING

    @classmethod
    def around(cls, path: Path) -> StudyFolder | None:
        """The study that was begun and that the path is, or lies in; None where there is none."""
        for folder in (path, path.parent, path.parent.parent):
            if (folder / RECORD).exists():
                return cls(folder)
        return None

    @cached_property
    def text(self) -> str:
        return read_text(self.file)

    @cached_property
    def plan(self) -> StudyPlan:
        """The file as it is now, only read; DatasetErrors with the mistakes in its form."""
        return plan_of(self.file, self.text, None)

    @property
    def is_foreign(self) -> bool:
        """Whether somebody may have sent it: it was begun, and not by this user here. A mere file
        is the user's own word, like a script that is run."""
        record = self.record
        if record is None:
            return next(self.path.glob("*/*/run.json"), None) is not None
        return not knows_study(self.path, record.key)

    def allow(self, note: Callable[[str], None], confirmed: bool = False) -> None:
        """Lets the file say what is reached from now on, and lists all its mistakes; ConfigError
        for a study of somebody else's, unless `confirmed`."""
        if self.is_foreign:
            record = self.record
            asked = [f"{text} ({reach})" for text, reach in self.plan.outside()]
            if record is None or not confirmed:
                how = f"agent-env resume {self.path} --trust-run"
                raise ConfigError(
                    f"{self.path} is not a study that you began here, and it asks for: "
                    f"{'; '.join(asked) or 'nothing outside'}. To allow it: "
                    f"{how if record else 'take its study.toml to a folder of its own'}"
                )
            for each in asked:
                note(f"trusted in {self.path}: {each}")
            record_study(self.path, record.key, note)
        self._permit = own_call()
        plan = plan_of(self.file, self.text, self._permit)
        others = [name for name in plan.tasks if plan.has_no_levels(name, self._permit)]
        if others and "difficulty" in plan.options_of_run:
            note(f"{', '.join(others)}: no levels of difficulty, so that of the top does not apply")

    @property
    def name(self) -> str:
        return self.plan.name or self.path.resolve().name

    @property
    def use(self) -> StudyUse:
        """What the study's new runs note of it."""
        return StudyUse(name=self.name, digest=digest(self.text.encode()))

    @property
    def record(self) -> StudyRecord | None:
        """study.json; None before the start."""
        file = self.path / RECORD
        try:
            return StudyRecord.model_validate_json(read_file(self.path, file))
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc
        except ValidationError as exc:
            reason = f"not a study's record: {first_problem(exc.errors())}"
            raise DatasetError(file, None, reason) from exc

    @property
    def begun_plan(self) -> StudyPlan | None:
        record = self.record
        if record is None:
            return None
        return plan_of(self.path / RECORD, record.text, None)

    def places(self) -> list[RunPlace]:
        return [
            RunPlace(task, model, self.path / task / model)
            for model in self.plan.models
            for task in self.plan.tasks
        ]

    def all_options(self) -> list[RunOptions]:
        return [self._options(place, self.use)[0] for place in self.places()]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the study against other processes; ConfigError if one runs it."""
        with RunFolder(self.path).locked():
            yield

    # Start and resume ------------------------------------------------------------------------

    async def start(
        self, listener_for: ListenerFor, note: Callable[[str], None], how: ManyOptions
    ) -> dict[str, str]:
        """Makes all runs and runs them; by name of a run why it did not come to its end."""
        self.allow(note)
        with self.locked():
            if (record := self.record) is not None:
                raise ConfigError(
                    f"{self.path} was begun at {record.begun_at}; continue with: agent-env resume "
                    f"{self.path}"
                )
            now = datetime.now(UTC).isoformat(timespec="seconds")
            use = self.use
            begun = StudyRecord(name=use.name, digest=use.digest, begun_at=now, text=self.text)
            self._write(begun)
            record_study(self.path, begun.key, note)
            try:
                await self._prepare(note)
            except BaseException:  # nothing was begun; where we are killed, resume makes the rest
                (self.path / RECORD).unlink()
                raise
            return await self._run(listener_for, how)

    async def resume(
        self, listener_for: ListenerFor, note: Callable[[str], None], how: ManyOptions
    ) -> dict[str, str]:
        """Runs whatever is missing, with the changes of study.toml that are allowed; ConfigError
        lists the others by field, or the study is somebody else's."""
        record, before = self.record, self.begun_plan
        if record is None or before is None:  # nothing of the file is obeyed for that
            raise ConfigError(
                f"{self.path} was not started yet; start it: agent-env study run {self.path}"
            )
        self.allow(note, how.options.trust_run)
        with self.locked():
            fields = changed_fields(before, self.plan)
            lines = TomlLines(self.file, self.text)
            refused = [
                (lines.line(field.split(".")), f"{field} was {was} at the start and is {now} now")
                for field, (was, now) in fields.items()
                if field.rpartition(".")[2] not in CHANGEABLE and was != "absent"
            ]
            if refused:
                advice = (
                    f"only {', '.join(sorted(CHANGEABLE))}, and new tasks and models may change"
                )
                refused.append((None, f"{advice}; start another study in another folder"))
                raise DatasetErrors(self.file, refused)
            await self._prepare(note)
            self._adopt(how.options, note)
            latest = record.changes[-1].digest if record.changes else record.digest
            if self.use.digest != latest:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                change = StudyChange(at=now, digest=self.use.digest, fields=tuple(fields))
                self._write(record.model_copy(update={"changes": (*record.changes, change)}))
            if fields:
                note(f"changed since the start: {', '.join(fields)}")
            return await self._run(listener_for, how)

    def _write(self, record: StudyRecord) -> None:
        data = record.model_dump_json(indent=2).encode() + b"\n"
        try:
            replace_file(self.path / RECORD, data)
        except OSError as exc:
            raise ConfigError(f"cannot write to {self.path}: {exc.strerror}") from exc

    async def _prepare(self, note: Callable[[str], None]) -> None:
        """Makes the folders of the runs that have none."""
        missing = [place for place in self.places() if not place.is_begun]
        await make_all([self._options(place, self.use)[0] for place in missing], note)

    def _adopt(self, options: ResumeOptions, note: Callable[[str], None]) -> None:
        """Brings the allowed changes into the runs that were made before."""
        from agent_env.sdk.inside import priced_facts

        for run, place in ((Run(place.path), place) for place in self.places()):
            try:
                manifest = check_resumed(run, options, note)
            except DatasetError:
                continue  # told when it is its turn
            asked, models = self._options(place, manifest.study)
            (wished,) = asked.addressed(models)
            url, before = wished.base_url, manifest.model_parameters.get("base_url")
            update: dict[str, Any] = {
                "concurrency": wished.concurrency,
                "run_limits": asdict(wished.calls.run),
                "model_facts": priced_facts(wished.calls, wished.model, lambda text: None),
            }
            key_entry = {k: v for k, v in wished.parameters.items() if k == "api_key_env"}
            rest = {k: v for k, v in manifest.model_parameters.items() if k != "api_key_env"}
            update["model_parameters"] = rest | {"base_url": url} | key_entry
            if url != before:
                update["former_urls"] = (*manifest.former_urls, str(before))
            if any(getattr(manifest, name) != value for name, value in update.items()):
                run.change(**update)
                record_run(run, note)

    def _options(self, place: RunPlace, use: StudyUse | None) -> tuple[RunOptions, list[str]]:
        options = self.plan.run_options(
            place.task, place.model, self.path.absolute(), use, self._permit
        )
        return replace(options, out=place.path), [options.model]

    async def _run(self, listener_for: ListenerFor, how: ManyOptions) -> dict[str, str]:
        places = self.places()
        names = {place.path: place.name for place in places}
        models = [
            ModelRuns(
                model,
                [Run(place.path) for place in places if place.model == model],
                _budget(f"model {model}", self.plan.models[model].budget),
            )
            for model in self.plan.models
        ]
        budget = _budget("the study", self.plan.budget)
        return await run_many(models, listener_for, how, budget, names)


def contrasts_of(runs: Iterable[Path]) -> tuple[Texts, Texts]:
    """The contrasts that the studies of these runs planned at their start, and later ones."""
    planned, added = dict[str, None](), dict[str, None]()
    folders = {study.path.resolve(): study for study in map(StudyFolder.around, runs) if study}
    for study in folders.values():
        begun = study.begun_plan
        planned |= dict.fromkeys(begun.contrasts if begun else ())
        if study.file.exists():
            now = plan_of(study.file, study.text, None)
            added |= dict.fromkeys(now.contrasts)
    return tuple(planned), tuple(text for text in added if text not in planned)


def _budget(whose: str, budget: Budget) -> RunBudget | None:
    from agent_env.sdk.inside import RunBudget

    return None if budget == Budget() else RunBudget(budget.as_limits(), whose=whose)


def changed_fields(before: StudyPlan, now: StudyPlan) -> dict[str, tuple[Any, Any]]:
    """By field the entry at the start and now; a table that is new or gone is one field."""
    old, new = _flat(before), _flat(now)
    tables = {name.rpartition(".")[0] for name in old.keys() ^ new.keys()}
    whole = {
        table
        for table in tables
        if table and not all(any(n.startswith(f"{table}.") for n in each) for each in (old, new))
    }
    fields: dict[str, tuple[Any, Any]] = {
        table: ("absent", "new") for table in whole if any(n.startswith(f"{table}.") for n in new)
    }
    fields |= {table: ("there", "absent") for table in whole if table not in fields}
    for name in dict.fromkeys([*old, *new]):
        if name.rpartition(".")[0] not in whole and old.get(name) != new.get(name):
            fields[name] = old.get(name), new.get(name)
    return fields


def _flat(plan: StudyPlan) -> dict[str, Any]:
    """The plan's entries by their dotted places; a budget or a price row is one entry."""
    fields: dict[str, Any] = {}
    for place, scope in plan.scopes():
        scope_entries = scope.model_dump(mode="json", exclude={"options_of_run", "tasks", "models"})
        entries = {**scope_entries, **scope.options_of_run}
        fields |= {".".join((*place, name)): value for name, value in entries.items()}
    return fields
