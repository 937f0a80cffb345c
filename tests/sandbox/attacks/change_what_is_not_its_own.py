# ruff: noqa
"""Changes limits of other processes, and modes and times of files that are not its own.

Contained: no call succeeds, and the file of the host is as before.
Ends: ok
Unsafe: escapes
"""

pids = [T["victim"]] if T["unsafe"] else [T["victim"], os.getppid(), 1]
for pid in pids:
    attempt(f"limit {pid}", resource.prlimit, pid, resource.RLIMIT_NOFILE, (7, 7))
attempt("priority of the victim", os.setpriority, os.PRIO_PROCESS, T["victim"], 3)
attempt("mode of the canary", os.chmod, T["canary"], 0o600)
attempt("time of the canary", os.utime, T["canary"], (1, 1))
if not T["unsafe"]:
    for path in (os.__file__, "/", "/dev/null", "/opt/packages"):
        attempt("mode of " + path, os.chmod, path, 0o777)
        attempt("time of " + path, os.utime, path, (1, 1))
        attempt("owner of " + path, os.chown, path, os.getuid(), os.getgid())
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    attempt("raise its own limit", resource.setrlimit, resource.RLIMIT_NOFILE, (most * 2, most * 2))
    attempt("raise its own priority", os.nice, -5)
    attempt("become root", os.setuid, 0)
ESCAPED
