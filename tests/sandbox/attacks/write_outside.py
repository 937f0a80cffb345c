# ruff: noqa
"""Writes wherever something may be written on a usual system.

Contained: only the work directory takes anything.
Ends: ok
Unsafe: escapes
"""

folders = "/tmp /var/tmp /dev/shm /dev / /usr /etc /run /opt/packages /home".split()
for folder in [T["folder"], *(folders if not T["unsafe"] else [])]:
    attempt("write in " + folder, lambda f=folder: open(f"{f}/{T['mark']}", "w").write("x"))
if not T["unsafe"]:
    attempt("change the interpreter", lambda: open(sys.executable, "r+b"))
    attempt("change the library", lambda: open(os.__file__, "a"))
    attempt("remove the library", lambda: os.unlink(os.__file__))
    attempt("device node", lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)))
ESCAPED
