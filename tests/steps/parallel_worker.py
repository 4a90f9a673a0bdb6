"""Started by torchrun: trains each given set-up on the ranks there are, and compares with a single process.

argv: a JSON list of {model, layers, gc_layers, sp, zero, packs}. Rank 0 prints a JSON list of
{loss_difference, weight_difference, weight_change, collectives: how often each ran in the last step}.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

import reference_run as reference
import torch.distributed as dist

from calibration.steps.ranks import Ranks
from calibration.steps.training import data_parallel
from calibration.steps.training.trainer import Parallelism, Trainer

N_STEPS = 2
# Several buckets for the small models too.
data_parallel.BUCKET_VALUES = 5000

CALLS: Counter[str] = Counter()


# What FSDP calls has another name in newer versions.
COUNTED = {
    "all_reduce": "all_reduce",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_single": "reduce_scatter",
    "all_gather_into_tensor": "all_gather",
    "all_gather_single": "all_gather",
    "all_to_all_single": "all_to_all",
}


def count_calls(name: str) -> None:
    function = getattr(dist, name)

    def counted(*arguments, **keywords):
        CALLS[COUNTED[name]] += 1
        return function(*arguments, **keywords)

    setattr(dist, name, counted)


def compare(ranks: Ranks, setup: dict) -> dict:
    dp = ranks.size // setup["sp"]
    parallelism = Parallelism(setup["sp"], dp, setup["zero"])
    model = reference.architecture(setup["model"])
    trainer = Trainer(model, setup["layers"], parallelism, reference.toolbox(), ranks)
    trainer.model.checkpoint_first(setup["gc_layers"])
    before = reference.full_weights(trainer)
    packs = reference.packs_of(setup["packs"])
    parts = trainer.make_parts(packs)
    losses = []
    for _ in range(N_STEPS):
        CALLS.clear()
        share = trainer.step(packs, parts)[1]
        calls = dict(CALLS)
        losses.append(trainer.mean_loss(share))
    after = reference.full_weights(trainer)
    wanted_losses, wanted = reference.train_alone(
        setup["model"], setup["layers"], setup["packs"], dp, N_STEPS
    )
    return {
        "loss_difference": max(abs(got - want) for got, want in zip(losses, wanted_losses)),
        "weight_difference": reference.largest_difference(after, wanted),
        "weight_change": reference.largest_difference(after, before),
        "collectives": calls,
    }


def main() -> None:
    ranks = Ranks("cpu")
    for name in COUNTED:
        if hasattr(dist, name):
            count_calls(name)
    results = [compare(ranks, setup) for setup in json.loads(sys.argv[1])]
    # Every rank must have come to the same weights.
    worst = [max(rows, key=lambda row: row["weight_difference"]) for rows in zip(*ranks.gather(results))]
    if ranks.rank == 0:
        print(json.dumps(worst))
    ranks.close()


if __name__ == "__main__":
    main()
