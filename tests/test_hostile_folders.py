"""Run folders in which a file is something else: nothing outside is read or written, no command
waits, and the other runs are shown and compared."""

import json
import os
import shutil
import signal
import socket
import sqlite3
from contextlib import chdir, closing
from pathlib import Path

import pytest

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import DatasetError, StorageError
from agent_env.records.safe_files import (
    LARGEST_SETTINGS,
    MOST_LINES,
    UnsafeFile,
    check_database,
    check_inside,
    read_file,
    replace_file,
)
from agent_env.web.store_file import open_store
from tests.commands import agent_env, typed
from tests.features.viewer.stage import viewer

SECRET = b"the secret outside\n"
WAIT_S = 60


@pytest.fixture(autouse=True)
def _no_waiting():
    """A command that waits for a fifo would wait for ever."""

    def late(number, frame):
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(WAIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def runs(small_run, tmp_path):
    """A folder of two runs; the one called `odd` is a stranger's."""
    for name in ("odd", "sound"):
        shutil.copytree(small_run, tmp_path / "runs" / name)
    (tmp_path / "outside").write_bytes(SECRET)
    return tmp_path / "runs"


def _socket(file, outside):
    with socket.socket(socket.AF_UNIX) as made, chdir(file.parent):
        made.bind(file.name)


KINDS = {
    "link": lambda file, outside: file.symlink_to(outside),
    "fifo": lambda file, outside: os.mkfifo(file),
    "socket": _socket,
    "endless": lambda file, outside: file.symlink_to("/dev/zero"),
}
ONE_OF_EACH = ("link", "fifo")
"""A name that leads elsewhere and a file that is none; the other two are met as these are."""
TRACE = "episodes/base/tp-1-00001.1.jsonl"
READ_FIRST = ("run.json", TRACE, "texts.db")
FILES = (
    "run.json", "samples.jsonl", TRACE, "texts.db", "texts.db-wal", "scores.jsonl", "scored.json",
    "index.db", "index.db-journal", ".lock",
)  # fmt: skip


def _commands(runs):
    odd = str(runs / "odd")
    return [
        ("show", f"{odd}/{TRACE}"),
        ("show", odd),
        ("episodes", "list", odd),
        ("show", "--why", odd),
        ("replay", odd),
        ("replay", odd, "--model", "live"),
        ("episodes", "export", odd, "--to", "jsonl"),
        ("resume", odd),
        ("compare", str(runs)),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in FILES for kind in KINDS if name in READ_FIRST or kind in ONE_OF_EACH],
)
def test_no_command_waits_or_touches_what_is_outside(runs, name, kind):
    outside, file = runs.parent / "outside", runs / "odd" / name
    file.unlink(missing_ok=True)
    KINDS[kind](file, outside)
    for command in _commands(runs):
        done = agent_env(*command)
        assert done.returncode in (0, 1, 2), (command, done.stderr)
        assert "Traceback" not in done.stderr
        assert SECRET.decode().strip() not in done.stdout + done.stderr
        assert outside.read_bytes() == SECRET, command
        assert sorted(path.name for path in runs.parent.iterdir()) == ["outside", "runs"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_that_is_no_file_is_named_and_the_others_are_scored(runs, kind):
    file = runs / "odd" / TRACE
    file.unlink()
    KINDS[kind](file, runs.parent / "outside")
    done = agent_env("show", str(runs / "odd"))
    assert done.returncode == 0
    assert f"left out: {file}: it " in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_without_a_plain_run_json_keeps_no_command_from_the_others(runs, kind):
    shutil.copytree(runs / "sound", runs / "second")
    (runs / "odd/run.json").unlink()
    KINDS[kind](runs / "odd/run.json", runs.parent / "outside")
    done = agent_env("compare", str(runs))
    assert done.returncode == 0
    assert f"skipped: {runs}/odd/run.json is not a plain file" in done.stderr
    assert agent_env("show", str(runs / "odd")).returncode == 2


@pytest.mark.parametrize("kind", ONE_OF_EACH)
@pytest.mark.parametrize("name", ["run.json", "samples.jsonl", TRACE, "texts.db", "index.db"])
def test_the_viewer_shows_the_other_runs(runs, name, kind):
    file = runs / "odd" / name
    file.unlink()
    KINDS[kind](file, runs.parent / "outside")
    trace = TRACE.removeprefix("episodes/").removesuffix(".jsonl")
    with viewer(runs) as client:
        for page in ("/", "/run/sound/", f"/run/sound/episode/{trace}", "/run/sound/samples"):
            assert client.get(page).status_code == 200, page
        for page in ("/run/odd/", f"/run/odd/episode/{trace}", "/run/odd/samples", "/state/odd"):
            found = client.get(page)
            assert found.status_code in (200, 404, 500), page
            assert SECRET.decode().strip() not in found.text
    assert (runs.parent / "outside").read_bytes() == SECRET


def test_score_writes_through_no_link(runs):
    outside = runs.parent / "outside"
    for name in ("scores.jsonl", "scored.json"):
        (runs / "odd" / name).unlink()
        (runs / "odd" / name).symlink_to(outside)
        (runs / "odd" / f"{name.split('.')[0]}.part").symlink_to(outside)
    assert agent_env("show", str(runs / "odd")).returncode == 0
    assert outside.read_bytes() == SECRET
    assert not (runs / "odd/scores.jsonl").is_symlink()


@pytest.mark.parametrize("name", ["episodes", "episodes/base", "exports", "replays", "broken"])
def test_a_folder_that_leads_elsewhere_is_not_followed(runs, name):
    elsewhere, place = runs.parent / "elsewhere", runs / "odd" / name
    if place.exists():
        place.rename(elsewhere)
        (elsewhere / "mine.jsonl").write_bytes(SECRET)
    else:
        (elsewhere / "jsonl").mkdir(parents=True)
        (elsewhere / "jsonl/mine").write_bytes(SECRET)
    place.symlink_to(elsewhere)
    before = _files(elsewhere)
    for command in _commands(runs):
        done = agent_env(*command)
        assert SECRET.decode().strip() not in done.stdout + done.stderr
    assert _files(elsewhere) == before


def _files(folder):
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("field", "name"),
    [
        *(("conditions", n) for n in ("../../outside", "/tmp/x", "a/b", "..", ".", "a\0b", "")),
        *(("contexts", n) for n in ("../outside", "/etc/passwd", "contexts/../../outside")),
        ("contexts", "run.json"),
    ],
)
def test_a_condition_or_context_that_would_lead_elsewhere_is_refused(runs, field, name):
    file = runs / "odd/run.json"
    told = json.loads(file.read_text())
    context = {
        "name": "cited", "file": name, "digest": "0", "source_run": "r", "source_model": "m",
        "source_condition": "c", "kinds": [], "budget": 1, "tokenizer": "estimate", "samples": 2,
        "empty": 0,
    }  # fmt: skip
    if field == "contexts":
        told["contexts"] = [context]
    else:
        told["conditions"][0]["name"] = name
    file.write_text(json.dumps(told))
    place = {"conditions": "conditions.0.name", "contexts": "contexts.0.file"}[field]
    for command in ("resume", "replay"):
        done = agent_env(command, str(runs / "odd"))
        assert (done.returncode, place in done.stderr) == (2, True)


