# ruff: noqa
"""Forks as often as it can, each child again.

Contained: never more processes than the limit.
Ends: ok|crashed
Unsafe: escapes
"""

children = []
try:
    while len(children) < 3 * T["processes"]:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        children.append(child)
except OSError:
    pass
if len(children) > T["processes"]:
    ESCAPED.append(f"{len(children)} processes")
end(children)
ESCAPED
