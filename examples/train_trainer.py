"""Trains a small Llama on packed samples with the Trainer of transformers, on CPUs, in less than a minute.

    python examples/train_trainer.py --steps 20 --folder run

It works under torchrun, too. With --resume it goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import generated_data
import torch
from generated_data import VOCABULARY
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

import packsim
from packsim.trainers import PackedTrainer


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """The loss of each step."""
    options = parsed(arguments)
    data = generated_data.samples(options.samples)
    packing = packsim.pack([len(sample) for sample in data], strategy=options.strategy, capacity_tokens=96)
    plan = packsim.make_plan(packing, n_gpus=2, micro_batches_per_rank=2, epochs=3)
    trainer = PackedTrainer(small_llama(), training_arguments(options), plan=plan, train_dataset=data)
    trainer.train(resume_from_checkpoint=options.resume)
    return [row["loss"] for row in trainer.state.log_history if "loss" in row]


def small_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, pad_token_id=0, **sizes, **heads))


def training_arguments(options: argparse.Namespace) -> TrainingArguments:
    return TrainingArguments(
        output_dir=options.folder,
        max_steps=options.steps,
        learning_rate=0.003,
        lr_scheduler_type="constant",
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
