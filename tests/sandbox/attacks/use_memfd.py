# ruff: noqa
"""Takes memory in files without a name, which no limit on addresses counts.

Contained: there are none to be had.
Ends: ok|crashed
Unsafe: escapes
"""


def take():
    files = []
    for _ in range(3):
        files.append(os.memfd_create("x"))
        for _ in range(T["memory_mb"] // 8):
            os.write(files[-1], bytes(8 << 20))


attempt("memfd", take)
attempt("secret memory", lambda: T["unsafe"] and refuse() or call("memfd_secret", 0))
ESCAPED
