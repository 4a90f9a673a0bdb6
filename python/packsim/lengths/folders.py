"""The files of a folder that hold its samples, in their order."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.errors import LengthsError, first_of, raise_if_any
from packsim.lengths.formats import FORMATS, JSON_INDEXES, ending_of, format_of
from packsim.lengths.parts import Part

# These mark folders of MDS and wids; of Dataset.save_to_disk(); of DatasetDict.save_to_disk().
_INDEX, _STATE, _SPLITS = "index.json", "state.json", "dataset_dict.json"
# What Hugging Face writes beside data files.
_NO_DATA = ("dataset_info.json", "dataset_infos.json")
_HEAD_BYTES = 4096


def folder_parts(folder: str, selection: Selection) -> list[Part]:
    """The shards of an MDS folder or of a saved data set, as its index has them, or else all files of one
    format in the folder and those below it, in the order of their paths. Names that start with . or _ are
    passed over.

    Raises
    ------
    LengthsError
        Where there are none, or files of several formats.
    """
    if os.path.isfile(index := os.path.join(folder, _INDEX)):
        parts = json_index_parts(index, selection)
        if parts is None:
            raise LengthsError(f"{index}: expected an index with {' or '.join(JSON_INDEXES)}, got none")
        return parts
    if os.path.isfile(os.path.join(folder, _STATE)):
        return [_file_part(path, selection) for path in _saved_files(folder)]
    if os.path.isfile(splits := os.path.join(folder, _SPLITS)):
        names = ", ".join(map(str, _json(splits).get("splits", [])))
        raise LengthsError(f"{folder}: expected one data set, got the splits {names}; give the folder of one")
    return [_file_part(path, selection) for path in _found_files(folder)]


def json_index_parts(path: str, selection: Selection) -> list[Part] | None:
    """The parts that a .json file names; None where it is no index but holds samples."""
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    names = "|".join(JSON_INDEXES)
    if not re.search(rf'"({names})"\s*:\s*\['.encode(), head):
        return None
    index = _json(path)
    key = next((key for key in JSON_INDEXES if key in index), None)
    return None if key is None else JSON_INDEXES[key](path, index, selection)


def _file_part(path: str, selection: Selection) -> Part:
    kind = format_of(path)
    assert kind is not None  # files of other endings have been passed over or refused
    return kind(path, selection)


def _json(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            raise LengthsError(f"{path}: expected a JSON object, got {error}") from error
    if not isinstance(content, dict):
        raise LengthsError(f"{path}: expected a JSON object, got a {type(content).__name__}")
    return content


def _saved_files(folder: str) -> list[str]:
    """Returns the files of a `datasets.Dataset` on disk."""
    place = os.path.join(folder, _STATE)
    state = _json(place)
    if state.get("_indices_data_files"):
        raise LengthsError(
            f"{place}: expected no _indices_data_files, which choose among rows; save it again"
        )
    try:
        paths = [os.path.join(folder, file["filename"]) for file in state["_data_files"]]
    except (KeyError, TypeError) as error:
        raise LengthsError(f"{place}: expected the names of _data_files, got {error!r}") from error
    mistakes = [
        f"{place}: expected an .arrow file {path}, found none"
        for path in paths
        if not (path.endswith(".arrow") and os.path.isfile(path))
    ]
    raise_if_any(first_of(mistakes))
    return paths


def _found_files(folder: str) -> list[str]:
    found: dict[str, list[str]] = {}
    inner: list[str] = []
    for below, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        inner += [os.path.join(below, name) for name in folders if os.path.islink(os.path.join(below, name))]
        if {_INDEX, _STATE, _SPLITS} & set(files):
            inner.append(below)
        for name in files:
            ending = None if name.startswith((".", "_")) or name in _NO_DATA else ending_of(name)
            if ending is not None:
                found.setdefault(ending, []).append(os.path.join(below, name))
    if inner:
        raise LengthsError(
            f"{folder}: expected files, got data sets or links in it; give them one by one: "
            f"{', '.join(first_of(sorted(inner)))}"
        )
    if len(found) > 1:
        counts = ", ".join(f"{len(paths)} {ending}" for ending, paths in sorted(found.items()))
        raise LengthsError(
            f"{folder}: expected files of one format, got {counts}; "
            f"give a pattern such as {folder}/**/*.parquet"
        )
    if not found:
        raise LengthsError(
            f"{folder}: expected files ending in {', '.join(FORMATS)}, got a folder without any"
        )
    (paths,) = found.values()
    return sorted(paths)


def _raise(error: OSError) -> None:
    raise error
