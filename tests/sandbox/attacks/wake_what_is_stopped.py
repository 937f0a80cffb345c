# ruff: noqa
"""Orders signals for later, to go on computing when everything is stopped between two calls, and
takes what the watchdog could not count.

Contained: no signal of choice can be ordered, no buffer be made larger or pages be lent to a pipe.
Ends: ok
Unsafe: escapes
"""

event = struct.pack("Pii48x", 0, signal.SIGCONT, 0)
attempt("timer", call, "timer_create", 1, event, bytes(8))
one, other = socket.socketpair()
attempt("signal of a descriptor", fcntl.fcntl, one.fileno(), 10, signal.SIGCONT)
attempt("owner of a descriptor", fcntl.fcntl, one.fileno(), 8, os.getpid())
attempt("note of what others read", fcntl.fcntl, os.open("/", os.O_RDONLY), 1026, 1)
attempt("larger buffer", one.setsockopt, socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
reader, writer = os.pipe()
pages = mmap.mmap(-1, 8192)
place = ctypes.addressof(ctypes.c_char.from_buffer(pages))
attempt("pages in a pipe", call, "vmsplice", writer, struct.pack("PN", place, 4096), 1, 0)
ESCAPED
