# ruff: noqa
"""Takes memory that belongs to the kernel: socket and pipe buffers, in many processes.

Contained: no more is taken than the memory limit, or the session ends.
Ends: ok|crashed
Unsafe: escapes
"""

reading, writing = os.pipe()
children = []
for _ in range(T["processes"] - 4):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        held, taken = [], 0
        try:
            while taken < 32 << 20:
                pair = socket.socketpair()
                held.append(pair)
                for end in pair:
                    end.setblocking(False)
                    try:
                        while True:
                            taken += end.send(bytes(65536))
                    except BlockingIOError:
                        pass
        except OSError:
            pass
        finally:
            os.write(writing, b"%010d" % taken)
            time.sleep(30)
            os._exit(0)
    children.append(child)
os.set_blocking(reading, False)
said, until = b"", time.monotonic() + 8
while time.monotonic() < until and len(said) < 10 * len(children):
    time.sleep(0.1)
    try:
        said += os.read(reading, 65536)
    except BlockingIOError:
        pass
total = sum(int(said[i : i + 10]) for i in range(0, len(said), 10))
end(children)
if total > 1.5 * (T["memory_mb"] << 20):
    ESCAPED.append(f"{total >> 20} MB of buffers")
ESCAPED
