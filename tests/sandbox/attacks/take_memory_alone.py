# ruff: noqa
"""Takes three times the memory limit in one process, plainly and by shared mappings.

Contained: the memory is not given, or the session ends.
Ends: ok|error|crashed
Unsafe: escapes
"""

megabyte = 1 << 20
held = []


def take(make):
    while len(held) < 3 * T["memory_mb"] // 8:
        block = make(8 * megabyte)
        for page in range(0, len(block), 4096):
            block[page] = 1
        held.append(block)


attempt("private memory", take, bytearray)
held.clear()
attempt("shared memory", take, lambda size: mmap.mmap(-1, size))
held.clear()
ESCAPED
