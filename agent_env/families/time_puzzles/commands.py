"""What the command on puzzle files does: audit a file."""

from __future__ import annotations

from pathlib import Path

from agent_env.episodes.run_folder import write_whole
from agent_env.families.time_puzzles.audit import AuditReport, audit, corrected
from agent_env.families.time_puzzles.audit_events import read_event_dates
from agent_env.families.time_puzzles.published import puzzle_bytes, read_puzzles
from agent_env.temporal.facts.tables import shipped_tables


def audit_file(file: Path, facts: Path | None, fix: Path | None) -> AuditReport:
    """Audit a puzzle file of either format; write the corrected set where `fix` says, unless
    nothing was judged."""
    puzzles = read_puzzles(file)
    events = read_event_dates(facts) if facts is not None else None
    report = audit(puzzles, shipped_tables(), events)
    if fix is not None and report.judged:
        write_whole(fix, puzzle_bytes(corrected(puzzles, report)))
    return report
