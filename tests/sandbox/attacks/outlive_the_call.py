# ruff: noqa
"""Leaves a daemon behind that has cut every tie to its parent.

Contained: it ends with the session at the latest.
Ends: ok
Unsafe: escapes
"""

sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(60)", T["mark"]]
subprocess.Popen(sleeper, start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, sleeper)
    os._exit(0)
ESCAPED
