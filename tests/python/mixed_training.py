"""A small training run on a mixture that HBO moves, by processes that may be killed and begin again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from training_cases import VOCABULARY

import packsim
from packsim.torch import PackedBatch, weighted_loss
from packsim.torch.mixing import HboRewards, MixtureLoader

from tiny_llama import Config, TinyLlama  # isort: skip

NAMES = ["easy", "hard", "noise"]
N_OF_SUBSET = 120
N_GROUPS = 2
CAPACITY_TOKENS = 192
PACKS_A_STEP = 4
STEPS_AN_UPDATE = 20
WORLD_SIZE = 2
LEARNING_RATE = 1e-3  # of actors: ten times the paper's, as there are few updates
_TIMEOUT_S = 60.0
_WORDS = VOCABULARY - 1  # 0 pads


def data_set() -> list[Any]:
    """Easy: two ids by turns. Hard: each id is that of a table of the two before it. Noise: any ids."""
    draw = np.random.default_rng(11)
    table = draw.integers(1, 9, (9, 9))
    data = []
    for subset in range(3):
        for _ in range(N_OF_SUBSET):
            n_tokens = int(draw.integers(16, 48))
            ids = draw.integers(1, _WORDS + 1, n_tokens)
            if subset == 0:
                ids = np.resize(ids[:2], n_tokens)
            elif subset == 1:
                ids[:2] = draw.integers(1, 9, 2)
                for place in range(2, n_tokens):
                    ids[place] = table[ids[place - 2], ids[place - 1]]
                ids = np.where(draw.random(n_tokens) < 0.1, draw.integers(1, 9, n_tokens), ids)
            data.append(ids.astype(np.int64))
    return data


def lengths_of(data: list[Any]) -> Any:
    return np.array([len(ids) for ids in data], dtype=np.int32)


def mixture_of(policy: str, lengths_tokens: Any) -> packsim.Mixture:
    """Groups are short and long samples."""
    subset_of = np.repeat(np.arange(3), N_OF_SUBSET)
    groups = [
        packsim.quantile_groups(lengths_tokens[subset_of == subset].astype(float), N_GROUPS)
        for subset in range(3)
    ]
    options: dict[str, Any] = (
        {"update": "all_arms", "learning_rate": LEARNING_RATE} if policy == "hbo" else {}
    )
    return packsim.Mixture(subset_of, np.concatenate(groups), names=NAMES, policy=policy, seed=5, **options)


def model_of(dtype: torch.dtype = torch.float32) -> TinyLlama:
    return TinyLlama(Config(vocabulary=VOCABULARY), seed=1, dtype=dtype)


def loader_of(data: list[Any], mixture: packsim.Mixture, n_steps: int, **more: Any) -> MixtureLoader:
    return MixtureLoader(
        data,
        mixture,
        lengths_tokens=lengths_of(data),
        strategy="ffd",
        capacity_tokens=CAPACITY_TOKENS,
        window_samples=48,
        packs_per_step=PACKS_A_STEP,
        n_steps=n_steps,
        **more,
    )


def step_gradients(parallel: Any, batches: list[PackedBatch]) -> None:
    """Leaves the gradients of the step's loss behind."""
    parallel.zero_grad()
    for batch in batches:
        parallel.require_backward_grad_sync = batch.is_last
        logits = parallel(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"])
        n_averaged = dist.get_world_size()
        weighted_loss(logits, batch["labels"], batch["loss_weights"], averaged_over=n_averaged).backward()


class MixedRun:
    """One process's part of a training run, which its state resumes."""

    def __init__(self, policy: str, n_steps: int) -> None:
        torch.manual_seed(0)
        self.data = data_set()
        lengths_tokens = lengths_of(self.data)
        self.mixture = mixture_of(policy, lengths_tokens)
        self.model = model_of()
        self.parallel = DistributedDataParallel(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.004)
        self.rewards_s = 0.0
        self.rewards: HboRewards | None = None
        learning: dict[str, Any] = {}
        if policy == "hbo":
            self.rewards = HboRewards(
                self.parallel,
                self.data,
                self.mixture,
                lengths_tokens=lengths_tokens,
                capacity_tokens=CAPACITY_TOKENS,
                gradient_samples=4,
                perplexity_samples=8,
                pool_samples=24,
            )
            learning = {"update_every_steps": STEPS_AN_UPDATE, "measure": self._measure}
        self.loader = loader_of(self.data, self.mixture, n_steps, **learning)

    def steps(self) -> Iterator[list[int]]:
        """Trains to the end; of each step the samples that this process trained."""
        if self.rewards is not None:
            self.rewards.begin()
        for step in self.loader.steps():
            batches = list(step)
            step_gradients(self.parallel, batches)
            self.optimizer.step()
            yield [sample for batch in batches for sample in batch.micro_batch]

    def _measure(self, step: int) -> Any:
        assert self.rewards is not None
        begin = time.monotonic()
        found = self.rewards.measure(step)
        self.rewards_s += time.monotonic() - begin
        return found

    def losses(self) -> list[float]:
        """Mean loss of each subset."""
        means = []
        with torch.no_grad():
            for subset in range(3):
                losses = []
                for ids in self.data[subset * N_OF_SUBSET : subset * N_OF_SUBSET + 40]:
                    row = torch.from_numpy(ids)[None]
                    logits = self.model(row, torch.arange(len(ids))[None])
                    losses.append(float(functional.cross_entropy(logits[0, :-1], row[0, 1:])))
                means.append(float(np.mean(losses)))
        return means

    def weights_hash(self) -> str:
        """Of all bits of all parameters."""
        flat = torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])
        return hashlib.sha256(flat.numpy().tobytes()).hexdigest()

    def save(self, path: Path) -> None:
        """The same on all processes."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "loader": json.dumps(self.loader.state_dict()),
            "rewards": json.dumps(self.rewards.state_dict()) if self.rewards else None,
        }
        torch.save(state, path.with_suffix(".next"))
        os.replace(path.with_suffix(".next"), path)

    def load(self, path: Path) -> None:
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.loader.load_state_dict(json.loads(state["loader"]))
        if self.rewards is not None:
            self.rewards.load_state_dict(json.loads(state["rewards"]))


def trained(policy: str, n_steps: int) -> dict[str, Any]:
    """In a process of a group: a run, and what it did."""
    run = MixedRun(policy, n_steps)
    at_start = run.losses()
    begin = time.monotonic()
    trained_samples = list(run.steps())
    return {
        "seconds": time.monotonic() - begin,
        "rewards_s": run.rewards_s,
        "trained": trained_samples,
        "counts": vars(run.loader.counts),
        "history": run.loader.history,
        "losses": [at_start, run.losses()],
        "weights": run.weights_hash(),
        "passes": vars(run.rewards.passes) if run.rewards else {},
    }


def packed_step_gradient() -> tuple[list[int], Any]:
    """In a process of a group: what it trains in a first step, and the step's gradient."""
    data = data_set()
    parallel = DistributedDataParallel(model_of(torch.float64))
    loader = loader_of(data, mixture_of("static", lengths_of(data)), n_steps=1)
    batches = list(loader)
    step_gradients(parallel, batches)
    gradient = torch.cat([p.grad.flatten() for p in parallel.parameters()]).numpy()
    return [sample for batch in batches for sample in batch.micro_batch], gradient


