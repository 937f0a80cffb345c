# ruff: noqa
"""Looks for ways out over every kind of socket.

Contained: nothing of the host answers: not loopback, not an abstract socket, not a socket file.
Ends: ok
Unsafe: escapes
"""

here = ("127.0.0.1", T["port"])
attempt("TCP to the host", lambda: socket.create_connection(here, 2))
attempt("UDP to the host", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", here))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(T["abstract"]))
attempt("socket file", lambda: socket.socket(socket.AF_UNIX).connect(T["socket_file"]))
attempt(
    "TCP to the world",
    lambda: T["unsafe"] and refuse() or socket.create_connection(("192.0.2.1", 53), 1),
)
families = {"netlink": 16, "packet": 17, "vsock": 40, "alg": 38, "bluetooth": 31}
for name, family in families.items():
    kind = socket.SOCK_RAW if name == "netlink" else socket.SOCK_STREAM
    attempt(name + " socket", socket.socket, family, kind)
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("engine", lambda: socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock"))
ESCAPED
