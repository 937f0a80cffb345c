"""The tools check: whether a condition's tools arrived, which is read beside every effect of tools.

All from the traces: input tokens of first calls against those of the run's condition without tools,
episodes with a call, first steps that had to call a tool, calls that a model wrote as text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.study import Arm
from agent_env.records.schema import Episode
from agent_env.scoring.calls_in_text import remedy


@dataclass(frozen=True, slots=True)
class ToolsCheck:
    condition: str
    first_step: str
    added_input_tokens: float | None
    """Of the first call, over the same sample without tools; a mean over samples. None where the
    run has no such condition, or no counts."""
    pairs: int
    """Samples in that mean."""
    episodes: int
    """Those that were offered tools, like those below."""
    called: int
    """With at least one call."""
    required: int
    """Whose first reply had to call a tool."""
    obeyed: int
    calls_in_text: int
    """Whose answer holds a call as text."""
    forms: tuple[str, ...]
    """The forms of these."""
    problem: str | None = None
    """Why the condition cannot mean anything, by the preflight."""
    invented: int = 0
    """Episodes in which the model wrote results of tools itself."""
    renamed: int = 0
    """Calls with something of a parser around the tool's name, which were run."""
    in_text: bool = False
    """Whether tools are offered by the text protocol."""


def tools_checks(arms: Sequence[Arm]) -> list[tuple[str, ToolsCheck]]:
    return [(arm.label, _check(arm, bare_of(arm, arms))) for arm in arms if arm.condition.tools]


def unused_tools(arms: Sequence[Arm]) -> Iterator[str]:
    """A remark on each arm whose tools fewer than half of its episodes called."""
    for label, check in tools_checks(arms):
        if check.episodes and not check.called:
            yield f"no episode under {label} called a tool, so nothing is said about its tools"
        elif 2 * check.called < check.episodes:
            yield f"only {check.called} of {check.episodes} episodes under {label} called a tool"


def bare_of(arm: Arm, arms: Iterable[Arm]) -> Arm | None:
    """The arm of the same run that has the same question and no tools."""

    def asks(each: Arm) -> tuple[object, ...]:
        of = each.condition
        return each.run, of.wording, of.context, of.answer_format, of.agent

    return next((a for a in arms if not a.condition.tools and asks(a) == asks(arm)), None)


def _check(arm: Arm, bare: Arm | None) -> ToolsCheck:
    offered = [each for each in arm.episodes if each.tools]
    after, before = _by_sample(arm), {} if bare is None else _by_sample(bare)
    added = [after[sample] - before[sample] for sample in after if sample in before]
    forms = Counter(each.call_in_text for each in arm.finished if each.call_in_text is not None)
    required = [each.required_call for each in offered if each.required_call is not None]
    return ToolsCheck(
        condition=arm.condition.name,
        first_step=arm.condition.first_step,
        added_input_tokens=fmean(added) if added else None,
        pairs=len(added),
        episodes=len(offered),
        called=sum(has_call(each) for each in offered),
        required=len(required),
        obeyed=sum(required),
        calls_in_text=sum(forms.values()),
        forms=tuple(form for form, _ in forms.most_common()),
        problem=arm.problem,
        invented=sum(each.invented_results > 0 for each in offered),
        renamed=sum(each.renamed_calls for each in offered),
        in_text=arm.in_text,
    )


def has_call(episode: Episode) -> bool:
    return episode.tool_calls + episode.hosted_calls > 0


def _by_sample(arm: Arm) -> dict[str, float]:
    tokens: dict[str, list[int]] = defaultdict(list)
    for each in arm.episodes:
        if each.first_input_tokens is not None:
            tokens[each.sample].append(each.first_input_tokens)
    return {sample: fmean(values) for sample, values in tokens.items()}


def tools_check_table(rows: Sequence[tuple[str, ToolsCheck]]) -> ResultTable:
    """A table of the conditions with tools, each with its label."""
    columns = (
        Column("condition"), Column("first step"), Column("added tokens in", 0, signed=True),
        Column("with a call", 2), Column("required obeyed"),
        Column("calls in text", 0, if_any=True),
    )  # fmt: skip
    cells = tuple(
        (label, row.first_step, row.added_input_tokens,
         row.called / row.episodes if row.episodes else None,
         f"{row.obeyed} of {row.required}" if row.required else None, row.calls_in_text)
        for label, row in rows
    )  # fmt: skip
    notes = (
        "Added tokens in: of the first call, over the same samples without tools. Required obeyed: "
        "first steps that had to call a tool and did; one that was cut did not.",
    )
    title = "Did the tools reach the model?"
    return ResultTable("tools_check", title, columns, cells, notes)


def tools_problems(arms: Sequence[Arm]) -> Iterator[str]:
    """What is wrong with the tools of each condition."""
    for label, row in tools_checks(arms):
        if row.problem is not None:
            yield f"{label}: cannot mean anything: {row.problem}."
        elif row.added_input_tokens is not None and row.added_input_tokens <= 0:
            alike = "the first calls had no more input tokens than without tools"
            yield f"{label}: {alike}; the server may drop them."
        if row.obeyed < row.required:
            did = f"{row.obeyed} of {row.required}"
            yield f"{label}: {did} first steps that had to call a tool did so."
        if row.calls_in_text:
            yield (
                f"{label}: {row.calls_in_text} of {row.episodes} answers hold a tool call as text "
                f"({', '.join(row.forms)}), which nobody ran: {remedy(row.in_text, row.forms)}."
            )
        if row.renamed:
            yield (
                f"{label}: {row.renamed} calls had something of the server's parser around the "
                "tool's name; they were run."
            )
        if row.invented:
            yield (
                f"{label}: in {row.invented} of {row.episodes} episodes the model wrote results of "
                "tools itself; they were cut off, and the model was sent the tools' own."
            )