ENDLESS = (
    "CREATE VIEW {} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
    "SELECT 'a' AS {}, 'b' AS {}, i AS value FROM n"
)


def test_a_table_that_never_ends_is_made_again_and_a_store_of_texts_named(runs):
    """Views in the place of tables, as a stranger may send them."""
    with closing(sqlite3.connect(runs / "odd/index.db")) as base:
        base.execute("DROP TABLE metrics")
        base.execute(ENDLESS.format("metrics", "episode", "name"))
    assert agent_env("episodes", "list", str(runs / "odd")).returncode == 0
    with closing(sqlite3.connect(runs / "odd/index.db")) as base:
        kind = base.execute("SELECT type FROM sqlite_master WHERE name = 'metrics'").fetchall()
    assert kind == [("table",)]
    (runs / "odd/texts.db").unlink()
    with closing(sqlite3.connect(runs / "odd/texts.db")) as base:
        base.execute(ENDLESS.format("texts", "digest", "text"))
    done = agent_env("show", str(runs / "odd"))
    assert "its view 'texts' is not ours" in done.stderr


def test_a_journal_that_has_another_file_deleted_is_refused(tmp_path):
    """SQLite deletes the super-journal that a rollback journal names, wherever it is."""
    base = tmp_path / "texts.db"
    base.write_bytes(b"")
    tail = b"\0\0\0\0" + b"/home/user/file" + b"\0" * 8 + bytes.fromhex("d9d505f920a163d7")
    base.with_name("texts.db-journal").write_bytes(b"\0" * 512 + tail)
    with pytest.raises(UnsafeFile, match="names another file"):
        check_database(tmp_path, base)
    with pytest.raises(StorageError, match="names another file"):
        open_store(base)


