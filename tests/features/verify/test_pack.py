"""A pack is one file with the same bytes for the same run, and data where it comes from others."""

import asyncio
import json
import os
import shutil
import stat
import zipfile
from collections import Counter

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.verify import pack as packing
from agent_env.features.verify.claims import VerifyOptions
from agent_env.features.verify.pack import PackOptions, opened, pack, verify_target
from agent_env.records.safe_files import LARGEST_SETTINGS, MOST_LINES
from agent_env.runs.run import Run
from agent_env.testing import page
from agent_env.web.page_store import SqlitePages
from tests import frauds
from tests.commands import typed
from tests.plans import finished

TRACE = "episodes/base/tr-1-00001.1.jsonl"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("runs") / "one", "tempreason", limit=2).path


@pytest.fixture(scope="module")
def packed(run):
    return pack(PackOptions(run), print)


@pytest.fixture
def copy(run, tmp_path):
    """The run, to be changed."""
    return shutil.copytree(run, tmp_path / "run")


def test_the_same_run_gives_the_same_bytes_with_one_list_of_digests(run, packed, tmp_path):
    again = pack(PackOptions(run, tmp_path / "again.zip"), print)
    assert again.sha256 == packed.sha256
    assert again.file.read_bytes() == packed.file.read_bytes()
    with zipfile.ZipFile(packed.file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    listed = json.loads(files.pop("digests.json"))
    assert listed == {name: frauds.sha256(data) for name, data in files.items()}
    assert {name.split("/")[0] for name in files} == {"run"}


@pytest.mark.parametrize(
    "key",
    ["sk-proj-0123456789abcdefghij", "AKIAIOSFODNN7EXAMPLE", "hf_" + "a" * 34,
     "-----BEGIN RSA PRIVATE KEY-----"],
)  # fmt: skip
def test_what_looks_like_a_key_is_refused_and_not_repeated(copy, key):
    frauds.change_run(copy.parent, changes=[key])
    with pytest.raises(ConfigError, match=r"in run\.json") as refused:
        pack(PackOptions(copy), print)
    assert key not in str(refused.value)
    assert pack(PackOptions(copy, allow_secrets=True), print).files == 9


def test_secrets_of_this_environment_and_runs_that_go_on_are_not_packed(run, copy, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "reference-0123456789")
    frauds.change_run(copy.parent, changes=["reference-0123456789"])
    with pytest.raises(ConfigError, match=r"the value of SOME_API_KEY in run\.json"):
        pack(PackOptions(copy), print)
    with Run(run).locked(), pytest.raises(ConfigError, match="is still running"):
        pack(PackOptions(run), print)


def entry(name, mode=0, size=None, data=b"x", **fields):
    """A zip with one entry beside its digests."""

    def write(out):
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("digests.json", b"{}")
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
            for field, value in fields.items():
                setattr(info, field, value)
            if size is not None:
                info.file_size = size
        return out

    return write


OUT = ("../escape", "/etc/escape", "run/../../escape", "run\\escape", "elsewhere/x", "run/a\nb")


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        *((entry(name), "leads elsewhere") for name in OUT),
        (entry("run/link", stat.S_IFLNK | 0o777, data=b"/etc/passwd"), "is not a plain file"),
        (entry("run/pages.db-journal"), "is the journal of a database"),
        (entry("run/big", size=packing.LARGEST_FILE + 1), "bytes; at most"),
        (entry("run/run.json", size=LARGEST_SETTINGS + 1), "bytes; at most 33,554,432 are read"),
        (entry("digests.json", size=LARGEST_SETTINGS + 1), "bytes; at most 33,554,432 are read"),
        (entry("run/x.jsonl", data=b"\n" * (MOST_LINES + 1)), "has more than 2,000,000 lines"),
        (entry("run/secret", flag_bits=1), "is encrypted"),
        (entry("digests.json"), "two files named 'digests.json'"),
        (entry("run/run.json/x"), r"cannot read .*run/run\.json"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_no_pack_has_is_refused_by_its_name(tmp_path, write, problem):
    file = write(tmp_path / "bad.zip")
    with pytest.raises((DatasetError, ConfigError), match=problem), opened(file):
        pass
    assert not list(tmp_path.parent.rglob("escape"))


def zipped(file, **sizes):
    """A zip with files of zeros that say another size than they have, each `has, says`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("digests.json", b"{}")
        for name, (has, says) in sizes.items():
            archive.writestr(f"run/{name}", b"\0" * has)
            archive.getinfo(f"run/{name}").file_size = says
    return file


def test_a_bomb_that_says_less_than_it_holds_ends_at_what_it_says(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", x=(10_000_000, 10))
    with pytest.raises(DatasetError, match=r"bomb\.zip"), opened(bomb):
        pass


def test_a_bomb_that_says_what_it_holds_is_refused_before_it_is_unpacked(tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", **dict.fromkeys("abc", (1, packing.LARGEST_FILE)))
    with pytest.raises(DatasetError, match="larger than any pack"), opened(bomb):
        pass


@pytest.mark.parametrize("name", ["run.json", "scores.jsonl", "texts.db", "begun.txt", TRACE])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_of_a_strangers_folder_nothing_outside_is_read_or_packed(copy, tmp_path, name, kind):
    outside, out = tmp_path / "outside", tmp_path / "p.zip"
    outside.write_text("the secret outside")
    (copy / name).unlink(missing_ok=True)
    (copy / name).symlink_to(outside) if kind == "link" else os.mkfifo(copy / name)
    for done in (typed("verify {}", copy), typed("pack {} --out {}", copy, out)):
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr
        assert "the secret" not in done.stdout + done.stderr
    if out.exists():
        with zipfile.ZipFile(out) as archive:
            assert not [n for n in archive.namelist() if b"the secret" in archive.read(n)]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"no zip"])
def test_what_is_no_zip_is_said_in_a_line(tmp_path, data):
    file = tmp_path / "file.zip"
    file.write_bytes(data)
    done = typed("verify {}", file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"agent-env: {file}: is not a pack that can be read")


def test_a_list_that_has_another_digest_or_is_none_is_told(packed, tmp_path):
    folder = frauds.unpack(packed.file, tmp_path / "changed")
    file, out = folder / "digests.json", tmp_path / "changed.zip"
    digests = json.loads(file.read_text())
    digests |= {"run/begun.txt": "0" * 64, "run/gone.txt": digests["run/begun.txt"]}
    file.write_text(json.dumps(digests))
    result = asyncio.run(verify_target(VerifyOptions(frauds.zipped(folder, out)), print))
    (files,) = [claim for claim in result.claims if claim.verdict == "fails"]
    assert files.findings == ("begun.txt: was changed after it was packed", "gone.txt: is missing")
    file.write_text('{"run/run.json": 1}')
    with (
        pytest.raises(DatasetError, match="is not a list of digests"),
        opened(frauds.zipped(folder, out)),
    ):
        pass


def test_pages_of_others_are_counted_by_the_licence_that_they_link_to(tmp_path):
    licence = "https://creativecommons.org/licenses/by/4.0/"
    free = f'x <a rel="license" href="{licence}">CC</a>'
    store = SqlitePages(tmp_path / "pages.db")
    store.put_all([page("https://a.example/", free), page("https://b.example/", "y")])
    store.close()
    assert packing._licences(tmp_path / "pages.db") == Counter({licence: 1, "": 1})
