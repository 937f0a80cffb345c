"""A log of another tool becomes a run whose conversations and scores are those of the log."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import agent_env as ae
from agent_env.episodes.results import scored_episodes
from agent_env.errors import ConfigError, DatasetError
from agent_env.features.interop.export.inspect_log import write
from agent_env.features.interop.foreign import as_run
from agent_env.features.interop.foreign.as_run import import_logs
from agent_env.features.interop.foreign.log import ForeignEpisode, ForeignLog, Transcript
from agent_env.features.interop.run_export import ExportOptions, export
from agent_env.records.schema import Message, ToolCall, Usage
from agent_env.runs.comparing.compare import CompareOptions, compare_tasks
from agent_env.runs.replay import ReplayOptions, replay
from agent_env.runs.run import Run
from agent_env.runs.scores.score import episode_text, read_scores
from tests.features.interop.export.runs import source_of
from tests.lazy_modules import LazyModule

pytestmark = pytest.mark.usefixtures("unconfined")

DATA = Path(__file__).parents[3] / "data" / "foreign" / "inspect"
inspect_log = LazyModule("inspect_ai.log")


def _said(role, content="", *calls, answers=None):
    asked = tuple(ToolCall(id=each, name="add", arguments='{"x": 1}') for each in calls)
    return Message(role=role, content=content, tool_calls=asked, tool_call_id=answers)


CONVERSATION = (
    _said("system", "Be brief."),
    _said("user", "2 + 2?"),
    _said("assistant", "4"),  # a worked example
    _said("user", "3 + 4?"),
    _said("assistant", "", "a", "b"),
    _said("tool", "7", answers="a"),
    _said("tool", "", answers="b"),
    _said("user", "Sure?"),
    _said("tool", "late", answers="gone"),
    _said("assistant", "Seven."),
    _said("user", "Thanks."),
)
TRANSCRIPT = Transcript(
    messages=CONVERSATION,
    usages=(Usage(input_tokens=10, output_tokens=2), None),
    question="3 + 4?",
    gold="7",
    answer="7",
    prompt=4,
    tool_errors={"b": "too large"},
    began_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def _import(folder, monkeypatch, *episodes):
    """The run of a log with these episodes."""
    file = folder / "log.json"
    file.write_text("{}")
    log = ForeignLog(file, "a tool 1.0", "sums", "gpt", episodes, {"q 1": {"level": "easy"}})
    monkeypatch.setattr(as_run, "read_logs", lambda *_, **__: [log])
    notes = []
    (made,) = import_logs([file], folder / "run", notes.append)
    return Run.open(made.path), notes


def _episodes(run):
    scored = scored_episodes(run, run.task, run.samples, pytest.fail)
    names = {sample.id: sample.source_id for sample in run.samples}
    return {(names[e.sample], e.repeat): (e, s) for e, s in scored}


def test_a_conversation_comes_back_and_what_is_not_told_is_unknown(tmp_path, monkeypatch):
    one = ForeignEpisode("q 1", 1, {"right": 1.0}, used={"output_tokens": 9}, transcript=TRANSCRIPT)
    run, _ = _import(tmp_path, monkeypatch, one)
    episode, score = _episodes(run)["q 1", 1]
    assert episode.messages == CONVERSATION
    assert (episode.steps, episode.tool_calls, episode.tool_errors) == (2, 2, 1)
    assert (score.metrics, score.answer) == ({"right": 1.0}, ("7",))
    assert episode.output_tokens == 9  # the source's own sum
    assert episode.input_tokens is None  # one call does not tell it
    assert episode.duration_s is None
    text = "\n".join(episode_text(next(run.traces())))
    for words in ("time unknown", "failed: too large", "sampling are not known"):
        assert words in text


def test_failures_and_missing_scores_are_no_wrong_answers(tmp_path, monkeypatch):
    run, notes = _import(
        tmp_path,
        monkeypatch,
        ForeignEpisode("q 1", 1, {}, failure="ValueError: no server"),
        ForeignEpisode("q 1", 2, {}),
        ForeignEpisode("q 1", 3, {"right": 0.0}, stop_reason="operator"),
        ForeignEpisode("q 1", 3, {"right": 1.0}),
    )
    (first, failed), (_, unscored), (third, wrong) = (_episodes(run)["q 1", n] for n in (1, 2, 3))
    outcomes = [score.outcome for score in (failed, unscored, wrong)]
    assert outcomes == ["failed", "scorer_failed", "read"]
    assert (first.failure, third.stop_reason) == ("ValueError: no server", "other")
    assert notes == [
        f"{tmp_path}/log.json: sample q 1 has repeat 3 twice; the first is kept",
        f"{tmp_path}/log.json: 3 of 3 episodes have no conversation",
    ]


async def test_an_import_cannot_be_run_again_and_a_failed_one_leaves_nothing(tmp_path, monkeypatch):
    one = ForeignEpisode("q 1", 1, {"right": 1.0})
    with pytest.raises(DatasetError, match="holds no episode"):
        _import(tmp_path, monkeypatch)
    assert [file.name for file in tmp_path.iterdir()] == ["log.json"]
    run, _ = _import(tmp_path, monkeypatch, one)
    with pytest.raises(ConfigError, match=r"imported from log.json \(a tool 1.0\) and cannot"):
        await replay(run, ReplayOptions(), pytest.fail)
    before = sorted(run.path.iterdir())
    with pytest.raises(ConfigError, match="is there already and is not empty"):
        _import(tmp_path, monkeypatch, one)
    assert sorted(run.path.iterdir()) == before


@pytest.fixture(scope="module")
def inspect_runs(tmp_path_factory, unconfined):
    pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")
    out = tmp_path_factory.mktemp("inspect") / "runs"
    import_logs([DATA / "large.eval", DATA / "small.eval"], out, pytest.fail)
    return out


def test_means_comparisons_and_diagnoses_are_those_of_the_logs(inspect_runs):
    for name in ("large", "small"):
        log = inspect_log.read_eval_log(str(DATA / f"{name}.eval"), header_only=True)
        run = Run.open(inspect_runs / f"mockllm-{name}")
        comparison = read_scores(run, None, pytest.fail).comparison
        theirs = {s.name: s.metrics for s in log.results.scores}
        means = [comparison.values_of(metric) for metric in ("includes", "shape/length")]
        expected = theirs["includes"]["accuracy"].value, theirs["length"]["mean"].value
        assert means == [[pytest.approx(value)] for value in expected]

    def differences(*paths):
        options = CompareOptions(runs=paths, cluster="level")
        (task,) = compare_tasks(options, pytest.fail)
        return [(c.difference.value, c.pairs) for c in task.comparison.contrasts]

    assert differences(inspect_runs) == differences(DATA / "large.eval", DATA / "small.eval")
    large = Run.open(inspect_runs / "mockllm-large")
    (observations,) = large.data(pytest.fail).observations.values()
    records = {each.provenance.episode: each.provenance for each in observations}
    assert records["log/5.1"].failure == "loop (the same call)"
    assert (records["log/91.1"].is_right, records["log/91.1"].failure) == (True, "")
    failed = records["log/q-66-58aeac40.1"]
    assert (failed.verdict, failed.because) == ("failed", "RuntimeError: the server fell over")


def test_inspects_own_reader_accepts_an_import_that_was_exported(inspect_runs, tmp_path):
    write(source_of(Run.open(inspect_runs / "mockllm-large")), tmp_path)
    log, exported = (
        inspect_log.read_eval_log(str(file), resolve_attachments=True)
        for file in (DATA / "large.eval", tmp_path / "log.eval")
    )
    assert exported.status == log.status
    assert exported.results.scores == log.results.scores
    again = {(sample.id, sample.epoch): sample for sample in exported.samples}
    assert len(again) == len(log.samples) == 10
    for sample in log.samples:
        other = again[str(sample.id), sample.epoch]
        assert _told(other) == _told(sample)
        assert other.output.completion == sample.output.completion
        includes = sample.scores.get("includes") if sample.scores else None
        if includes is not None:
            assert other.scores["includes"].value == {"C": 1.0, "I": 0.0}[includes.value]


def _told(sample):
    return [
        (m.role, m.text, getattr(m, "tool_calls", None) or [], m.role == "tool" and m.error)
        for m in sample.messages
    ]


def test_an_exported_import_keeps_status_final_output_and_custom_metrics(tmp_path):
    pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")
    from inspect_ai.model import ModelOutput

    changed = inspect_log.read_eval_log(str(DATA / "large.eval"))
    changed.status = "cancelled"
    changed.samples[0].output = ModelOutput.from_content("mockllm/large", "what the solver made")
    spread = inspect_log.EvalMetric(name="spread", value=7.5)
    changed.results.scores[0].metrics["spread"] = spread
    inspect_log.write_eval_log(changed, str(tmp_path / "changed.eval"))
    run = ae.import_log(tmp_path / "changed.eval", out=tmp_path / "run")
    export(Run.open(run.path), ExportOptions("inspect", tmp_path / "out"), pytest.fail)
    back = inspect_log.read_eval_log(str(tmp_path / "out" / "log.eval"))
    outputs = {(s.id, s.epoch): s.output.completion for s in back.samples}
    first = (str(changed.samples[0].id), changed.samples[0].epoch)
    assert (back.status, outputs[first]) == ("cancelled", "what the solver made")
    assert back.results.scores[0].metrics["spread"].value == 7.5
