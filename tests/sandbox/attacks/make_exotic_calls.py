# ruff: noqa
"""Makes system calls that no interpreter needs and that have a record of holes.

Contained: each is refused by the filter.
Ends: ok
Unsafe: escapes
"""

params = bytes(256)
attempt("io_uring", call, "io_uring_setup", 4, params)
attempt("bpf", call, "bpf", 0, struct.pack("4i100x", 1, 4, 4, 1), 116)
attempt("a key", call, "add_key", b"user", b"agent", b"x", 1, -3)
attempt("keyctl", call, "keyctl", 0, -3, 1)
attempt("userfaultfd", call, "userfaultfd", 1)
attempt("perf", call, "perf_event_open", params, 0, -1, -1, 0)
attempt("shared memory of System V", call, "shmget", 0, 4096, 0o1600)
attempt("message queue", call, "mq_open", b"agent", 0o102, 0o600, 0)
attempt("fanotify", call, "fanotify_init", 0, 0)
handle = struct.pack("i200x", 128)
attempt("file handles", call, "name_to_handle_at", -100, b"/", handle, bytes(8), 0)
attempt("personality", call, "personality", 0x0040000)
attempt("kernel log", call, "syslog", 3, bytes(64), 64)
attempt("inotify", call, "inotify_init1", 0)
ESCAPED
