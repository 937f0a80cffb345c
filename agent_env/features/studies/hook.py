"""Studies for the engine: to go on with one, its contrasts, and what its file asks for outside."""

from __future__ import annotations

from pathlib import Path

from agent_env.features.studies.folder import RECORD, StudyFolder
from agent_env.features.studies.folder import contrasts_of as contrasts_of
from agent_env.features.studies.read import FILE
from agent_env.sdk.commands import say
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import Ask, ManyOptions, ResumeOptions


def resume(path: Path, options: ResumeOptions) -> bool:
    """Go on with the study that the path is, or with its runs below the path; False where it
    belongs to none, or to one that this user did not begin."""
    if (opened := StudyFolder.around(path)) is None:
        return False
    if opened.is_foreign and path.resolve() != opened.path.resolve():
        return False  # what lies above a run says nothing of it, unless the user began it
    study_options = ResumeOptions(
        accept_changes=options.accept_changes, anyway=options.anyway, trust_run=options.trust_run
    )
    if options != study_options:
        raise ConfigError(
            f"{path} belongs to the study {opened.path}; write the change into {opened.file} and "
            "resume without options"
        )
    whole = path.absolute()
    places = (place.path for place in opened.places())
    below = (p for p in places if whole in (p.absolute(), *p.absolute().parents))
    how = ManyOptions(
        study_options, "anyway" if options.anyway else "on", only=frozenset(below) or None
    )
    from agent_env.features.studies.cli import go_on

    go_on(opened, lambda listen: opened.resume(listen, say, how))
    return True


def asks_of(folder: Path) -> list[Ask] | None:
    """What the study in this folder asks for outside; None where there is none."""
    if not (folder / FILE).exists():
        return [] if (folder / RECORD).exists() else None
    study = StudyFolder(folder)
    trusted = study.record is not None and not study.is_foreign
    return [Ask(FILE, text, reach, trusted) for text, reach in study.plan.outside()]
