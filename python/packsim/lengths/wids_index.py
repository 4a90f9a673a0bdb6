"""The JSON index that `widsindex` writes: WebDataset shards, and how many samples each has."""

from __future__ import annotations

import os
import re
from typing import Any

from packsim.lengths.arrow_columns import Selection
from packsim.lengths.bad_rows import describe
from packsim.lengths.errors import LengthsError
from packsim.lengths.file_part import FilePart, parts_of_shards
from packsim.lengths.parts import Part
from packsim.lengths.webdataset_shard import WebDatasetShard

_VERSION = 1


def wids_parts(path: str, index: dict[str, Any], selection: Selection) -> list[Part]:
    """A part for each shard: see `parts_of_shards()`."""
    shards = index["shardlist"]
    if index.get("wids_version") != _VERSION or not isinstance(shards, list):
        raise LengthsError(
            f"{path}: expected a shardlist of wids_version {_VERSION}, got {index.get('wids_version')}"
        )
    if index.get("datasets"):
        raise LengthsError(f"{path}: expected a shardlist alone, got datasets, too; give their indexes")

    def opened(shard: Any) -> FilePart:
        shard_path, n_samples = _shard(os.path.dirname(path), index.get("base"), shard)
        return WebDatasetShard(shard_path, selection, n_samples)

    return parts_of_shards(path, shards, opened)


def _shard(folder: str, base: Any, shard: Any) -> tuple[str, int]:
    """Path and number of samples. Relative to the index, or to its `base`."""
    url = shard.get("url") if isinstance(shard, dict) else None
    n_samples = shard.get("nsamples") if isinstance(shard, dict) else None
    if not isinstance(url, str) or not isinstance(n_samples, int) or n_samples < 0:
        raise LengthsError(f"expected a url and a count nsamples, got {describe(shard)}")
    path = os.path.join(folder, _local(base) if isinstance(base, str) else "", _local(url))
    if not os.path.isfile(path):
        raise LengthsError(f"expected a file {path}, found none")
    return path, n_samples


def _local(url: str) -> str:
    path = re.sub(r"^file:(//)?(?=/)", "", url)
    if "://" in path:
        raise LengthsError(f"expected a file of this machine, got {url}")
    return path
