# ruff: noqa: F401, F821
"""What every attack finds ready, modules too; sent before it, with the targets T put in front."""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import platform
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

ESCAPED = []
NUMBERS = """
add_key 248 217, bpf 321 280, chroot 161 51, clone 56 220, fanotify_init 300 262, fsopen 430 430,
inotify_init1 294 26, io_uring_setup 425 425, keyctl 250 219, memfd_secret 447 447, mount 165 40,
mq_open 240 180, name_to_handle_at 303 264, open_tree 428 428, perf_event_open 298 241,
personality 135 92, pidfd_getfd 438 438, process_vm_readv 310 270, ptrace 101 117, setns 308 268,
shmget 29 194, syslog 103 116, timer_create 222 107, umount2 166 39, unshare 272 97,
userfaultfd 323 282, vmsplice 278 75
"""
NUMBERS = {name: (int(x86), int(arm)) for name, x86, arm in map(str.split, NUMBERS.split(","))}
LIBC = ctypes.CDLL(None, use_errno=True)


def attempt(name, function, *arguments):
    """Note the name as an escape unless the function fails."""
    try:
        function(*arguments)
    except Exception:
        return
    ESCAPED.append(name)


def end(children):
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def refuse():
    raise PermissionError


def call(name, *arguments):
    """A raw system call; raises OSError where it fails."""
    number = NUMBERS[name][platform.machine() == "aarch64"]
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *longs)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def read_memory_of(pid):
    """Reads where its C library lies in our own memory, which is no worse a guess than others."""
    buffer = ctypes.create_string_buffer(16)
    place = ctypes.cast(LIBC.getpid, ctypes.c_void_p).value
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
    there = (ctypes.c_void_p * 2)(place, 16)
    call("process_vm_readv", pid, bytes(here), 1, bytes(there), 1, 0)


if T["unsafe"]:
    os.chdir(T["scratch"])
