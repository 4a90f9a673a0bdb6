"""A plan for what a trainer's arguments ask for."""

from __future__ import annotations

import math
from typing import Any

from packsim._make_plan import make_plan
from packsim._pack import pack
from packsim._plan import Plan
from packsim.lengths import measure_lengths


def planned(dataset: Any, args: Any, rounds: int, capacity_tokens: int) -> Plan:
    """A plan of prepared samples for the steps that `args` asks for.

    rounds: packs of each process in a step.
    """
    labels = "labels" if "labels" in dataset.column_names else None  # else all tokens have loss
    measured = measure_lengths(dataset, None, column="input_ids", labels_column=labels)
    packing = pack(measured.lengths_tokens, strategy="bfd", capacity_tokens=capacity_tokens)

    def plan_of(n_epochs: int) -> Plan:
        return make_plan(
            packing,
            n_gpus=args.world_size,
            micro_batches_per_rank=rounds,
            loss_tokens=measured.loss_tokens,
            order="shuffled",
            last_iteration="shorten",
            epochs=n_epochs,
            seed=args.seed,
        )

    if args.max_steps <= 0:
        return plan_of(max(1, math.ceil(args.num_train_epochs)))
    plan = plan_of(1)
    n_epochs = math.ceil(args.max_steps / plan.iterations_per_epoch)
    return plan if n_epochs == 1 else plan_of(n_epochs)
