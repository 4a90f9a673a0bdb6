"""The index.json of a MosaicML streaming data set: its shards in their order."""

from __future__ import annotations

import os
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.bad_rows import describe
from packsim.lengths.compressed import COMPRESSIONS
from packsim.lengths.errors import LengthsError
from packsim.lengths.file_part import FilePart, parts_of_shards
from packsim.lengths.mds_shard import MdsColumns, MdsFile, MdsShard
from packsim.lengths.parts import Part

_VERSION = 2


def mds_parts(path: str, index: dict[str, Any], selection: Selection) -> list[Part]:
    """A part for each shard: see `parts_of_shards()`."""
    if index.get("version") != _VERSION or not isinstance(index["shards"], list):
        raise LengthsError(
            f"{path}: expected a list of shards of version {_VERSION}, got version {index.get('version')}"
        )

    def opened(shard: Any) -> FilePart:
        try:
            return MdsShard(_file(os.path.dirname(path), shard), path, selection)
        except LengthsError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise LengthsError(f"expected an entry as MDSWriter makes it, got {error!r}") from error

    return parts_of_shards(path, index["shards"], opened)


def _file(folder: str, shard: dict[str, Any]) -> MdsFile:
    """The raw file of a shard, or the compressed one where that alone is there."""
    if (shard["format"], shard["version"]) != ("mds", _VERSION):
        raise LengthsError(
            f"expected format mds of version {_VERSION}, got {shard['format']} of {shard['version']}"
        )
    raw, packed = shard["raw_data"], shard.get("zip_data")
    path = os.path.join(folder, raw["basename"])
    compression, info = "none", raw
    if not os.path.isfile(path):
        if not packed:
            raise LengthsError(f"expected a file {path}, found none")
        compression, info = shard["compression"].partition(":")[0], packed
        path = os.path.join(folder, packed["basename"])
        if compression not in COMPRESSIONS:
            known = ", ".join(name for name in COMPRESSIONS if name != "none")
            raise LengthsError(f"expected a compression of {known}, got {compression}; unpack {path}")
        if not os.path.isfile(path):
            raise LengthsError(f"expected a file {path}, or {raw['basename']} beside it, found neither")
    return MdsFile(
        path,
        _columns(shard),
        _count(shard["samples"], "samples"),
        compression,
        _count(info["bytes"], "bytes"),
        _count(raw["bytes"], "bytes"),
        {name: str(value) for name, value in (info.get("hashes") or {}).items()},
    )


def _columns(shard: dict[str, Any]) -> MdsColumns:
    columns = MdsColumns(shard["column_names"], shard["column_encodings"], shard["column_sizes"])
    n_columns = {len(columns.names), len(columns.encodings), len(columns.sizes), len(set(columns.names))}
    are_texts = all(isinstance(text, str) for text in [*columns.names, *columns.encodings])
    if len(n_columns) != 1 or not are_texts:
        raise LengthsError(
            f"expected a name, an encoding and a size for each column, got {columns.names}, "
            f"{columns.encodings} and {columns.sizes}"
        )
    for size in columns.sizes:
        if size is not None:
            _count(size, "column_sizes")
    return columns


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LengthsError(f"{name}: expected a count, got {describe(value)}")
    return value
