# ruff: noqa
"""Overflows the C stack.

Contained: the session ends at most, the harness says so.
Ends: crashed|error
Unsafe: cannot be tried: the crash is the same, it is the process that differs
"""

sys.setrecursionlimit(10**8)
nested = []
for _ in range(10**6):
    nested = [nested]
repr(nested)
