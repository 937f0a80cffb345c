"""The filter itself, run by hand for both processors: no kernel of the other is at hand."""

import json
import struct

import pytest

from agent_env.sandbox.docker import docker_profile
from agent_env.sandbox.seccomp import ARCHITECTURES, program
from agent_env.sandbox.syscalls import ALLOWED, LOOKED_AT

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x50001, 0x50026, 0x80000000
NUMBERS = """
mount 165 40, unshare 272 97, setns 308 268, pivot_root 155 41, ptrace 101 117, process_vm_readv
310 270, io_uring_setup 425 425, bpf 321 280, keyctl 250 219, add_key 248 217, userfaultfd 323
282, memfd_create 319 279, memfd_secret 447 447, perf_event_open 298 241, shmget 29 194,
init_module 175 105, kexec_load 246 104, setuid 105 146, capset 126 91, seccomp 317 277
"""
FORBIDDEN = {name: (int(x86), int(arm)) for name, x86, arm in map(str.split, NUMBERS.split(","))}
"""By name, the numbers of both processors."""


def verdict(aarch64, number, *arguments, arch=None):
    """What the filter says to a call."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    arch = ARCHITECTURES[aarch64] if arch is None else arch
    data = struct.pack("IIQ6Q", number, arch, 0, *padded)
    code = list(struct.iter_unpack("HBBI", program(aarch64)))
    at, held = 0, 0
    while True:
        kind, if_true, if_false, value = code[at]
        at += 1
        if kind == 0x06:
            return int(value)
        if kind == 0x20:
            (held,) = struct.unpack_from("I", data, value)
        elif kind == 0x54:
            held &= value
        else:
            holds = {0x15: held == value, 0x25: held > value, 0x35: held >= value}[kind]
            at += if_true if holds else if_false


@pytest.mark.parametrize("aarch64", [False, True])
def test_what_is_listed_is_allowed_and_nothing_else(aarch64):
    listed = {pair[aarch64] for pair in ALLOWED.values()} - {None}
    special = {pair[aarch64] for pair in LOOKED_AT.values()}
    for number in range(600):
        if number in listed:
            assert verdict(aarch64, number) == ALLOW, number
        elif number not in special:
            assert verdict(aarch64, number) in (EPERM, ENOSYS), number


@pytest.mark.parametrize("aarch64", [False, True])
@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_must_be_closed_is_closed(aarch64, name):
    assert verdict(aarch64, FORBIDDEN[name][aarch64]) in (EPERM, ENOSYS)


AS_IF_DONE, EAGAIN, ENOTTY, EAFNOSUPPORT = 0x50000, 0x5000B, 0x50019, 0x50061
ARGUMENTS = [
    ("socket", ALLOW, [(1,)]),
    ("socket", EAFNOSUPPORT, [(family,) for family in (0, 2, 10, 16, 17, 38, 40)]),
    ("clone", ALLOW, [(0x01200011,)]),
    ("clone", EPERM, [(0x10000011,)]),
    ("clone3", ENOSYS, [()]),
    ("ioctl", ALLOW, [(1, 0x5401)]),
    ("ioctl", ENOTTY, [(1, 0x5412)]),
    # a process cannot have its crash handled by the host
    ("prctl", ALLOW, [(15,), (4, 0)]),
    ("prctl", EPERM, [(35,), (4, 1)]),
    ("prlimit64", ALLOW, [(0, 7, 1), (0, 4, 0)]),
    ("prlimit64", EPERM, [(1, 7, 1), (0, 4, 1), (0, 4, 1 << 32)]),
    ("setrlimit", ALLOW, [(7,)]),
    ("setrlimit", EPERM, [(4,), (4 | 1 << 32,)]),
    # nothing is locked or waited for that another session sees
    ("fcntl", AS_IF_DONE, [(3, 6)]),
    ("fcntl", EPERM, [(3, command) for command in (7, 37, 38, 1024)]),
    ("futex", ALLOW, [(0, 128)]),
    ("futex", EAGAIN, [(0, wait) for wait in (0, 9, 265)]),
    ("futex", ENOSYS, [(0, lock) for lock in (4, 5, 6, 11, 13)]),
    ("preadv2", ALLOW, [(3, 0, 1, 0, 0, 0)]),
    ("preadv2", EPERM, [(3, 0, 1, 0, 0, 8)]),
]


@pytest.mark.parametrize("aarch64", [False, True])
@pytest.mark.parametrize(("name", "answer", "calls"), ARGUMENTS)
def test_arguments_decide_where_they_matter(aarch64, name, answer, calls):
    number = LOOKED_AT[name][aarch64]
    assert [verdict(aarch64, number, *arguments) for arguments in calls] == [answer] * len(calls)


def test_calls_of_another_table_kill():
    assert verdict(False, 0, arch=0x40000003) == KILL
    assert verdict(False, 0x40000000) == KILL
    assert verdict(True, 0, arch=ARCHITECTURES[0]) == KILL


def test_the_docker_profile_closes_the_same():
    profile = json.loads(docker_profile())
    named = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert named & set(FORBIDDEN) == set()
    assert set(ALLOWED) | set(LOOKED_AT) <= named
