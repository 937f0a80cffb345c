# ruff: noqa
"""Ignores every signal that can be ignored and loops.

Contained: the call ends in time.
Ends: timeout
Unsafe: cannot be tried: the worker ends it there too; what differs is that nothing else would be stopped
"""

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
