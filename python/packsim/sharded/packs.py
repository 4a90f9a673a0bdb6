"""ShardedPacks: the packs of a data set in shards, mapped from files."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems
from packsim._packing import PackCounts
from packsim.sharded.arguments import ShardArguments
from packsim.sharded.checked_files import check_size, map_arrays, read_record, record_checksum
from packsim.sharded.errors import DamagedFileError, ShardError
from packsim.sharded.pieces import PackArrays

MANIFEST = "manifest.json"
MANIFEST_FORMAT = "packsim sharded packs 1"
_MOST_MAPPED = 256  # each takes a file descriptor


class ShardedPacks:
    """The packs of all shards, numbered from 0, with 64-bit ids of the data set's samples.

    Sample i of shard s has the id `first_samples[s] + i`. Files are mapped when packs of theirs are asked
    for, and verified by their checksum the first time.

    Attributes
    ----------
    folder : Path
    manifest : dict
        What the manifest says: arguments, and for each shard its file with checksum, first sample and counts.
    arguments : ShardArguments
    content_hash : str
        32 hexadecimal digits that tell sets of packs apart.
    n_samples, n_packs, n_shards, capacity_tokens : int
        Of the data set; samples that were left out count, too.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], verify: bool) -> None:
        self.folder = folder
        self.manifest = manifest
        self.arguments = ShardArguments(**manifest["arguments"])
        self.content_hash = record_checksum(manifest)
        self.n_samples, self.n_packs = int(manifest["n_samples"]), int(manifest["n_packs"])
        self.n_shards = len(manifest["shards"])
        self.capacity_tokens = self.arguments.capacity_tokens
        rows, leftovers = manifest["shards"], manifest["leftovers"]
        self.first_samples = np.array(
            [row["first_sample"] for row in rows] + [self.n_samples], dtype=np.int64
        )
        self._files = [row["file"] for row in rows] + ([leftovers["file"]] if leftovers else [])
        used = [row["n_used_packs"] for row in rows] + ([leftovers["n_packs"]] if leftovers else [])
        self._first_packs = np.cumsum([0, *used], dtype=np.int64)
        self._verify = verify
        self._verified: set[int] = set()
        self._mapped: OrderedDict[int, dict[str, NDArray[Any]]] = OrderedDict()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: bool = True) -> ShardedPacks:
        """The packs that `join_shards()` joined; `verify` False trusts the content of files.

        Raises
        ------
        ShardError
            Where there is no manifest, or it or files are damaged or missing: all of them.
        """
        place = Path(folder).absolute()
        try:
            manifest = read_record(place / MANIFEST)
        except FileNotFoundError:
            raise ShardError(
                f"{place / MANIFEST}: expected a manifest, found none: join the shards"
            ) from None
        except DamagedFileError as error:
            raise ShardError(str(error)) from error
        if manifest.get("format") != MANIFEST_FORMAT:
            what = f"expected {MANIFEST_FORMAT}, got {manifest.get('format')!r:.60}"
            raise ShardError(f"{place / MANIFEST}: {what}")
        packs = cls(place, manifest, verify)
        with Problems(ShardError) as problems:
            for file in packs._files:
                with problems.collected():
                    check_size(place, file)
        return packs

    @cached_property
    def counts(self) -> PackCounts:
        """What became of the samples of all shards."""
        rows = [row["counts"] for row in self.manifest["shards"]]
        return PackCounts(
            **{field.name: sum(row[field.name] for row in rows) for field in fields(PackCounts)}
        )

    @property
    def n_tokens(self) -> int:
        """The tokens in packs."""
        return self._sum("n_packed_tokens")

    @property
    def n_loss_tokens(self) -> int:
        """The loss tokens in packs."""
        return self._sum("n_loss_tokens")

    @property
    def fill_fraction(self) -> float:
        """Tokens over pack length, packs of over-long samples left out."""
        n_packs = self.n_packs - self._sum("n_own_packs")
        return self._normal_tokens / (n_packs * self.capacity_tokens) if n_packs else 0.0

    @property
    def packs_above_bound(self) -> int:
        """Packs beyond as many as the tokens would fill completely, which no packing stays below."""
        n_packs = self.n_packs - self._sum("n_own_packs")
        return n_packs - -(-self._normal_tokens // self.capacity_tokens)

    @property
    def _normal_tokens(self) -> int:
        return self.n_tokens - self._sum("n_own_pack_tokens")

    def _sum(self, key: str) -> int:
        return sum(row[key] for row in self.manifest["shards"])

    def pack(self, index: int) -> PackArrays:
        """One pack, with ids of the data set."""
        if not 0 <= index < self.n_packs:
            raise IndexError(f"pack: expected index in 0..{self.n_packs - 1}, got {index}")
        part = int(np.searchsorted(self._first_packs, index, side="right")) - 1
        local = index - int(self._first_packs[part])
        arrays = self._part(part)
        begin, end = (int(offset) for offset in arrays["offsets"][local : local + 2])
        offsets = np.array([0, end - begin])
        pack = PackArrays.of_dict(arrays).pick(slice(begin, end), offsets)
        return pack.with_ids(int(self.first_samples[part]) if part < self.n_shards else 0)

    def __iter__(self) -> Iterator[PackArrays]:
        return (self.pack(index) for index in range(self.n_packs))

    def __len__(self) -> int:
        return self.n_packs

    def pack_loss_tokens(self, packs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (len(packs),): tokens with loss of each of these packs."""
        return self._gather("pack_loss_tokens", packs).astype(np.int64)

    def pack_work(self, packs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Shape (len(packs),): sum of squared lengths, which the work of attention is proportional to."""
        return self._gather("pack_work", packs).astype(np.float64)

    def check(self) -> None:
        """Read everything, a shard at a time.

        Raises
        ------
        ShardError
            Where files are damaged, or a sample is packed twice, or lost without being counted: all shards.
        """
        with Problems(ShardError) as problems:
            leftovers = self._leftovers_by_id()
            for shard, row in enumerate(self.manifest["shards"]):
                with problems.collected(f"shard {shard}: "):
                    arrays = map_arrays(self.folder, row["file"])
                    n_pieces = int(arrays["offsets"][row["n_used_packs"]])
                    packs = PackArrays.of_dict(arrays).pick(slice(0, n_pieces), arrays["offsets"])
                    _check_once(row, packs, leftovers)

    def _leftovers_by_id(self) -> PackArrays | None:
        if not self.manifest["leftovers"]:
            return None
        try:
            leftovers = PackArrays.of_dict(map_arrays(self.folder, self._files[-1]))
        except DamagedFileError as error:
            raise ShardError(f"leftovers: {error}") from error
        return leftovers.pick(np.argsort(leftovers.samples, kind="stable"), leftovers.offsets)

    def _gather(self, name: str, packs: NDArray[np.int64]) -> NDArray[Any]:
        values = np.zeros(len(packs), dtype=np.float64 if name == "pack_work" else np.int64)
        parts = np.searchsorted(self._first_packs, packs, side="right") - 1
        if len(packs) == 0:
            return values
        order = np.argsort(parts, kind="stable")
        found, begins = np.unique(parts[order], return_index=True)
        for part, own in zip(found.tolist(), np.split(order, begins[1:]), strict=True):
            values[own] = self._part(part)[name][packs[own] - self._first_packs[part]]
        return values

    def _part(self, part: int) -> dict[str, NDArray[Any]]:
        """Mapped arrays of a shard, or of the leftovers after the last."""
        arrays = self._mapped.pop(part, None)
        if arrays is None:
            arrays = map_arrays(self.folder, self._files[part], self._verify and part not in self._verified)
            self._verified.add(part)
            if len(self._mapped) >= _MOST_MAPPED:
                self._mapped.popitem(last=False)
        self._mapped[part] = arrays
        return arrays

    def __repr__(self) -> str:
        what = f"{self.n_packs} packs of {self.capacity_tokens} tokens"
        shards = f"{self.n_samples} samples in {self.n_shards} shards"
        return f"<ShardedPacks of {shards}: {what}, fill {self.fill_fraction:.4f}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.folder), self.content_hash, self._verify)


def _check_once(row: dict[str, Any], packs: PackArrays, leftovers: PackArrays | None) -> None:
    """ValueError where a sample of a shard is packed twice, or lost."""
    counts = row["counts"]
    samples = packs.samples.astype(np.int64)
    tokens = packs.tokens.astype(np.int64)
    starts = _starts(packs)
    if leftovers is not None:
        bounds = np.array([row["first_sample"], row["first_sample"] + counts["n_samples"]], dtype=np.uint64)
        own = slice(*np.searchsorted(leftovers.samples, bounds).tolist())
        ids = (leftovers.samples[own] - bounds[0]).astype(np.int64)
        samples = np.concatenate([samples, ids])
        tokens = np.concatenate([tokens, leftovers.tokens[own].astype(np.int64)])
        starts = np.concatenate([starts, _starts(leftovers)[own]])
    if len(samples) and int(samples.max()) >= counts["n_samples"]:
        raise ValueError(f"expected samples below {counts['n_samples']}, got {int(samples.max())}")
    times, wrong = _times_packed(samples, starts, tokens, counts["n_samples"])
    if len(wrong):
        raise ValueError(f"expected sample {wrong[0]} to be packed once, got parts of it twice or not at all")
    n_expected = counts["n_samples"] - counts["dropped_samples"] - counts["empty_samples"]
    n_found, n_tokens = int(np.count_nonzero(times)), int(tokens.sum())
    if (n_found, n_tokens) != (n_expected, row["n_packed_tokens"]):
        what = f"expected {n_expected} samples with {row['n_packed_tokens']} tokens in packs"
        raise ValueError(f"{what}, got {n_found} with {n_tokens}")


def _times_packed(
    samples: NDArray[np.int64], starts: NDArray[np.int64], tokens: NDArray[np.int64], n_samples: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(pieces of each sample, samples that are not once in packs)."""
    times = np.bincount(samples, minlength=n_samples)
    if not starts.any():
        return times, np.flatnonzero(times > 1)
    # The pieces of a sample must lie one behind the other, from its first token on.
    order = np.lexsort((starts, samples))
    is_first = np.diff(samples[order], prepend=-1) != 0
    ends = np.concatenate([[0], (starts[order] + tokens[order])[:-1]])
    wrong = starts[order] != np.where(is_first, 0, ends)
    return times, samples[order][wrong]


def _starts(packs: PackArrays) -> NDArray[np.int64]:
    if packs.starts_tokens is None:
        return np.zeros(len(packs.samples), dtype=np.int64)
    return packs.starts_tokens.astype(np.int64)


def _reopen(folder: str, content_hash: str, verify: bool) -> ShardedPacks:
    packs = ShardedPacks.open(folder, verify=verify)
    if packs.content_hash != content_hash:
        raise ShardError(
            f"{folder}: expected packs {content_hash}, which were pickled, got {packs.content_hash}"
        )
    return packs
