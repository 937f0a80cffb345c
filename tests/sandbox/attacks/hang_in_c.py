# ruff: noqa
"""Hangs in a C function that never lets Python run.

Contained: the call ends in time.
Ends: timeout
Unsafe: cannot be tried: the worker ends it there too
"""

re.match(r"(a+)+$", "a" * 64 + "b")
