"""Inspect asks our questions, and its log has the scores that our own run of the same replies has.

Few tests of many tasks each, as every evaluation costs Inspect half a second.
"""

import logging
import math
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import agent_env as ae
from agent_env.features.interop.foreign.inspect_log import read_inspect
from agent_env.features.reference.policy import Reference
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import ToolSpec, Usage
from agent_env.runs.run import Run
from agent_env.runs.scores.score import score_folder
from agent_env.testing.fakes import answer, calls
from agent_env.wiring.registry import task_names
from tests.lazy_modules import LazyModule

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs the extra inspect")
inspect_ai = LazyModule("inspect_ai")
inspect_log, inspect_model = LazyModule("inspect_ai.log"), LazyModule("inspect_ai.model")
inspect_chat = LazyModule("agent_env.features.interop.inspect_chat")
inspect_tasks = LazyModule("agent_env.features.interop.inspect_tasks")

CONDITIONS = {"tdbench": "base", "temp-answers": "cal", "tempreason": "base", "timeqa": "base",
              "traveler": "events"}  # fmt: skip


ASKED = {
    "time-puzzles": {"condition": "web+python+cal", "count": 1, "sandbox": "unsafe-subprocess"},
    **{family: {"condition": name, "count": 1} for family, name in CONDITIONS.items()},
}
USAGE = Usage(input_tokens=1, output_tokens=1)
"""Without one Inspect counts, and loads ranks for it."""
CALL = '{"calendar": "hebrew", "date": "2024-01-01"}'


def model_of(policy):
    """Inspect's model that answers as this function does."""

    def output(messages, tools, choice, config):
        told = [(t.name, t.description, t.parameters.model_dump()) for t in tools]
        specs = tuple(ToolSpec(name=n, description=d, parameters=p) for n, d, p in told)
        options = ReplyOptions("none" if choice == "none" else "auto")
        reply = policy(tuple(map(inspect_chat.from_inspect, messages)), specs, options)
        stop = inspect_chat.STOPS.get(reply.finish_reason or "", "model_length")
        message = inspect_chat.to_inspect(reply.message, "reference")
        choices = [inspect_model.ChatCompletionChoice(message=message, stop_reason=stop)]
        usage = inspect_chat.to_usage(reply.usage)
        return inspect_model.ModelOutput(model="reference", choices=choices, usage=usage)

    return inspect_model.get_model("mockllm/reference", custom_outputs=output, memoize=False)


def policy(messages, tools, options):
    """The scripted model, which knows nothing of questions of one's own."""
    if "year after 1999" in messages[-1].content:
        return answer("2000", USAGE)
    asking = Reference().generate(messages, tools, options)
    with pytest.raises(StopIteration) as end:  # it waits for nothing
        asking.send(None)
    return end.value.value


