"""What a run notes of the code that made it."""

from agent_env.wiring.components import deciding_sources


def test_sources_that_only_read_recorded_data_are_not_in_the_digest_of_the_code():
    names = deciding_sources()
    folders = {"/".join(name.split("/")[:2]) for name in names if name.startswith("features/")}
    readers = {f"features/{name}" for name in ("audit", "judge", "verify", "viewer")}
    assert readers.isdisjoint(folders)
    assert "features/interop/export/atif.py" not in names
    assert not any(name.startswith(("analysis/", "cli/", "scoring/")) for name in names)
    assert {"features/interop/foreign/read.py", "features/facts/sealed.py", "graph/loop.py"} <= (
        names.keys()
    )
