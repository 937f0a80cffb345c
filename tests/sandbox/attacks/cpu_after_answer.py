# ruff: noqa
"""Uses the processor after its answer: children, threads and daemons that nothing tells to end.

Contained: what it started is ended when the answer is given; what stays is stopped.
Ends: ok
Unsafe: escapes
"""

spin = "import signal, sys\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass"
ends = time.monotonic() + 20


def work():
    while time.monotonic() < ends:
        pass


for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
    subprocess.Popen([sys.executable, "-S", "-c", spin, T["mark"]], start_new_session=True)
for detach in (False, True):
    if os.fork() == 0:
        if detach:
            os.setsid()
            if os.fork():
                os._exit(0)
        os.execv(sys.executable, [sys.executable, "-S", "-c", spin, T["mark"]])
ESCAPED
