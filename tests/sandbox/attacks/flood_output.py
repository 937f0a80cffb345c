# ruff: noqa
"""Writes far more than is kept, through Python, past Python, and as an error.

Contained: what comes back is cut to the limit, with a note.
Ends: ok|error
Unsafe: cannot be tried: the worker cuts output in every backend
"""

for _ in range(300):
    os.write(1, b"out " * 16384)
    os.write(2, b"err " * 16384)
print("end" * 1_000_000)
print("end" * 1_000_000, file=sys.stderr)
"v" * 10_000_000
