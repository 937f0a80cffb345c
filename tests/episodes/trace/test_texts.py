"""Long texts stand once in the run's store, and come back as they were."""

import sqlite3
import subprocess
import sys

import pytest

from agent_env.episodes.trace.lines import TraceError, TraceWriter, read_trace
from agent_env.episodes.trace.texts import MissingText, Texts
from agent_env.errors import StorageError
from agent_env.records.schema import ToolCall, ToolResult
from agent_env.records.trace_events import ToolCalled
from tests.episodes.trace.test_lines import clock
from tests.programs import needs

LONG_TEXT = "A page. " * 200


def write_calls(run, names):
    texts = Texts(run / "texts.db")
    files = [run / f"episodes/web/{name}.1.jsonl" for name in names]
    for name, file in zip(names, files, strict=True):
        trace = TraceWriter(file, f"web/{name}.1", clock, texts)
        call = ToolCall(id="1", name="open_page", arguments='{"url": "u"}')
        trace.write(ToolCalled, call=call, result=ToolResult(output=LONG_TEXT), duration_s=0.1)
        trace.close()
    texts.close()
    return files


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77
touch "$1/new" 2>/dev/null && exit 78
exec "$2" -c "
import sys
from pathlib import Path
from agent_env.episodes.trace.lines import read_trace
print(len(read_trace(Path(sys.argv[1]))[0].result.output))" "$3"
"""


@needs("unshare")
def test_long_texts_are_read_from_a_disk_that_takes_no_writes(tmp_path):
    (trace,) = write_calls(tmp_path, ["a"])
    mounting = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh")
    command = [*mounting, str(tmp_path), sys.executable, str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert (done.returncode, done.stdout) == (0, f"{len(LONG_TEXT)}\n"), done.stderr


def test_a_long_output_is_stored_once_and_read_back_in_place(tmp_path):
    files = write_calls(tmp_path, ["a", "b"])
    for file in files:
        assert file.stat().st_size < 500
        (event,) = read_trace(file)
        assert (event.result.output, event.texts) == (LONG_TEXT, None)
    with sqlite3.connect(tmp_path / "texts.db") as db:
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (1,)


def test_a_text_that_was_changed_or_is_gone_is_named_with_the_line_that_needs_it(tmp_path):
    (file,) = write_calls(tmp_path, ["a"])
    other = Texts(tmp_path / "other.db")
    other.put("something else " * 40)
    other.close()
    with sqlite3.connect(tmp_path / "texts.db") as db:
        db.execute("ATTACH ? AS other", (str(tmp_path / "other.db"),))
        db.execute("UPDATE texts SET text = (SELECT text FROM other.texts)")
    with pytest.raises(TraceError, match=r":1: text [0-9a-f]{12}… was changed in texts\.db"):
        read_trace(file)
    for part in tmp_path.glob("texts.db*"):
        part.unlink()
    with pytest.raises(TraceError, match=r"a\.1\.jsonl:1: text [0-9a-f]{12}… is not in texts\.db"):
        read_trace(file)


def test_several_processes_write_one_store(tmp_path):
    program = (
        "import sys; from pathlib import Path; from agent_env.episodes.trace.texts import Texts\n"
        "texts = Texts(Path(sys.argv[1]))\n"
        "for n in range(100): texts.put(f'text {n % 50} ' * 100)\n"
        "texts.close()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "texts.db")]
    for writer in [subprocess.Popen(command) for _ in range(3)]:
        assert writer.wait(60) == 0
    with sqlite3.connect(tmp_path / "texts.db") as db:
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (50,)


def test_texts_are_forced_to_the_disk_when_there_are_new_ones_only(tmp_path, monkeypatch):
    texts = Texts(tmp_path / "texts.db")
    texts.put("one")
    syncs = []

    def disk(path):
        syncs.append(path.name)
        if len(syncs) == 1:
            texts.put("two")  # while the disk is at it
        if len(syncs) == 2:
            raise OSError("the disk is gone")

    monkeypatch.setattr("agent_env.episodes.trace.texts.sync_path", disk)
    texts.sync()
    with pytest.raises(OSError, match="gone"):
        texts.sync()
    texts.sync()
    assert syncs == ["texts.db-wal"] * 3
    texts.put("one")
    texts.sync()
    assert len(syncs) == 3
    texts.close()


def test_a_view_in_the_store_is_refused_each_time_and_never_read(tmp_path):
    """A view of the table's name may never end."""
    with sqlite3.connect(tmp_path / "texts.db") as db:
        db.execute(
            "CREATE VIEW texts AS WITH RECURSIVE n(digest, text) AS "
            "(SELECT x'00', x'00' UNION ALL SELECT digest, text FROM n) SELECT * FROM n"
        )
    texts = Texts(tmp_path / "texts.db")
    for _ in range(3):
        with pytest.raises(MissingText, match="its view 'texts' is not ours"):
            texts.get("00")
    assert list(texts.items()) == []
    with pytest.raises(StorageError, match="its view 'texts' is not ours"):
        texts.put("words")
