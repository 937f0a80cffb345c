# ruff: noqa
"""Writes more than the disk limit, in one file, in many, and by a hole.

Contained: no more than the limit is written.
Ends: ok
Unsafe: escapes
"""

limit = T["disk_mb"] << 20


def many():
    written = 0
    for number in range(64):
        with open(f"many{number}", "wb", buffering=0) as file:
            for _ in range(limit >> 24 or 1):
                written += file.write(bytes(1 << 20))
    return written > limit or refuse()


def one():
    with open("one", "wb", buffering=0) as file:
        for _ in range((limit >> 20) + 8):
            file.write(bytes(1 << 20))


attempt("many files", many)
attempt("one file", one)
attempt("a hole", lambda: open("hole", "wb").truncate(limit * 4))
for name in os.listdir("."):
    os.unlink(name)
ESCAPED
