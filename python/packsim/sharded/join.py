"""join_shards(): one manifest for the packs of all shards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from packsim._arguments import Problems, integer_in
from packsim._whole_file import remove_leftovers
from packsim.sharded.arguments import ShardArguments
from packsim.sharded.checked_files import (
    check_size,
    map_arrays,
    read_record,
    write_arrays,
    write_record,
)
from packsim.sharded.errors import DamagedFileError, ShardError
from packsim.sharded.leftovers import packed_again
from packsim.sharded.packs import MANIFEST, MANIFEST_FORMAT, ShardedPacks
from packsim.sharded.pieces import PackArrays
from packsim.sharded.shard import MOST_SHARDS, RECORD_FORMAT, record_path, recorded_shards

_MOST_MISTAKES = 20  # that one error shows


def join_shards(folder: str | os.PathLike[str], n_shards: int) -> ShardedPacks:
    """Join the packed shards 0 to `n_shards` - 1 of a folder by a manifest.

    Badly filled packs of all shards are packed again together, where that needs fewer packs. Memory follows
    the number of shards and of their leftovers, not that of samples. It may be called again at any time; call
    it when no shard of the folder is being packed.

    Raises
    ------
    ShardError
        For shards that are missing, damaged, or packed with other arguments than shard 0, and for further
        ones that the folder has: all of them.
    OSError
        Where the folder cannot be read or written.
    """
    n_shards = integer_in("n_shards", n_shards, 1, MOST_SHARDS)
    place = Path(folder)
    records = _records(place, n_shards)
    arguments = ShardArguments(**records[0]["arguments"])
    first_samples = np.cumsum([0] + [record["counts"]["n_samples"] for record in records]).tolist()
    leftovers = _leftovers(place, records, first_samples, arguments)
    rows = []
    for record, first_sample in zip(records, first_samples, strict=False):
        _check_counts(record)
        n_left_over = record["n_leftover_packs"] if leftovers is not None else 0
        row = {key: value for key, value in record.items() if key not in ("format", "arguments")}
        rows.append(row | {"first_sample": first_sample, "n_used_packs": record["n_packs"] - n_left_over})
    manifest = {
        "format": MANIFEST_FORMAT,
        "arguments": records[0]["arguments"],
        "n_samples": first_samples[-1],
        "n_packs": sum(row["n_used_packs"] for row in rows) + (leftovers["n_packs"] if leftovers else 0),
        "shards": rows,
        "leftovers": leftovers,
    }
    write_record(place / MANIFEST, manifest)
    remove_leftovers(place)
    _remove_unnamed(place, manifest)
    return ShardedPacks.open(place)


def _records(folder: Path, n_shards: int) -> list[dict[str, Any]]:
    records = []
    mistakes: list[str] = []
    for shard in range(n_shards):
        path = record_path(folder, shard)
        try:
            record = read_record(path)
            if record.get("format") != RECORD_FORMAT:
                raise DamagedFileError(f"{path}: expected {RECORD_FORMAT}, got {record.get('format')!r:.60}")
            check_size(folder, record["file"])
            records.append(record)
        except FileNotFoundError:
            mistakes.append(f"shard {shard}: expected its record {path}, found none: it is not packed yet")
        except DamagedFileError as error:
            mistakes.append(f"shard {shard}: {error}")
    for record in records[1:]:
        mistakes += _differences(records[0], record)
    mistakes += [
        f"shard {shard}: expected {n_shards} shards, got {record_path(folder, shard)}, too: join all shards, "
        "or remove the record of one that is not of the data"
        for shard in recorded_shards(folder)
        if shard >= n_shards
    ]
    with Problems(ShardError) as problems:
        problems.add_first(mistakes, _MOST_MISTAKES)
    return records


def _differences(first: dict[str, Any], record: dict[str, Any]) -> list[str]:
    expected, found = first["arguments"], record["arguments"]
    return [
        f"shard {record['shard']}: expected {name} {expected[name]!r:.60}, as shard {first['shard']}, got "
        f"{found[name]!r:.60}: pack it again"
        for name in expected
        if expected[name] != found[name]
    ]


def _leftovers(
    folder: Path, records: list[dict[str, Any]], first_samples: list[int], arguments: ShardArguments
) -> dict[str, Any] | None:
    """Packs and writes them; None where the packs of the shards are as good."""
    packs = []
    with Problems(ShardError) as problems:
        for record, first_sample in zip(records, first_samples, strict=False):
            if record["n_leftover_packs"] > 0:
                with problems.collected(f"shard {record['shard']}: "):
                    packs.append(_of_data_set(folder, record, first_sample))
    again = packed_again(packs, arguments)
    if again is None:
        return None
    return {
        "n_packs": again.n_packs,
        "n_packs_before": sum(one.n_packs for one in packs),
        "file": write_arrays(folder, "leftovers", again.to_dict()),
    }


def _of_data_set(folder: Path, record: dict[str, Any], first_sample: int) -> PackArrays:
    """The leftovers of a shard, with the sample ids of the data set."""
    packs = PackArrays.of_dict(map_arrays(folder, record["file"]))
    n_packs = packs.n_packs
    return packs.take(np.arange(n_packs - record["n_leftover_packs"], n_packs)).with_ids(first_sample)


def _remove_unnamed(folder: Path, manifest: dict[str, Any]) -> None:
    """Removes packs that the manifest does not name: leftovers of earlier joins, and shards whose process was
    killed before it wrote their record."""
    rows = [*manifest["shards"], *filter(None, [manifest["leftovers"]])]
    named = {row["file"]["name"] for row in rows}
    for pattern in ("leftovers.*.packs", "shard-*.packs"):
        for path in folder.glob(pattern):
            if path.name not in named:
                path.unlink(missing_ok=True)


def _check_counts(record: dict[str, Any]) -> None:
    counts = record["counts"]
    accounted = record["n_packed_tokens"] + counts["dropped_tokens"] + counts["truncated_tokens"]
    if accounted != counts["n_tokens"]:
        what = f"{counts['n_tokens']} tokens, packed or counted"
        raise RuntimeError(
            f"shard {record['shard']}: expected {what}, got {accounted}; this is a bug of packsim"
        )
