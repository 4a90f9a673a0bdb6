"""Paths and patterns to the files, folders and indexes that they name."""

from __future__ import annotations

import glob
import os

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.brace_patterns import expand_braces
from packsim.lengths.errors import LengthsError, collected, first_of, raise_if_any
from packsim.lengths.folders import folder_parts, json_index_parts
from packsim.lengths.formats import FORMATS, format_of
from packsim.lengths.parts import Part


def open_files(paths: list[str | os.PathLike[str]], selection: Selection) -> list[Part]:
    """The files that paths and patterns name, those of a pattern in the order of their names.

    Raises
    ------
    LengthsError
        With every path that names no file, or one of an unknown kind.
    """
    parts: list[Part] = []
    mistakes: list[str] = []
    for given in paths:
        found: list[str] = []
        with collected(mistakes):
            found = _found(os.fspath(given))
        for path in found:
            with collected(mistakes):
                parts += _opened(path, selection)
    raise_if_any(mistakes)
    return parts


def _found(given: str) -> list[str]:
    if os.path.exists(given):
        return [given]
    found: list[str] = []
    mistakes: list[str] = []
    for pattern in expand_braces(given):
        names = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not names and os.path.exists(f"{pattern}.idx"):
            names = [f"{pattern}.idx"]  # Megatron names its files by what .idx and .bin have in common
        if not names:
            mistakes.append(
                f"{pattern}: expected a file, a folder or a pattern of them, got none of that name"
            )
        found += names
    raise_if_any(first_of(mistakes))
    return found


def _opened(path: str, selection: Selection) -> list[Part]:
    if os.path.isdir(path):
        return folder_parts(path, selection)
    if path.endswith(".json"):
        parts = json_index_parts(path, selection)
        if parts is not None:
            return parts
    kind = format_of(path)
    if kind is None:
        raise LengthsError(f"{path}: expected a folder or a file ending in {', '.join(FORMATS)}")
    return [kind(path, selection)]
