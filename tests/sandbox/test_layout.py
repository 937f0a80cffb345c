"""What is shown of the host, before any kernel is asked."""

import pytest

from agent_env.sandbox.executor import CappedStream, Lost, read_reply
from agent_env.sandbox.layout import GUEST, PACKAGES, assemble
from agent_env.sandbox.packages import COMPANIONS, IMPORTABLE, importable, locate, package_files


def test_only_named_packages_are_shown_and_each_alone(tmp_path):
    library = tmp_path / "lib"
    (library / "site-packages" / "openai").mkdir(parents=True)
    package = tmp_path / "elsewhere" / "pyluach"
    package.mkdir(parents=True)
    python = str(tmp_path / "python")
    layout = assemble(python, (package,), [str(library)], ["/lib/x/libc.so.6", f"{library}/a.so"])
    targets = {bind.target for bind in layout.binds if not bind.target.startswith(("/dev", GUEST))}
    shown = {str(library), python, "/lib/x/libc.so.6", f"{PACKAGES}/pyluach"}
    assert targets - {"/usr/share/zoneinfo"} == shown
    assert layout.covered == (f"{library}/site-packages",)
    assert layout.environment["LD_LIBRARY_PATH"] == "/lib/x"


def test_the_environment_is_made_and_a_module_shows_no_neighbours():
    import six  # sets its own search locations when it is imported

    assert six.__spec__.submodule_search_locations is not None
    assert locate("six").name == "six.py"
    layout = assemble("/usr/bin/python3", (), [], [])
    variables = {"HOME", "TMPDIR", "TZ", "LANG", "PATH", "LD_LIBRARY_PATH"}
    assert set(layout.environment) == variables


def test_only_what_the_harness_has_is_promised():
    assert set(importable()) <= set(IMPORTABLE)
    files = {path.name.partition(".")[0] for path in package_files()}
    assert set(importable()) <= files
    assert files - {"tzdata"} <= {*IMPORTABLE}.union(*COMPANIONS.values())


def test_kept_output_is_its_head_and_its_tail():
    kept = CappedStream(8)
    for chunk in (b"0123", b"4567"):
        kept.add(chunk)
    assert (kept.text(), kept.is_cut) == ("01234567", False)
    kept.add(b"89")
    assert (kept.text(), kept.is_cut) == ("0123\n... 2 bytes left out ...\n6789", True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "another call"),
        (b'{"id": 2, "status": "ok"}', "another call"),
        (b'{"id": 1, "status": "great"}', "the form"),
        (b'{"id": 1, "status": "ok", "value": 5}', "the form"),
    ],
)
def test_a_forged_reply_is_a_crash(line, why):
    with pytest.raises(Lost, match=why):
        read_reply(line, 1)