def test_a_file_larger_than_any_of_ours_is_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(UnsafeFile, match="1,099,511,627,776 bytes"):
        read_file(tmp_path, tmp_path / "file")
    with pytest.raises(DatasetError, match="cannot be read"):
        RunFolder(tmp_path).read("file")
    (tmp_path / "file").write_bytes(b"\n" * (MOST_LINES + 1))
    with pytest.raises(UnsafeFile, match="2,000,001 lines; at most 2,000,000"):
        read_file(tmp_path, tmp_path / "file")
    (tmp_path / "run.json").write_bytes(b" " * (LARGEST_SETTINGS + 1))
    with pytest.raises(DatasetError, match="33,554,433 bytes; at most 33,554,432"):
        _ = RunFolder(tmp_path).manifest


def test_what_holds_prompts_is_its_owners_alone(tmp_path):
    out = tmp_path / "run"
    done = typed("run tempreason --limit 1 --condition python --out {}", out)
    assert done.returncode == 0, done.stderr
    files = [p for p in out.rglob("*") if p.is_file() and p.name not in ("begun.txt", ".lock")]
    assert out.stat().st_mode & 0o777 == 0o700
    assert [p for p in files if p.stat().st_mode & 0o077] == []


def test_paths_lead_nowhere_but_by_links_within_and_a_failed_replacement_leaves_nothing(tmp_path):
    for path in ("../x", "a/../../x", "/x"):
        with pytest.raises(UnsafeFile):
            check_inside(tmp_path, tmp_path / path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert read_file(tmp_path, tmp_path / "link") == b"x"


def test_files_of_a_run_are_read_by_one_function():
    """Whoever reads one in another way would wait for a fifo, or read what is outside."""
    package = Path(__file__).parent.parent / "agent_env"
    users_own = {  # files that the user names, our own code, and one that was just set aside
        "episodes/results.py": 1, "episodes/rerun/fork.py": 1, "episodes/rerun/resume.py": 1,
        "runs/skeletons/skeleton.py": 1, "features/studies/example.py": 1,
    }  # fmt: skip
    of_features = ("judge", "ray", "studies", "verify", "viewer")
    rooms = ("episodes", "runs", *(f"features/{name}" for name in of_features))
    sources = [file for room in rooms for file in (package / room).rglob("*.py")]
    assert len(sources) > 60
    found = {str(file.relative_to(package)): _reads(file) for file in sources if _reads(file)}
    assert found == users_own


def _reads(file):
    text = file.read_text()
    return text.count(".read_bytes()") + text.count(".read_text(")


@pytest.mark.parametrize("command", ["show", "compare", "replay", "resume"])
def test_a_run_without_conditions_is_named(runs, command):
    file = runs / "odd/run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"conditions": []}))
    done = agent_env(command, str(runs / "odd"))
    assert (done.returncode, "conditions" in done.stderr) == (2, True)
