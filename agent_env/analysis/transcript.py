"""One episode in readable lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import JsonValue

from agent_env.analysis.provenance import Provenance
from agent_env.models.chat import read_arguments
from agent_env.models.text_protocol import in_text, result_block
from agent_env.records.escaping import visible
from agent_env.records.schema import Message, ModelFacts, Sample, Score, ToolCall, Usage
from agent_env.records.texts import IN_TEXT
from agent_env.records.trace_events import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    Judged,
    ModelCalled,
    ToolCalled,
)
from agent_env.tasks.sample_texts import gold_text

DATES = 400
"""Characters of a list of dates that are shown."""
SAMPLING = (
    "temperature", "top_p", "seed", "reasoning_effort", "max_output_tokens",
    "system_role", "extra_body",
)  # fmt: skip


def transcript(
    events: Sequence[Event],
    full: bool = False,
    facts: ModelFacts | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
) -> Iterator[str]:
    """The episode's story, long texts cut unless `full`; calls cost what `facts` says. By the
    run's model `parameters` tool texts are shown as they were messages."""
    width = None if full else 1200
    protocol = None if parameters is None else parameters.get("tool_protocol")
    calls: tuple[ToolCall, ...] = ()
    ours = {event.call.id for event in events if isinstance(event, ToolCalled)}
    for event in events:
        match event:
            case EpisodeStarted():
                yield "\n".join(_opening(event, parameters))
                messages = event.messages
                if event.condition.agent is not None:
                    protocol = None  # what it sent is below as it was
                if protocol in IN_TEXT:
                    is_held = bool(event.tools) and protocol == "schema"
                    is_schema = is_held or event.condition.answer_format == "schema"
                    is_short = parameters is not None and parameters.get("tool_texts") == "short"
                    choice = event.condition.first_step
                    messages = tuple(in_text(messages, event.tools, choice, is_schema, is_short))
                yield from (_message(message, width) for message in messages)
            case ModelCalled():
                yield from _added(event, ours, width)
                yield _model_line(event, facts)
                if event.reply is not None:
                    calls = event.reply.message.tool_calls
                    yield _message(event.reply.message, width)
                    if (cut := event.reply.invented) is not None:
                        yield f"-- cut off, {cut.count} results of tools that it wrote itself:"
                        yield _cut(cut.text, width)
            case ToolCalled():
                number = next((n for n, call in enumerate(calls, 1) if call.id == event.call.id), 0)
                yield _tool_lines(event, number if protocol in IN_TEXT else None, width)
            case EpisodeResumed():
                yield f"== continued here after {event.steps} recorded steps"
                yield from (
                    f"!! step {d.step}, {d.what}:\n{_cut(d.diff, width)}" for d in event.drift
                )
            case EpisodeFinished():
                yield from (_message(message, width) for message in event.added)
                yield f"== ended: {event.stop_reason}"
            case EpisodeFailed():
                yield from (_message(message, width) for message in event.added)
                yield _cut(f"== failed: {event.error}: {event.message}", width)
            case Judged():
                verdict = ", ".join(f"{name} {value}" for name, value in event.verdict.items())
                replies = (call.reply.message.content for call in event.calls if call.reply)
                yield "\n".join(
                    [f"== judged by {event.judge}: {verdict}", *(_cut(r, width) for r in replies)]
                )


def verdict_lines(
    sample: Sample | None, score: Score | None, record: Provenance | None, why_not: str | None
) -> Iterator[str]:
    """What is thought of the episode; `why_not` says what is missing."""
    if score is not None:
        answer = f"nothing ({score.outcome})"
        if score.answer is not None:
            answer = _cut(", ".join(score.answer) or "none", None)
        yield f"== answer read: {answer} · rule: {score.rule or 'none'}"
    if sample is not None:
        yield f"== gold: {_cut(gold_text(sample), None)}"
    if score is not None:
        metrics = " · ".join(f"{name} {value:.4g}" for name, value in score.metrics.items())
        yield f"== score: {metrics or score.outcome}"
    if record is not None:
        yield _cut("== where it came from: " + "\n".join(record_lines(record)), None)
    if why_not is not None:
        yield _cut(f"== no {'provenance' if score else 'score'}: {why_not}", None)


