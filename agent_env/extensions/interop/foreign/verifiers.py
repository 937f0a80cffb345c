"""Results of `verifiers`, a folder or its file of lines.

From 0.2 `traces.jsonl`: an episode a line, each with the traces of its agents, or (0.2) a trace a
line. Before, `results.jsonl`, a rollout a line, beside `metadata.json`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.foreign import fields
from agent_env.extensions.interop.foreign.log import ForeignEpisode, ForeignLog, Transcript
from agent_env.sdk.models import read_tool
from agent_env.sdk.records import Message, Usage

FILES = ("traces.jsonl", "results.jsonl")
COUNTS_AS_0 = "failed and are left out of the means, where verifiers counts them as 0"
OUR_FIELDS = frozenset(
    "example_id prompt completion answer info reward error timing is_completed is_truncated "
    "stop_condition metrics tool_defs token_usage error_chain long_error_chain trajectory task "
    "is_valid id oai_tools generation_ms scoring_ms total_ms".split()
)
"""Of a line of results.jsonl; any other that is a number is a metric."""
BOOKKEEPING = frozenset(
    "idx id prompt system_prompt description image workdir answer artifact_max_bytes".split()
)
"""Of a task's data: no metadata."""


def lines_file(path: Path) -> Path | None:
    """The file of lines of a results folder; None where it is none."""
    files = (path / name for name in FILES)
    return next((file for file in files if file.is_file()), None)


def is_line(row: Mapping[str, Any]) -> bool:
    """Whether it is a line that verifiers writes."""
    return {"reward", "example_id"} <= row.keys() or bool({"traces", "nodes"} & row.keys())


def read_verifiers(
    file: Path,
    rows: Sequence[tuple[int, dict[str, Any]]],
    unread: fields.Unread,
    with_transcripts: bool = False,
) -> ForeignLog:
    """`rows` are the file's objects with their lines."""
    known = [(line, row) for line, row in rows if is_line(row)]
    for line, _ in (each for each in rows if not is_line(each[1])):
        unread.add("lines that are no episodes", f"{file.name}:{line}")
    read = _rollouts if "example_id" in known[0][1] else _episodes
    return read(file, known, unread, with_transcripts)


def _episodes(
    file: Path, rows: Sequence[tuple[int, dict[str, Any]]], unread: fields.Unread, whole: bool
) -> ForeignLog:
    repeats: Counter[str] = Counter()
    samples, contents, episodes = {}, {}, []
    for line, row in rows:
        task = fields.mapping(row.get("task"))
        data = fields.mapping(task.get("data"))
        sample = _first(data.get("id"), data.get("idx"), task.get("key"), row.get("id"))
        repeats[sample] += 1
        samples[sample] = {k: v for k, v in fields.texts(data).items() if k not in BOOKKEEPING}
        contents[sample] = _first(task.get("hash"), task.get("key"), "")
        episodes.append(
            _episode(row, sample, repeats[sample], f"{file.name}:{line}", unread, whole)
        )
    first = _traces(rows[0][1])
    agent = fields.mapping(first[0].get("agent")) if first else {}
    config = fields.mapping(agent.get("config")) or agent
    version = fields.mapping(first[0].get("verifiers")).get("version") if first else None
    env = fields.mapping(rows[0][1].get("env"))
    harness = fields.mapping(config.get("harness")).get("id")
    return ForeignLog(
        file=file,
        source=f"verifiers {version or 'of unknown version'}",
        task=_first(env.get("id"), fields.mapping(rows[0][1].get("task")).get("type"), file.stem),
        model=_first(config.get("model"), "unknown"),
        episodes=tuple(episodes),
        samples=samples,
        contents=contents,
        settings=fields.texts({**fields.mapping(config.get("sampling")), "harness": harness}),
        notes=(*unread.notes, *_notes(episodes)),
    )


def _first(*values: Any) -> str:
    """The first that is known, as text."""
    return next((str(value) for value in values if value is not None), "")


