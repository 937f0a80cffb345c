"""Files of a folder that somebody else may have made.

Guaranteed: nothing in the folder leads outside it, by links or by `..`; only plain files are
opened, so that no fifo, socket or device keeps a reader waiting or feeds it without end; what is
written is a new file that is then put in its place, so that no link is written through; SQLite
finds no journal that it would act on.
Not guaranteed: anything against someone who changes the folder meanwhile.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

LARGEST = 512 * 1024 * 1024
"""Bytes of a file that is read whole."""

LARGEST_SETTINGS = 32 * 1024 * 1024
"""Bytes of a file of settings, such as run.json, and of a list of digests."""
MOST_LINES = 2_000_000
"""Lines of a file that is read whole."""

LARGEST_RECORD = 1024 * 1024
"""Bytes of a record of what this user did."""

_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal begins, and how one with a super-journal ends."""

_KINDS = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnsafeFile(OSError):
    """A file that is not touched; `strerror` says why."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)


def check_inside(folder: Path, path: Path) -> None:
    """UnsafeFile where the path, or a link on its way, leads out of the folder."""
    if _is_plainly_inside(str(folder), str(path), bool):
        return
    root, real = os.path.realpath(folder), os.path.realpath(path)
    if real != root and not real.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
        raise UnsafeFile(errno.ELOOP, f"it leads out of {folder}")


def _is_plainly_inside(folder: str, path: str, is_end: Callable[[int], bool]) -> bool:
    """Whether the path goes down from the folder, no step of it is a link, and there is such an
    end; the usual case, fast."""
    if not path.startswith(f"{folder}{os.sep}"):
        return False
    way, mode = folder, 0
    with suppress(OSError):
        for step in path[len(folder) + 1 :].split(os.sep):
            way = f"{way}{os.sep}{step}"
            mode = os.lstat(way).st_mode
            if step in ("", ".", "..") or stat.S_ISLNK(mode):
                return False
        return is_end(mode)
    return False


def check_plain(file: Path) -> None:
    """UnsafeFile where there is something that is not a plain file; links are followed."""
    try:
        mode = os.stat(file).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise UnsafeFile(errno.EINVAL, f"it is {kind}, not a file")


def check_file(folder: Path, file: Path) -> None:
    """Both, for a file that is about to be opened."""
    check_inside(folder, file)
    check_plain(file)


def is_safe(folder: Path, file: Path) -> bool:
    """Whether there is a plain file that does not lead out of the folder."""
    with suppress(OSError):
        check_file(folder, file)
        return file.exists()
    return False


def read_file(folder: Path, file: Path, most: int = LARGEST) -> bytes:
    if not _is_plainly_inside(str(folder), str(file), stat.S_ISREG):
        check_file(folder, file)
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb", buffering=0) as opened:
        size = os.fstat(fd).st_size
        if size > most:
            raise UnsafeFile(errno.EFBIG, f"it holds {size:,} bytes; at most {most:,} are read")
        data = opened.read()
    if (lines := data.count(b"\n")) > MOST_LINES:
        raise UnsafeFile(errno.EFBIG, f"it has {lines:,} lines; at most {MOST_LINES:,} are read")
    return data


def read_own_file(file: Path, most: int = LARGEST_RECORD) -> bytes | None:
    """The bytes of a file that this user wrote and nobody else can have, nor have put there; None
    where there is no such file, or it is larger."""
    try:
        folder = os.stat(file.parent)
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_size > most:
            return None
        if not all(map(_is_ours_alone, (status, folder))):
            return None
        return os.read(fd, most)
    finally:
        os.close(fd)


def _is_ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def make_private(file: Path) -> None:
    """An empty file that its owner alone can read, for a database; nothing where one is there."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def replace_file(file: Path, data: bytes, *, mode: int = 0o666, sync: bool = False) -> None:
    """Write the file anew, whole or not at all, with this mode less the umask; a link in its place
    is replaced, not followed. With `sync` it is on the disk when this comes back."""
    with new_file(file, mode=mode, sync=sync) as part:
        part.write_bytes(data)


@contextmanager
def new_file(file: Path, *, mode: int = 0o666, sync: bool = False) -> Iterator[Path]:
    """A new empty file that takes the place of `file` at the end, and is removed where that is
    not reached."""
    part = file.with_name(f".{file.name}.{token_hex(4)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode))
    try:
        yield part
        if sync:
            sync_path(part)
        part.replace(file)
        if sync:
            sync_path(file.parent)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A new empty folder that takes the place of `folder`, and of all that is in it, at the end; it
    is removed where that is not reached."""
    part = folder.with_name(f".{folder.name}.{token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def sync_path(path: Path) -> None:
    """Force a folder's list of names, or a file, to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def check_database(folder: Path, file: Path) -> None:
    """UnsafeFile where SQLite would reach outside the folder by this file or those beside it: a
    rollback journal that names a super-journal has any file deleted (sqlite.org/fileformat.html,
    3: the name, its length, a checksum and the magic number are at the end)."""
    for end in ("", "-wal", "-shm", "-journal"):
        check_file(folder, file.with_name(file.name + end))
    journal = file.with_name(f"{file.name}-journal")
    with suppress(FileNotFoundError), journal.open("rb") as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - len(_MAGIC)))
        if opened.read(len(_MAGIC)) == _MAGIC:
            raise UnsafeFile(errno.EINVAL, f"{journal.name} beside it names another file")


def check_journals(file: Path) -> None:
    """The same for a database that the user named, or that is about to be made: it may be anywhere
    and a link, and still come from somebody else."""
    real = Path(os.path.realpath(file))
    check_database(real.parent, real)
