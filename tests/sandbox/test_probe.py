"""A probe that held counts for this boot and these circumstances alone."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent_env.registry import NO_PLUGINS
from agent_env.sandbox import choose as choosing
from agent_env.sandbox import probe as probe_records
from agent_env.sandbox.choose import choose, probe_all, probe_one
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.probe import ProbeRecords

LIMITS = SandboxLimits()


@pytest.fixture
def records(tmp_path: Path) -> ProbeRecords:
    kept = ProbeRecords(tmp_path / "sandboxes")
    kept.keep("namespaces", LIMITS)
    return kept


def test_what_held_is_not_probed_again(records: ProbeRecords) -> None:
    assert records.held_at("namespaces", LIMITS) is not None
    assert records.held_at("bubblewrap", LIMITS) is None


def test_another_boot_probes_again(
    records: ProbeRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = tmp_path / "boot_id"
    boot.write_text("another")
    monkeypatch.setattr(probe_records, "BOOT", boot)
    assert records.held_at("namespaces", LIMITS) is None


def test_without_a_boot_to_tell_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_records, "BOOT", tmp_path / "none")
    records = ProbeRecords(tmp_path / "sandboxes")
    records.keep("namespaces", LIMITS)
    assert not records.folder.exists()


def test_other_limits_and_another_interpreter_probe_again(
    records: ProbeRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert records.held_at("namespaces", replace(LIMITS, memory_mb=64)) is None
    monkeypatch.setattr(probe_records.sys, "executable", "/usr/bin/other")
    assert records.held_at("namespaces", LIMITS) is None


def test_other_rights_probe_again(records: ProbeRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_records, "_process", lambda: ["Seccomp:\t2"])
    assert records.held_at("namespaces", LIMITS) is None


@pytest.mark.parametrize("how", [
    "others may write", "others may write beside it", "a link", "a hard link", "broken", "a folder",
])  # fmt: skip
def test_a_record_that_others_could_have_written_does_not_count(
    records: ProbeRecords, tmp_path: Path, how: str
) -> None:
    file = records.folder / "namespaces.json"
    if how == "others may write":
        file.chmod(0o666)
    elif how == "others may write beside it":
        records.folder.chmod(0o777)
    elif how == "a hard link":
        os.link(file, tmp_path / "elsewhere")
    elif how == "a link":
        file.symlink_to(file.rename(tmp_path / "elsewhere"))
    elif how == "broken":
        file.write_text("{")
    else:
        file.unlink()
        file.mkdir()
    assert records.held_at("namespaces", LIMITS) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_record_of_another_user_does_not_count(records: ProbeRecords) -> None:
    os.chown(records.folder / "namespaces.json", 12345, 12345)
    assert records.held_at("namespaces", LIMITS) is None


def test_docker_is_never_on_record(records: ProbeRecords) -> None:
    records.keep("docker", LIMITS)
    assert records.held_at("docker", LIMITS) is None


def test_that_nothing_held_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reason(backend: object, limits: object) -> str:
        return "code inside it becomes root"

    monkeypatch.setattr(choosing, "why_it_does_not_hold", reason)
    records = ProbeRecords(tmp_path / "sandboxes")
    asyncio.run(probe_one("namespaces", LIMITS, None, records))
    assert records.held_at("namespaces", LIMITS) is None


def test_a_probe_is_made_once_and_again_where_that_is_wished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = []

    async def holds(backend: object, limits: object) -> None:
        probed.append(type(backend).__name__)

    monkeypatch.setattr(choosing, "why_it_does_not_hold", holds)
    monkeypatch.setattr(choosing, "AUTO_ORDER", ("namespaces",))
    records = ProbeRecords(tmp_path / "sandboxes")
    for _ in range(3):
        assert (
            asyncio.run(choose("auto", LIMITS, records=records, plugins=NO_PLUGINS)).name
            == "namespaces"
        )
    assert len(probed) == 1
    (probe,) = asyncio.run(probe_all(LIMITS, records=records))
    assert probe.reason.startswith("held when it was probed at 20")
    (probe,) = asyncio.run(probe_all(LIMITS, records=records, again=True))
    assert probe.reason == "holds"
    assert len(probed) == 2
