# ruff: noqa
"""Starts thousands of threads.

Contained: no more than the limit on processes.
Ends: ok|crashed
Unsafe: escapes
"""

stop = threading.Event()
threading.stack_size(65536)
threads = []
try:
    while len(threads) < 2000:
        thread = threading.Thread(target=stop.wait, daemon=True)
        thread.start()
        threads.append(thread)
except (RuntimeError, MemoryError):
    pass
if len(threads) > T["processes"]:
    ESCAPED.append(f"{len(threads)} threads")
stop.set()
for thread in threads:
    thread.join()
ESCAPED
