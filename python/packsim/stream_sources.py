"""Where the shards of a stream come from: callables `open_shard(shard_index, n_shards, start_sample)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from packsim._arguments import Problems, described
from packsim._mixed_source import MixedSource, SourcedSample

Path = TypeVar("Path")
Sample = TypeVar("Sample")

_ROWS_READ_AT_ONCE = 64

__all__ = ["DatasetShards", "FileShards", "MixedSource", "ShardedDataset", "SourcedSample"]


class FileShards(Generic[Path, Sample]):
    """Shard i has the samples of files i, i + n_shards, i + 2 n_shards, ..., one after another.

    Parameters
    ----------
    files : sequence
        At least as many as there are shards, in an order that is the same on every rank: sort what a folder
        is listed as.
    read_file : callable
        `read_file(file)` gives the samples of a file.
    n_samples_of : callable, optional
        `n_samples_of(file)`: resuming then skips whole files without reading them. Otherwise it reads what
        it skips. A file that is read must have as many.
    """

    def __init__(
        self,
        files: Sequence[Path],
        read_file: Callable[[Path], Iterable[Sample]],
        n_samples_of: Callable[[Path], int] | None = None,
    ) -> None:
        with Problems() as problems:
            # A set has another order in every process, and a generator that of the folder on each machine.
            if isinstance(files, (str, bytes)) or not isinstance(files, Sequence) or not files:
                problems.add(f"files: expected a sequence of at least one path, got {described(files)}")
            if not callable(read_file):
                problems.add(f"read_file: expected a callable, got {described(read_file)}")
            if n_samples_of is not None and not callable(n_samples_of):
                problems.add(f"n_samples_of: expected a callable or none, got {described(n_samples_of)}")
        self.files = list(files)
        self.read_file = read_file
        self.n_samples_of = n_samples_of

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterator[Sample]:
        if len(self.files) < n_shards:
            raise ValueError(
                f"files: expected at least one for each of {n_shards} shards, got {len(self.files)}"
            )
        return self._samples(self.files[shard_index::n_shards], start_sample)

    def _samples(self, files: Sequence[Path], n_to_skip: int) -> Iterator[Sample]:
        for file in files:
            expected = None if self.n_samples_of is None else self.n_samples_of(file)
            if expected is not None and 0 < expected <= n_to_skip:
                n_to_skip -= expected
                continue
            n_read = 0
            for n_read, sample in enumerate(self.read_file(file), start=1):
                if n_read > n_to_skip:
                    yield sample
            n_to_skip = max(0, n_to_skip - n_read)
            if expected not in (None, n_read):
                # Skipping it when a run is resumed would lose samples, or repeat some.
                raise ValueError(f"{file}: expected {expected} samples, as n_samples_of() said, got {n_read}")


class ShardedDataset(Protocol):
    """What `datasets.IterableDataset` and `datasets.Dataset` of Hugging Face have, and others like them.

    `skip(n)` and `set_epoch(epoch)` are used where they are there.
    """

    def shard(self, num_shards: int, index: int) -> Any: ...


class DatasetShards:
    """Shard i is `dataset.shard(n_shards, i)`.

    An iterable dataset of Hugging Face has as many shards as it has files, at most: its `num_shards`. Where
    a shard has `set_epoch()`, it is called with the number of the epoch: a shuffled dataset has another order
    in every epoch.

    Raises
    ------
    ValueError
        For a dataset that has no `shard()`.
    """

    def __init__(self, dataset: ShardedDataset) -> None:
        if not hasattr(dataset, "shard"):
            raise ValueError(f"dataset: expected one that has shard(), got {described(dataset)}")
        self.dataset = dataset
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch
        if hasattr(self.dataset, "set_epoch"):
            self.dataset.set_epoch(epoch)

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterable[Any]:
        most = getattr(self.dataset, "num_shards", n_shards)
        if most < n_shards:
            raise ValueError(f"dataset: expected at least {n_shards} shards, got {most}")
        shard = self.dataset.shard(num_shards=n_shards, index=shard_index)
        if hasattr(shard, "set_epoch"):  # one of Hugging Face does not have that of the dataset it is made of
            shard.set_epoch(self._epoch)
        # Hugging Face's shuffle their files in later epochs, but not behind skip().
        is_in_order = self._epoch == 0 or not hasattr(shard, "set_epoch")
        if start_sample > 0 and is_in_order and hasattr(shard, "skip"):
            shard, start_sample = shard.skip(start_sample), 0
        return islice(_samples_of(shard), start_sample, None)


def _samples_of(shard: Any) -> Iterator[Any]:
    """All of them, also in a worker of a DataLoader, where datasets of Hugging Face give only a part."""
    if type(shard).__module__.partition(".")[0] != "datasets":
        yield from shard
        return
    for rows in shard.iter(batch_size=_ROWS_READ_AT_ONCE):
        names = list(rows)
        for values in zip(*rows.values(), strict=True):
            yield dict(zip(names, values, strict=True))
