"""What a check finds, told at once."""

from __future__ import annotations

from collections.abc import Iterable

from agent_env.errors import AgentEnvError, place_of


class Nonconformance(AssertionError):
    """Something plugged in breaks the contract of its kind; a line for each finding."""


def raise_findings(what: str, findings: Iterable[str]) -> None:
    """Raises one Nonconformance with all findings; nothing without any."""
    lines = list(dict.fromkeys(findings))
    if lines:
        raise Nonconformance("\n".join(f"{what}: {line}" for line in lines))


def raised(exc: BaseException) -> str:
    """An error for a finding: class, text, and line of the code that is not ours."""
    where = f" at {place}" if (place := place_of(exc)) else ""
    kind = "" if isinstance(exc, AgentEnvError) else f"{type(exc).__name__}: "
    return f"{kind}{' '.join(str(exc).split())[:300]}{where}"
