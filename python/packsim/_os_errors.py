"""Failures of the machine name the path."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def path_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError that names no file, as that of a full disk, is raised again with this path."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        # numpy's has neither number nor reason.
        number, reason = error.errno or errno.EIO, error.strerror or str(error)
        raise OSError(number, reason, os.fspath(path)) from error
