"""pack_shard(): packs one shard where it is, into files of a shared folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems, described
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._loss_spans import LossSpans, losses_of_items
from packsim._packing import Packing
from packsim.sharded.arguments import ShardArguments
from packsim.sharded.checked_files import map_arrays, read_record, write_arrays, write_record
from packsim.sharded.errors import DamagedFileError, ShardError
from packsim.sharded.leftovers import leftover_packs
from packsim.sharded.pieces import PackArrays

MOST_SHARDS = 10**6
RECORD_FORMAT = "packsim shard 1"


def record_path(folder: str | os.PathLike[str], shard: int) -> Path:
    """Returns the path of a shard's record, which is there when the shard is packed."""
    return Path(folder) / f"shard-{shard:06d}.json"


def recorded_shards(folder: Path) -> list[int]:
    """The shards whose records a folder has."""
    return sorted(int(path.stem.removeprefix("shard-")) for path in folder.glob(f"shard-{'[0-9]' * 6}.json"))


def pack_shard(
    lengths_tokens: LengthsLike,
    arguments: ShardArguments,
    *,
    folder: str | os.PathLike[str],
    shard: int,
    loss_tokens: LengthsLike | LossSpans | None = None,
) -> dict[str, Any]:
    """Pack one shard into a file of the folder, unless that is done.

    Any process of any machine that sees the folder may call it, for shards in any order and at the same
    time. A shard counts as packed when its record is there; a process that is killed before leaves nothing
    that counts. A shard whose record has these arguments and lengths, and whose file is undamaged, is not
    packed again; any other one is replaced.

    Parameters
    ----------
    lengths_tokens : array_like of int, shape (n_samples,)
        Of the shard's samples.
    arguments : ShardArguments
        The same for all shards.
    folder : path
        It is made where it is missing.
    shard : int
        From 0; samples of the data set are numbered shard after shard.
    loss_tokens : LossSpans or array_like of int, shape (n_samples,), optional
        Which tokens of each sample have loss, or how many, by default all but the first. Where samples are
        cut, LossSpans.

    Returns
    -------
    dict
        The record: arguments, hashes, counts, and the file with its checksum.

    Raises
    ------
    ShardError
        For mistakes in the arguments or the lengths, with the number of the shard.
    OSError
        Where the folder cannot be written.
    """
    with Problems() as problems:
        problems.integer("shard", shard, 0, MOST_SHARDS - 1)
        if not isinstance(arguments, ShardArguments):
            problems.add(f"arguments: expected ShardArguments, got {described(arguments)}")
    try:
        lengths = as_lengths(lengths_tokens)
        given = _checked_losses(loss_tokens, lengths)
    except ValueError as error:
        raise ShardError(f"shard {shard}: {error}") from error
    identity: dict[str, Any] = {
        "format": RECORD_FORMAT,
        "shard": int(shard),
        "arguments": arguments.to_dict(),
        "lengths_hash": _core.hash_of_lengths(lengths),
        "loss_tokens_hash": _losses_hash(given),
    }
    path = record_path(folder, shard)
    before = _record_or_none(path)
    if before is not None and _is_done(path.parent, before, identity):
        return before
    try:
        packing = arguments.pack(lengths)
        losses = None if given is None else losses_of_items(packing, given)
    except ValueError as error:
        raise ShardError(f"shard {shard}: {error}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    record = identity | _written(path, packing, losses, arguments)
    write_record(path, record)
    if before is not None and before["file"]["name"] != record["file"]["name"]:
        (path.parent / before["file"]["name"]).unlink(missing_ok=True)
    return record


def _written(
    path: Path, packing: Packing, losses: NDArray[np.int32] | None, arguments: ShardArguments
) -> dict[str, Any]:
    """Writes the packs, leftovers last, and says what they are."""
    packs = PackArrays.of_packing(packing, losses)
    pack_tokens = packs.pack_tokens()
    leftovers = leftover_packs(pack_tokens, np.diff(packs.offsets), arguments)
    if len(leftovers):
        kept = np.ones(packs.n_packs, dtype=bool)
        kept[leftovers] = False
        packs = packs.take(np.concatenate([np.flatnonzero(kept), leftovers]))
    own = pack_tokens[pack_tokens > arguments.capacity_tokens]
    return {
        "counts": asdict(packing.counts),
        "n_packs": packs.n_packs,
        "n_leftover_packs": len(leftovers),
        "n_packed_tokens": int(pack_tokens.sum()),
        "n_own_packs": len(own),
        "n_own_pack_tokens": int(own.sum()),
        "n_loss_tokens": int(packs.piece_loss_tokens().sum()),
        "file": write_arrays(path.parent, path.stem, packs.to_dict()),
    }


def _losses_hash(loss_tokens: NDArray[np.int32] | LossSpans | None) -> str | None:
    if isinstance(loss_tokens, LossSpans):
        return loss_tokens.content_hash()
    return None if loss_tokens is None else _core.hash_of_lengths(loss_tokens)


def _checked_losses(
    loss_tokens: LengthsLike | LossSpans | None, lengths: NDArray[np.int32]
) -> NDArray[np.int32] | LossSpans | None:
    if loss_tokens is None or isinstance(loss_tokens, LossSpans):
        return loss_tokens
    losses = as_lengths(loss_tokens, "loss_tokens")
    if len(losses) != len(lengths):
        raise ValueError(f"loss_tokens: expected {len(lengths)} numbers, got {len(losses)}")
    wrong = np.flatnonzero((losses < 0) | (losses > np.maximum(lengths - 1, 0)))
    if len(wrong):
        at = int(wrong[0])
        most = max(int(lengths[at]) - 1, 0)
        raise ValueError(f"loss_tokens: sample {at}: expected 0..{most}, got {losses[at]}")
    return losses


def _record_or_none(path: Path) -> dict[str, Any] | None:
    """None where there is none, or a damaged one, which is replaced."""
    try:
        record = read_record(path)
    except (FileNotFoundError, DamagedFileError):
        return None
    return record if record.get("format") == RECORD_FORMAT else None


def _is_done(folder: Path, record: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    if any(record.get(key) != value for key, value in identity.items()):
        return False
    try:
        map_arrays(folder, record["file"])
    except DamagedFileError:
        return False
    return True
