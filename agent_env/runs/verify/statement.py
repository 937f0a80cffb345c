"""What a pack states of its run: every file by its digest, and what came of the run, in the form of
in-toto (Statement v1, github.com/in-toto/attestation), unsigned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from agent_env.errors import DatasetError, first_problem
from agent_env.records.schema import Record
from agent_env.runs.run import Run
from agent_env.version import __version__

TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "urn:agent-env:evaluation:v1"
REPORT = "report.json"
"""The figures that were printed of a run, beside its run.json."""


class Subject(Record):
    """A file of the pack."""

    name: str
    digest: dict[str, str]
    """By algorithm; ours is sha256, in hexadecimal."""


class Statement(Record):
    """The statement of a pack."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(default=TYPE, alias="_type")
    subject: tuple[Subject, ...]
    predicateType: Literal["urn:agent-env:evaluation:v1"] = PREDICATE
    predicate: dict[str, Any]

    def as_bytes(self) -> bytes:
        """As it stands in the pack."""
        return (self.model_dump_json(by_alias=True, indent=1) + "\n").encode()

    @classmethod
    def read(cls, file: object, data: bytes) -> Statement:
        """DatasetError for another form, and for a predicate of a later version."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as exc:
            reason = f"no statement of a run: {first_problem(exc.errors())}"
            raise DatasetError(file, None, reason) from exc


def statement_of(digests: Mapping[str, str], predicate: Mapping[str, Any]) -> Statement:
    """The statement on files, by name, with these digests."""
    named = sorted(digests.items())
    subject = tuple(Subject(name=name, digest={"sha256": digest}) for name, digest in named)
    return Statement(subject=subject, predicate=dict(predicate))


def report_of(run: Run) -> dict[str, Any]:
    """The figures that `agent-env show --json` prints, computed from the traces."""
    from agent_env.runs.score import read_scores

    scores = read_scores(run, None, lambda text: None, keep=False)
    whole: dict[str, Any] = json.loads(json.dumps(scores.as_json(False)))
    return {name: value for name, value in whole.items() if name != "run"}  # where it is


def predicate_of(run: Run, report: Mapping[str, Any]) -> dict[str, Any]:
    """What the statement says of the run, with the figures of its report."""
    from agent_env.episodes.results import version_of

    manifest = run.manifest
    conditions = report["conditions"]
    known: Mapping[str, Any] = {
        "run": manifest.id,
        "task": manifest.task,
        "model": manifest.model,
        "servedModel": manifest.served_model,
        "begunAt": manifest.created_at,
        "samples": {"number": manifest.samples, "sha256": manifest.samples_digest},
        "repeats": manifest.repeats,
        "conditions": {name: _result(run, row) for name, row in conditions.items()},
        "episodesPlanned": manifest.planned_episodes,
        "neverBegan": sum(report["never_began"].values()),
        "samplesLeftOut": len(manifest.left_out),
        "saidAndDone": report["digest"],
        "scorer": None if manifest.imported else version_of(run.task.scorer).scorer,
        "madeWith": manifest.versions.get("agent-env"),
        "packedWith": __version__,
    }
    return {name: value for name, value in known.items() if value is not None}


def _result(run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("finished", "failed", "unfinished", *run.task.metrics[:1], "cost_usd")
    return {name: row[name] for name in names if row.get(name) is not None}
