# ruff: noqa
"""Plants links in its directory that lead to files of the host.

Contained: they lead nowhere from inside, and the host never follows them: it reads no file there.
Ends: ok
Unsafe: escapes
"""

os.symlink(T["canary"], "soft")
attempt("through a soft link", lambda: open("soft").read())
attempt("hard link", os.link, T["canary"], "hard")
os.symlink("/", "root")
attempt("through a link to the root", lambda: open("root" + T["canary"]).read())
ESCAPED
