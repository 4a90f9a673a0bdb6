"""A model with its optimizer, ready to run steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from calibration.steps.clock import Clock
from calibration.steps.documents import Documents
from calibration.steps.packs import label_count, make_part
from calibration.steps.ranks import Ranks
from calibration.steps.training.architecture import Architecture
from calibration.steps.training.attention import Attention
from calibration.steps.training.data_parallel import Replicated, Sharded, sharding_of
from calibration.steps.training.model import Operations, PackPart, Transformer
from calibration.steps.training.optimizer import AdamW
from calibration.steps.training.pointwise import Pointwise
from calibration.steps.training.sequence_parallel import Ulysses, kv_repeats


@dataclass(frozen=True)
class Toolbox:
    """What all steps of a run share."""

    device: torch.device
    dtype: torch.dtype
    attention_name: str
    attention: Attention
    pointwise: Pointwise
    adamw: AdamW
    loss_form: str


@dataclass(frozen=True)
class Parallelism:
    sp: int
    dp: int
    zero: int


@dataclass(frozen=True)
class StepTimes:
    """The times of one step on one rank. backward waits for the gradients; optimizer for the weights."""

    forward_s: float
    backward_s: float
    optimizer_s: float

    @property
    def step_s(self) -> float:
        return self.forward_s + self.backward_s + self.optimizer_s


class Trainer:
    """Neighbouring ranks share a sequence: rank = dp_rank x sp + sp_rank. States are sharded and gradients
    reduced over all dp x sp ranks."""

    def __init__(
        self,
        architecture: Architecture,
        layers: int,
        parallelism: Parallelism,
        toolbox: Toolbox,
        ranks: Ranks,
    ) -> None:
        self._architecture = architecture
        self._parallelism = parallelism
        self._toolbox = toolbox
        self._ranks = ranks
        sp, zero = parallelism.sp, parallelism.zero
        group = ranks.sequence_group(sp) if sp > 1 else None
        ulysses = Ulysses(sp, kv_repeats(architecture, sp), group)
        operations = Operations(toolbox.attention, toolbox.pointwise, ulysses, toolbox.loss_form)
        shard = sharding_of(zero, toolbox.dtype, toolbox.device)
        # FSDP casts its fp32 shards to the compute type when it gathers them.
        kept_dtype = torch.float32 if zero >= 2 else toolbox.dtype
        self.model = Transformer(architecture, layers, operations, toolbox.device, kept_dtype, shard)
        shard(self.model)
        if zero >= 2:
            self._data: Replicated | Sharded = Sharded(self.model, zero, ranks.size, toolbox.adamw.settings)
        else:
            self._data = Replicated(self.model, zero == 1, ranks.size, ranks.rank, toolbox.adamw)

    def make_parts(self, packs: list[Documents]) -> list[PackPart]:
        """This rank's part of each pack. Data-parallel ranks draw other tokens in the same documents."""
        sp = self._parallelism.sp
        dp_rank, sp_rank = divmod(self._ranks.rank, sp)
        vocab_size, device = self._architecture.vocab_size, self._toolbox.device
        return [
            make_part(documents, vocab_size, sp, sp_rank, seed=1000 * dp_rank + index, device=device)
            for index, documents in enumerate(packs)
        ]

    def step(self, packs: list[Documents], parts: list[PackPart]) -> tuple[StepTimes, Tensor]:
        """Runs one step: its times, and the mean loss of this rank's labels' share in all labels."""
        n_labels = self._parallelism.dp * sum(label_count(documents) for documents in packs)
        clock = Clock(self._toolbox.device)
        self._ranks.barrier()
        clock.start()
        loss_shares = []
        for index, part in enumerate(parts):
            self._data.before_micro_batch(index == len(parts) - 1)
            loss = self.model(part) / max(n_labels, 1)
            loss_shares.append(loss.detach())
            clock.mark()
            (loss * self._data.gradient_scale()).backward()
            if index == len(parts) - 1:
                self._data.finish_backward()
            clock.mark()
        self._data.update()
        self._data.forget_gradients()
        clock.mark()
        spans_s = clock.spans_s()
        times = StepTimes(sum(spans_s[:-1:2]), sum(spans_s[1:-1:2]), spans_s[-1])
        return times, torch.stack(loss_shares).sum()

    def mean_loss(self, share: Tensor) -> float:
        """Returns the mean loss over all ranks."""
        total = share.double()
        if self._ranks.size > 1:
            dist.all_reduce(total)
        return total.item()