def unpacked_step_gradient(samples: list[int]) -> Any:
    """The same of each sample on its own: the mean over all labels of the step."""
    data = data_set()
    model = model_of(torch.float64)
    n_labels = sum(len(data[sample]) - 1 for sample in samples)
    for sample in samples:
        ids = torch.from_numpy(data[sample])[None]
        logits = model(ids, torch.arange(ids.shape[1])[None])
        (functional.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="sum") / n_labels).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()]).numpy()


class KilledRun:
    """Processes that train in a folder until they are killed, and others that go on."""

    def __init__(self, folder: Path, n_steps: int, save_every: int) -> None:
        self.folder, self.n_steps, self.save_every = folder, n_steps, save_every
        self._n_starts = 0

    def go_on(self, kill_behind: int | None = None) -> list[dict[str, Any]]:
        """Trains to the end, or until rank 1 has trained so many steps of the run, when it is killed.

        What rank 0 trained in each step, and at the end what the run came to.
        """
        self._n_starts += 1
        log = self.folder / f"log{self._n_starts}"
        # Its server has imported PyTorch, and no threads of a process that has trained are forked.
        context = multiprocessing.get_context("forkserver")
        meeting = self.folder / f"meeting{self._n_starts}"
        processes = [
            context.Process(target=_train, args=(rank, self, meeting, log)) for rank in range(WORLD_SIZE)
        ]
        for process in processes:
            process.start()
        try:
            if kill_behind is not None:
                self._wait_until(lambda: Path(f"{log}.1").exists() and _n_lines(f"{log}.1") >= kill_behind)
                processes[1].kill()
            self._wait_until(lambda: all(process.exitcode is not None for process in processes))
            codes = [process.exitcode for process in processes]
            assert codes == [0, 0] if kill_behind is None else codes[1] == -signal.SIGKILL, codes
        finally:
            for process in processes:
                process.kill()
        return [json.loads(line) for line in Path(f"{log}.0").read_text().splitlines()]

    @staticmethod
    def _wait_until(is_so: Any) -> None:
        end = time.monotonic() + _TIMEOUT_S
        while not is_so():
            assert time.monotonic() < end, "training takes too long"
            time.sleep(0.005)


def _n_lines(path: str) -> int:
    return Path(path).read_bytes().count(b"\n")


def _train(rank: int, killed: KilledRun, meeting: Path, log: Path) -> None:
    # Where another rank is killed, this one fails; nobody needs to read how.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    timeout = timedelta(seconds=_TIMEOUT_S)
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=WORLD_SIZE, timeout=timeout
    )
    run = MixedRun("hbo", killed.n_steps)
    checkpoint = killed.folder / "checkpoint.pt"
    if checkpoint.exists():
        run.load(checkpoint)
    first = run.loader.step
    with open(f"{log}.{rank}", "w", buffering=1) as lines:
        for step, samples in enumerate(run.steps(), first):
            lines.write(json.dumps({"step": step, "samples": samples}) + "\n")
            if (step + 1) % killed.save_every == 0 and rank == 0:
                run.save(checkpoint)
        lines.write(json.dumps({"weights": run.weights_hash(), "history": run.loader.history}) + "\n")
    dist.destroy_process_group()
