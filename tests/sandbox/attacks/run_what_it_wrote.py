# ruff: noqa
"""Runs a file of its own making, of a form for which older kernels start modprobe on the host.

Contained: nothing in the work directory can be executed.
Ends: ok
Unsafe: escapes
"""

with open("odd", "wb") as file:
    file.write(b"\xf0\xf1\xf2\xf3" * 64)
os.chmod("odd", 0o755)
try:
    os.posix_spawn("./odd", ["odd"], {})
    ESCAPED.append("it ran")
except OSError as exc:
    if exc.errno != errno.EACCES:
        ESCAPED.append(f"it was looked at: {exc.strerror}")
ESCAPED
