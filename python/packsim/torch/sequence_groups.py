"""Processes that share packs: their groups, and each one's part of a batch."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from packsim._loss_spans import IGNORE_INDEX
from packsim._micro_batch import MicroBatch
from packsim._plan import Plan
from packsim._rank_schedule import RankSchedule, Turn
from packsim.torch.packed_batch import PackedBatch
from packsim.torch.ranks import rank_and_size


class SequenceGroups:
    """The process groups of all SP degrees that a plan has, made once.

    All processes make it at the same time, as torch.distributed asks for: it makes the same groups in the
    same order on each. A group is of neighbouring ranks, as the plan's GPUs are.

    Parameters
    ----------
    plan : Plan
    world_size : int, optional
        By default that of torch.distributed, which is initialised.
    **options
        Of `torch.distributed.new_group()`, such as timeout or backend.
    """

    def __init__(self, plan: Plan, world_size: int | None = None, **options: Any) -> None:
        rank, size = rank_and_size() if world_size is None else (0, world_size)
        self._schedule = RankSchedule(plan, rank, size)
        fold = self._schedule.gpus_per_rank
        degrees = sorted({group.n_gpus // fold for group in plan.groups if group.n_packs > 0})
        self._groups: dict[range, dist.ProcessGroup] = {}
        for degree in degrees:
            for first in range(0, size, degree) if degree > 1 else ():
                ranks = range(first, first + degree)
                self._groups[ranks] = dist.new_group(list(ranks), **options)

    def __len__(self) -> int:
        """Groups, of all ranks."""
        return len(self._groups)

    def of(self, micro_batch: MicroBatch | Turn | None) -> dist.ProcessGroup | None:
        """The group that trains a pack; None where a process trains it alone."""
        if isinstance(micro_batch, Turn):
            micro_batch = micro_batch.micro_batch
        if micro_batch is None or len(micro_batch) == 0:
            return None
        ranks = self._schedule.ranks_of(micro_batch)
        return self._groups[ranks] if len(ranks) > 1 else None

    def shard(
        self, batch: PackedBatch, group: dist.ProcessGroup | None, ignore_index: int = IGNORE_INDEX
    ) -> PackedBatch:
        """This process's part of a batch, which all processes of the group have whole.

        Parts are contiguous, of equal length, in the order of the ranks: what Ulysses takes. `labels` and
        `loss_weights` become `shift_labels` and `shift_loss_weights`, shifted before the cut, so that in
        `weighted_loss(..., is_shifted=True)` the last token of a part predicts the first one of the next.
        What says where documents are (`cu_seqlens`, `max_seqlen`, `attention_mask`) stays whole. Without a
        group the part is the whole batch, in the same form.

        Raises
        ------
        ValueError
            Where tokens do not divide by the processes, which PackCollator pads for.
        """
        rank, degree = (0, 1) if group is None else (dist.get_rank(group), dist.get_world_size(group))
        n_tokens = batch["input_ids"].shape[-1]
        if n_tokens % degree != 0:
            raise ValueError(f"batch: expected a multiple of {degree} tokens in a row, got {n_tokens}")
        part = slice(rank * n_tokens // degree, (rank + 1) * n_tokens // degree)
        values = dict(batch)
        values["shift_labels"] = _shifted(values.pop("labels"), ignore_index)
        values["shift_loss_weights"] = _shifted(values.pop("loss_weights"), 0)
        made = ("input_ids", "position_ids", "shift_labels", "shift_loss_weights")
        for name in (*made, *batch.token_columns):
            values[name] = values[name][:, part].contiguous()
        return batch.with_values(values)


def _shifted(values: Tensor, last: int) -> Tensor:
    """Gives each token what stands at the next one."""
    return functional.pad(values[..., 1:], (0, 1), value=last)
