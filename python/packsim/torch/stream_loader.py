"""Batches of a stream, equally many on all ranks, counted when the training loop gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from torch.utils.data import DataLoader

from packsim._arguments import Problems
from packsim._normalisers import StepLoss, pack_weight
from packsim._states import MOST
from packsim.torch.loader import add_decided_options, check_newest, check_step_taken
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.ranks import can_gather, gathered
from packsim.torch.stream_collator import StreamMicroBatch, with_weight
from packsim.torch.stream_dataset import Delivery, StreamDataset
from packsim.torch.stream_state import Accumulation, merge_stream_states

_FAILED = -1  # in place of a number of packs


class _Step(NamedTuple):
    """The micro-batches of one rank in an optimizer step; None for empty ones."""

    deliveries: list[Delivery | None]
    n_before: int  # that the loop has had already
    loss: StepLoss
    iterator: int  # of the dataset


class StreamLoader:
    """The batches of one rank, and a place in the stream that checkpoints keep.

    Iterating goes on from the place to the end of its epoch, and leaves the loader at the beginning of the
    next one: `for epoch in range(n): for batch in loader` trains n epochs, and a loop that was left early
    goes on where it was. A batch is counted when the loop gets it, whatever workers have fetched ahead.

    All ranks have equally many micro-batches, and no pack is left out: ranks whose shards have ended get
    empty ones until the last rank has none left. The last step of an epoch has as many as are left.

    With a `StreamCollator`, the loss weights of a micro-batch are those of its optimizer step over all ranks,
    and `batch.is_last` says where the optimizer steps. Ranks exchange a few numbers every `agree_every_steps`
    steps: how many packs each has left, and the loss tokens of each step. At the beginning of an iteration
    they compare their arguments, and where the stream is a MixedSource, behind every step its new weights.

    Parameters
    ----------
    dataset : StreamDataset
        Its place is the loader's.
    num_workers : int
    micro_batches_per_step : int
        Of each rank, in an optimizer step.
    n_steps : int, optional
        Micro-batches of a whole epoch, as `dataset.count_steps()` has them. Ranks then exchange loss tokens
        alone, and with a collator of your own nothing.
    gather_from_all_ranks : callable, optional
        From a value of each rank, as JSON has it, to the list of those of all ranks; called on all ranks in
        the same order. By default it is done by torch.distributed.
    group : ProcessGroup, optional
        The ranks that have parts of the stream, for torch.distributed; by default all. One of gloo beside
        NCCL has the exchange not wait for the GPU.
    agree_every_steps : int
        Packs of so many optimizer steps are fetched before the first of them is given out, where ranks
        exchange anything.
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
        micro_batches_per_step: int = 1,
        n_steps: int | None = None,
        gather_from_all_ranks: Callable[[Any], list[Any]] | None = None,
        group: Any = None,
        agree_every_steps: int = 8,
        **options: Any,
    ) -> None:
        with Problems() as problems:
            add_decided_options(problems, "dataset", options)
            num_workers = problems.integer("num_workers", num_workers, 0, 1 << 16)
            if n_steps is not None:
                n_steps = problems.integer("n_steps", n_steps, 0, MOST)
            agree_every_steps = problems.integer("agree_every_steps", agree_every_steps, 1, 1 << 20)
            per_step = problems.integer("micro_batches_per_step", micro_batches_per_step, 1, 1 << 20)
            self._exchanges = dataset.world_size > 1 and (n_steps is None or dataset.normaliser is not None)
            if self._exchanges and gather_from_all_ranks is None and not can_gather():
                what = "a function" if dataset.normaliser is not None else "n_steps, a function"
                expected = f"{what} or torch.distributed for {dataset.world_size} ranks to agree by"
                problems.add(f"gather_from_all_ranks: expected {expected}, got none")
        dataset.check_workers(num_workers)
        self.dataset = dataset
        self._num_workers = num_workers
        self._micro_batches_per_step = per_step
        self._n_steps = n_steps
        self._gather_from_all_ranks = gather_from_all_ranks or partial(gathered, group=group)
        self._steps_ahead = agree_every_steps if self._exchanges else 1
        self._n_iterations = 0
        self._options = options

    def state_dict(self) -> dict[str, Any]:
        """That of the dataset: what this rank has had."""
        return self.dataset.state_dict()

    def gathered_state_dict(self) -> dict[str, Any]:
        """The states of all ranks, merged into one, from which any number of ranks can go on.

        Inside an optimizer step it is for the same number alone. All ranks call it after the same
        micro-batch, and all get the same. One of them saves it.
        """
        state = self.state_dict()
        return merge_stream_states(self._gathered(state))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """That of the dataset; iterators that have begun before cannot go on."""
        self.dataset.load_state_dict(state)

    def __iter__(self) -> Iterator[Any]:
        """The batches from here to the end of the epoch.

        Raises
        ------
        RuntimeError
            Where an iterator is asked on after a newer one over the dataset has begun, of this loader or
            another, or a state was loaded: batches would be trained twice. And where ranks have other
            arguments, states or weights of sources, or one has failed.
        """
        for step in self._steps_of_epoch():
            yield from self._batches_of(step)

    def steps(self) -> Iterator[Iterator[Any]]:
        """Yields for each optimizer step its batches, from here to the end of the epoch.

        Raises
        ------
        RuntimeError
            Where the loop goes on to the next step before it has taken all batches of this one.
        """
        for step in self._steps_of_epoch():
            n_before = self.dataset.step
            yield self._batches_of(step)
            check_step_taken(self.dataset.step == n_before + len(step.deliveries))

    def _steps_of_epoch(self) -> Iterator[_Step]:
        self._n_iterations = 0
        own = self.dataset.begin_iterator()
        self._check_same_arguments()
        self._take_weight_change()
        packs = self._packs()
        accumulation = self.dataset.accumulation
        if accumulation is not None:
            yield self._rest_of_step(packs, accumulation)
            check_newest(own, self.dataset.newest_iterator)
            if self._take_weight_change():
                packs = self._packs()
        while steps := self._next_steps(packs):
            for step in steps:
                yield step
                check_newest(own, self.dataset.newest_iterator)
                self._n_iterations += 1
                if self._take_weight_change():
                    # What was fetched ahead has the old weights.
                    packs = self._packs()
                    break
        self.dataset.end_epoch()

    def _check_same_arguments(self) -> None:
        """RuntimeError where ranks would exchange other rows, or train other streams."""
        if not self._exchanges:
            return
        row = {
            "micro-batches": self.dataset.step,
            "epochs": self.dataset.epoch,
            "micro_batches_per_step": self._micro_batches_per_step,
            "agree_every_steps": self._steps_ahead,
            "n_steps": -1 if self._n_steps is None else self._n_steps,
            "hash of the stream's arguments and weights": self.dataset.stream_hash(),
        }
        rows = self._gathered(list(row.values()))
        for i, name in enumerate(row):
            _check_equal(name, [row[i] for row in rows])

    def _take_weight_change(self) -> bool:
        """All ranks take the change together, as those that do not would go on to the next step alone."""
        if self._exchanges and self.dataset.is_mixed and self.dataset.accumulation is None:
            rows = self._gathered([self.dataset.requested_hash()])
            _check_equal("hash of new weights of sources (0: none)", [row[0] for row in rows])
        return self.dataset.take_weight_change()

    def _next_steps(self, packs: Iterator[Delivery]) -> list[_Step]:
        """Steps whose packs have been fetched; none at the end of the epoch."""
        per_step = self._micro_batches_per_step
        n_ahead = per_step * self._steps_ahead
        if self._n_steps is not None:
            n_ahead = min(n_ahead, max(0, self._n_steps - self.dataset.step))
        fetched = self._fetched(packs, n_ahead)
        losses, n_fetched = self._exchanged(fetched)
        if self._n_steps is not None:
            if n_ahead == 0 and next(packs, None) is not None:
                rank = self.dataset.rank
                expected = f"expected all packs of rank {rank} to fit"
                raise ValueError(f"n_steps: {expected}, got {self._n_steps}, too few")
            n_fetched = n_ahead
        steps = []
        for begin in range(0, n_fetched, per_step):
            own: list[Delivery | None] = list(fetched[begin : begin + per_step])
            n_micro_batches = min(per_step, n_fetched - begin)
            own += [None] * (n_micro_batches - len(own))
            steps.append(_Step(own, 0, losses[begin // per_step], self.dataset.newest_iterator))
        return steps

    def _rest_of_step(self, packs: Iterator[Delivery], accumulation: Accumulation) -> _Step:
        """What follows in the step that the loop is in, with the weights that it began with."""
        n_left = accumulation.n_micro_batches - accumulation.n_done
        fetched = self._fetched(packs, n_left)
        self._exchanged(fetched)  # all ranks have theirs
        own = [*fetched, *[None] * (n_left - len(fetched))]
        return _Step(own, accumulation.n_done, accumulation.loss, self.dataset.newest_iterator)

    def _fetched(self, packs: Iterator[Delivery], n_packs: int) -> list[Delivery]:
        try:
            return list(islice(packs, n_packs))
        except Exception:
            self._exchanged(None)  # others would wait for this rank
            raise

    def _exchanged(self, packs: list[Delivery] | None) -> tuple[list[StepLoss], int]:
        """What all ranks train in each step, and how many packs the rank with most has fetched.

        packs: those that this rank has fetched; None where that failed, which the others learn.
        """
        fetched = packs or []
        per_step = self._micro_batches_per_step
        begins = range(0, per_step * self._steps_ahead, per_step)
        own = [_counts_of(fetched[begin : begin + per_step]) for begin in begins]
        n_fetched = _FAILED if packs is None else len(fetched)
        row = [self.dataset.step, n_fetched, *(number for counts in own for number in counts)]
        rows = self._gathered(row) if self._exchanges else [row]
        if packs is None:
            return [], 0
        failed = [rank for rank, row in enumerate(rows) if row[1] == _FAILED]
        if failed:
            raise RuntimeError(
                f"loader: expected packs of all ranks, got none of {failed}, whose errors say why"
            )
        _check_equal("micro-batches", [row[0] for row in rows])
        losses = [
            StepLoss(*(tuple(row[i + j] for row in rows) for j in range(3)))
            for i in range(2, 2 + 3 * len(own), 3)
        ]
        return losses, max(row[1] for row in rows)

    def _gathered(self, value: Any) -> list[Any]:
        return [value] if self.dataset.world_size == 1 else self._gather_from_all_ranks(value)

    def _batches_of(self, step: _Step) -> Iterator[Any]:
        n_micro_batches = step.n_before + len(step.deliveries)
        for round, delivery in enumerate(step.deliveries, start=step.n_before):
            check_newest(step.iterator, self.dataset.newest_iterator)
            is_last = round + 1 == n_micro_batches
            batch = self.dataset.empty_batch() if delivery is None else delivery.batch
            batch = self._weighted(batch, step.loss, round, is_last)
            rest = None if is_last else Accumulation(round + 1, n_micro_batches, step.loss)
            self.dataset.delivered(delivery, rest)
            yield batch

    def _weighted(self, batch: Any, loss: StepLoss, round: int, is_last: bool) -> Any:
        normaliser = self.dataset.normaliser
        has_weights = isinstance(batch, PackedBatch) and isinstance(batch.micro_batch, StreamMicroBatch)
        if has_weights != (normaliser is not None):
            expected = "a StreamCollator, or a callable with its `normaliser` that returns its batches"
            raise ValueError(f"collator: expected {expected}, got one of {type(batch).__name__}")
        if normaliser is None:
            return batch
        _, loss_tokens, n_samples = _loss_of(batch)
        weight = pack_weight(normaliser, loss, self.dataset.rank, loss_tokens, n_samples)
        place = {"iteration": self._n_iterations, "round": round, "rank": self.dataset.rank}
        return with_weight(batch, weight, normaliser.per_sample, **place, is_last=is_last)

    def _packs(self) -> Iterator[Delivery]:
        loader = DataLoader(
            self.dataset,
            batch_size=None,
            num_workers=self._num_workers,
            collate_fn=_as_it_is,
            **self._options,
        )
        deliveries = iter(loader)
        try:
            yield from (delivery for delivery in deliveries if not delivery.has_ended)
        finally:
            # PyTorch's errors refer to themselves. When its iterator is collected with them, each worker is
            # waited for for 5 s.
            if hasattr(deliveries, "_shutdown_workers"):
                deliveries._shutdown_workers()


def _check_equal(name: str, numbers: list[int]) -> None:
    if len(set(numbers)) > 1:
        raise RuntimeError(f"loader: expected equal {name} on all ranks, got {numbers}")


def _counts_of(deliveries: list[Delivery]) -> list[int]:
    """Packs, their loss tokens, and their samples with loss."""
    losses = [_loss_of(delivery.batch) for delivery in deliveries]
    return [sum(numbers) for numbers in zip(*losses, strict=True)] if losses else [0, 0, 0]


def _loss_of(batch: Any) -> tuple[int, int, int]:
    """(1, loss tokens, samples with loss); without weights (1, 0, 0)."""
    micro_batch = batch.micro_batch if isinstance(batch, PackedBatch) else None
    if micro_batch is None:
        return 1, 0, 0
    return 1, int(micro_batch.loss_tokens.sum()), int((micro_batch.loss_tokens > 0).sum())


def _as_it_is(delivery: Any) -> Any:
    return delivery
