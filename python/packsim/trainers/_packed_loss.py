"""The loss of a micro-batch under a plan's weights, from any model of causal language."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any

from torch import Tensor, nn

from packsim._plan import Plan
from packsim._rank_schedule import RankSchedule
from packsim.torch.attention_routes import text_config, unwrapped
from packsim.torch.columns import COLLATOR_KEYS
from packsim.torch.isolation import attention_inputs, check_isolation
from packsim.torch.loss import weighted_loss
from packsim.torch.packed_batch import PackedBatch

# JetMoE has the second name; DBRX has the first in the model alone.
_COEFFICIENTS = ("router_aux_loss_coef", "aux_loss_coef")


class PackedLoss:
    """Calls the model, and weighs its token losses; checks on the first batch that documents are isolated.

    Parameters
    ----------
    averaged_over : int
        Processes that take the mean of their gradients: see `weighted_loss()`.
    check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch: on all processes, as they all train one.
    """

    def __init__(self, averaged_over: int, check_isolation: bool = True) -> None:
        self.averaged_over = averaged_over
        self._is_to_check = check_isolation
        self._is_first = True

    def __call__(
        self, model: nn.Module, batch: dict[str, Any], n_micro_batches: int = 1
    ) -> tuple[Tensor, Any]:
        """(loss, what the model returned). The loss is summed up over the micro-batches of a step.

        n_micro_batches: of the process in this step. The auxiliary loss of a mixture of experts, where the
        model returns one, is a mean over them.
        """
        outputs = model(**self.inputs(model, batch))
        logits = outputs if isinstance(outputs, Tensor) else outputs.logits
        loss = weighted_loss(logits, batch["labels"], batch["loss_weights"], averaged_over=self.averaged_over)
        return loss + auxiliary_loss(model, outputs) / n_micro_batches, outputs

    def inputs(self, model: nn.Module, batch: dict[str, Any]) -> dict[str, Any]:
        """What to call the model with: `attention_inputs()`, and the columns of the samples that it takes.

        On the first batch, checks isolation, and warns of columns that nobody reads.
        """
        taken, left = _columns(model, batch)
        if self._is_first:
            self._is_first = False
            if left:
                names = ", ".join(left)
                warnings.warn(f"batch: columns that neither loss nor model reads: {names}", stacklevel=2)
            if self._is_to_check:
                check_isolation(model, batch)
        return attention_inputs(batch, model) | taken


def forward_parameters(model: nn.Module) -> set[str]:
    """Names of the arguments of the model's own `forward()`."""
    inner: Any = unwrapped(model)
    inner = getattr(inner, "_orig_mod", inner)  # of torch.compile
    inner = inner.get_base_model() if hasattr(inner, "get_base_model") else inner  # of PEFT
    return set(signature(inner.forward).parameters)


def _columns(model: nn.Module, batch: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Columns of the samples that the model takes, and the names of those that it does not."""
    columns = {name: batch[name] for name in batch.keys() - COLLATOR_KEYS}
    if not columns:
        return {}, []
    parameters = forward_parameters(model)
    taken = {name: value for name, value in columns.items() if name in parameters}
    counts = {f"{name}_counts" for name in columns}
    return taken, sorted(columns.keys() - taken.keys() - counts)


def check_alone(schedule: RankSchedule) -> None:
    """ValueError for a plan of packs that several processes share: trainers have no groups for them."""
    for group in schedule.plan.groups:
        if group.n_packs > 0 and group.n_gpus > schedule.gpus_per_rank:
            raise ValueError(
                f"plan: expected packs that one process trains alone, got packs on {group.n_gpus} GPUs with "
                f"{schedule.gpus_per_rank} for each process; a loop with SequenceGroups trains them"
            )


def turns_of_iterations(plan: Plan, world_size: int) -> set[int]:
    """Returns the turns of each process; a plan may have several numbers of them."""
    schedule = RankSchedule(plan, 0, world_size)
    return {schedule.n_turns(iteration) for iteration in range(plan.n_iterations)}


def n_micro_batches(schedule: RankSchedule, batch: PackedBatch) -> int:
    """Counts those of the process in the step of the batch."""
    return 1 if batch.micro_batch is None else schedule.n_turns(batch.micro_batch.iteration)


def auxiliary_loss(model: nn.Module, outputs: Any, coefficient: float | None = None) -> Tensor | float:
    """Returns the loss of a mixture of experts that was asked for it, with its coefficient; else 0.

    coefficient: by default that of the config or the model.

    Raises
    ------
    ValueError
        Where neither the config nor the model has a coefficient by a name that is known.
    """
    found = getattr(outputs, "aux_loss", None)
    if found is None:
        return 0.0
    if coefficient is not None:
        given: Tensor = found * coefficient
        return given
    for place in (text_config(model), unwrapped(model)):
        for name in _COEFFICIENTS:
            if hasattr(place, name):
                weighed: Tensor = found * getattr(place, name)
                return weighed
    names = " or ".join(_COEFFICIENTS)
    raise ValueError(f"model: expected {names} of its config, as it returns an auxiliary loss, got none")
