"""What the options of a run do to the worlds of its conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import get_args

from agent_env.errors import ConfigError
from agent_env.records.disturbance import (
    AttackName,
    Disturbance,
    Fault,
    FaultKind,
    WebAblation,
)
from agent_env.records.schema import Condition
from agent_env.records.tool_traits import ToolTraits
from agent_env.tasks.conditions import ALIASES, MCP
from agent_env.tasks.tool_registry import needs_web, traits_of

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)


def web_ablations(names: Sequence[str]) -> tuple[Disturbance, ...]:
    """The ablations of these names, each once; ConfigError for an unknown one."""
    known: tuple[WebAblation, ...] = get_args(WebAblation)
    if unknown := next((name for name in names if name not in known), None):
        raise ConfigError(f"--web-ablation {unknown}: write {' or '.join(known)}")
    return tuple(Disturbance(suffix=name, ablation=name) for name in known if name in names)


def fault_levels(
    texts: Sequence[str], in_a_row: int, conditions: Sequence[Condition], is_hosted: bool = False
) -> tuple[Disturbance, ...]:
    """One disturbance for each text of `TOOL=KIND:RATE,…`: `faults`, or where there are several
    `faults-` and the highest rate of a tool, or the number of the text where these are alike."""
    tools = {traits.name: traits for each in conditions for traits in traits_of(each)}
    levels = [_faults(text, tools, is_hosted) for text in texts]
    rates = [f"{max(_sums(level).values()):g}" for level in levels]
    if len(set(rates)) < len(rates) or any("e" in rate for rate in rates):
        rates = [str(number) for number in range(1, len(levels) + 1)]
    suffixes = ["faults"] if len(levels) == 1 else [f"faults-{rate}" for rate in rates]
    return tuple(
        Disturbance(suffix=suffix, faults=faults, faults_in_a_row=in_a_row)
        for suffix, faults in zip(suffixes, levels, strict=True)
    )


def attack_twins(names: Sequence[str], conditions: Sequence[Condition]) -> tuple[Disturbance, ...]:
    """One disturbance for each attack; ConfigError for an unknown one, and without a condition
    whose tools read the web."""
    known: tuple[AttackName, ...] = get_args(AttackName)
    if unknown := next((name for name in names if name not in known), None):
        raise ConfigError(f"--attack {unknown}: write one of {', '.join(known)}")
    if names and not needs_web(conditions):
        raise ConfigError(f"--attack {names[0]}: no condition reads the web; add --condition web")
    chosen = [name for name in known if name in names]
    return tuple(Disturbance(suffix=f"attacked-{name}", attack=name) for name in chosen)


def _faults(text: str, tools: Mapping[str, ToolTraits], is_hosted: bool) -> tuple[Fault, ...]:
    """The faults of one text; ConfigError for one that no call could have."""
    faults: list[Fault] = []
    for part in text.split(","):
        name, _, rest = part.strip().partition("=")
        kind, _, rate = rest.partition(":")
        where = f"--faults {part.strip()}"
        for traits in _tools_named(name, where, tools):
            known = _kind(kind, where, traits)
            if is_hosted and traits.hosted is not None:
                problem = f"{traits.name} runs at the provider, where nothing can be done to it"
                raise ConfigError(f"{where}: {problem}; drop --hosted-tools")
            faults.append(Fault(tool=traits.name, kind=known, rate=_rate(rate, where)))
    for tool, total in _sums(faults).items():
        if total > 1 + 1e-9:
            raise ConfigError(f"--faults: the rates of {tool} sum to {total:g}; at most 1")
    return tuple(faults)


def _tools_named(name: str, where: str, tools: Mapping[str, ToolTraits]) -> list[ToolTraits]:
    """The tool of this name, or those of the part of a condition."""
    own = ALIASES.get(name, (name,))
    mcp = name.removeprefix(MCP) if name.startswith(MCP) else None
    found = [
        traits
        for traits in tools.values()
        if traits.name in own or (mcp and (traits.mcp or "").partition("/")[0] == mcp)
    ]
    if not found:
        known = ", ".join(tools) or "none"
        raise ConfigError(f"{where}: no condition has the tool '{name}'; they have {known}")
    return found


def _kind(kind: str, where: str, traits: ToolTraits) -> FaultKind:
    known = next((each for each in KINDS if each == kind), None)
    if known is None:
        raise ConfigError(f"{where}: unknown kind '{kind}'; write one of {', '.join(KINDS)}")
    if known == "crash" and not traits.needs_sandbox:
        raise ConfigError(f"{where}: {traits.name} runs no program that could crash; write error")
    if known == "other" and not traits.opens_pages:
        raise ConfigError(
            f"{where}: {traits.name} opens no page by its address, so there is no other one; write "
            "stale or wrong"
        )
    return known


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
