"""The Trainer of transformers, and what inherits from it, on a plan."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from packsim._arguments import Problems
from packsim._plan import Plan
from packsim._whole_file import write_whole
from packsim.torch.collator import PackCollator
from packsim.torch.loader import PlanLoader
from packsim.torch.mixing import MixtureLoader
from packsim.torch.packed_batch import PackedBatch
from packsim.trainers._data_parallel import check_accelerator, exchanges_gradients
from packsim.trainers._framework import framework
from packsim.trainers._packed_loss import PackedLoss, check_alone, turns_of_iterations
from packsim.trainers._step_loader import StepBatches, StepLoader
from packsim.trainers._trainer_arguments import args_of_whole_steps, check_arguments, check_bases
from packsim.trainers._trainer_data import check_collator, kept_columns
from packsim.trainers._trainer_mixture import check_mixture

transformers = framework("transformers", "transformers")

_PLAN_STATE = "plan_loader.json"
_MIXTURE_STATE = "mixture_loader.json"


class PackedTrainerMixin:
    """Trains the micro-batches of a plan with its loss; comes before a Trainer in the bases of a class.

    The Trainer sees each step of the plan as one batch, so it steps where the plan does, however many
    micro-batches an iteration has, and its numbers of steps and epochs are those of the plan. Checkpoints
    keep the place in the plan; with `resume_from_checkpoint` training goes on there. Evaluation is the
    Trainer's own.

    Parameters
    ----------
    model, args, **arguments
        Of the Trainer. `gradient_accumulation_steps` is 1, or the micro-batches of the plan's whole
        iterations, since the plan says it; the Trainer gets a copy of `args` that says 1.
    plan : Plan, optional
        For as many GPUs as processes, or a multiple.
    mixture_loader : MixtureLoader, optional
        In place of a plan: the steps of a mixture, updated between them. Its run is one epoch, of which
        `args.max_steps` says how many steps are trained.
    train_dataset
        Map-style; samples in the order of the lengths that the plan was made of. By default that of the
        mixture_loader.
    pack_collator : callable, optional
        By default `PackCollator(plan)` with the pad token of the tokenizer or the model; columns of a Hugging
        Face dataset that the model does not take are then left out, as the Trainer does, unless
        `remove_unused_columns=False`.
    check_isolation : bool
        Run `packsim.torch.check_isolation()` on the first batch.

    Raises
    ------
    ValueError
        For arguments that a packed loss has no place for, all of them at once; for a Trainer with a loss of
        its own; and for a `data_collator` that makes other labels than those of the samples.
    """

    _makes_plan = False  # where none is given

    def __init__(
        self,
        model: Any = None,
        args: Any = None,
        *,
        plan: Plan | None = None,
        mixture_loader: MixtureLoader | None = None,
        train_dataset: Any = None,
        pack_collator: Any = None,
        check_isolation: bool = True,
        **arguments: Any,
    ) -> None:
        if mixture_loader is not None:
            train_dataset = check_mixture(mixture_loader, plan, train_dataset, pack_collator, args)
            self._mixture_loader_at_start = mixture_loader.state_dict()
        elif plan is None and not self._makes_plan:
            raise ValueError("plan, mixture_loader: expected one of them, got none")
        args = self._checked_args(plan, args, arguments)
        check_bases(type(self), PackedTrainerMixin)
        self.plan = cast(Plan, plan)  # None before PackedSFTTrainer has made one
        self._mixture_loader = mixture_loader
        self._pack_collator = pack_collator
        self._steps: StepLoader | None = None
        super().__init__(model=model, args=args, train_dataset=train_dataset, **arguments)  # type: ignore[call-arg]
        # The weights are those of the whole step: the loss is not divided by its micro-batches. Earlier
        # versions of transformers have no such attribute, and divide by one, the batches of a step.
        self.loss_is_scaled_for_ga = True
        self._packed_loss = PackedLoss(self._trainer.accelerator.num_processes, check_isolation)
        self._n_micro_batches = 1
        self._check_parallelism()
        self._trainer.add_callback(_place_callback(self))
        if arguments.get("data_collator") is not None and pack_collator is None:
            check_collator(self._trainer)

    @property
    def plan_loader(self) -> PlanLoader:
        """The loader of the training that runs, or ran last.

        Raises
        ------
        RuntimeError
            Before training, and where a mixture_loader is trained.
        """
        if self._steps is None or not isinstance(self._steps.loader, PlanLoader):
            raise RuntimeError(
                "plan_loader: expected train() on a plan to have begun, got a trainer that has not"
            )
        return self._steps.loader

    def get_train_dataloader(self) -> StepLoader:
        """A new one at the beginning of the plan, or the mixture's at the place that it was given at."""
        trainer = self._trainer
        if self._mixture_loader is not None:
            self._mixture_loader.load_state_dict(self._mixture_loader_at_start)
            self._check_optimizer()
            self._steps = StepLoader(self._mixture_loader, trainer.train_dataset)
            return self._steps
        n_workers = trainer.args.dataloader_num_workers
        loader = PlanLoader(
            self.plan,
            trainer.train_dataset if self._pack_collator else kept_columns(trainer),
            self._pack_collator or PackCollator(self.plan, pad_token_id=_pad_token_id(trainer)),
            rank=trainer.args.process_index,
            world_size=trainer.args.world_size,
            num_workers=n_workers,
            pin_memory=trainer.args.dataloader_pin_memory and trainer.args.device.type == "cuda",
            prefetch_factor=trainer.args.dataloader_prefetch_factor,
            persistent_workers=trainer.args.dataloader_persistent_workers and n_workers > 0,
        )
        check_alone(loader.schedule)
        self._check_optimizer()
        self._steps = StepLoader(loader, trainer.train_dataset)
        return self._steps

    def training_step(self, model: Any, inputs: Any, *more: Any, **named: Any) -> Tensor:
        """Trains all micro-batches of a step. Processes exchange gradients in the last backward pass.

        With `sync_each_batch` in `args.accelerator_config` they do in each.
        """
        del more, named  # the number of items in the batch: weights have it already
        step = StepBatches(inputs)
        accelerator = self._trainer.accelerator
        self._n_micro_batches = len(step)
        losses: list[Tensor] = []
        for batch in step:
            accelerator.gradient_state._set_sync_gradients(batch.is_last)
            exchanges = exchanges_gradients(accelerator, batch.is_last)
            with nullcontext() if exchanges else accelerator.no_sync(model):
                losses.append(super().training_step(model, batch))  # type: ignore[misc]
        return torch.stack(losses).sum()

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        if not isinstance(inputs, PackedBatch):
            return super().compute_loss(  # type: ignore[misc]
                model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch
            )
        loss, outputs = self._loss_of(model, inputs)
        return (loss, outputs) if return_outputs else loss

    def _loss_of(self, model: Any, batch: PackedBatch) -> tuple[Tensor, Any]:
        return self._packed_loss(model, batch, self._n_micro_batches)

    def _prepare_inputs(self, inputs: Any) -> Any:
        # The Trainer would make a new mapping without the attributes, and under DeepSpeed give the loss
        # weights the type of the model, which has too few digits for them.
        if isinstance(inputs, PackedBatch):
            return inputs.to(self._trainer.args.device)
        return super()._prepare_inputs(inputs)  # type: ignore[misc]

    def floating_point_ops(self, inputs: Any) -> int:
        if isinstance(inputs, StepBatches):
            return sum(self.floating_point_ops(batch) for batch in inputs)
        return int(super().floating_point_ops(inputs))  # type: ignore[misc]

    def _track_num_input_tokens(self, inputs: Any) -> None:
        for batch in inputs if isinstance(inputs, StepBatches) else [inputs]:
            super()._track_num_input_tokens(batch)  # type: ignore[misc]

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]
        if checkpoint is None:
            return
        path = Path(checkpoint) / self._state_name
        if not path.exists():
            raise ValueError(f"{path}: expected the place of training, which this trainer saves, got no file")
        self._step_loader.loader.load_state_dict(json.loads(path.read_text()))

    @property
    def _state_name(self) -> str:
        return _PLAN_STATE if self._mixture_loader is None else _MIXTURE_STATE

    @property
    def _step_loader(self) -> StepLoader:
        """The loader of the training that runs."""
        assert self._steps is not None
        return self._steps

    def _checked_args(self, plan: Plan | None, args: Any, arguments: dict[str, Any]) -> Any:
        """A copy of `args` for a Trainer whose batches are whole steps."""
        with Problems() as problems:
            check_arguments(problems, plan, args, arguments)
        return args_of_whole_steps(args)

    @property
    def _trainer(self) -> Any:
        """This object, as the Trainer that it is."""
        return self

    def _check_optimizer(self) -> None:
        """Some update weights inside a backward pass, before the other micro-batches of the step."""
        args = self._trainer.args
        name = str(getattr(args.optim, "value", args.optim))
        if self._mixture_loader is not None:
            n_turns = self._mixture_loader.micro_batches_per_step
        else:
            n_turns = max(turns_of_iterations(self.plan, args.world_size))
        if n_turns > 1 and (name.endswith("layerwise") or name in ("lomo", "adalomo")):
            expected = f"an optimizer that takes steps of {n_turns} micro-batches, which the plan has"
            raise ValueError(f'args.optim: expected {expected}, got "{name}"')

    def _check_parallelism(self) -> None:
        args = self._trainer.args
        if args.n_gpu > 1:
            raise ValueError(
                f"args: expected one GPU for each process, got {args.n_gpu} in one; start with torchrun"
            )
        check_accelerator(self._trainer.accelerator, "args")


def _place_callback(trainer: PackedTrainerMixin) -> Any:
    class PlaceInPlan(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
        """Keeps the place beside each checkpoint, and says how much of the epochs is done."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            del args, control
            steps = trainer._step_loader
            state.epoch = steps.loader.steps_done / len(steps)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            del control
            if args.should_save:  # one process, or one of each node
                folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
                # The same on all processes, as the step is over.
                place = json.dumps(trainer._step_loader.loader.state_dict())
                write_whole(folder / trainer._state_name, place.encode())

    return PlaceInPlan()


def _pad_token_id(trainer: Any) -> int:
    """Returns the id of the tokenizer, else of the model, else 0."""
    tokenizer = getattr(trainer, "processing_class", None) or getattr(trainer, "tokenizer", None)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # of a processor
    found = getattr(tokenizer, "pad_token_id", None)
    if found is None:
        found = getattr(getattr(trainer.model, "config", None), "pad_token_id", None)
    return 0 if found is None else int(found)


class PackedTrainer(PackedTrainerMixin, transformers.Trainer):  # type: ignore[misc, name-defined, unused-ignore]
    """The Trainer of transformers on a plan: see PackedTrainerMixin."""
