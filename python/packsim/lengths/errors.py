"""Whose failure it is decides the type; `OSError` with the path is the machine's."""

from __future__ import annotations


class LengthsError(ValueError):
    """Mistakes in what was given, one a line, each with its place, what was expected and what came."""


class CacheWarning(UserWarning):
    """A stored chunk is damaged: it was measured again."""
