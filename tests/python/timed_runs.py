"""Small training runs that tests have timed, and what the timer has written."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from packsim.calibrate import StepTimer

# Threads that wait for each other in operations this small take longer than the operations.
torch.set_num_threads(1)

VOCABULARY = 61
N_LAYERS = 2


def llama(dtype: torch.dtype = torch.bfloat16, **sizes: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    given = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": N_LAYERS, **sizes}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=VOCABULARY, pad_token_id=0, **heads, **given)
    return LlamaForCausalLM(config).to(dtype).train()


def adamw(model: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW([parameter for parameter in model.parameters() if parameter.requires_grad])


def packed(*lengths_tokens: int) -> dict[str, torch.Tensor]:
    """A row of documents, told apart by their positions."""
    positions = torch.cat([torch.arange(length) for length in lengths_tokens])[None]
    ids = torch.randint(1, VOCABULARY, positions.shape)
    return {"input_ids": ids, "position_ids": positions, "labels": ids}


def padded(*lengths_tokens: int) -> dict[str, torch.Tensor]:
    """A row for each document, as long as the longest."""
    mask = torch.tensor([[int(i < length) for i in range(max(lengths_tokens))] for length in lengths_tokens])
    ids = torch.randint(1, VOCABULARY, mask.shape)
    return {"input_ids": ids, "attention_mask": mask, "labels": ids}


def train_step(model: Any, optimizer: Any, micro_batches: list[dict[str, torch.Tensor]]) -> None:
    for batch in micro_batches:
        model(**batch, use_cache=False).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def steps_of(n_steps: int) -> list[list[dict[str, torch.Tensor]]]:
    """Of one to three micro-batches of several lengths, so that a fit can tell what a step consists of."""
    return [[packed(5 + 3 * (i % 7), 9 + i % 5) for _ in range(1 + i % 3)] for i in range(n_steps)]


def timed_loop(path: str, n_steps: int, **said: Any) -> StepTimer:
    model = llama()
    optimizer = adamw(model)
    with StepTimer(path, model, optimizer, **said) as timer:
        for micro_batches in steps_of(n_steps):
            with timer.step():
                train_step(model, optimizer, micro_batches)
    return timer


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(path: Path) -> list[dict[str, Any]]:
    return [line for line in lines(path) if "case" in line]


def source(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = lines(path)[0]["source"]
    return found


def value(row: dict[str, Any], key: str) -> str:
    """Of a key of the case."""
    words: dict[str, str] = dict(word.split("=") for word in row["case"].split()[1:])
    return words[key]


def packs(path: Path) -> list[str]:
    return [value(row, "packs") for row in rows(path)]


def in_two_processes(folder: str) -> dict[str, Any]:
    """DistributedDataParallel: the second process waits, and has longer documents in every other step."""
    rank = dist.get_rank()
    model = DistributedDataParallel(llama())
    optimizer = adamw(model)
    with StepTimer(f"{folder}/steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for step in range(5):
            batch = packed(9, 4 + 8 * (rank + step) % 16)
            with timer.step():
                time.sleep(0.05 * rank)
                train_step(model, optimizer, [batch])
    return {"n_rows": timer.n_rows, "left_out": dict(timer.left_out)}


def fully_sharded(folder: str, reshards: bool) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model = llama(torch.float32)
    formats = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16)}
    for layer in model.model.layers:
        fully_shard(layer, reshard_after_forward=reshards, **formats)
    fully_shard(model, **formats)
    optimizer = adamw(model)
    with StepTimer(f"{folder}/steps.jsonl", model, optimizer, warmup_steps=1) as timer:
        for length in (9, 12, 15, 18, 21):
            with timer.step():
                rank = dist.get_rank()
                train_step(model, optimizer, [packed(length + rank), packed(31 - length - rank)])


def mistaken_in_one_process(folder: str) -> str:
    """What each process raises where the documents of the second one are too long."""
    model = DistributedDataParallel(llama())
    optimizer = adamw(model)
    timer = StepTimer(f"{folder}/steps.jsonl", model, optimizer)
    try:
        with timer.step(documents=[[99]] if dist.get_rank() == 1 else None):
            train_step(model, optimizer, [packed(6)])
    except ValueError as error:
        return str(error)
    return "nothing"


def killed_in_the_middle(path: str, n_rows: int) -> None:
    """Ends without a word when it has written so many rows."""
    model = llama()
    optimizer = adamw(model)
    timer = StepTimer(path, model, optimizer, warmup_steps=1)
    for micro_batches in steps_of(1000):
        with timer.step():
            train_step(model, optimizer, micro_batches)
        if timer.n_rows == n_rows:
            os.kill(os.getpid(), 9)


if __name__ == "__main__":
    killed_in_the_middle(sys.argv[1], int(sys.argv[2]))
