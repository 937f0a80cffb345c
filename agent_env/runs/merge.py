"""Shards of a run, merged into the whole run.

Guaranteed: the samples are those that the whole run would ask, in their order, checked by their
digest; what is copied are traces, texts and pages, which are data; nothing is imported or run. This
user is taken to allow what was allowed for every one of the shards. The folder appears whole or not
at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Annotated, Any

from agent_env.episodes.rerun.fork import copy_pages
from agent_env.episodes.rerun.resume import setting_changes, version_changes
from agent_env.episodes.results import episodes_of
from agent_env.episodes.run_folder import RunFolder, digest
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.manifest import Manifest, Merge, MergedShard, Shard
from agent_env.records.options import Opt
from agent_env.records.safe_files import is_safe, new_folder, read_file, replace_file
from agent_env.records.schema import Episode
from agent_env.runs.run import Run
from agent_env.runs.study import find_runs
from agent_env.web.page_store import SqlitePages
from agent_env.web.page_store import merge as merge_pages
from agent_env.wiring.trust import is_known, outside_settings, record_run, with_plan
from agent_env.wiring.web import check_store

OWN = {
    "id", "created_at", "samples", "samples_digest", "shard", "run_limits", "preflights", "changes",
    "former_urls", "server", "concurrency", "fsync", "reply_cache", "retries", "web_settings",
    "model_parameters", "versions", "plugins", "contexts",
}  # fmt: skip
"""Entries of run.json that each shard has for itself, or that are compared by their parts."""
OF_MACHINE = {"base_url", "api_key_env", "pages"}
"""Parts of entries that say where something is, not what."""
NOTED = {"web pages_digest", "web index"}
"""Settings that a shard does not have that was killed before it opened its web."""
ATTEMPTS = {"episodes": 1, "interrupted": 2, "broken": 2}
"""Folders of traces, with the points after a sample's name in those of the files; the last two are
in no score, but were paid for."""

OF_CIRCUMSTANCES = {
    "duration_s", "failed_calls", "uncounted_calls", "cache_hits", "cached_tokens", "paid",
    "charged", "served_models", "judged",
}  # fmt: skip
"""What an episode tells of clocks, machines and money; and verdicts, which may come later."""


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Options of `merge`."""

    runs: Annotated[
        tuple[Path, ...], Opt("The shards, or folders of them.", metavar="RUN...", argument=True)
    ]
    out: Annotated[Path, Opt("The folder of the whole run; a new one.")]
    accept_changes: Annotated[
        bool, Opt("Merge shards of different versions of the program or of packages.")
    ] = False


@dataclass(frozen=True, slots=True)
class MergedRun:
    """A run that was merged from shards."""

    run: str
    shards: int
    of: int
    samples: int
    ended: int
    """Episodes that came to an end, failed ones too."""
    episodes: int
    """That the merged shards ask."""
    incomplete: str
    """What lacks; "" for nothing."""
    digest: str
    """As `digest_of` makes it."""

    def __str__(self) -> str:
        shards = f"{self.shards} of {self.of} shards"
        counts = f"{self.samples} samples, {self.ended} of {self.episodes} episodes ended"
        return f"{self.run}: {shards}, {counts}\ndigest {self.digest}"


def merge(options: MergeOptions, note: Callable[[str], None]) -> MergedRun:
    """One run of its shards; `note` gets what was left out. ConfigError where they are not shards
    of one run, DatasetError for a damaged one."""
    if options.out.exists() and (not options.out.is_dir() or any(options.out.iterdir())):
        raise ConfigError(f"{options.out} is not empty; name a new folder with --out")
    shards = sorted(map(Run.open, find_runs(options.runs, note)), key=lambda run: _part(run).number)
    changes = _check(shards, options.accept_changes)
    samples = _samples(shards)
    try:
        with new_folder(options.out) as part:
            run = Run(part)
            _copy(shards, run)
            run.write("samples.jsonl", samples)
            if materials := shards[0].materials_bytes():
                run.write("materials.jsonl", materials)
            run.write("run.json", _manifest(shards, samples, changes).as_bytes())
            if run.manifest.web == "record" and run.pages.exists():
                with closing(SqlitePages(run.pages, read_only=True)) as pages:
                    run.note_pages(pages.digest())
    except OSError as exc:
        raise ConfigError(f"cannot write to {options.out}: {exc.strerror}") from exc
    merged = Run.open(options.out)
    if all(map(_is_ours, shards)):
        record_run(merged, note)
    episodes = list(episodes_of(merged, lambda reason: note(f"left out: {reason}")))
    ended = sum(episode.status != "unfinished" for episode in episodes)
    manifest = merged.manifest
    left = manifest.planned_episodes - ended
    lacks = [manifest.lack, f"{left} episodes did not come to their end" if left else ""]
    return MergedRun(
        run=str(options.out),
        shards=len(shards),
        of=_part(shards[0]).of,
        samples=manifest.samples,
        ended=ended,
        episodes=manifest.planned_episodes,
        incomplete="; ".join(filter(None, lacks)),
        digest=digest_of(merged, episodes),
    )