def _traces(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of an episode, or the one trace that the line is."""
    return fields.objects(row["traces"]) if "traces" in row else [dict(row)]


def _notes(episodes: Sequence[ForeignEpisode]) -> tuple[str, ...]:
    failed = sum(each.failure is not None for each in episodes)
    return (f"{failed} episodes {COUNTS_AS_0}",) if failed else ()


def _episode(
    row: Mapping[str, Any], sample: str, repeat: int, place: str, unread: fields.Unread, whole: bool
) -> ForeignEpisode:
    traces = _traces(row)
    policy = [each for each in traces if fields.mapping(each.get("agent")).get("trainable", True)]
    scored = policy or traces
    failure = next(filter(None, map(_failure, (*scored[::-1], row))), None)
    nodes = [node for each in traces for node in fields.objects(each.get("nodes"))]
    written = [fields.mapping(node.get("message")) for node in nodes if node.get("sampled")]
    return ForeignEpisode(
        sample=sample,
        repeat=repeat,
        metrics={} if failure else _scores(scored, place, unread),
        failure=failure,
        used={
            **_used(traces, unread, place),
            "steps": float(len(written)),
            "tool_calls": float(sum(len(m.get("tool_calls") or ()) for m in written)),
        },
        stop_reason=next(
            filter(None, (fields.word(t.get("stop_condition")) for t in scored)), None
        ),
        transcript=_transcript(scored[-1]) if whole and scored else None,
    )


def _failure(part: Mapping[str, Any]) -> str | None:
    """Of an episode or a trace. What was tried again with success holds errors and is `ok`; 0.2 has
    no such field."""
    errors = fields.objects(part.get("errors"))
    if part.get("ok", not errors):
        return None
    return _first(*(e.get("message") for e in errors[::-1]), part.get("stop_condition"), "not ok")


def _scores(
    traces: Sequence[Mapping[str, Any]], place: str, unread: fields.Unread
) -> dict[str, float]:
    """The reward, each of its parts unweighted, and the metrics; by agent where there are several,
    the mean over an agent's traces."""
    values: dict[str, list[float]] = defaultdict(list)
    agents = [str(fields.mapping(each.get("agent")).get("name", "agent")) for each in traces]
    for agent, trace in zip(agents, traces, strict=True):
        before = f"{agent}/" if len(set(agents)) > 1 else ""
        own = unread.numbers(fields.mapping(trace.get("metrics")), place)
        weighted: list[float | None] = []
        for name, reward in fields.mapping(trace.get("rewards")).items():
            part = reward if isinstance(reward, dict) else {"score": reward}
            score = unread.number(f"rewards.{name}", part.get("score"), place)
            weight = unread.number(f"rewards.{name}.weight", part.get("weight", 1.0), place)
            weighted.append(None if score is None or weight is None else score * weight)
            if score is not None:
                own[f"reward/{name}"] = score
        if (reward := fields.total(weighted)) is not None:
            own = {"reward": reward, **own}
        for name, value in own.items():
            values[before + name].append(value)
    return {name: sum(each) / len(each) for name, each in values.items()}


def _used(
    traces: Sequence[Mapping[str, Any]], unread: fields.Unread, place: str
) -> dict[str, float]:
    calls = [each for trace in traces for each in fields.objects(trace.get("calls"))]
    done = [each for each in calls if not each.get("error")]
    used = fields.token_sums([_usage(each) for each in done])
    costs = [fields.mapping(each.get("usage")).get("cost") for each in done]
    cost = fields.total(unread.number("calls.usage.cost", each, place) for each in costs)
    timings = [fields.mapping(each.get("timing")) for each in traces]
    spans = [fields.mapping(each.get("agent") or each.get("generation")) for each in timings]
    times = [unread.numbers({n: s.get(n) for n in ("start", "end")}, place) for s in spans]
    lasted = [t["end"] - t["start"] for t in times if t.get("end") and "start" in t]
    if cost is not None:
        used["cost_usd"] = cost
    if lasted and len(lasted) == len(traces):
        used["duration_s"] = sum(lasted)
    return used


def _usage(call: Mapping[str, Any]) -> Usage | None:
    """Its prompt tokens leave the cached ones out, ours hold them."""
    usage = fields.mapping(call.get("usage"))
    prompt, cached = fields.count(usage.get("prompt_tokens")), usage.get("cached_input_tokens")
    if prompt is None:
        return None
    return Usage(
        input_tokens=prompt + (fields.count(cached) or 0),
        cached_tokens=fields.count(cached),
        output_tokens=fields.count(usage.get("completion_tokens")),
        reasoning_tokens=fields.count(usage.get("reasoning_tokens")),
        source="provider",
    )


def _transcript(trace: Mapping[str, Any]) -> Transcript:
    """The messages from a root to the last leaf, as verifiers itself shows them."""
    nodes = fields.objects(trace.get("nodes"))
    calls = {each.get("node"): each for each in fields.objects(trace.get("calls"))}
    parents = {node.get("parent") for node in nodes}
    at: Any = next((n for n in reversed(range(len(nodes))) if n not in parents), None)
    path: list[int] = []
    while isinstance(at, int) and 0 <= at < len(nodes) and at not in path:
        path.insert(0, at)
        at = nodes[at].get("parent")
    kept = [(n, m) for n in path if (m := fields.message(fields.mapping(nodes[n].get("message"))))]
    messages = tuple(m for _, m in kept)
    data = fields.mapping(fields.mapping(trace.get("task")).get("data"))
    return Transcript(
        messages=messages,
        tools=tuple(read_tool(each) for each in fields.objects(trace.get("tools"))),
        usages=tuple(_usage(calls.get(n, {})) for n, m in kept if m.role == "assistant"),
        question=fields.plain_text(data.get("prompt")) or None,
        gold=_first(data.get("answer")) or None,
        answer=next((m.content for m in messages[::-1] if m.role == "assistant"), None),
        model=next((str(c["model"]) for c in calls.values() if c.get("model")), None),
    )


def _rollouts(
    file: Path, rows: Sequence[tuple[int, dict[str, Any]]], unread: fields.Unread, whole: bool
) -> ForeignLog:
    beside = file.parent / "metadata.json"
    about = fields.read_object(beside, file.parent) if beside.is_file() else {}
    repeats: Counter[str] = Counter()
    samples, contents, episodes = {}, {}, []
    for line, row in rows:
        sample = str(row["example_id"])
        repeats[sample] += 1
        prompt = fields.objects(row.get("prompt")) or [{"content": row.get("prompt")}]
        contents[sample] = fields.digest([fields.plain_text(m.get("content")) for m in prompt])
        samples[sample] = fields.texts({"task": row.get("task"), **fields.mapping(row.get("info"))})
        episodes.append(
            _rollout(row, sample, repeats[sample], f"{file.name}:{line}", unread, whole)
        )
    version = fields.mapping(about.get("version_info")).get("vf_version")
    settings = [fields.mapping(about.get(name)) for name in ("env_args", "sampling_args")]
    lacks = "results.jsonl tells no cost"
    return ForeignLog(
        file=file,
        source=f"verifiers {version or 'of unknown version'}",
        task=_first(about.get("env_id"), file.parent.name),
        model=_first(about.get("model"), "unknown"),
        episodes=tuple(episodes),
        samples=samples,
        contents=contents,
        settings={k: v for each in settings for k, v in fields.texts(each).items()},
        notes=(
            *unread.notes,
            *_notes(episodes),
            lacks if about else f"{lacks}; without metadata.json beside it no task and no model",
        ),
    )


def _rollout(
    row: Mapping[str, Any], sample: str, repeat: int, place: str, unread: fields.Unread, whole: bool
) -> ForeignEpisode:
    error = row.get("error")
    failure = (
        None if error is None else _first(fields.mapping(error).get("error_chain_repr"), error)
    )
    metrics = row.get("metrics")
    if not isinstance(metrics, dict):  # before 0.1.9 beside the other fields
        metrics = {k: v for k, v in row.items() if k not in OUR_FIELDS and not isinstance(v, str)}
    scores = unread.numbers({"reward": row.get("reward"), **metrics}, place)
    prompt, completion = _messages(row.get("prompt")), _messages(row.get("completion"))
    written = [m for m in completion if m.role == "assistant"]
    tokens = fields.mapping(row.get("token_usage"))
    timing = fields.mapping(row.get("timing"))
    seconds = unread.number("timing.total", timing.get("total"), place)
    milliseconds = unread.number("timing.total_ms", timing.get("total_ms"), place)
    used = {
        "input_tokens": unread.number(
            "token_usage.input_tokens", tokens.get("input_tokens"), place
        ),
        "output_tokens": unread.number("token_usage", tokens.get("output_tokens"), place),
        "steps": float(len(written)),
        "tool_calls": float(sum(len(m.tool_calls) for m in written)),
        "duration_s": milliseconds / 1000 if milliseconds else seconds,
    }
    tools = fields.objects(row.get("tool_defs"))
    return ForeignEpisode(
        sample=sample,
        repeat=repeat,
        metrics={} if failure else scores,
        failure=failure,
        used={name: value for name, value in used.items() if value is not None},
        stop_reason=fields.word(row.get("stop_condition")),
        transcript=Transcript(
            messages=(*prompt, *completion),
            tools=tuple(read_tool(each) for each in tools),
            question=prompt[-1].content if prompt else None,
            gold=_first(row.get("answer")) or None,
            answer=written[-1].content if written else None,
        )
        if whole
        else None,
    )


def _messages(value: Any) -> list[Message]:
    """Of chat messages, which an old file may hold as one text."""
    data = [{"role": "user", "content": value}] if isinstance(value, str) else fields.objects(value)
    return [message for each in data if (message := fields.message(each)) is not None]
