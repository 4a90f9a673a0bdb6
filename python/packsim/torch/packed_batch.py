"""The tensors of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from packsim._micro_batch import MicroBatch
from packsim.torch.batch_transfer import JoinedTensors


class PackedBatch(dict[str, Any]):
    """A dict of tensors, with the micro-batch that they are of.

    Workers of a DataLoader, its pinning and `to()` keep the attributes. Trainers that rebuild mappings from
    their items alone keep the tensors.

    Attributes
    ----------
    micro_batch : MicroBatch or None
        None where a trainer rebuilt the batch.
    n_padding_tokens : int
    is_last : bool
        The optimizer steps behind this micro-batch: the last one of its process in the iteration.
    token_columns : tuple of str
        Columns of the samples that have a value for each token, in the place of `input_ids`.
    """

    def __init__(
        self,
        values: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        *,
        micro_batch: MicroBatch | None = None,
        n_padding_tokens: int = 0,
        is_last: bool = False,
        token_columns: tuple[str, ...] = (),
    ) -> None:
        super().__init__(values)
        self.micro_batch = micro_batch
        self.n_padding_tokens = n_padding_tokens
        self.is_last = is_last
        self.token_columns = token_columns

    def with_values(self, values: Mapping[str, Any]) -> PackedBatch:
        """Other tensors of the same micro-batch."""
        return _batch(PackedBatch, values, vars(self))

    def to(self, device: torch.device | str | int, non_blocking: bool = False) -> PackedBatch:
        """The batch with its tensors on a device."""

        def moved(value: Any) -> Any:
            return value.to(device, non_blocking=non_blocking) if isinstance(value, torch.Tensor) else value

        return self.with_values({name: moved(value) for name, value in self.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _joined_batch, (type(self), JoinedTensors.of(self), vars(self))

    def __copy__(self) -> PackedBatch:
        """Keeps the same tensors. torch copies a batch before it pins it."""
        return _batch(type(self), self, vars(self))


def _joined_batch(kind: type[PackedBatch], joined: JoinedTensors, attributes: dict[str, Any]) -> PackedBatch:
    return _batch(kind, joined.parted(), attributes)


def _batch(kind: type[PackedBatch], values: Mapping[str, Any], attributes: dict[str, Any]) -> PackedBatch:
    batch = kind.__new__(kind)
    batch.update(values)
    vars(batch).update(attributes)
    return batch
