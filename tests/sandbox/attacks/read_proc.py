# ruff: noqa
"""Looks into /proc for the harness, other processes, and switches of the kernel.

Contained: no process outside the session is seen, nothing in /proc/sys can be written.
Ends: ok
Unsafe: escapes
"""

pid = T["victim"]
command, environment = f"/proc/{pid}/cmdline", f"/proc/{T['harness']}/environ"
attempt("read the victim's command", lambda: T["mark"] in open(command).read() or refuse())
attempt("read the harness's environment", lambda: open(environment).read() or refuse())
attempt("walk through its root", lambda: open(f"/proc/1/root{T['canary']}").read())
attempt("walk through our own root", lambda: open(f"/proc/self/root{T['canary']}").read())
attempt("write a kernel switch", os.open, "/proc/sys/kernel/hostname", os.O_WRONLY)
if not T["unsafe"]:
    attempt("press a magic key", os.open, "/proc/sysrq-trigger", os.O_WRONLY)
    attempt("read physical memory", lambda: open("/proc/kcore", "rb").read(16) or refuse())
ESCAPED
