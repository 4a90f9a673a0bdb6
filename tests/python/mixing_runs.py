"""A small data set of subsets and groups, and loaders of it that tests share."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist
import training
from torch.nn.parallel import DistributedDataParallel
from training_cases import drawn_lengths, token_ids

import packsim
from packsim.torch.mixing import MixtureLoader

N_SAMPLES = 160
CAPACITY_TOKENS = 64
PACKS_PER_STEP = 8
# A few are longer than a pack.
LENGTHS = drawn_lengths(N_SAMPLES, seed=4, longest_tokens=80)
# Subset b has more than c; those of d are short.
SUBSET_OF = ["abcbd"[i % 5] for i in range(N_SAMPLES)]
SCORES = np.random.default_rng(0).random(N_SAMPLES)
GROUP_OF = np.zeros(N_SAMPLES, dtype=np.int64)
for _name in "abcd":
    _own = np.flatnonzero([subset == _name for subset in SUBSET_OF])
    GROUP_OF[_own] = packsim.quantile_groups(SCORES[_own], 2)


def samples() -> list[dict[str, Any]]:
    """With some labels without loss."""
    draw = np.random.default_rng(1)
    found = []
    for ids in token_ids(LENGTHS):
        labels = np.where(draw.random(len(ids)) < 0.3, -100, ids)
        found.append({"input_ids": ids, "labels": labels})
    return found


DATA = samples()
LOSS_TOKENS = [int((sample["labels"][1:CAPACITY_TOKENS] != -100).sum()) for sample in DATA]


def mixture_of(policy: str = "hbo", **more: Any) -> packsim.Mixture:
    options = {"learning_rate": 0.01} if policy == "hbo" else {}
    return packsim.Mixture(SUBSET_OF, GROUP_OF, policy=policy, **(options | more))


def measure(step: int) -> tuple[Any, Any]:
    """Rewards that depend on the step alone, as if training were the same everywhere."""
    draw = np.random.default_rng(step)
    return draw.random(4) + 0.1, [(draw.random(2) + 0.1).tolist() for _ in range(4)]


def loader_of(rank: int | None = 0, world_size: int | None = 1, **more: Any) -> MixtureLoader:
    mixture = more.pop("mixture", None) or mixture_of()
    learns = mixture.policy.needs != "none"
    arguments: dict[str, Any] = {
        "lengths_tokens": LENGTHS,
        "loss_tokens": LOSS_TOKENS,
        "strategy": "bfd",
        "capacity_tokens": CAPACITY_TOKENS,
        "window_samples": 24,
        "over_long": "truncate",
        "packs_per_step": PACKS_PER_STEP,
        "n_steps": 13,
        "update_every_steps": 4 if learns else None,
        "measure": measure if learns else None,
    }
    make = more.pop("make", None)
    arguments |= more
    if make is not None:  # it knows the rank
        return make(arguments.pop("dataset", DATA), mixture, **arguments)
    return MixtureLoader(
        arguments.pop("dataset", DATA), mixture, rank=rank, world_size=world_size, **arguments
    )


Seen = tuple[Any, ...]


def seen(batch: Any) -> Seen:
    """All of a batch that training depends on, but for who has it."""
    micro_batch = batch.micro_batch
    tensors = tuple(
        tuple(batch[name].flatten().tolist())
        for name in ("input_ids", "labels", "loss_weights", "position_ids", "cu_seqlens")
    )
    return (
        micro_batch.iteration,
        tuple(micro_batch.draws.tolist()),
        tuple(micro_batch.arms.tolist()),
        tensors,
    )


def run_of_ranks(world_size: int, n_batches: int | None = None, **more: Any) -> tuple[list[Seen], Any]:
    """All batches of a run on so many ranks in the order of their draws, and the state behind them."""
    found, states = [], []
    for rank in range(world_size):
        state, num_workers = more.get("state"), more.get("num_workers", 0)
        loader = loader_of(rank, world_size, num_workers=num_workers)
        if state is not None:
            loader.load_state_dict(state)
        for i, batch in enumerate(loader):
            found.append(seen(batch))
            if i + 1 == n_batches:
                break
        states.append(loader.state_dict())
    assert all(state == states[0] for state in states)
    return sorted(found), states[0]


def distributed_gradients(n_steps: int) -> list[Any]:
    """In a process of a group: what DistributedDataParallel leaves behind each step."""
    parallel = DistributedDataParallel(training.model())
    found = []
    for step in loader_of(None, None, n_steps=n_steps).steps():
        parallel.zero_grad()
        for batch in step:
            with nullcontext() if batch.is_last else parallel.no_sync():
                training.alone_loss(parallel, batch, None).backward()
        found.append(training.flat_gradient(parallel).numpy())
    return found


def _steps_until_error(loader: MixtureLoader) -> tuple[int, str]:
    try:
        for _ in loader:
            pass
    except RuntimeError as error:
        return loader.step, str(error)
    return loader.step, ""


def run_with_rewards_of_the_rank() -> tuple[int, str]:
    """In a process of a group."""
    return _steps_until_error(loader_of(None, None, measure=lambda step: measure(step + dist.get_rank())))


def run_with_seed_of_the_rank() -> tuple[int, str]:
    """In a process of a group."""
    return _steps_until_error(loader_of(None, None, mixture=mixture_of(seed=dist.get_rank())))


def run_that_is_killed(folder: Path, num_workers: int, n_batches: int | None) -> bool:
    """Goes on in a process from the state that was saved last; whether it was killed, with its workers.

    n_batches: behind so many or later; None: it is left alive to the end.
    """
    log = folder / "log"
    log.unlink(missing_ok=True)
    context = multiprocessing.get_context("fork")  # a spawned one would import PyTorch anew
    process = context.Process(target=_train_and_save, args=(folder, num_workers))
    process.start()
    end = time.monotonic() + 60
    while process.is_alive():
        assert time.monotonic() < end
        if n_batches is not None and log.exists() and log.read_bytes().count(b"\n") >= n_batches:
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return True
        time.sleep(0.001)
    assert process.exitcode == 0
    return False


def batches_of_the_state(folder: Path) -> list[Any]:
    """Those of the last process that the state counts: what came behind it is lost."""
    step = json.loads((folder / "state").read_text())["step"]
    # The last line may be cut short.
    batches = [json.loads(line) for line in (folder / "log").read_text().split("\n")[:-1]]
    return [batch for batch in batches if batch[0] < step]


def _train_and_save(folder: Path, num_workers: int) -> None:
    os.setpgid(0, 0)
    more = {"multiprocessing_context": "fork"} if num_workers else {}
    loader = loader_of(num_workers=num_workers, **more)
    if (folder / "state").exists():
        loader.load_state_dict(json.loads((folder / "state").read_text()))
    with open(folder / "log", "w", buffering=1) as log:
        for batch in loader:
            log.write(json.dumps(seen(batch)) + "\n")
            if batch.is_last and (loader.step % 2 == 0 or loader.step == loader.n_steps):
                (folder / "next").write_text(json.dumps(loader.state_dict()))
                os.replace(folder / "next", folder / "state")
            time.sleep(0.005)  # or it is over before anybody kills it