def _part(run: Run) -> Shard:
    shard = run.manifest.shard
    if shard is None:
        raise ConfigError(f"{run.path} is no shard; agent-env run … --shard K/N makes one")
    return shard


def _begun(shards: Sequence[Run]) -> Run:
    """The first shard that opened its web, which notes its digest, else the first."""
    return next((r for r in shards if r.manifest.web_settings.pages_digest), shards[0])


def _is_ours(run: Run) -> bool:
    """Whether this user let the shard do all that it asks for."""
    asked = with_plan(run, outside_settings(run.path, run.manifest))
    return all(is_known(run, each) for each in asked)


def _check(shards: Sequence[Run], accepts_changes: bool) -> tuple[str, ...]:
    """Which versions differ, where that is accepted; ConfigError for what cannot be one run."""
    first, numbers = _begun(shards), dict[int, Run]()
    accepted = dict.fromkeys(line for run in shards for line in run.manifest.changes)
    for run in shards:
        other = _part(run)
        if (twin := numbers.setdefault(other.number, run)) is not run:
            raise ConfigError(f"{twin.path} and {run.path} are both shard {other.number}")
        before, now = _settings(first), _settings(run)
        for name in [name for name in NOTED if now.get(name) is None]:
            before.pop(name, None)
            now.pop(name, None)
        if lines := setting_changes(before, now):
            where = f"{run.path} is a shard of another run than {first.path}"
            raise ConfigError(f"{where}: {'; '.join(lines)}")
        lines = version_changes(first.manifest, run.manifest, run.manifest.versions)
        if lines and not accepts_changes:
            raise ConfigError(
                f"{run.path} was run by another version than {first.path}: {'; '.join(lines)}. "
                "Run it again, or merge all the same with --accept-changes"
            )
        accepted |= dict.fromkeys(f"shard {other.number}: {line}" for line in lines)
    return tuple(accepted)


def _settings(run: Run) -> dict[str, Any]:
    """What all shards of a run have alike, by name. Cited pages are compared without the first line
    of their file, which tells when they were collected."""
    manifest, data = run.manifest, run.manifest.model_dump(mode="json")
    pages = {use.name: digest(run.read(use.file).partition(b"\n")[2]) for use in manifest.contexts}
    of_web = {"pages_digest", "pages"} if manifest.web in ("record", "live") else OF_MACHINE
    shard = data["shard"]
    return {
        **{name: value for name, value in data.items() if name not in OWN},
        **{f"model {k}": v for k, v in manifest.model_parameters.items() if k not in OF_MACHINE},
        **{f"web {k}": v for k, v in data["web_settings"].items() if k not in of_web},
        **{f"pages of {name}": page_digest for name, page_digest in pages.items()},
        **{f"shard.{k}": shard[k] for k in ("of", "whole_samples", "whole_digest")},
    }


