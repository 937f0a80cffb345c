# ruff: noqa
"""Writes reply lines of its own on the line to the supervisor.

Contained: the harness takes them for what they are, lines that anyone may have written.
Ends: ok|crashed
Unsafe: cannot be tried: the line is the same in every backend
"""

long = b"[" * 100000 + b"\n"
for line in (b'{"id": 999999, "status": "ok"}\n', long, b"\xff\xfe\n", b"x" * (1 << 20)):
    os.write(4, line)
ESCAPED
