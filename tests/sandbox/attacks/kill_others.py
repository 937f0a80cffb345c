# ruff: noqa
"""Kills the harness's other children, its own parent and everything in sight.

Contained: nothing outside the session is killed; the session itself may end.
Ends: ok|crashed
Unsafe: escapes
"""

attempt("kill the victim", os.kill, T["victim"], signal.SIGKILL)
if not T["unsafe"]:
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL):
        for pid in (1, os.getppid()):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
ESCAPED
