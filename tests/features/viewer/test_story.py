"""Events become steps: retries, results out of order, pauses, what has not come yet."""

from agent_env.episodes.trace.lines import read_trace
from agent_env.features.viewer.story import aligned, arguments, parted_at, story
from agent_env.records.schema import Message, Reply, ToolCall
from agent_env.records.schema import ToolResult as Result
from agent_env.records.trace_events import EpisodeResumed, ModelCalled, ToolCalled
from tests.features.viewer.stage import begin, make_run


def told(path, *events):
    folder = make_run(path / f"r{len(list(path.iterdir()))}", ["s1"])
    trace = begin(folder, "s1")
    for kind, fields in events:
        trace.write(kind, **fields)
    trace.close()
    return story(read_trace(next(folder.traces())), None)


def call_of(i):
    return ToolCall(id=i, name="python", arguments=f'{{"code": "{i}"}}')


def asked(*ids):
    reply = Reply(message=Message(role="assistant", tool_calls=tuple(map(call_of, ids))))
    return ModelCalled, {"request": "0", "reply": reply, "latency_s": 1.0}


def gave(i, output):
    return ToolCalled, {"call": call_of(i), "result": Result(output=output), "duration_s": 0.5}


FAILED = ModelCalled, {"request": "0", "error": "busy", "status": 429, "wait_s": 2.0,
                       "latency_s": 0.1}  # fmt: skip


def test_steps_stand_in_order_and_episodes_part_where_they_differ(tmp_path):
    found = told(tmp_path, asked("a", "b"), gave("b", "2"), gave("a", "1"), asked("c"))
    assert [[c.output for c in s.calls] for s in found.steps] == [["1", "2"], [None]]
    assert [s.tools_s for s in found.steps] == [1.0, 0.0]
    found = told(tmp_path, FAILED, FAILED, asked(), FAILED)
    steps = [(s.number, len(s.failures), s.model is None) for s in found.steps]
    assert (steps, found.recording.end) == ([(1, 2, False), (2, 1, True)], None)
    events = told(tmp_path, asked(), FAILED).recording.events
    times = [{"at": f"2026-01-01T00:00:{second:02}+00:00"} for second in range(len(events))]
    later = [event.model_copy(update=at) for event, at in zip(events, times, strict=True)]
    assert [step.starts_s for step in story(later, None).steps] == [0.0, 1.9]
    resumed = EpisodeResumed, {"steps": 1, "model": "other"}
    assert told(tmp_path, asked(), resumed, asked()).steps[1].said == [
        "Went on here after 1 recorded steps.", "From here on the model is other.",
    ]  # fmt: skip
    for text, shown in (
        ('{"code": "1\\n2", "n": 3}', (("code", "1\n2"), ("n", "3"))),
        *((text, (("", text),)) for text in ("{broken", "[1]", "[" * 100_000)),
    ):
        assert arguments(ToolCall(id="1", name="x", arguments=text)) == shown
    one = told(tmp_path, asked("a"), gave("a", "1"), asked("b"), gave("b", "2"))
    two = told(tmp_path, asked("a"), gave("a", "1"), asked("b"), gave("b", "3"), asked())
    lines = aligned([one, two])
    assert [line.same for line in lines] == [True, False, False]
    assert lines[2].steps[0] is None
    assert (parted_at(lines), parted_at(aligned([one, one]))) == (2, None)