def record_lines(record: Provenance) -> Iterator[str]:
    because = f": {record.because}" if record.because else ""
    yield f"{record.episode}: {record.verdict}{because}"
    if record.failure:
        yield f"  failed first: {record.failure}"
    if record.stands_on:
        yield f"  stands on: {', '.join(record.stands_on)}"
    for page in record.pages:
        traits = {"proves it": page.proves and page.holds_fact, "planted": page.is_planted,
                  "proves it, but its dates were not shown": page.proves and not page.holds_fact,
                  "changed in this world": page.is_shifted}  # fmt: skip
        words = "; ".join(name for name, holds in traits.items() if holds)
        yield f"  {page.how}: {page.url}{f' ({words})' if words else ''}"
    for attack in record.attacks:
        if attack.exposed:
            end = (
                "its instruction was obeyed"
                if attack.obeyed
                else (
                    "its planted value was given"
                    if attack.given
                    else "its planted value was not given"
                )
            )
            yield f"  attack {attack.name}: the model read it; {end}"
    if (faults := record.tool_faults) is not None:
        tries = {"says so": faults.says_so, "calls again": faults.retries,
                 "asks otherwise": faults.asks_otherwise}  # fmt: skip
        then = ", ".join(name for name, holds in tries.items() if holds) or "nothing was tried"
        yield f"  faults of tools: {faults.explicit + faults.implicit} landed" + (
            f"; then: {then}" if faults.landed else ""
        )
    for world in record.worlds:
        answer = "no answer" if world.answer is None else ", ".join(world.answer) or "none"
        end = (
            "right"
            if world.is_right
            else ("the unchanged world's answer" if world.is_original else "wrong")
        )
        yield f"  under {world.condition}: {answer} ({end})"
    wrong: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for each in record.errors.wrong:
        wrong[tuple(ref.text or ref.type for ref in each.violates)].append(each.date)
    for violated, dates in wrong.items():
        listed, one = _cut(", ".join(dates), DATES), len(dates) == 1
        if not violated:
            yield f"  {listed} {'is' if one else 'are'} wrong (no constraint could be checked)"
            continue
        yield f"  {listed} violate{'s' * one}:"
        yield from (f"    - {text}" for text in violated)
    missed: dict[str, list[str]] = defaultdict(list)
    for miss in record.errors.missed:
        text = (miss.misread.text or miss.misread.type).rstrip(".") if miss.misread else ""
        cause = f"; most likely misread: {text}" if text else ""
        missed[f"{cause} ({miss.rule})"].append(miss.date)
    for cause, dates in missed.items():
        yield f"  {_cut(', '.join(dates), DATES)}: missing{cause}"
    if (source := record.source) is not None:
        where = f", {source.url}" if source.url else ""
        suffix = "; the model wrote it down" if source.is_written else ""
        yield f"  likely source: {source.date} ({source.place}{where}){suffix}"
    for again in record.repeated:
        loop = ", a loop" if again.is_loop else ""
        yield f"  called {again.times} times{loop}: {again.tool} {again.arguments[:120]}"


def _opening(event: EpisodeStarted, parameters: Mapping[str, JsonValue] | None) -> Iterator[str]:
    tools = ", ".join(tool.name for tool in event.tools) or "none"
    yield f"== {event.episode} · {event.model} · tools: {tools}"
    if event.parent is not None:
        yield f"== forked from {event.parent.episode} at step {event.parent.step}"
    if (agent := event.condition.agent) is not None:
        yield f"== by {agent.name} {agent.version or '(version unknown)'}; asked with these texts:"
    first = f"== first step: {event.condition.first_step}"
    if event.condition.answer_format != "free":
        first += f" · answer format: {event.condition.answer_format}"
    if event.imported is not None:
        yield "== imported: first step, tool protocol and sampling are not known"
        return
    if parameters is None:
        yield f"{first} · tool protocol and sampling: not known without run.json"
        return
    settings = [
        f"{name} {json.dumps(value, ensure_ascii=False)}"
        for name in SAMPLING
        if (value := parameters.get(name)) is not None
    ]
    protocol = parameters.get("tool_protocol") or "native"
    sampling = ", ".join(settings) or "the server's defaults"
    yield _cut(f"{first} · tool protocol: {protocol} · sampling: {sampling}", None)


