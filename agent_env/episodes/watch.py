"""Warns once each where the server changes its model, or a tool call came as text, so that no tool
ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_env.records.schema import Reply, StopReason, ToolSpec
from agent_env.scoring.calls_in_text import call_in_text, remedy


@dataclass(slots=True)
class Watch:
    """Checks the replies and answers of a run's episodes."""

    note: Callable[[str], None]
    served_model: str | None = None
    """The model of earlier replies, as the server names it; None before the first."""
    in_text: bool = False
    """Whether tools are offered by the text protocol, whose calls were read."""
    _told_model: bool = False
    _told_call: bool = False

    def reply(self, reply: Reply) -> None:
        """Checks a live reply."""
        if reply.model is None or reply.cached_at is not None:
            return
        if self.served_model is None:
            self.served_model = reply.model
        elif reply.model != self.served_model and not self._told_model:
            self._told_model = True
            self.note(
                f"the server changed its model: {reply.model} answers now, {self.served_model} did "
                "before; score tells how many episodes of each"
            )

    def answer(
        self,
        episode: str,
        answer: str | None,
        tools: Sequence[ToolSpec],
        stop_reason: StopReason = "answered",
    ) -> None:
        """Checks an episode's answer; `tools`: those offered. Where a limit ended the episode, a
        call in its text was cut, or read."""
        if self._told_call or not tools or stop_reason != "answered":
            return
        form = call_in_text(answer, [tool.name for tool in tools])
        if form is not None:
            self._told_call = True
            self.note(
                f"{episode} ended with a tool call as text ({form}), which nobody ran; score "
                f"counts these: {remedy(self.in_text)}"
            )
