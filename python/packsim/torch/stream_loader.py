"""Batches of a stream, equally many on all ranks, counted when the training loop gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from packsim._arguments import Problems
from packsim.torch.stream_dataset import Delivery, StreamDataset

# What the dataset decides.
_NOT_OPTIONS = (
    "batch_size",
    "shuffle",
    "sampler",
    "batch_sampler",
    "drop_last",
    "collate_fn",
    "in_order",
    "persistent_workers",
)
_MOST_STEPS = 2**63 - 1


class StreamLoader:
    """The batches of one rank, and a place in the stream that checkpoints keep.

    Iterating goes on from the place to the end of its epoch, and leaves the loader at the beginning of the
    next one: `for epoch in range(n): for batch in loader` trains n epochs, and a loop that was left early
    goes on where it was. A batch is counted when the loop gets it, whatever workers have fetched ahead.

    All ranks make the same number of steps, and no pack is left out: ranks whose shards have ended get empty
    micro-batches until the last rank has none left. How many steps that is, several ranks agree on every
    `agree_every_steps` steps, or know beforehand from `n_steps`.

    Parameters
    ----------
    dataset : StreamDataset
        Its place is the loader's.
    num_workers : int
    n_steps : int, optional
        Steps of a whole epoch, as `dataset.count_steps()` has them. Ranks then need not agree.
    most_of_all_ranks : callable, optional
        From a number of each rank to the largest of all, called on all ranks in the same order. By default an
        all-reduce of torch.distributed.
    agree_every_steps : int
        So many packs are fetched before the first of them is given out.
    **options
        Others of torch's DataLoader, such as pin_memory or prefetch_factor.

    Raises
    ------
    ValueError
        Where workers cannot share the shards evenly, ranks have no way to agree, or an option is one that the
        dataset decides.
    """

    def __init__(
        self,
        dataset: StreamDataset,
        *,
        num_workers: int = 0,
        n_steps: int | None = None,
        most_of_all_ranks: Callable[[int], int] | None = None,
        agree_every_steps: int = 8,
        **options: Any,
    ) -> None:
        problems = Problems()
        for name in _NOT_OPTIONS:
            if name in options:
                problems.add(f"{name}: expected none, as the dataset decides it, got {options[name]!r}")
        num_workers = problems.integer("num_workers", num_workers, 0, 1 << 16)
        if n_steps is not None:
            n_steps = problems.integer("n_steps", n_steps, 0, _MOST_STEPS)
        agree_every_steps = problems.integer("agree_every_steps", agree_every_steps, 1, 1 << 20)
        may_agree = dataset.world_size == 1 or n_steps is not None or most_of_all_ranks is not None
        if not may_agree and not (dist.is_available() and dist.is_initialized()):
            expected = f"n_steps, torch.distributed, or a function for {dataset.world_size} ranks to agree by"
            problems.add(f"most_of_all_ranks: expected {expected}, got none")
        problems.raise_if_any()
        dataset.check_workers(num_workers)
        self.dataset = dataset
        self._num_workers = num_workers
        self._n_steps = n_steps
        self._most_of_all_ranks = most_of_all_ranks or _most_by_torch
        self._agree_every_steps = agree_every_steps
        self._options = options

    def state_dict(self) -> dict[str, Any]:
        """That of the dataset."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """That of the dataset; for the next iteration."""
        self.dataset.load_state_dict(state)

    def __iter__(self) -> Iterator[Any]:
        packs = self._packs()
        if self._n_steps is not None:
            steps = self._known_steps(packs, self._n_steps)
        elif self.dataset.world_size == 1:
            steps = packs
        else:
            steps = self._agreed_steps(packs)
        for delivery in steps:
            self.dataset.delivered(delivery)
            yield self.dataset.empty_batch() if delivery is None else delivery.batch
        self.dataset.end_epoch()

    def _packs(self) -> Iterator[Delivery]:
        loader = DataLoader(
            self.dataset,
            batch_size=None,
            num_workers=self._num_workers,
            collate_fn=_as_it_is,
            **self._options,
        )
        return (delivery for delivery in loader if not delivery.has_ended)

    def _known_steps(self, packs: Iterator[Delivery], n_steps: int) -> Iterator[Delivery | None]:
        while self.dataset.step < n_steps:
            yield next(packs, None)
        if next(packs, None) is not None:
            rank = self.dataset.rank
            raise ValueError(f"n_steps: expected all packs of rank {rank} to fit, got {n_steps}, too few")

    def _agreed_steps(self, packs: Iterator[Delivery]) -> Iterator[Delivery | None]:
        while True:
            fetched: list[Delivery | None] = list(islice(packs, self._agree_every_steps))
            n_steps = self._most_of_all_ranks(len(fetched))
            if n_steps == 0:
                return
            yield from fetched + [None] * (n_steps - len(fetched))


def _as_it_is(delivery: Any) -> Any:
    return delivery


def _most_by_torch(number: int) -> int:
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    most = torch.tensor(number, device=device)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return int(most.item())
