# What runs in the sessions; no session has pytest.
"""Ways in which one session might say a bit to another that runs at the same time.

Each is code that defines `say(bit)` for the sender and `hear()` for the receiver.
"""

PREAMBLE = """
import ctypes, fcntl, mmap, os, platform, resource, socket, struct, sys, time
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
ARM = platform.machine() == "aarch64"
FILES = [p for p in ("/dev/null", os.path.realpath(sys.executable), "/usr/share/zoneinfo/UTC",
    os.__file__, "/opt/guest/agent_env/sandbox/kernel.py", os.path.dirname(os.__file__),
    "/sbin/docker-init", "/etc/hostname") if os.path.exists(p)]
COLD = [file.path for file in os.scandir(os.path.dirname(os.__file__)) if file.is_file()]
COLD = sorted(path for path in COLD if os.path.getsize(path) > 1 << 14)[:40]
HELD = {}
def fd(path):
    if path not in HELD:
        HELD[path] = os.open(path, os.O_RDONLY)
    return HELD[path]
def call(x86, arm, *arguments):
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(arm if ARM else x86), *longs)
    return result if result >= 0 else -ctypes.get_errno()
def each(function, *arguments):
    heard = []
    for path in FILES:
        try:
            heard.append(function(path, *arguments))
        except Exception as exc:
            heard.append(type(exc).__name__)
    return heard
def flock_of(kind, at):
    return struct.pack("hhqqi4x", kind, 0, at, 1, 0)
def for_a_moment():
    ends = time.monotonic() + 0.4
    while time.monotonic() < ends:
        yield
def children(count, work):
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            try:
                held = work()
                time.sleep(0.5)
            finally:
                os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
def mapped():
    if "map" not in HELD:
        size, at = ctypes.c_size_t(4096), ctypes.c_long(0)
        HELD["map"] = LIBC.mmap(None, size, 1, 1, fd(os.__file__), at)
    return HELD["map"]
"""


def by_locks(get, put):
    """Locks of a range of bytes that are for readers, so need no right to write."""
    return f"""
def lock(path, kind, command):
    return fcntl.fcntl(fd(path), command, flock_of(kind, 7))
def say(bit):
    return each(lock, fcntl.F_RDLCK if bit else fcntl.F_UNLCK, {put})
def hear():
    return each(lambda path: struct.unpack_from("h", lock(path, fcntl.F_WRLCK, {get}))[0])
"""


CACHED = """
def say(bit):
    for path in COLD:  # a fast disk, or the kernel, keeps some in memory whatever is said
        if bit:
            os.pread(fd(path), 1 << 20, 0)
        else:
            os.posix_fadvise(fd(path), 0, 0, os.POSIX_FADV_DONTNEED)
"""
WOKEN = """
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
def hear():
    word, limit = ctypes.c_uint32.from_address(mapped()).value, Time(0, 10**8)
    waits = [call(202, 98, ctypes.c_void_p(mapped()), 0, word, ctypes.byref(limit), None, 0)
             for _ in range(3)]
    return 0 in waits
"""

