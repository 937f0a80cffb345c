# ruff: noqa
"""Stops its own process, so that it never answers.

Contained: the call ends in time.
Ends: timeout
Unsafe: cannot be tried: the worker ends it there too
"""

os.kill(os.getpid(), signal.SIGSTOP)
