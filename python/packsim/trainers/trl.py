"""TRL's SFTTrainer on a plan, or on one that it makes of what it has tokenized."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim.torch.dataset import check_map_style
from packsim.torch.loss import weighted_token_loss
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._framework import framework
from packsim.trainers._packed_loss import auxiliary_loss
from packsim.trainers._planned import planned
from packsim.trainers._trainer_arguments import args_of_whole_steps, check_arguments
from packsim.trainers.transformers_trainer import PackedTrainerMixin

_trl = framework("trl", "trl")
_trainer_module = framework("trl.trainer.sft_trainer", "trl")

# Versions from 1.10 on compute the loss of each token without the logits of all words.
_HAS_FUSED_HEAD = hasattr(_trainer_module, "add_fused_lm_head")


class PackedSFTTrainer(PackedTrainerMixin, _trl.SFTTrainer):  # type: ignore[misc, name-defined, unused-ignore]
    """SFTTrainer that trains packs: one name changes in a script.

    Without a plan it makes one of the data as TRL has prepared it (chat template, labels of completions,
    truncation): packs of `args.max_length` tokens by best-fit decreasing, of which each process has
    `per_device_train_batch_size * gradient_accumulation_steps` in a step, one after another. That is as many
    tokens as TRL's own packing has in a step.

    Parameters
    ----------
    model, args, train_dataset, **arguments
        Of SFTTrainer. `packing` may be set or not. With a plan, `max_length` is not used: data of other
        lengths than the plan's are refused.
    plan : Plan, optional
    pack_collator, check_isolation
        See PackedTrainerMixin.

    Raises
    ------
    ValueError
        For arguments that a packed loss has no place for, all of them at once.
    """

    _makes_plan = True

    def __init__(
        self,
        model: Any = None,
        args: Any = None,
        *,
        plan: Plan | None = None,
        train_dataset: Any,
        **arguments: Any,
    ) -> None:
        if args is None:
            args = _trl.SFTConfig()
        self._rounds = args.per_device_train_batch_size * args.gradient_accumulation_steps
        if arguments.get("mixture_loader") is not None:
            why = "as TRL prepares the data itself; PackedTrainer takes one"
            raise ValueError(f"mixture_loader: expected None, {why}, got a loader")
        check_map_style(train_dataset)
        super().__init__(model, args, plan=plan, train_dataset=train_dataset, **arguments)
        _check_labels(self.train_dataset.column_names)
        if plan is None:
            self.plan = planned(self.train_dataset, self.args, self._rounds, args.max_length)

    def _checked_args(self, plan: Plan | None, args: Any, arguments: dict[str, Any]) -> Any:
        with Problems() as problems:
            check_arguments(problems, plan, args, arguments)
            if getattr(args, "loss_type", None) not in (None, "nll", "chunked_nll"):
                problems.add(f'args.loss_type: expected "nll", got "{args.loss_type}"')
            if args.eval_packing:
                why = "as TRL would let documents of packed rows see each other in evaluation"
                problems.add(f"args.eval_packing: expected False or None, {why}, got True")
            if plan is not None and getattr(args, "shuffle_dataset", False):
                why = "because the plan goes by the place of samples"
                problems.add(f"args.shuffle_dataset: expected False, {why}, got True")
            if plan is None:
                _check_making(problems, args)
        args = args_of_whole_steps(args)
        # Packing is the plan's. A plan's samples are as long as it says.
        args.packing = args.padding_free = False
        args.eval_packing = False
        if plan is not None:
            args.max_length = None
        return args

    def _loss_of(self, model: Any, batch: PackedBatch) -> tuple[Tensor, Any]:
        self._count_tokens(batch)
        if not _HAS_FUSED_HEAD:
            return super()._loss_of(model, batch)
        inputs = self._packed_loss.inputs(model, batch)
        if getattr(self, "aux_loss_enabled", False):
            inputs["output_router_logits"] = True
        outputs = model(**inputs, labels=batch["labels"], fused_lm_head=True)
        loss = weighted_token_loss(
            -outputs.log_probs,
            batch["loss_weights"][..., 1:],
            averaged_over=self._packed_loss.averaged_over,
        )
        coefficient = getattr(self._trainer.args, "router_aux_loss_coef", None)
        return loss + auxiliary_loss(model, outputs, coefficient) / self._n_micro_batches, outputs

    def _count_tokens(self, batch: PackedBatch) -> None:
        """What TRL logs as `num_tokens`: of the data, on all processes."""
        ids, trainer = batch["input_ids"], self._trainer
        n_tokens = torch.tensor(ids.numel() - batch.n_padding_tokens, device=ids.device)
        trainer._total_train_tokens += int(trainer.accelerator.gather(n_tokens).sum())
        trainer._metrics["train"]["num_tokens"] = [trainer._total_train_tokens]


def _check_labels(columns: list[str]) -> None:
    """Versions of TRL before 1.0 may keep a mask instead of labels, which only their own collator reads."""
    masks = [name for name in ("completion_mask", "assistant_masks") if name in columns]
    if masks and "labels" not in columns:
        raise ValueError(
            f"train_dataset: expected labels, got {', '.join(masks)} alone from TRL {_trl.__version__}; "
            "add a column of labels, -100 where there is no loss, or take a later TRL"
        )


def _check_making(problems: Problems, args: Any) -> None:
    """What a plan is made with."""
    if args.max_length is None:
        problems.add("args.max_length: expected the length of packs where no plan is given, got None")
    if getattr(args, "train_sampling_strategy", "random") == "sequential":
        expected = 'expected "random" where no plan is given, because packs are shuffled'
        problems.add(f'args.train_sampling_strategy: {expected}, got "sequential"')
    strategy = getattr(args, "packing_strategy", "bfd")
    if args.packing and strategy not in ("bfd", "ffd"):
        problems.add(
            f'args.packing_strategy: expected "bfd" where no plan is given, got "{strategy}"; '
            "packsim.pack() and packsim.make_plan() have other strategies"
        )
