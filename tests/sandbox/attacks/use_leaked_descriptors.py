# ruff: noqa
"""Goes through all descriptors for one that leads out.

Contained: there are 0, 1, 2 and the two pipes to the supervisor, and no directory among them.
Ends: ok
Unsafe: cannot be tried: the worker closes descriptors in every backend
"""

for fd in range(4096):
    try:
        kind = os.fstat(fd)
    except OSError:
        continue
    if fd > 4:
        ESCAPED.append(f"descriptor {fd} is open")
    if stat.S_ISDIR(kind.st_mode):
        ESCAPED.append(f"descriptor {fd} is a directory")
    attempt(f"climb from {fd}", lambda fd=fd: os.close(os.open("..", os.O_RDONLY, dir_fd=fd)))
ESCAPED
