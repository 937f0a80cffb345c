# ruff: noqa
"""A fork bomb that no one collects: every child forks on, for ever.

Contained: the host stays as it is, the call ends in time.
Ends: timeout|crashed|error|ok
Unsafe: cannot be tried: without a limit it takes the machine down
"""

while True:
    try:
        os.fork()
    except OSError:
        pass
