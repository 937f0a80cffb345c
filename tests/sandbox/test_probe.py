"""A probe that held counts for this boot and these circumstances alone."""

import asyncio
import os
from dataclasses import replace

import pytest

from agent_env.registry import NO_PLUGINS
from agent_env.sandbox import choose as choosing
from agent_env.sandbox import probe as probe_records
from agent_env.sandbox.choose import choose, probe_all, probe_one
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.probe import ProbeRecords

LIMITS = SandboxLimits()


@pytest.fixture
def records(tmp_path):
    kept = ProbeRecords(tmp_path / "sandboxes")
    kept.keep("namespaces", LIMITS)
    return kept


def test_what_held_is_not_probed_again_but_docker_is_and_where_no_boot_is_told(
    records, tmp_path, monkeypatch
):
    assert records.held_at("namespaces", LIMITS) is not None
    assert records.held_at("bubblewrap", LIMITS) is None
    records.keep("docker", LIMITS)
    assert records.held_at("docker", LIMITS) is None
    monkeypatch.setattr(probe_records, "BOOT", tmp_path / "none")
    unknown = ProbeRecords(tmp_path / "others")
    unknown.keep("namespaces", LIMITS)
    assert not unknown.folder.exists()


@pytest.mark.parametrize("what", ["boot", "limits", "interpreter", "rights"])
def test_other_circumstances_probe_again(records, tmp_path, monkeypatch, what):
    (tmp_path / "boot_id").write_text("another")
    if what == "boot":
        monkeypatch.setattr(probe_records, "BOOT", tmp_path / "boot_id")
    elif what == "interpreter":
        monkeypatch.setattr(probe_records.sys, "executable", "/usr/bin/other")
    elif what == "rights":
        monkeypatch.setattr(probe_records, "_process", lambda: ["Seccomp:\t2"])
    limits = replace(LIMITS, memory_mb=64) if what == "limits" else LIMITS
    assert records.held_at("namespaces", limits) is None


def _give_away(file, elsewhere):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(file, 12345, 12345)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file, elsewhere: file.chmod(0o666),
        lambda file, elsewhere: file.parent.chmod(0o777),
        lambda file, elsewhere: os.link(file, elsewhere),
        lambda file, elsewhere: file.symlink_to(file.rename(elsewhere)),
        lambda file, elsewhere: file.write_text("{"),
        lambda file, elsewhere: (file.unlink(), file.mkdir()),
        _give_away,
    ],
    ids=["others may write", "others may write beside it", "a hard link", "a link", "broken",
         "a folder", "of another user"],
)  # fmt: skip
def test_a_record_that_others_could_have_written_does_not_count(records, tmp_path, spoil):
    spoil(records.folder / "namespaces.json", tmp_path / "elsewhere")
    assert records.held_at("namespaces", LIMITS) is None


def test_that_nothing_held_is_not_kept(tmp_path, monkeypatch):
    async def reason(backend, limits):
        return "code inside it becomes root"

    monkeypatch.setattr(choosing, "why_it_does_not_hold", reason)
    records = ProbeRecords(tmp_path / "sandboxes")
    asyncio.run(probe_one("namespaces", LIMITS, None, records))
    assert records.held_at("namespaces", LIMITS) is None


def test_a_probe_is_made_once_and_again_where_that_is_wished(tmp_path, monkeypatch):
    probed = []

    async def holds(backend, limits):
        probed.append(type(backend).__name__)

    monkeypatch.setattr(choosing, "why_it_does_not_hold", holds)
    monkeypatch.setattr(choosing, "AUTO_ORDER", ("namespaces",))
    records = ProbeRecords(tmp_path / "sandboxes")
    for _ in range(3):
        taken = asyncio.run(choose("auto", LIMITS, records=records, plugins=NO_PLUGINS))
        assert taken.name == "namespaces"
    assert len(probed) == 1
    (probe,) = asyncio.run(probe_all(LIMITS, records=records))
    assert probe.reason.startswith("held when it was probed at 20")
    (probe,) = asyncio.run(probe_all(LIMITS, records=records, again=True))
    assert probe.reason == "holds"
    assert len(probed) == 2