def evaluate(tasks, folder, **options):
    """The logs; without what Inspect has for whoever watches."""
    quiet = {"display": "log", "log_realtime": False, "ctl_server": False, "acp_server": False}
    return inspect_ai.eval(tasks, log_dir=str(folder), **quiet, **options)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch):
    """What an evaluation leaves in the home and in the process is taken back."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers])
    for name in ("httpx", "inspect_ai"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.getLogger(name).level)


def test_every_family_gets_the_scores_of_our_own_run(tmp_path):
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "The year after 1999?", "answer": "2000"}\n')
    asked = {**ASKED, "qa": {"condition": "base", "dataset": str(questions)}}
    assert set(asked) == set(task_names())
    tasks = [inspect_tasks.TASKS[family](**parameters) for family, parameters in asked.items()]
    logs = evaluate(tasks, tmp_path / "logs", model=model_of(policy))
    theirs = {
        f"{family} {sample.id}": _result(sample)
        for family, log in zip(asked, logs, strict=True)
        for sample in log.samples
    }
    assert theirs == dict(_ours(asked, tmp_path))
    assert logs[0].eval.task_args == ASKED["time-puzzles"]
    (puzzle,) = read_inspect(Path(logs[0].location)).episodes
    assert puzzle.metrics == theirs[f"time-puzzles {puzzle.sample}"][0]
    assert theirs["qa qa-00001"][0]["exact_match"] == 1.0


def _result(sample):
    values = (sample.scores or {})["episode_score"].value
    episode = sample.store["agent_env_episode"]
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return known, episode["steps"], episode.get("tool_calls", 0)


def _ours(asked, folder):
    for family, given in asked.items():
        own = {name: value for name, value in given.items() if name not in ("condition", "count")}
        own |= {"conditions": given["condition"], "limit": given.get("count")}
        ae.run_sync(family, model=policy, out=folder / family, progress=False, **own)
        for episode, score in score_folder(Run(folder / family), print):
            result = dict(score.metrics), episode.steps, episode.tool_calls
            yield f"{family} {episode.sample}", result


def in_text(messages, tools, options):
    if messages[-1].content.startswith("```tool_result"):
        return answer("MY ANSWER: 1066-10-14", USAGE)
    return answer(f'```tool_call\n{{"name": "calendars", "arguments": {CALL}}}\n```', USAGE)


def calling(messages, tools, options):
    reply = calls(("calendars", CALL), usage=USAGE, first_id=len(messages))
    message = reply.message.model_copy(update={"content": "Let me see."})
    return reply.model_copy(update={"message": message})


def overflowing(messages, tools, options):
    if messages[-1].role != "tool":
        return calling(messages, tools, options)
    return answer("too long", USAGE).model_copy(update={"finish_reason": None})


def failing(messages, tools, options):
    raise ValueError("no such server")


def _puzzle(policy, parameters, **changes):
    task = inspect_tasks.TASKS["time-puzzles"](condition="explicit+cal", count=1, **parameters)
    return inspect_ai.task_with(task, model=model_of(policy), **changes)


def test_limits_errors_and_the_text_protocol_are_as_in_our_own_run(tmp_path):
    made = {
        "text": _puzzle(in_text, {"tool_protocol": "text"}),
        "message limit": _puzzle(calling, {}, message_limit=5),
        "our limit": _puzzle(calling, {"steps": 3}),
        "context": _puzzle(overflowing, {}),
        "error": _puzzle(failing, {}),
    }
    logs = evaluate(list(made.values()), tmp_path, fail_on_error=False)
    samples = {name: log.samples[0] for name, log in zip(made, logs, strict=True)}
    error = samples.pop("error")
    assert (error.error.message, error.scores) == ("ValueError('no such server')", {})
    episodes = {name: s.store["agent_env_episode"] for name, s in samples.items()}
    keys = ("stop_reason", "steps", "tool_calls", "answer")
    assert {name: [e[key] for key in keys] for name, e in episodes.items()} == {
        "text": ["answered", 2, 1, "MY ANSWER: 1066-10-14"],
        "message limit": ["steps", 2, 2, "Let me see."],
        "our limit": ["steps", 3, 2, "Let me see."],
        "context": ["context", 1, 1, "Let me see."],
    }
    assert samples["message limit"].limit.type == "message"
    tools = [event.function for event in samples["our limit"].events if event.event == "tool"]
    assert tools == ["calendars", "calendars"]
    sent = samples["text"].messages
    assert [m.role for m in sent] == ["system", "user", "assistant", "user", "assistant"]
    assert sent[3].text.startswith("```tool_result 1 calendars")
    log = inspect_log.read_eval_log(logs[0].location)  # as a stranger has it, it is enough
    before = log.samples[0].scores["episode_score"]
    scored = inspect_ai.score(log, inspect_tasks.episode_score(), action="overwrite")
    again = scored.samples[0].scores["episode_score"]
    assert before.answer == again.answer == "1066-10-14"
    assert repr(again.value) == repr(before.value)  # with nan
