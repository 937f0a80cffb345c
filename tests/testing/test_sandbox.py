"""Sandboxes keep the contract as far as they promise, and one that breaks it is told how. The
hostile suite (tests/sandbox) goes further with those of ours that contain."""

from functools import partial

import pytest

from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.testing import FakeSandbox, Nonconformance, check_sandbox
from agent_env.wiring.trust import own_call


def test_the_unsafe_one_does_all_but_contain():
    check_sandbox(partial(UnsafeSubprocess, permit=own_call()), contains=False)


def test_a_sandbox_is_told_of_each_breach():
    class Forgetful(FakeSandbox):
        name = "forgetful"

        def session(self):
            return FakeSandbox()

    with pytest.raises(Nonconformance) as caught:
        check_sandbox(Forgetful(), contains=False)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "sandbox forgetful: `mark + 1` is to give value 21, from the call before; it gave {}"
    )
    assert "`while True: pass` is to give status timeout; it gave {}" in lines[5]
    assert lines[-1] == "sandbox forgetful: a second session sees the variables of the first"


def test_namespaces_contain():
    try:
        check_sandbox("namespaces")
    except Nonconformance as exc:
        if "it failed: " in str(exc):
            pytest.skip(f"namespaces do not open here: {exc}")
        raise
