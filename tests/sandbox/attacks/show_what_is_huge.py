# ruff: noqa
"""Answers with values, output and errors that fill the memory as they are shown.

Contained: what comes back is cut, neither the harness nor the host holds it.
Ends: ok|error|crashed
Unsafe: cannot be tried: what comes back is cut there too, and only the machine bounds the rest
"""

size = T["memory_mb"] << 18


class Huge:
    def __repr__(self):
        return "\u1234" * (size // 4)

    def __str__(self):
        raise ExceptionGroup("v" * (size // 4), [ValueError("w" * (size // 4))] * 9)


def group(depth):
    inner = [group(depth - 1) if depth else ValueError("v" * 10_000) for _ in range(6)]
    return ExceptionGroup("m" * 10_000, inner)


for stream in (sys.stdout, sys.stderr):
    for _ in range(4):
        stream.write("\x00" * (size // 4))
try:
    repr(Huge()) + str(Huge())
except* ValueError as odd:
    raise group(3) from odd
