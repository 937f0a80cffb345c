"""A log that Inspect wrote is read by its own reader, and says what it says there."""

import resource
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from agent_env.errors import DatasetError
from agent_env.features.interop.export.inspect_log import write
from agent_env.features.interop.foreign.inspect_log import read_inspect
from agent_env.features.interop.foreign.read import read_logs
from agent_env.worker import child
from agent_env.worker.wire import JOBS
from tests.features.interop.export.runs import a_run, source_of
from tests.lazy_modules import LazyModule

pytestmark = [
    pytest.mark.usefixtures("unconfined"),
    pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs the extra inspect"),
]

LOGS = Path(__file__).parents[3] / "data" / "foreign" / "inspect"
inspect_log = LazyModule("inspect_ai.log")


@pytest.fixture
def exported(tmp_path):
    """The log of a run of ours."""
    write(source_of(a_run(tmp_path / "run")), tmp_path)
    return tmp_path / "web.eval"


def test_scores_tokens_and_errors_are_those_of_the_log(exported):
    theirs, ours = inspect_log.read_eval_log(str(exported)), read_inspect(exported)
    for episode, sample in zip(ours.episodes, theirs.samples, strict=True):
        assert (episode.sample, episode.repeat) == (sample.id, sample.epoch)
        assert (episode.failure is None) == (sample.error is None)
        usage = next(iter((sample.model_usage or {}).values()), None)
        if usage is not None:
            assert episode.used["output_tokens"] == usage.output_tokens
    right = next(each for each in ours.episodes if each.sample == "right")
    assert set(right.metrics.values()) >= {1.0}


def test_a_truncated_log_is_named(exported):
    whole = exported.read_bytes()
    exported.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match=r"web\.eval: is not a log that Inspect reads"):
        read_inspect(exported)


def test_a_log_without_usage_in_its_summaries_is_read_whole(tmp_path):
    """As those that older versions wrote."""
    log = inspect_log.read_eval_log(str(LOGS / "head.eval"))
    for sample in log.samples:
        sample.model_usage = {}
    inspect_log.write_eval_log(log, str(tmp_path / "old.eval"))
    old, new = read_inspect(tmp_path / "old.eval"), read_inspect(LOGS / "head.eval")
    assert log.stats.model_usage
    assert old.contents == new.contents
    topics = {"sum-17-25": "small", "sum-130-12": "large", "sum-61-9": "large"}
    assert old.samples == new.samples == {name: {"topic": t} for name, t in topics.items()}
    told = [[(e.sample, e.metrics) for e in log.episodes] for log in (old, new)]
    assert told[0] == told[1]
    assert [e.used["steps"] for e in old.episodes] == [1.0] * 6


def test_a_broken_sample_is_named_and_the_others_are_read(tmp_path):
    with ZipFile(LOGS / "large.eval") as log, ZipFile(tmp_path / "broken.eval", "w") as broken:
        for name in log.namelist():
            data = log.read(name)
            broken.writestr(name, data[:200] if name == "samples/7_epoch_1.json" else data)
    notes = []
    stream = read_inspect(tmp_path / "broken.eval", with_transcripts=True).stream
    assert len([each for each in stream(notes.append) if each.transcript]) == 9
    (note,) = notes
    assert note.startswith("sample 7, epoch 1 cannot be read and is left out: ")


def test_a_part_that_unpacks_to_more_than_its_share_is_not_read(tmp_path, monkeypatch):
    """300 MB of spaces in a megabyte."""
    monkeypatch.setattr(child, "is_worker", False)
    monkeypatch.setitem(JOBS, "logs", JOBS["logs"]._replace(memory_mb=256))
    bomb, deflated = tmp_path / "tool.eval", {"compression": ZIP_DEFLATED, "compresslevel": 1}
    with ZipFile(LOGS / "tool.eval") as log, ZipFile(bomb, "w", **deflated) as out:
        for part in log.infolist():
            with out.open(part.filename, "w", force_zip64=True) as file:
                file.write(log.read(part))
                if part.filename == "header.json":
                    for _ in range(300):
                        file.write(b" " * 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DatasetError, match=r"tool\.eval: cannot be read: that took more than 27"):
        read_logs([bomb], None)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_a_score_beyond_a_float_is_left_out(tmp_path):
    log = inspect_log.read_eval_log(str(LOGS / "tool.eval"))
    for sample, value in zip(log.samples, (1e999, 10**400), strict=False):
        sample.scores["match"].value = value
    inspect_log.write_eval_log(log, str(tmp_path / "odd.json"))
    read = read_inspect(tmp_path / "odd.json")
    assert sum("match" not in each.metrics for each in read.episodes) == 2
