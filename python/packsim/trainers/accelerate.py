"""Plans in a loop with accelerate: which batches, when gradients are exchanged, and at what scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from packsim._micro_batch import MicroBatch
from packsim._mixture import Mixture
from packsim._plan import Plan
from packsim.torch.dataset import FetchedPack, MapStyleDataset
from packsim.torch.loader import PlanLoader
from packsim.torch.mixing import MixtureLoader
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._data_parallel import check_accelerator, exchanges_gradients
from packsim.trainers._packed_loss import PackedLoss, check_alone, n_micro_batches


class _Accelerated:
    """What a loop of accelerate does with the batches of a loader; comes before it in the bases."""

    _accelerator: Any
    _packed_loss: PackedLoss
    _is_last = True
    _newest: MicroBatch | None = None

    def _set_up(self, accelerator: Any, check_isolation: bool) -> None:
        self._accelerator = accelerator
        self._packed_loss = PackedLoss(accelerator.num_processes, check_isolation)

    def __iter__(self) -> Iterator[PackedBatch]:
        return self._on_device(super().__iter__())  # type: ignore[misc]

    def _on_device(self, batches: Iterator[PackedBatch]) -> Iterator[PackedBatch]:
        for batch in batches:
            self._is_last, self._newest = batch.is_last, batch.micro_batch
            yield batch.to(self._accelerator.device)

    @contextmanager
    def accumulate(self, *models: nn.Module) -> Iterator[None]:
        """What `accelerator.accumulate()` does, by the plan or the mixture.

        The optimizer and the scheduler that accelerate has prepared step behind the last micro-batch of a
        step, where processes exchange gradients; with `sync_each_batch` of the accelerator's plugin they do
        behind each.
        """
        self._accelerator.gradient_state._set_sync_gradients(self._is_last)
        if not models or exchanges_gradients(self._accelerator, self._is_last):
            yield
            return
        with self._accelerator.no_sync(models[0]), self.accumulate(*models[1:]):
            yield

    def loss(self, model: nn.Module, batch: PackedBatch) -> Tensor:
        """The loss of a batch, as `weighted_loss()` has it on the processes of the accelerator.

        Calls the model with `attention_inputs()`. On the first batch, checks that documents are isolated.

        Raises
        ------
        RuntimeError
            For a batch that is not the newest of the loader: `accumulate()` goes by the newest.
        """
        if batch.micro_batch is not self._newest:
            raise RuntimeError(
                "batch: expected the newest of the loader, which accumulate() goes by, got another"
            )
        return self._packed_loss(model, batch, self._n_micro_batches(batch))[0]

    def backward(self, loss: Tensor) -> None:
        """`accelerator.backward()` without its division by `gradient_accumulation_steps`: the weights have
        that already."""
        self._accelerator.backward(loss * self._accelerator.gradient_accumulation_steps)

    def _n_micro_batches(self, batch: PackedBatch) -> int:
        """Counts those of the process in the step of the batch."""
        raise NotImplementedError


class AcceleratedLoader(_Accelerated, PlanLoader):
    """The batches of this process on its device, with what a loop does with them; made by `packed_loader()`.

    It is not given to `accelerator.prepare()`. With `accelerator.register_for_checkpointing(loader)`,
    `save_state()` and `load_state()` keep its place.
    """

    def _n_micro_batches(self, batch: PackedBatch) -> int:
        return n_micro_batches(self.schedule, batch)


class AcceleratedMixtureLoader(_Accelerated, MixtureLoader):
    """An AcceleratedLoader of a mixture; made by `mixture_loader()`."""

    def _n_micro_batches(self, batch: PackedBatch) -> int:
        del batch
        return self.micro_batches_per_step


def packed_loader(
    accelerator: Any,
    plan: Plan,
    dataset: MapStyleDataset,
    collator: Callable[[FetchedPack], PackedBatch] | None = None,
    *,
    check_isolation: bool = True,
    **options: Any,
) -> AcceleratedLoader:
    """The loader of a process of accelerate.

    Parameters
    ----------
    accelerator : accelerate.Accelerator
    plan, dataset, collator, **options
        Of PlanLoader.
    check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch that `loss()` gets.

    Raises
    ------
    ValueError
        As PlanLoader; for a plan whose packs several processes share; and for an accelerator whose processes
        share sequences or sum gradients up.
    """
    check_accelerator(accelerator, "accelerator")
    loader = AcceleratedLoader(
        plan,
        dataset,
        collator,
        rank=accelerator.process_index,
        world_size=accelerator.num_processes,
        **options,
    )
    check_alone(loader.schedule)
    loader._set_up(accelerator, check_isolation)
    return loader


def mixture_loader(
    accelerator: Any,
    dataset: MapStyleDataset,
    mixture: Mixture,
    *,
    check_isolation: bool = True,
    **arguments: Any,
) -> AcceleratedMixtureLoader:
    """The loader of a process of accelerate, of a mixture.

    Parameters
    ----------
    accelerator, check_isolation
        As of `packed_loader()`.
    dataset, mixture, **arguments
        Of MixtureLoader.

    Raises
    ------
    ValueError
        As MixtureLoader, and for an accelerator whose processes share sequences or sum gradients up.
    """
    check_accelerator(accelerator, "accelerator")
    rank, world_size = accelerator.process_index, accelerator.num_processes
    loader = AcceleratedMixtureLoader(dataset, mixture, rank=rank, world_size=world_size, **arguments)
    loader._set_up(accelerator, check_isolation)
    return loader
