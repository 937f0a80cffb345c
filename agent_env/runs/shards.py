"""A run in parts, for many machines: which samples a shard asks, and what it may spend.

A shard is a run by itself: it resumes, shows and replays as any. It holds its own samples, and the
tables, web and cited pages of the whole run, so that an episode meets the same world in each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_env.episodes.run_folder import digest
from agent_env.errors import ConfigError
from agent_env.records.manifest import Shard
from agent_env.tasks.sample_files import samples_bytes

if TYPE_CHECKING:
    from agent_env.runs.options import RunOptions
    from agent_env.tasks.family import SampleSet
    from agent_env.tasks.task import Task


def parse_shard(text: str) -> tuple[int, int]:
    """K and N of K/N; ConfigError where there is no such part."""
    match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text.strip())
    number, of = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= of:
        raise ConfigError(f"--shard '{text}': write K/N, such as 3/16, with K from 1 to N")
    return number, of


def split(clusters: Sequence[str], of: int) -> list[list[int]]:
    """The places of the samples of each shard, by the cluster of each sample ("": it is alone).
    Sizes differ little; a cluster stays in one shard unless it is larger than an even share, and no
    shard is empty. ConfigError for more shards than samples."""
    if of > len(clusters):
        raise ConfigError(f"--shard K/{of}: there are {len(clusters)} samples only; ask for fewer")
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(clusters):
        groups.setdefault(name or f"/{place}", []).append(place)
    for most in (-(-len(clusters) // of), len(clusters) // of):
        pieces = [g[at : at + most] for g in groups.values() for at in range(0, len(g), most)]
        if len(pieces) >= of:
            break
    shards: list[list[int]] = [[] for _ in range(of)]
    for piece in sorted(pieces, key=len, reverse=True):
        min(shards, key=len).extend(piece)
    return [sorted(shard) for shard in shards]


def part_of(
    options: RunOptions,
    sample_set: SampleSet,
    task: Task,
    about_calls: dict[str, Any],
    note: Callable[[str], None],
) -> SampleSet:
    """The samples of the shard that the options name, with the tables of all; all samples where
    they name none. `about_calls` gets the shard, and its share of the run's limits, for run.json;
    `note` says both."""
    if options.shard is None:
        return sample_set
    number, of = parse_shard(options.shard)
    samples = sample_set.samples
    places = split([task.analysis.cluster(sample) for sample in samples], of)[number - 1]
    shard = Shard(
        number=number,
        of=of,
        places=tuple(places),
        whole_samples=len(samples),
        whole_digest=digest(samples_bytes(samples)),
    )
    limits = share_of_limits(shard, about_calls["run_limits"])
    about_calls |= {"shard": shard, "run_limits": limits}
    units = {"tokens": "tokens", "cost_usd": "USD"}
    shares = [f"{limits[n]:,.10g} {unit}" for n, unit in units.items() if limits.get(n) is not None]
    told = f"; its share of the limits: {', '.join(shares)}" if shares else ""
    note(f"shard {number} of {of}: {len(places)} of {len(samples)} samples{told}")
    return replace(sample_set, samples=tuple(samples[place] for place in places))


def share_of_limits(shard: Shard, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The shard's share of the run's tokens and money; the time is each shard's own. ConfigError
    for less than a token."""
    tokens, cost, share = limits.get("tokens"), limits.get("cost_usd"), dict(limits)
    if tokens is not None:
        share["tokens"] = tokens // shard.of + (shard.number <= tokens % shard.of)
        if not share["tokens"]:
            raise ConfigError(f"--run-tokens {tokens} leaves none for a shard of {shard.of}")
    if cost is not None:
        share["cost_usd"] = cost / shard.of
    return share
