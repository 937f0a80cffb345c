"""Which backend is taken, and what is said where none holds."""

import asyncio

import pytest

from agent_env.errors import ConfigError, SandboxError
from agent_env.registry import NO_PLUGINS
from agent_env.sandbox import choose as choosing
from agent_env.sandbox.choose import Probe, choose, probe_all
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.probe import why_it_does_not_hold
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call

LIMITS = SandboxLimits(files=50)


def test_an_unknown_name_or_a_missing_engine_is_named(tmp_path):
    with pytest.raises(ConfigError, match="'podman'; there are auto, docker, namespaces, bubble"):
        asyncio.run(choose("podman", LIMITS, plugins=NO_PLUGINS))
    address = f"unix://{tmp_path}/none.sock"
    with pytest.raises(ConfigError) as caught:
        asyncio.run(choose("docker", LIMITS, docker_host=address, plugins=NO_PLUGINS))
    said = str(caught.value)
    assert said.startswith(f"--sandbox docker: Docker at {address} could not connect: ")
    assert "No such file or directory" in said
    assert "\n" not in said


def test_a_missing_image_says_how_to_make_it(docker_host):
    from agent_env.sandbox.docker import Docker

    reason = asyncio.run(why_it_does_not_hold(Docker(LIMITS, docker_host, "no-such"), LIMITS))
    assert "has no image no-such; build it with `docker build --target interpreter" in reason


def test_auto_takes_the_first_that_holds_and_refuses_with_every_reason_where_none_does(monkeypatch):
    holding = {"namespaces", "bubblewrap"}

    async def probe(name, limits, host, *_):
        return Probe(name, name in holding, f"no {name} here")

    monkeypatch.setattr(choosing, "probe_one", probe)
    assert asyncio.run(choose("auto", LIMITS, plugins=NO_PLUGINS)).name == "namespaces"
    holding.clear()
    with pytest.raises(ConfigError) as caught:
        asyncio.run(choose("auto", LIMITS, plugins=NO_PLUGINS))
    said = str(caught.value)
    assert "docker: no docker here; namespaces: no namespaces here; bubblewrap: no" in said
    assert "user namespaces, install bubblewrap, or take --sandbox unsafe-subprocess" in said
    with pytest.raises(ConfigError, match=r"install bubblewrap, or take --sandbox auto$"):
        asyncio.run(choose("bubblewrap", LIMITS, plugins=NO_PLUGINS))


def test_the_probe_sees_through_a_backend_that_isolates_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Fake(UnsafeSubprocess):
        name = "docker"

    reason = asyncio.run(why_it_does_not_hold(Fake(LIMITS, own_call()), LIMITS))
    assert "reads a file of the host" in reason
    assert "connects to the host" in reason
    assert list(tmp_path.iterdir()) == []


def test_a_backend_that_does_not_open_gives_its_reason():
    class Broken(UnsafeSubprocess):
        async def __aenter__(self):
            raise SandboxError("out of order")

        async def __aexit__(self, kind, error, trace):
            raise AssertionError("was never open")

    assert asyncio.run(why_it_does_not_hold(Broken(LIMITS, own_call()), LIMITS)) == "out of order"


def test_doctor_gets_a_line_for_each(tmp_path):
    probes = asyncio.run(probe_all(LIMITS, docker_host=f"unix://{tmp_path}/none.sock"))
    assert [probe.name for probe in probes] == ["docker", "namespaces", "bubblewrap"]
    assert not probes[0].ok
    assert all(probe.reason for probe in probes)


@pytest.mark.parametrize(("name", "number"), [("memory_mb", 0), ("processes", 3), ("disk_mb", -1)])
def test_limits_that_cannot_work_are_refused(name, number):
    with pytest.raises(ConfigError, match=f"sandbox limit {name}={number} is too small"):
        SandboxLimits(**{name: number})
