# ruff: noqa
"""Takes three times the memory limit in many processes, each well below it.

Contained: never is so much held at once; some die, or the session ends.
Ends: ok|crashed
Unsafe: escapes
"""

share = T["memory_mb"] // 3
reading, writing = os.pipe()
children = []
for _ in range(9):
    child = os.fork()
    if child == 0:
        try:
            block = bytearray(share << 20)
            for page in range(0, len(block), 4096):
                block[page] = 1
            time.sleep(0.3)
            os.write(writing, b"x")
            time.sleep(30)
        finally:
            os._exit(0)
    children.append(child)
os.set_blocking(reading, False)
time.sleep(1.5)
try:
    holding = len(os.read(reading, 100))
except BlockingIOError:
    holding = 0
end(children)
if holding * share > 1.5 * T["memory_mb"]:
    ESCAPED.append(f"{holding} x {share} MB at once")
ESCAPED
