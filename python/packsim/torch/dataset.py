"""Samples of a pack, with the pack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from torch.utils.data import Dataset

from packsim._iterations import Iterations
from packsim._micro_batch import MicroBatch
from packsim.torch.arrow_rows import ArrowRows


class MapStyleDataset(Protocol):
    """What DataLoader calls a map-style dataset."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class FetchedPack(list[Any]):
    """The samples of a micro-batch, one for each of its pieces, in its order.

    Attributes
    ----------
    micro_batch : MicroBatch
    example
        For an empty micro-batch any sample of the data, whose columns its batch has, too; None: not known.
    """

    def __init__(self, samples: Iterable[Any], micro_batch: MicroBatch, example: Any = None) -> None:
        super().__init__(samples)
        self.micro_batch = micro_batch
        self.example = example


class PackDataset(Dataset[Any]):
    """A map-style dataset whose batches know which micro-batch they are.

    Parameters
    ----------
    dataset
        Its own `__getitems__`, where it has one, fetches the samples of a micro-batch at once.
    as_arrays : bool
        Of a `datasets.Dataset` without a format, give ids and labels as arrays instead of lists, several
        times as fast: what PackCollator takes, but not every collator.

    Raises
    ------
    ValueError
        For data without `len()` or `[]`.
    """

    def __init__(self, dataset: MapStyleDataset, as_arrays: bool = False) -> None:
        check_map_style(dataset)
        self.dataset = dataset
        self._fetch = ArrowRows.of(dataset) if as_arrays else None
        if self._fetch is None:
            self._fetch = getattr(dataset, "__getitems__", None)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]

    def __getitems__(self, micro_batch: MicroBatch) -> FetchedPack:
        """What DataLoader calls with what its batch sampler gave."""
        samples = list(micro_batch)
        if not samples and len(self.dataset):
            return FetchedPack((), micro_batch, example=self.dataset[0])
        if self._fetch is not None:
            return FetchedPack(self._fetch(samples), micro_batch)
        return FetchedPack((self.dataset[sample] for sample in samples), micro_batch)


class PlanDataset(PackDataset):
    """A map-style dataset whose batches know which micro-batch of a plan they are.

    Parameters
    ----------
    dataset, as_arrays
        As of PackDataset; samples in the order of the lengths that the plan was made of.
    plan : Plan, RepackedPlan or ShardedPlan

    Raises
    ------
    ValueError
        For data without `len()` or `[]`, and unless the dataset has as many samples as the plan.
    """

    def __init__(self, dataset: MapStyleDataset, plan: Iterations, as_arrays: bool = False) -> None:
        super().__init__(dataset, as_arrays)
        if len(dataset) != plan.n_samples:
            expected = f"expected {plan.n_samples} samples, of which the plan was made"
            raise ValueError(f"dataset: {expected}, got {len(dataset)}")


def check_map_style(dataset: object) -> None:
    """ValueError for data that can only be iterated."""
    if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
        expected = "expected one with len() and [], as a plan goes by the place of samples"
        raise ValueError(f"dataset: {expected}, got {type(dataset).__name__}; StreamLoader takes streams")