CHANNELS = {
    "locks of records": by_locks(5, 6),
    "locks of open files": by_locks(36, 37),
    "locks of whole files": """
def say(bit):
    return each(lambda path: fcntl.flock(fd(path), fcntl.LOCK_SH if bit else fcntl.LOCK_UN))
def hear():
    def tries(path):
        again = os.open(path, os.O_RDONLY)
        try:
            return fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(again)
    return each(tries)
""",
    "leases": """
def say(bit):
    return each(lambda path: fcntl.fcntl(fd(path), 1024, fcntl.F_RDLCK if bit else fcntl.F_UNLCK))
def hear():
    return each(lambda path: fcntl.fcntl(fd(path), 1024, fcntl.F_WRLCK))
""",
    "the list of locks": """
def say(bit):
    own = HELD.setdefault("own", os.open("own", os.O_CREAT | os.O_RDWR))
    try:
        fcntl.fcntl(own, 37, flock_of(fcntl.F_WRLCK if bit else fcntl.F_UNLCK, 77123))
    except OSError:
        fcntl.fcntl(own, 6, flock_of(fcntl.F_WRLCK if bit else fcntl.F_UNLCK, 77123))
def hear():
    return open("/proc/locks").read().count(" 77123 ")
""",
    "waiting on a page of a file": WOKEN
    + """
def say(bit):
    for _ in for_a_moment():
        if bit:
            call(202, 98, ctypes.c_void_p(mapped()), 1, 9, None, None, 0)
        time.sleep(0.01)
""",
    "a thread's end on a page of a file": WOKEN
    + """
def say(bit):
    def ends():
        call(218, 96, ctypes.c_void_p(mapped()))
    import threading
    for _ in for_a_moment():
        thread = threading.Thread(target=ends if bit else int)
        thread.start(); thread.join()
        time.sleep(0.02)
""",
    "pages in memory": CACHED
    + """
def pages_of(path):
    size = ctypes.c_size_t(1 << 14)
    place = LIBC.mmap(None, size, 1, 1, fd(path), ctypes.c_long(0))
    pages = ctypes.create_string_buffer(4)
    held = call(27, 232, ctypes.c_void_p(place), size, pages), pages.raw
    LIBC.munmap(ctypes.c_void_p(place), size)
    return held
def hear():
    return [pages_of(path) for path in COLD]
""",
    "reads that would wait": CACHED
    + """
def at_once(path):
    try:
        return os.preadv(fd(path), [bytearray(4096)], 4096, os.RWF_NOWAIT)
    except OSError as exc:
        return exc.errno
def hear():
    return [at_once(path) for path in COLD]
""",
    "times of files": """
def say(bit):
    return each(os.listdir if bit else str), each(lambda p: os.read(os.open(p, 0), bit)), each(
        lambda path: os.utime(path, (bit, bit)))
def hear():
    return each(lambda path: (os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
""",
    "modes and marks of files": """
def say(bit):
    return each(os.chmod, 0o755 if bit else 0o555), each(os.setxattr, "user.bit", b"%d" % bit)
def hear():
    return each(lambda path: os.stat(path).st_mode), each(os.listxattr)
""",
    "a file": """
PLACES = [f"{folder}/agent-env-bit" for folder in
          ("/tmp", "/dev/shm", "/var/tmp", "/run", "/opt", "", "/dev/mqueue", "/sys/fs/cgroup")]
def say(bit):
    for place in PLACES:
        try:
            open(place, "w").close() if bit else os.unlink(place)
        except OSError:
            pass
def hear():
    return [os.path.exists(place) for place in PLACES]
""",
    "an abstract socket": """
def say(bit):
    if bit:
        HELD["socket"] = socket.socket(socket.AF_UNIX)
        HELD["socket"].bind("\\0agent-env-bit")
        HELD["socket"].listen()
    else:
        HELD["socket"].close()
def hear():
    with socket.socket(socket.AF_UNIX) as line:
        return line.connect_ex("\\0agent-env-bit")
""",
    "memory of System V": """
def say(bit):
    if bit:
        HELD["id"] = call(29, 194, 77123, 4096, 0o1666)
    else:
        call(31, 195, HELD["id"], 0, None)
def hear():
    return call(29, 194, 77123, 4096, 0) >= 0
""",
    "a message queue": """
def say(bit):
    if bit:
        call(240, 180, b"agent-env-bit", 0o102, 0o666, None)
    else:
        call(241, 181, b"agent-env-bit")
def hear():
    return call(240, 180, b"agent-env-bit", 2, 0, None) >= 0
""",
    "a key": """
def say(bit):
    if bit:
        HELD["key"] = call(248, 217, b"user", b"agent-env-bit", b"x", 1, -4)
    else:
        call(250, 219, 21, HELD["key"], 0)
def hear():
    return call(250, 219, 10, -4, b"user", b"agent-env-bit", 0) >= 0
""",
    "descriptors on their way": """
def fly(pair, count):
    for _ in range(count):
        pair[0].send(b"x") and socket.send_fds(pair[0], [b"x"], [0])
def say(bit):
    HELD.pop("pair", None)
    HELD["pair"] = socket.socketpair()
    fly(HELD["pair"], 50 * bit)
def hear():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    pair = socket.socketpair()
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))
    try:
        fly(pair, 1)
        return True
    except OSError as exc:
        return exc.errno
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
""",
    "sizes of pipes": """
def grow():
    ends, grown = [], 0
    try:
        while True:
            ends += os.pipe()
            fcntl.fcntl(ends[-1], 1031, 1 << 20)
            grown += 1
    except OSError:
        return grown, ends
def say(bit):
    children(3 * bit, grow)
def hear():
    time.sleep(0.2)
    grown, ends = grow()
    for end in ends:
        os.close(end)
    return grown
""",
    "counts of the machine": """
def say(bit):
    children(15 * bit, int)
def hear():
    time.sleep(0.2)
    room = ctypes.create_string_buffer(256)
    state = call(99, 179, room)
    try:
        running = open("/proc/loadavg").read()
    except OSError:
        running = ""
    try:
        pairs = open("/proc/sys/kernel/pty/nr").read(), open("/proc/stat").read()
    except OSError:
        pairs = ()
    return room.raw, state, running, pairs
""",
}
"""By name, code that defines `say` and `hear`."""
AT_ONCE = {
    "waiting on a page of a file",
    "a thread's end on a page of a file",
    "sizes of pipes",
    "counts of the machine",
}
"""One hears only while the other says."""
ONLY_HELD = {
    "leases",
    "times of files",
    "modes and marks of files",
    "descriptors on their way",
    "sizes of pipes",
    "counts of the machine",
}
"""Carry no bits where nothing holds them, or harm something there."""
