"""Control groups of several sandboxes in one process; folders stand in for the kernel's."""

from agent_env.sandbox.cgroups import Groups
from agent_env.sandbox.limits import SandboxLimits


def test_sandboxes_of_one_process_do_not_take_each_others_groups(tmp_path):
    tops = (tmp_path / "memory", tmp_path / "pids")
    first, second = Groups(tops), Groups(tops)
    one, two = first.make(SandboxLimits()), second.make(SandboxLimits())
    assert [f.name for f in (*one.folders, *two.folders)] == ["s1", "s1", "s2", "s2"]
    first.close()
    assert [f.exists() for f in (*one.folders, *two.folders)] == [False, False, True, True]
    second.close()
    assert list(tmp_path.iterdir()) == []
    assert first.make(SandboxLimits()).folders[1].exists()
