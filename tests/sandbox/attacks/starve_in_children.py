# ruff: noqa
"""Children that take memory until there is none, all at once, and go on as others die of it.

Contained: no more is taken than the memory limit, or the session ends.
Ends: ok|error|crashed|timeout
Unsafe: cannot be tried: without a limit it takes the machine down
"""

for _ in range(T["processes"] - 6):
    if os.fork() == 0:
        held = []
        while True:
            try:
                held.append(mmap.mmap(-1, 8 << 20, flags=0x22 | 0x8000))
            except (OSError, MemoryError):
                repr(held) * 99999
for _ in range(T["processes"] - 6):
    os.wait()
[]
