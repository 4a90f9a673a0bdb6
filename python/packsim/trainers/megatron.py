"""Micro-batches as Megatron-Core's training loop takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional

from packsim._plan import Plan
from packsim.torch.collator import PackCollator
from packsim.torch.columns import COLLATOR_KEYS
from packsim.torch.dataset import MapStyleDataset
from packsim.torch.loader import PlanLoader
from packsim.torch.loss import weighted_token_loss
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._packed_loss import check_alone, turns_of_iterations


class MegatronBatches:
    """The data iterator of a data-parallel rank: a dict a micro-batch, epoch after epoch without end.

    ================= ====================================================================================
    tokens            int64, shape (1, n_tokens)
    labels            int64: of each token the next one of its document, 0 where there is none
    loss_mask         float32: the plan's weight of each label, 0 where it has no loss
    position_ids      int64, from 0 in each document
    packed_seq_params the arguments of megatron.core.packed_seq_params.PackedSeqParams: qkv_format "thd",
                      cu_seqlens_q, cu_seqlens_kv (int32), max_seqlen_q, max_seqlen_kv
    other names       columns of the samples, as the rules of the collator make them
    ================= ====================================================================================

    Megatron-Core runs `n_micro_batches` of them in a step, which it is told once, so the plan has as many in
    each iteration. `state_dict()` goes into its checkpoints.

    Parameters
    ----------
    plan, dataset, collator, **options
        Of PlanLoader.
    rank, world_size : int
        Of the data-parallel group: `parallel_state.get_data_parallel_rank()` and `..._world_size()`.

    Raises
    ------
    ValueError
        For a plan of iterations with several numbers of micro-batches, or of packs that several ranks share.
    """

    def __init__(
        self,
        plan: Plan,
        dataset: MapStyleDataset,
        collator: PackCollator | None = None,
        *,
        rank: int,
        world_size: int,
        **options: Any,
    ) -> None:
        self._loader = PlanLoader(plan, dataset, collator, rank, world_size, **options)
        check_alone(self._loader.schedule)
        n_turns = sorted(turns_of_iterations(plan, world_size))
        if len(n_turns) != 1:
            got = ", ".join(map(str, n_turns))
            raise ValueError(
                f"plan: expected as many micro-batches in each iteration, got {got}; "
                'make it with last_iteration "drop" or "repeat"'
            )
        self.n_micro_batches = n_turns[0]
        self._batches = iter(self._loader)

    def __iter__(self) -> MegatronBatches:
        return self

    def __next__(self) -> dict[str, Any]:
        batch = next(self._batches, None)
        if batch is None:  # the next epoch
            self._batches = iter(self._loader)
            batch = next(self._batches)
        return megatron_batch(batch)

    def loss_func(self, loss_mask: Tensor, token_losses: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Serves `forward_step`: `partial(batches.loss_func, data["loss_mask"])`.

        Megatron-Core divides what it gets by the micro-batches of a step, and takes the mean of gradients
        over the data-parallel ranks; both are undone here. It must not scale gradients by tokens
        (`calculate_per_token_loss`).

        Parameters
        ----------
        loss_mask, token_losses : Tensor, shape (1, n_tokens)
            Of a micro-batch, and what the model returned for its labels.
        """
        n_summed = self.n_micro_batches * self._loader.schedule.world_size
        loss = weighted_token_loss(token_losses, loss_mask, averaged_over=n_summed)
        return loss, {"lm loss": loss.detach()}

    def state_dict(self) -> dict[str, Any]:
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._loader.load_state_dict(state)
        self._batches = iter(self._loader)


def megatron_batch(batch: PackedBatch) -> dict[str, Any]:
    """The dict of a batch."""
    weights = functional.pad(batch["loss_weights"][..., 1:], (0, 1))
    labels = functional.pad(batch["labels"][..., 1:], (0, 1)).masked_fill(weights == 0, 0)
    of_keys = {"cu_seqlens": batch["cu_seqlens"], "max_seqlen": batch["max_seqlen"]}
    params = {f"{name}_{of}": value for name, value in of_keys.items() for of in ("q", "kv")}
    return {
        "tokens": batch["input_ids"],
        "labels": labels,
        "loss_mask": weights,
        "position_ids": batch["position_ids"],
        "packed_seq_params": {"qkv_format": "thd", **params},
        **{name: batch[name] for name in sorted(batch.keys() - COLLATOR_KEYS)},
    }
