"""Trains a small model on packed samples with DistributedDataParallel, on CPUs, in less than a minute.

    torchrun --nproc-per-node 2 examples/train_ddp.py --steps 20 --folder run

Run again with more steps, it goes on where it ended. A plan that `packsim run` wrote for such data goes in
with --plan.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import generated_data
import torch
import torch.distributed as dist
from generated_data import VOCABULARY
from tiny_llama import Config, TinyLlama
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

import packsim
from packsim.torch import (
    CheckpointedLayers,
    PackCollator,
    PackedBatch,
    PlanLoader,
    SequenceGroups,
    weighted_loss,
)


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """The loss of each step."""
    options = parsed(arguments)
    if not dist.is_initialized():
        start_processes()
    data = generated_data.samples(options.samples)
    plan = opened_plan(options, [len(sample) for sample in data])

    torch.manual_seed(0)
    model = TinyLlama(Config(vocabulary=VOCABULARY))
    recomputed = CheckpointedLayers(model.layers)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=0.003)
    groups = SequenceGroups(plan)
    loader = PlanLoader(plan, data, PackCollator(plan), num_workers=options.workers)
    checkpoint = Path(options.folder) / "checkpoint.pt"
    load(checkpoint, model, optimizer, loader)

    losses: list[float] = []
    while loader.steps_done < options.steps:
        for step in loader.steps():
            optimizer.zero_grad()
            loss = torch.zeros(())
            for batch in step:
                assert batch.micro_batch is not None
                recomputed.set(batch.micro_batch.group.gc_layers)
                # Gradients are exchanged once a step.
                with nullcontext() if batch.is_last else parallel.no_sync():
                    part = loss_of(parallel, batch, groups)
                    part.backward()  # type: ignore[no-untyped-call]
                loss += part.detach()
            optimizer.step()
            dist.all_reduce(loss)
            losses.append(float(loss) / dist.get_world_size())
            if dist.get_rank() == 0:
                print(f"step {loader.steps_done}: loss {losses[-1]:.4f}", flush=True)
            if loader.steps_done % options.save_every == 0 or loader.steps_done >= options.steps:
                save(checkpoint, model, optimizer, loader)
            if loader.steps_done >= options.steps:
                break
    return losses


def loss_of(parallel: torch.nn.Module, batch: PackedBatch, groups: SequenceGroups) -> Tensor:
    """Returns the loss of this process's part of a micro-batch."""
    group = groups.of(batch.micro_batch)
    part = groups.shard(batch, group)
    logits = parallel(
        part["input_ids"], part["position_ids"], part.get("cu_seqlens"), part.get("attention_mask"), group
    )
    # DistributedDataParallel takes the mean of gradients, the loss of a step is a sum.
    return weighted_loss(
        logits,
        part["shift_labels"],
        part["shift_loss_weights"],
        averaged_over=dist.get_world_size(),
        is_shifted=True,
    )


def opened_plan(options: argparse.Namespace, lengths_tokens: list[int]) -> packsim.Plan:
    """The given plan, that of an earlier run, or one that the first process makes for all."""
    path = Path(options.plan or Path(options.folder) / "plan.packsim")
    if dist.get_rank() == 0 and options.plan is None and not path.exists():
        packing = packsim.pack(lengths_tokens, strategy=options.strategy, capacity_tokens=96)
        plan = packsim.make_plan(
            packing, n_gpus=dist.get_world_size(), micro_batches_per_rank=2, epochs=3, normaliser="stable"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        plan.save(path)
    dist.barrier()
    plan = packsim.Plan.open(path)
    plan.check_lengths(lengths_tokens)
    return plan


def save(path: Path, model: TinyLlama, optimizer: torch.optim.Optimizer, loader: PlanLoader) -> None:
    if dist.get_rank() == 0:
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "loader": loader.state_dict(),  # the same on all processes, as the step is over
        }
        unfinished = path.with_suffix(".unfinished")
        torch.save(state, unfinished)
        unfinished.replace(path)
    dist.barrier()


def load(path: Path, model: TinyLlama, optimizer: torch.optim.Optimizer, loader: PlanLoader) -> None:
    if path.exists():
        state: dict[str, Any] = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])


def start_processes() -> None:
    """Joins the processes that torchrun started, or is the only one."""
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", init_method="tcp://localhost:0", rank=0, world_size=1)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a small model on packed samples.")
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps, those done before counted")
    parser.add_argument("--folder", default="train_ddp", help="of the plan and the checkpoint")
    parser.add_argument("--plan", help="a plan file, for as many samples of the same lengths")
    parser.add_argument("--strategy", default="ffd", help="that packs where no plan is given")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--workers", type=int, default=0, help="processes that make batches")
    parser.add_argument("--save-every", type=int, default=10, help="steps")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
