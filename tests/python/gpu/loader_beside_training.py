"""Step times of training on one GPU, with batches from loaders and with batches that lie on the GPU already.

All variants train the same packs with the same call of the model and the same loss. They take turns, a few
steps each, because clocks of GPUs change over time. Each turn makes its loader anew, and its first steps are
not counted: workers fetch ahead in them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, DataCollatorWithFlattening, LlamaConfig

import packsim
from packsim.torch import PlanLoader, PlanSampler, attention_inputs, check_isolation

N_SAMPLES = 2000
N_WORDS = 32_000
FLOOR = "batches that lie on the GPU"


@dataclass(frozen=True)
class Setting:
    capacity_tokens: int
    hidden_size: int
    n_layers: int
    warm_up_steps: int  # at the beginning, of each variant
    uncounted_steps: int  # of each later turn
    counted_steps: int  # of each turn
    turns: tuple[bool, ...]  # whether the loop reads the loss of each step


FULL = Setting(8192, 2048, 8, 5, 3, 8, (True, True, True, False, False))
SMALL = Setting(512, 64, 2, 2, 1, 3, (True, False))


@dataclass
class Times:
    """Of the counted steps."""

    steps_ms: list[float] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)  # of the loop for its next batch
    n_tokens: int = 0
    total_s: float = 0.0


def drawn_lengths(n_samples: int, longest_tokens: int) -> np.ndarray:
    """Those of tests/bench/loader.py, which needs the package datasets."""
    draws = np.random.RandomState(3).lognormal(6.2, 1.0, n_samples)
    return np.clip(draws, 16, longest_tokens).astype(np.int32)


class Training:
    """The model, its packs and the step that all variants share."""

    def __init__(self, device: torch.device, setting: Setting, attention: str) -> None:
        lengths = drawn_lengths(N_SAMPLES, setting.capacity_tokens)
        tokens = np.random.RandomState(4)
        ids = [tokens.randint(0, N_WORDS, n).astype(np.int32) for n in lengths.tolist()]
        self.samples = [{"input_ids": one, "labels": one} for one in ids]
        packing = packsim.pack(lengths, strategy="bfd", capacity_tokens=setting.capacity_tokens)
        self.plan = packsim.make_plan(packing, last_iteration="shorten")
        self.packs = [list(micro_batch) for micro_batch in PlanSampler(self.plan, 0, 1)]
        self.device = device
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=N_WORDS,
            hidden_size=setting.hidden_size,
            intermediate_size=setting.hidden_size * 11 // 4,
            num_hidden_layers=setting.n_layers,
            num_attention_heads=setting.hidden_size // min(128, setting.hidden_size // 2),
            num_key_value_heads=setting.hidden_size // min(128, setting.hidden_size // 2),
            max_position_embeddings=setting.capacity_tokens,
        )
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        with device:
            self.model: nn.Module = AutoModelForCausalLM.from_config(
                config, attn_implementation=attention, dtype=dtype
            )
        self.model.train()
        check_isolation(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=device.type == "cuda")
        self.on_device: list[Mapping[str, Any]] = []

    def step(self, batch: Mapping[str, Any]) -> Tensor:
        logits = self.model(**attention_inputs(batch, self.model)).logits
        loss = functional.cross_entropy(logits[0, :-1].float(), batch["labels"][0, 1:])
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def planned(self, num_workers: int) -> Iterator[Mapping[str, Any]]:
        loader = PlanLoader(
            self.plan, self.samples, rank=0, world_size=1, num_workers=num_workers, pin_memory=self.pins
        )
        return (batch.to(self.device, non_blocking=True) for batch in loader)

    def flattened(self, num_workers: int) -> Iterator[Mapping[str, Any]]:
        loader = DataLoader(
            self.samples,
            batch_sampler=self.packs,
            collate_fn=DataCollatorWithFlattening(return_flash_attn_kwargs=True),
            num_workers=num_workers,
            pin_memory=self.pins,
        )
        for batch in loader:
            moved = {
                name: value.to(self.device, non_blocking=True) if isinstance(value, Tensor) else value
                for name, value in batch.items()
            }
            # Under the names that attention_inputs() takes.
            yield moved | {"cu_seqlens": moved["cu_seq_lens_q"], "max_seqlen": moved["max_length_q"]}

    def kept(self, n_batches: int) -> Iterator[Mapping[str, Any]]:
        if not self.on_device:
            self.on_device = list(islice(self.planned(0), n_batches))
        return iter(self.on_device)

    @property
    def pins(self) -> bool:
        return self.device.type == "cuda"


def measure(results: Any, device: torch.device, limit_s: float, small: bool) -> None:
    transformers.logging.set_verbosity_error()
    end = time.perf_counter() + limit_s
    setting = SMALL if small else FULL
    made: list[Training] = []

    def make(attention: str) -> dict[str, Any]:
        made.append(Training(device, setting, attention))
        training = made[-1]
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        return {
            "parameters": sum(part.numel() for part in training.model.parameters()),
            "capacity_tokens": setting.capacity_tokens,
            "packs": len(training.packs),
            "fill": round(
                sum(len(one["input_ids"]) for one in training.samples)
                / len(training.packs)
                / setting.capacity_tokens,
                5,
            ),
        }

    for attention in ("flash_attention_2", "sdpa"):
        results.add_of(
            {"check": "loader", "part": "model", "attention": attention},
            partial(make, attention),
            30,
        )
        if made:
            break
    if not made:
        return
    training = made[0]
    n_steps = setting.warm_up_steps + setting.counted_steps
    variants: dict[str, Callable[[], Iterator[Mapping[str, Any]]]] = {
        FLOOR: lambda: training.kept(n_steps),
        "PlanLoader, workers 0": lambda: training.planned(0),
        "PlanLoader, workers 2": lambda: training.planned(2),
        "flattening, workers 0": lambda: training.flattened(0),
        "flattening, workers 2": lambda: training.flattened(2),
    }
    times = {(name, reads): Times() for name in variants for reads in (True, False)}
    losses: dict[str, float] = {}

    def take_turns() -> dict[str, Any]:
        for n_turn, reads_loss in enumerate(setting.turns):
            uncounted = setting.warm_up_steps if n_turn == 0 else setting.uncounted_steps
            # In another order each time: what comes first finds a cooler GPU.
            names = list(variants)
            for name in names[n_turn % len(names) :] + names[: n_turn % len(names)]:
                if time.perf_counter() > end:
                    return {"turns_done": n_turn, "why_it_stopped": f"{limit_s:.0f} s have passed"}
                losses[name] = turn(
                    training,
                    variants[name](),
                    uncounted,
                    setting.counted_steps,
                    reads_loss,
                    times[name, reads_loss],
                )
        return {"turns_done": len(setting.turns)}

    results.add_of({"check": "loader", "part": "turns"}, take_turns, max(end + 10 - time.perf_counter(), 1.0))
    for (name, reads_loss), found in times.items():
        results.add_of(
            {"check": "loader", "part": "times", "batches": name, "reads_loss_of_each_step": reads_loss},
            lambda: summary(found, times[FLOOR, reads_loss]) | {"last_loss": losses.get(name)},  # noqa: B023
            5.0,
        )
    if device.type == "cuda":
        results.add(
            {"check": "loader", "part": "memory", "peak_bytes": torch.cuda.max_memory_allocated(device)}
        )


def turn(
    training: Training,
    batches: Iterator[Mapping[str, Any]],
    uncounted_steps: int,
    counted_steps: int,
    reads_loss: bool,
    times: Times,
) -> float:
    """The last loss. A step lasts from the end of the one before it, on the GPU, to its own."""
    on_gpu = training.device.type == "cuda"
    ends: list[Any] = []
    loss = torch.zeros(())
    begin = time.perf_counter()
    for n_step in range(uncounted_steps + counted_steps):
        if n_step == uncounted_steps:
            synchronize(on_gpu)
            begin = time.perf_counter()
            ends.append(mark(on_gpu))
        asked = time.perf_counter()
        batch = next(batches)
        waited_s = time.perf_counter() - asked
        loss = training.step(batch)
        if reads_loss:
            loss.item()
        if n_step >= uncounted_steps:
            ends.append(mark(on_gpu))
            times.waits_ms.append(waited_s * 1e3)
            times.n_tokens += batch["input_ids"].numel()
    synchronize(on_gpu)
    times.total_s += time.perf_counter() - begin
    times.steps_ms += [
        one.elapsed_time(other) if on_gpu else (other - one) * 1e3
        for one, other in zip(ends, ends[1:], strict=False)
    ]
    return float(loss)


def mark(on_gpu: bool) -> Any:
    if not on_gpu:
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def synchronize(on_gpu: bool) -> None:
    if on_gpu:
        torch.cuda.synchronize()


def summary(found: Times, floor: Times) -> dict[str, Any]:
    if not found.steps_ms or not floor.steps_ms:
        return {"counted_steps": 0}
    median_ms, floor_ms = statistics.median(found.steps_ms), statistics.median(floor.steps_ms)
    return {
        "counted_steps": len(found.steps_ms),
        "median_step_ms": round(median_ms, 3),
        "least_step_ms": round(min(found.steps_ms), 3),
        "largest_step_ms": round(max(found.steps_ms), 3),
        "ratio_to_floor": round(median_ms / floor_ms, 4),
        "median_wait_ms": round(statistics.median(found.waits_ms), 3),
        "largest_wait_ms": round(max(found.waits_ms), 3),
        "tokens_per_s": round(found.n_tokens / found.total_s),
        "time_ratio_to_floor": round((found.total_s / found.n_tokens) / (floor.total_s / floor.n_tokens), 4),
    }