def _samples(shards: Sequence[Run]) -> bytes:
    """samples.jsonl in the order of the whole run; ConfigError for a sample in two shards, and for
    one that was changed."""
    owners, by_place = dict[object, Run](), dict[int, bytes]()
    for run in shards:
        data, part = run.read("samples.jsonl"), _part(run)
        lines, names = data.splitlines(keepends=True), _names(run, data)
        if digest(data) != run.manifest.samples_digest or len(names) != len(part.places):
            raise ConfigError(f"{run.path / 'samples.jsonl'} was changed after the run")
        for place, line, name in zip(part.places, lines, names, strict=True):
            if (other := owners.setdefault(place, run)) is not run or (
                other := owners.setdefault(name, run)
            ) is not run:
                raise ConfigError(f"{other.path} and {run.path} overlap: both ask sample {name}")
            by_place[place] = line
    samples, part = b"".join(by_place[place] for place in sorted(by_place)), _part(shards[0])
    if len(by_place) == part.whole_samples and digest(samples) != part.whole_digest:
        raise ConfigError("the samples of these shards are not those of the whole run")
    return samples


def _names(run: Run, data: bytes) -> list[str]:
    """The ids of the samples; read without the code of their family."""
    try:
        return [str(json.loads(line)["id"]) for line in data.splitlines()]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DatasetError(run.path / "samples.jsonl", None, "holds no samples") from None


def _copy(shards: Sequence[Run], target: Run) -> None:
    """Traces, texts, pages and cited pages."""
    (target.path / "episodes").mkdir()
    texts = Texts(target.texts)
    with closing(texts):
        for run in shards:
            names = set(_names(run, run.read("samples.jsonl")))
            for kind, dots in ATTEMPTS.items():
                for file in sorted((run.path / kind).glob("*/*.jsonl")):
                    if file.stem.rsplit(".", dots)[0] in names and is_safe(run.path, file):
                        copy = target.path / file.relative_to(run.path)
                        copy.parent.mkdir(parents=True, exist_ok=True)
                        replace_file(copy, read_file(run.path, file))
            with closing(Texts(run.texts)) as source:
                texts.copy_from(source)
            _copy_pages(run, target)
    for use in shards[0].manifest.contexts:
        (target.path / use.file).parent.mkdir(exist_ok=True)
        target.write(use.file, shards[0].read(use.file))


def _copy_pages(run: Run, target: Run) -> None:
    """Of a recorded web those of all shards, else those of the first, which are the same."""
    if not run.pages.exists():
        return
    check_store(run, run.pages)
    if not target.pages.exists():
        copy_pages(run.pages, target.pages)
    elif run.manifest.web == "record":
        with (
            closing(SqlitePages(target.pages)) as pages,
            closing(SqlitePages(run.pages, read_only=True)) as source,
        ):
            merge_pages(pages, source)


def _manifest(shards: Sequence[Run], samples: bytes, changes: tuple[str, ...]) -> Manifest:
    """The first shard's, as that of the whole run."""
    every = [run.manifest for run in shards]
    parts = [
        MergedShard(number=_part(run).number, run=run.manifest.id or "unknown") for run in shards
    ]
    limits = dict(every[0].run_limits)
    for name in ("tokens", "cost_usd"):
        shares = [run.run_limits.get(name) for run in every]
        known = [share for share in shares if share is not None]
        limits[name] = fsum(known) if len(known) == len(every) else None
    if limits["tokens"] is not None:
        limits["tokens"] = int(limits["tokens"])
    return every[0].model_copy(
        update={
            "id": digest(" ".join(part.run for part in parts).encode())[:32],
            "shard": None,
            "merged": Merge(of=_part(shards[0]).of, shards=tuple(parts)),
            "samples": samples.count(b"\n"),
            "samples_digest": digest(samples),
            "run_limits": limits,
            "preflights": tuple(each for manifest in every for each in manifest.preflights),
            "former_urls": (),
            "web_settings": _begun(shards).manifest.web_settings,
            "changes": changes,
            "created_at": min(manifest.created_at for manifest in every),
        }
    )


def digest_of(folder: RunFolder, episodes: Iterable[Episode]) -> str:
    """SHA-256 of a run's samples, conditions and these episodes, whatever their order: all that
    was said and done, without times, run ids, retries and money. A run that was resumed, or merged
    from shards, has the digest of one in a single piece, if the model says the same."""
    manifest = folder.manifest
    rows = [manifest.samples_digest, *(each.model_dump_json() for each in manifest.conditions)]
    rows += sorted(each.model_dump_json(exclude=OF_CIRCUMSTANCES) for each in episodes)
    return digest("\n".join(rows).encode("utf-8", "surrogatepass"))
