"""Files of the package are whole or as they were: python/packsim/_whole_file.py."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from packsim._whole_file import remove_leftovers, whole_file, write_whole


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == {"a.txt"}


def test_a_block_that_raises_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="stop"), whole_file(path) as file:
        file.write(b"new")
        raise RuntimeError("stop")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == {"a.txt"}


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_whatever_call_fails_the_old_file_stands(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == {"a.txt"}


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_what_a_killed_writer_leaves_is_removed_by_the_next(call: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    script = f"""
import os, signal
from packsim._whole_file import write_whole
os.{call} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_whole({str(path)!r}, b"new")
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(names_in(tmp_path)) == 2
    write_whole(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert names_in(tmp_path) == {"a.txt"}


def test_only_what_nobody_writes_is_left_over(tmp_path: Path) -> None:
    dead, living, other = (
        f".{name}.{16 * digit}.partial" for name, digit in (("a", "0"), ("a", "1"), ("b", "2"))
    )
    for name in (dead, living, other, ".a.notes.partial"):
        (tmp_path / name).write_text("half")
    with open(tmp_path / living, "rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(tmp_path / "a", b"whole")
        assert names_in(tmp_path) == {"a", living, other, ".a.notes.partial"}
        remove_leftovers(tmp_path)
        assert names_in(tmp_path) == {"a", living, ".a.notes.partial"}


def test_writers_of_one_path_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def write(letter: bytes) -> None:
        for _ in range(10):
            write_whole(path, 40_000 * letter)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    write_whole(path, 40_000 * b"0")
    for writer in writers:
        writer.start()
    for _ in range(50):
        content = path.read_bytes()
        assert content == 40_000 * content[:1]
    for writer in writers:
        writer.join()
    assert names_in(tmp_path) == {"a"}


def test_links_stay_and_what_they_name_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "latest").symlink_to("runs/7")
    write_whole(tmp_path / "latest", b"new")
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "runs" / "7").read_bytes() == b"new"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_whole(tmp_path / "loop", b"new")


def test_pipes_sockets_and_descriptors_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"through")
    reader.join()
    assert got == [b"through"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen(1)
        write_whole(tmp_path / "socket", b"through")
        assert server.accept()[0].recv(100) == b"through"
    log = tmp_path / "log"
    log.write_bytes(b"before ")
    with open(log, "ab") as file:
        write_whole(f"/dev/fd/{file.fileno()}", b"text")
    assert log.read_bytes() == b"before text"
    assert names_in(tmp_path) == {"pipe", "socket", "log"}


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    mask = os.umask(0o027)
    write_whole(path, b"new")
    os.umask(mask)
    assert path.stat().st_mode & 0o7777 == 0o640
    path.chmod(0o604)
    write_whole(path, b"newer")
    assert path.stat().st_mode & 0o7777 == 0o604


def test_an_error_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_whole(tmp_path, b"")
    with pytest.raises(FileNotFoundError, match="none/a"):
        write_whole(tmp_path / "none" / "a", b"")
