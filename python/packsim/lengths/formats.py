"""The formats of files and folders that are read: a row for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.file_part import FilePart
from packsim.lengths.line_file import LineFile
from packsim.lengths.mds_folder import mds_parts
from packsim.lengths.megatron_index import MegatronIndex
from packsim.lengths.parts import Part
from packsim.lengths.table_parts import ArrowFile, CsvFile, ParquetFile
from packsim.lengths.webdataset_shard import WebDatasetShard
from packsim.lengths.wids_index import wids_parts

# Ending of a file's name to its reader.
FORMATS: dict[str, Callable[[str, Selection], FilePart]] = {
    ".parquet": ParquetFile,
    ".arrow": ArrowFile,
    ".jsonl": LineFile,
    ".jsonl.gz": LineFile,
    ".jsonl.zst": LineFile,
    ".ndjson": LineFile,
    ".ndjson.gz": LineFile,
    ".ndjson.zst": LineFile,
    ".json": LineFile,
    ".csv": CsvFile,
    ".idx": MegatronIndex,
    ".tar": WebDatasetShard,
    ".tar.gz": WebDatasetShard,
    ".tgz": WebDatasetShard,
}

# The key that holds the list of shards in a JSON file that names them, to what opens them: from the path of
# the index and its content.
JSON_INDEXES: dict[str, Callable[[str, dict[str, Any], Selection], list[Part]]] = {
    "shards": mds_parts,
    "shardlist": wids_parts,
}


def format_of(path: str) -> Callable[[str, Selection], FilePart] | None:
    ending = ending_of(path)
    return None if ending is None else FORMATS[ending]


def ending_of(path: str) -> str | None:
    """Returns the path's ending, if it is one of the formats that are read."""
    return next((ending for ending in FORMATS if path.endswith(ending)), None)
