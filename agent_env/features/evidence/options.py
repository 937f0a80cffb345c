"""What the options of a run do to the worlds of its conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import get_args

from agent_env.features.evidence import ATTACKS, WORLD, WORLDS, EvidenceOptions
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import tools_of
from agent_env.sdk.records import Condition, Disturbance, Fault, FaultKind

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)


def disturbed(
    options: EvidenceOptions, conditions: Sequence[Condition], is_hosted: bool
) -> tuple[Disturbance, ...]:
    """What the options do to the worlds of the conditions; ConfigError for what no condition can
    have. `is_hosted`: whether the provider's own tools stand for ours."""
    levels = fault_levels(options.faults, conditions, is_hosted)
    ablations = worlds("--web-ablation", options.web_ablations, WORLDS)
    return (*ablations, *levels, *worlds("--attack", options.attacks, ATTACKS, "attacked-"))


def worlds(
    option: str, names: Sequence[str], known: Sequence[str], prefix: str = ""
) -> tuple[Disturbance, ...]:
    """The worlds that an option names, each once; ConfigError for an unknown one."""
    if unknown := next((name for name in names if name not in known), None):
        raise ConfigError(f"{option} {unknown}: write one of {', '.join(known)}")
    return tuple(WORLD.parse(prefix + name) for name in known if name in names)


def fault_levels(
    texts: Sequence[str], conditions: Sequence[Condition], is_hosted: bool = False
) -> tuple[Disturbance, ...]:
    """One disturbance for each text of `TOOL=KIND:RATE,…`: `faults`, or where there are several
    `faults-` and the highest rate of a tool, or the number of the text where these are alike."""
    levels = [_faults(text, conditions, is_hosted) for text in texts]
    rates = [f"{max(_sums(level).values()):g}" for level in levels]
    if len(set(rates)) < len(rates) or any("e" in rate for rate in rates):
        rates = [str(number) for number in range(1, len(levels) + 1)]
    suffixes = ["faults"] if len(levels) == 1 else [f"faults-{rate}" for rate in rates]
    return tuple(
        Disturbance(suffix=suffix, faults=faults)
        for suffix, faults in zip(suffixes, levels, strict=True)
    )


def _faults(text: str, conditions: Sequence[Condition], is_hosted: bool) -> tuple[Fault, ...]:
    """The faults of one text; ConfigError for one that no call could have."""
    faults: list[Fault] = []
    for part in text.split(","):
        name, _, rest = part.strip().partition("=")
        kind, _, rate = rest.partition(":")
        where = f"--faults {part.strip()}"
        tools = tools_of(conditions, name)
        if not tools:
            has = ", ".join(traits.name for traits in tools_of(conditions)) or "none"
            raise ConfigError(f"{where}: no condition has the tool '{name}'; they have {has}")
        for traits in tools:
            of_kind = next((each for each in KINDS if each == kind), None)
            problem = None
            if of_kind is None:
                problem = f"unknown kind '{kind}'; write one of {', '.join(KINDS)}"
            elif of_kind == "crash" and not traits.needs_sandbox:
                problem = f"{traits.name} runs no program that could crash; write error"
            elif of_kind == "other" and not traits.opens_pages:
                problem = (
                    f"{traits.name} opens no page by its address, so there is no other one; write "
                    "stale or wrong"
                )
            elif is_hosted and traits.hosted is not None:
                problem = (
                    f"{traits.name} runs at the provider, where nothing can be done to it; drop "
                    "--hosted-tools"
                )
            if of_kind is None or problem is not None:
                raise ConfigError(f"{where}: {problem}")
            faults.append(Fault(tool=traits.name, kind=of_kind, rate=_rate(rate, where)))
    for tool, total in _sums(faults).items():
        if total > 1 + 1e-9:
            raise ConfigError(f"--faults: the rates of {tool} sum to {total:g}; at most 1")
    return tuple(faults)


def _rate(text: str, where: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1:
        raise ConfigError(f"{where}: rate '{text}'; write TOOL=KIND:RATE with 0 < RATE <= 1")
    return rate


def _sums(faults: Sequence[Fault]) -> dict[str, float]:
    """The sum of the rates, by tool."""
    sums: defaultdict[str, float] = defaultdict(float)
    for fault in faults:
        sums[fault.tool] += fault.rate
    return sums
