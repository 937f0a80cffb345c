# ruff: noqa
"""Makes new namespaces, joins others, mounts, changes root.

Contained: no call succeeds.
Ends: ok
Unsafe: escapes
"""

flags = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000,
         "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000, "time": 0x80}  # fmt: skip


def in_child(function, *arguments):
    """The call must not change this process where it succeeds."""
    child = os.fork()
    if child == 0:
        try:
            function(*arguments)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0 or refuse()


for name, flag in flags.items():
    attempt(f"unshare {name}", in_child, call, "unshare", flag)
    if not T["unsafe"] and name != "time":  # clone has no flag for it
        attempt(f"clone {name}", in_child, call, "clone", flag | 17, 0, 0, 0, 0)
if not T["unsafe"]:
    attempt("mount", in_child, call, "mount", b"tmpfs", b"/sandbox", b"tmpfs", 0, 0)
    attempt("remount", in_child, call, "mount", 0, b"/", 0, 4096 | 32, 0)
    attempt("unmount", in_child, call, "umount2", b"/sandbox", 2)
    attempt("chroot", in_child, call, "chroot", b"/sandbox")
    attempt("join", in_child, call, "setns", 0, 0)
    attempt("new mount api", in_child, call, "fsopen", b"tmpfs", 0)
    attempt("clone a tree", in_child, call, "open_tree", -100, b"/", 1)
ESCAPED
