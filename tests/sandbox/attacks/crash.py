# ruff: noqa
"""Crashes its process.

Contained: the session ends, the harness says so, the next call starts afresh.
Ends: crashed
Unsafe: cannot be tried: the crash is the same, it is the process that differs
"""

ctypes.string_at(0)
