# ruff: noqa
"""Makes twice as many empty files as it may.

Contained: the number of files is bounded.
Ends: ok
Unsafe: escapes
"""


def make():
    for number in range(2 * T["files"]):
        os.close(os.open(f"file{number}", os.O_CREAT | os.O_WRONLY))


attempt("files", make)
for name in os.listdir("."):
    os.unlink(name)
ESCAPED
