"""Whose failure it is decides the type; `OSError` with the path is the machine's."""

from __future__ import annotations


class ShardError(ValueError):
    """Mistakes in what was given, one a line, with shard or file, what was expected and what came."""


class DamagedFileError(ValueError):
    """A file that is not as it was written: its name, what was expected and what came."""
