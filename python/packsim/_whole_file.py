"""How this package writes files: by the rules of write_file() in C++ (files/write_file.hpp)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_ENDING = ".partial"
_DIGITS = 16
_MOST_NAME_BYTES = 200
_DESCRIPTOR = re.compile(r"/dev/(?:(?P<name>stdout|stderr)|fd/(?P<number>\d+))|/proc/self/fd/(?P<same>\d+)")


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when it is whole and on the disk.

    Where the block raises, the file of that name stays as it was. Symbolic links are followed, and what they
    name is replaced; permissions stay. Devices, pipes, sockets and open descriptors (/dev/stdout) are written
    to as such. What killed writers of the same path left is removed. Files that need not be `durable` are
    many in a folder of their own. None waits for the disk, so a power failure may tear it. Who writes them
    calls `remove_leftovers()` once.

    Raises
    ------
    OSError
        With the path, where it cannot be written.
    """
    wanted = os.fspath(path)
    if (number := _named_descriptor(wanted)) is not None:
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
        return
    try:
        old = os.stat(wanted)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _device(wanted, old) as file:
            yield file
        return
    target = _behind_links(Path(wanted))
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), wanted)
    if durable:
        remove_leftovers(target.parent, target.name)
    temporary, descriptor = _open_new(target)
    try:
        # Closed at the end: the lock, which says that this writer lives, goes with the descriptor.
        with _path_in_errors(wanted), os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if old is not None:
                _take_permissions(descriptor, old)
            if durable:
                os.fsync(descriptor)
            _move(temporary, target, wanted)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        _synchronise(target.parent)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a whole file at once, see `whole_file()`."""
    with whole_file(path) as file:
        file.write(content)


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Removes what killed writers of a file in the folder left, or of all files."""
    name_of = ".*" if name is None else re.escape(_beginning(name))
    temporary = re.compile(rf"{name_of}[0-9a-f]{{{_DIGITS}}}{re.escape(_ENDING)}")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and temporary.fullmatch(entry.name):
                _remove_left_over(entry.path)


def _named_descriptor(path: str) -> int | None:
    found = _DESCRIPTOR.fullmatch(path)
    if found is None:
        return None
    if found["name"]:
        return {"stdout": 1, "stderr": 2}[found["name"]]
    return int(found["number"] or found["same"])


@contextlib.contextmanager
def _device(path: str, status: os.stat_result) -> Iterator[BinaryIO]:
    if not stat.S_ISSOCK(status.st_mode):
        with open(path, "wb") as file:
            yield file
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        with connection.makefile("wb") as file:
            yield file


def _beginning(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_MOST_NAME_BYTES])}."


def _behind_links(path: Path) -> Path:
    for _ in range(40):
        if not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)
    raise OSError(40, os.strerror(40), str(path))


def _open_new(target: Path) -> tuple[Path, int]:
    while True:
        path = target.parent / f"{_beginning(target.name)}{secrets.token_hex(_DIGITS // 2)}{_ENDING}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(target)) from None
        # Waits while another writer looks whether this is a leftover. Some file systems have no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink > 0:
            return path, descriptor
        os.close(descriptor)


def _move(temporary: Path, target: Path, wanted: str) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, wanted) from None


def _take_permissions(descriptor: int, old: os.stat_result) -> None:
    bits = 0o7777
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        bits = 0o777
    os.fchmod(descriptor, old.st_mode & bits)


def _remove_left_over(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(descriptor)


def _synchronise(folder: Path) -> None:
    """So that the new name is on the disk. Some file systems cannot, and some folders may not be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _path_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError that names no file, as that of a full disk, is raised again with this path."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        # numpy's has neither number nor reason.
        number, reason = error.errno or errno.EIO, error.strerror or str(error)
        raise OSError(number, reason, os.fspath(path)) from error
