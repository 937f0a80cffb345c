"""Logs of lm-evaluation-harness are imported with their prompts, replies and targets."""

import json
from pathlib import Path

import pytest

from agent_env.episodes.results import scored_episodes
from agent_env.features.interop.foreign.as_run import import_logs
from agent_env.features.interop.foreign.log import Transcript
from agent_env.features.interop.foreign.read import read_logs
from agent_env.records.schema import Message
from agent_env.runs.run import Run

pytestmark = pytest.mark.usefixtures("unconfined")

LOGS = Path(__file__).parents[3] / "data" / "foreign" / "lm-eval"


def _user(text):
    return Message(role="user", content=text)


def _model(text):
    return Message(role="assistant", content=text)


def _read(folder, **fields):
    """The conversation of a log with one line."""
    file = folder / "samples_dates_2026-11-22T10-00-00.000000.jsonl"
    line = {"doc_id": 0, "doc": {}, "metrics": ["acc"], "acc": 1.0, **fields}
    file.write_text(json.dumps(line) + "\n")
    ((episode,),) = [log.episodes for log in read_logs([file], None, with_transcripts=True)]
    return episode.transcript


@pytest.mark.parametrize("model", ["plain", "head"])
def test_a_mean_is_named_by_metric_and_filter_as_the_tool_does(model):
    (file,) = (LOGS / model).glob("results_*.json")
    results = json.loads(file.read_text())["results"]["sums"]
    (log,) = read_logs([*(LOGS / model).glob("samples_*.jsonl")], None)
    for name in ("exact_match,number", "exact_match,whole"):
        values = [each.metrics[name] for each in log.episodes if name in each.metrics]
        assert sum(values) / len(values) == pytest.approx(results[name])


def test_a_real_log_of_a_chat_model_becomes_a_run_with_its_conversations(tmp_path):
    (log,) = LOGS.glob("head/samples_*.jsonl")
    (made,) = import_logs([log], tmp_path / "run", lambda text: None)
    assert (made.episodes, made.transcripts) == (4, 4)
    run = Run.open(made.path)
    scored = scored_episodes(run, run.task, run.samples, pytest.fail)
    episode, score = next(each for each in scored if each[0].sample == "2")
    question, said = "What is 130 + 12?", "After some thought I say 152 ."
    assert episode.messages == (_user(question), _model(said))
    assert score.answer == ("152",)
    assert score.metrics == {"exact_match,number": 0.0, "exact_match,whole": 0.0}
    (sample,) = [sample for sample in run.samples if sample.id == "2"]
    assert (sample.gold, sample.question) == (("142",), question)


def test_each_repeat_of_a_prompt_is_a_reply(tmp_path):
    prompt = "Days of April?\n"
    transcript = _read(
        tmp_path,
        arguments={"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
        resps=[[" 30 days", " 31"]],
        filtered_resps=["30"],
        target="30",
    )
    messages = (_user(prompt), _model(" 30 days"), _model(" 31"))
    assert transcript == Transcript(messages, prompt=1, question=prompt, gold="30", answer="30")


def test_likelihoods_of_continuations_are_one_reply(tmp_path):
    continuations = enumerate((" 30 days", " 31 days"))
    transcript = _read(
        tmp_path,
        arguments={
            f"gen_args_{n}": {"arg_0": "April has", "arg_1": text} for n, text in continuations
        },
        resps=[[["-8.0", "False"]], [["-9.0", "False"]]],
        filtered_resps=[["-8.0", "False"], ["-9.0", "False"]],
        target="0",
    )
    said = "0: 30 days (log-likelihood -8.0)\n1: 31 days (log-likelihood -9.0)"
    assert transcript.messages == (_user("April has"), _model(said))
    assert (transcript.gold, transcript.answer) == ("0", None)


def test_worked_examples_belong_to_the_prompt_and_lists_of_older_versions_are_read(tmp_path):
    turns = (("system", "Be brief."), ("user", "2 + 2?"), ("assistant", "4"), ("user", "3 + 4?"))
    chat = [{"role": role, "content": content} for role, content in turns]
    transcript = _read(
        tmp_path,
        arguments=[[json.dumps(chat), {"until": []}]],
        resps=[["7"]],
        filtered_resps=["7"],
        target=["7", "seven"],
    )
    assert transcript.prompt == 4
    assert [message.content for message in transcript.messages[3:]] == ["3 + 4?", "7"]
    assert (transcript.question, transcript.gold) == ("3 + 4?", ("7", "seven"))


@pytest.mark.parametrize("arguments", [{}, [], [None], [[3, 4]], "text", {"gen_args_0": {}}])
def test_a_line_without_a_prompt_has_scores_alone(tmp_path, arguments):
    assert _read(tmp_path, arguments=arguments, resps=3, filtered_resps=None, target=1) is None
