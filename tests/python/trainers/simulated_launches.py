"""The kernels that packsim says a layer launches, from the time of steps that wait for launches alone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import transformers
from launch_cases import FAMILIES, LORA_RANK, N_TOKENS, SIZES, Training
from run_command import run
from simulated import PROGRAM

# models/styles/eager.hpp: what the host takes for a launch in a recomputed layer, in other launches.
RECOMPUTED_LAUNCH_COST = 3


def _model(family: str, n_layers: int) -> dict[str, Any]:
    named = FAMILIES[family]
    if not named.traits:
        config = getattr(transformers, named.config)(**SIZES, **named.more, num_hidden_layers=n_layers)
        return config.to_dict()
    return {
        "format": 1,
        "name": "counted",
        "source": "the sizes of this test",
        "layers": n_layers,
        "hidden_size": SIZES["hidden_size"],
        "heads": SIZES["num_attention_heads"],
        "kv_heads": SIZES["num_key_value_heads"],
        "head_dim": SIZES["head_dim"],
        "ffn_size": SIZES["intermediate_size"],
        "vocab_size": SIZES["vocab_size"],
        "tied_embeddings": False,
        "qkv_bias": False,
        "published_parameters": 0,
        **named.traits,
    }


def _scenario(training: Training, checkpointed_layers: int) -> dict[str, Any]:
    """Steps of two micro-batches of a document each, in which a launch takes a second."""
    return {
        "format": 1,
        "name": "counted",
        "model": "model.json",
        "cluster": {"type": "h100-sxm-80gb", "nodes": 1, "gpus_per_node": 1},
        "profile": "transformers-h100",
        "training": {"tokens_per_iteration": 2 * N_TOKENS, "zero_stage": 0},
        "parallelism": {
            "kernels": "eager",
            "launch_s": 1,
            "optimizer": training.optimizer,
            "lora_rank": LORA_RANK if training.lora else 0,
        },
        "lengths": {"mix": [{"source": "lengths.json"}]},
        "strategies": [
            {
                "strategy": "none",
                "capacity_tokens": N_TOKENS,
                "gc_layers": checkpointed_layers,
                "micro_batches_per_rank": 2,
            }
        ],
    }


@cache
def _seconds(family: str, n_layers: int, training: Training) -> float:
    """From the start of a step's first micro-batch to that of the second. Its kernels take microseconds."""
    files = {
        "model.json": _model(family, n_layers),
        "lengths.json": {"format": 1, "histogram": {str(N_TOKENS): 2}},
        "scenario.json": _scenario(training, n_layers if training.checkpoints else 0),
    }
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(json.dumps(content))
        run(PROGRAM, "trace", "scenario.json", "--strategy", "none", folder=Path(folder))
        trace = json.loads((Path(folder) / "packsim-trace.json").read_text())
    starts_us = {event["name"]: event["ts"] for event in trace["traceEvents"] if event["ph"] == "X"}
    return 1e-6 * (starts_us["forward of micro-batch 1"] - starts_us["forward of micro-batch 0"])


def layer_launches(family: str, training: Training) -> float:
    """What a third layer adds to a micro-batch, both passes and what is recomputed."""

    def added_s(checkpoints: bool) -> float:
        two, three = (
            _seconds(family, n_layers, replace(training, checkpoints=checkpoints)) for n_layers in (2, 3)
        )
        return three - two

    launches = added_s(False)
    if training.checkpoints:
        launches += (added_s(True) - launches) / RECOMPUTED_LAUNCH_COST
    return launches