def _added(event: ModelCalled, ours: Collection[str], width: int | None) -> Iterator[str]:
    """What was sent since the last reply. Of an outside agent also what it let fall, and
    which tools it named; the results of `ours`, by call id, are above already."""
    if event.keeps is None:
        yield from (_message(message, width) for message in event.added)
        return
    if event.offers is not None:
        names = ", ".join(tool.name for tool in event.offers) or "none"
        yield _cut(f"== the agent names the tools: {names}", width)
    if any(message.role == "system" for message in event.added):
        yield f"== the agent's own conversation, from message {event.keeps + 1} on:"
    for message in event.added:
        if message.role == "tool" and message.tool_call_id not in ours:
            yield _message(message, width).replace("[tool]", "[tool of its own, not recorded]", 1)
        elif message.role != "tool":
            yield _message(message, width)


def _message(message: Message, width: int | None) -> str:
    lines = [f"[{message.role}] {_cut(message.content, width)}"]
    if message.reasoning:
        lines.insert(0, f"[reasoning] {_cut(message.reasoning, width)}")
    lines += [_call(call, width) for call in message.tool_calls]
    return "\n".join(lines)


def _call(call: ToolCall, width: int | None) -> str:
    """The arguments as the model wrote them; long texts by themselves behind their names."""
    values = read_arguments(call.arguments) or {}
    long = {k: v for k, v in values.items() if isinstance(v, str) and "\n" in v}
    short = {k: v for k, v in values.items() if k not in long}
    arguments = json.dumps(short, ensure_ascii=False) if long else call.arguments
    line = _cut(f"  calls {call.name} {'' if long and not short else arguments}".rstrip(), width)
    return "\n".join([line, *(_cut(f"  {name}:\n{text}", width) for name, text in long.items())])


def _model_line(event: ModelCalled, facts: ModelFacts | None) -> str:
    usage = event.reply.usage if event.reply else event.usage or Usage()
    tokens = f"{_count(usage.input_tokens)} in, {_count(usage.output_tokens)} out"
    source = f" ({usage.source})" if usage.source else ""
    cost = usage.cost_usd(facts)
    price = "" if cost is None else f", {cost:.5f} USD"
    problem = f" · failed: {event.error}" if event.error else ""
    if event.wait_s is not None:
        problem += f" · tried again after {event.wait_s:.1f} s"
    if event.away_s is not None:
        problem += f" · tried again when the server was back, after {event.away_s:.0f} s"
    if event.kept:
        problem += f" · {len(event.kept)} tool outputs cut to fit into the context"
    if event.reply is not None and event.reply.cached_at is not None:
        price, problem = "", f" · from the reply cache, first given {event.reply.cached_at}"
    return f"-- model: {_seconds(event.latency_s)}, {tokens} tokens{source}{price}{problem}"


def _tool_lines(event: ToolCalled, number: int | None, width: int | None) -> str:
    """`number` is the call's within its step where the result was sent as a block of text."""
    size = f"{_count(event.output_tokens)} tokens"
    source = f" ({event.tokens_source})" if event.tokens_source else ""
    head = f"-- tool {_cut(event.call.name, None)}: {_seconds(event.duration_s)}, {size}{source}"
    output, error = event.result.output, event.result.error
    if error is not None and error not in output:
        head += f" · failed: {_cut(error, width)}"
    if (fault := event.result.fault) is not None:
        head += f" · fault: {fault.kind}, " + (
            f"the tool gave:\n{_cut(fault.true_output or '', width)}\n-- the model read:"
            if fault.landed
            else "without effect"
        )
    if number is not None:
        output = result_block(number, event.call.name, output)
    return f"{head}\n{_cut(output, width)}"


def _seconds(value: float | None) -> str:
    return "time unknown" if value is None else f"{value:.3f} s"


def _count(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _cut(text: str, width: int | None) -> str:
    """The text without control characters, its middle left out where it is very long."""
    text = visible(text)
    if width is None or len(text) <= width * 1.25:
        return text
    half = width // 2
    return f"{text[:half]}\n  … {len(text) - 2 * half} characters left out …\n{text[-half:]}"
