# ruff: noqa
"""Uses terminals and devices to reach the one who started the harness.

Contained: there is no terminal to type into, and only the devices that give nothing.
Ends: ok
Unsafe: cannot be tried: the tests have no terminal either
"""

attempt("controlling terminal", lambda: os.open("/dev/tty", os.O_RDWR))
attempt("new terminal", os.openpty)
for fd in (0, 1, 2):
    attempt(f"type into {fd}", fcntl.ioctl, fd, 0x5412, b"x")
harmless = """null zero full random urandom fd stdin stdout stderr core shm pts ptmx mqueue tty
console"""
ESCAPED += ["/dev/" + name for name in os.listdir("/dev") if name not in harmless.split()]
ESCAPED
