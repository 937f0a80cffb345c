# ruff: noqa
"""Reads files of the host, directly, through parent folders and through links.

Contained: no path leads to a file that the layout does not show.
Ends: ok
Unsafe: escapes
"""

attempt("read the canary", lambda: open(T["canary"]).read())
attempt("list its folder", os.listdir, os.path.dirname(T["canary"]))
attempt("climb to it", lambda: open("/".join([".."] * 20) + T["canary"]).read())
attempt("read the harness's source", lambda: open(T["source"]).read())
for secret in ("/etc/shadow", "/root/.bash_history", "/etc/machine-id", "/var/log/dpkg.log"):
    attempt("read " + secret, lambda path=secret: open(path).read(1) or refuse())
attempt("read a raw disk", lambda: os.open("/dev/vda", os.O_RDONLY))
attempt("read the kernel's log", lambda: os.open("/dev/kmsg", os.O_RDONLY))
ESCAPED
