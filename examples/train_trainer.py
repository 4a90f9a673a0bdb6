"""Trains a small Llama on packed samples with the Trainer of transformers, on CPUs, in less than a minute.

    python examples/train_trainer.py --steps 20 --folder run

It works under torchrun, too. With --resume it goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import generated_data
import torch
from generated_data import VOCABULARY
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

import packsim
from packsim.torch import PlanLoader, weighted_loss

_LOADER_STATE = "plan_loader.json"


class PlanTrainer(Trainer):
    """The batches of a plan, and the loss under its weights."""

    def __init__(self, loader: PlanLoader, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.plan_loader = loader
        # The weights are those of the whole step: the loss is not divided by its micro-batches. Earlier
        # versions of transformers go by the second attribute alone.
        self.loss_is_scaled_for_ga = True
        self.model_accepts_loss_kwargs = True
        self.add_callback(LoaderStates(loader))

    def get_train_dataloader(self) -> PlanLoader:
        return self.plan_loader

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        del num_items_in_batch
        # Attention sees by the positions where documents begin. With FlashAttention on a GPU, the names of
        # PackCollator(flash_attention_kwargs=True) go here too.
        names = ("input_ids", "position_ids", "attention_mask")
        outputs = model(**{name: inputs[name] for name in names if name in inputs}, use_cache=False)
        n_averaged = self.accelerator.num_processes
        loss = weighted_loss(
            outputs.logits, inputs["labels"], inputs["loss_weights"], averaged_over=n_averaged
        )
        return (loss, outputs) if return_outputs else loss


class LoaderStates(TrainerCallback):
    """Keeps the place in the plan beside each checkpoint."""

    def __init__(self, loader: PlanLoader) -> None:
        self.loader = loader

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del control
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            (folder / _LOADER_STATE).write_text(json.dumps(self.loader.state_dict()))


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """The loss of each step."""
    options = parsed(arguments)
    data = generated_data.samples(options.samples)
    packing = packsim.pack([len(sample) for sample in data], strategy=options.strategy, capacity_tokens=96)
    plan = packsim.make_plan(packing, n_gpus=2, micro_batches_per_rank=2, epochs=3)
    loader = PlanLoader(plan, data)
    n_turns = {loader.schedule.n_turns(iteration) for iteration in range(plan.n_iterations)}
    if len(n_turns) != 1:
        # The Trainer steps behind a fixed number of micro-batches.
        raise ValueError(f"plan: expected as many turns in each iteration, got {sorted(n_turns)}")

    last = get_last_checkpoint(options.folder) if options.resume else None
    if last is not None:
        loader.load_state_dict(json.loads((Path(last) / _LOADER_STATE).read_text()))
    trainer = PlanTrainer(loader, model=small_llama(), args=training_arguments(options, n_turns.pop()))
    trainer.train(resume_from_checkpoint=last)
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def small_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, pad_token_id=0, **sizes, **heads))


def training_arguments(options: argparse.Namespace, n_turns: int) -> TrainingArguments:
    return TrainingArguments(
        output_dir=options.folder,
        max_steps=options.steps,
        gradient_accumulation_steps=n_turns,
        learning_rate=0.003,
        lr_scheduler_type="constant",
        ignore_data_skip=True,  # the loader is where it was
        save_steps=options.save_every,
        logging_steps=1,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small Llama on packed samples.")
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps, those done before counted")
    parser.add_argument("--folder", default="train_trainer", help="of the checkpoints")
    parser.add_argument("--strategy", default="ffd")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--save-every", type=int, default=10, help="steps")
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
    if "RANK" in os.environ:
        torch.distributed.destroy_process_group()
