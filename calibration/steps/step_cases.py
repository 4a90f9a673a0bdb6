"""Measures the step cases of a plan."""

from __future__ import annotations

import gc
import time
from typing import Any

import torch

from calibration.steps.kernel_case import KernelCase
from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import Unavailable, take_samples, together
from calibration.steps.ranks import Ranks
from calibration.steps.sampling import StoppingRule
from calibration.steps.training import sequence_parallel
from calibration.steps.training.architecture import Architecture
from calibration.steps.training.trainer import Parallelism, StepTimes, Toolbox, Trainer


def mistakes_of(case: KernelCase, architectures: dict[str, Architecture]) -> list[str]:
    """What no machine could run, each as key, expected and got."""
    mistakes = []
    architecture = architectures.get(case.value("model"))
    if architecture is None:
        known = ", ".join(sorted(architectures))
        mistakes.append(
            f'model: expected one of {known}, or the path of a JSON file, got "{case.value("model")}"'
        )
    else:
        if reason := sequence_parallel.why_not(architecture, case.integer("sp")):
            mistakes.append(f"sp: {reason}")
        if case.integer("layers") > architecture.layers:
            expected = f"at most the {architecture.layers} layers of {architecture.name}"
            mistakes.append(f"layers: expected {expected}, got {case.value('layers')}")
    if case.integer("gc_layers") > case.integer("layers"):
        mistakes.append(
            f"gc_layers: expected at most the {case.value('layers')} layers, got {case.value('gc_layers')}"
        )
    if case.integer("zero") > 3:
        mistakes.append(f"zero: expected 0 to 3, got {case.value('zero')}")
    return mistakes


class StepMeasurer:
    """Keeps the last model, as neighbouring cases of a plan often differ in packs and checkpointing alone."""

    def __init__(
        self,
        architectures: dict[str, Architecture],
        toolbox: Toolbox,
        ranks: Ranks,
        rule: StoppingRule,
        watch: GpuWatch,
    ) -> None:
        self._architectures = architectures
        self._toolbox = toolbox
        self._ranks = ranks
        self._rule = rule
        self._watch = watch
        self._trainer: Trainer | None = None
        self._trainer_key: tuple[str, int, Parallelism] | None = None

    def measure(self, case: KernelCase) -> dict[str, Any]:
        """The case's line. Raises Unavailable with the reason to skip it."""
        parallelism = Parallelism(case.integer("sp"), case.integer("dp"), case.integer("zero"))
        n_needed = parallelism.sp * parallelism.dp
        if n_needed != self._ranks.size:
            raise Unavailable(
                f"expected {n_needed} processes (dp x sp), got {self._ranks.size}; start it by torchrun"
            )
        packs = case.packs()
        began_s = time.monotonic()
        trainer = self._trainer_of(case, parallelism)
        trainer.model.checkpoint_first(case.integer("gc_layers"))
        parts = trainer.make_parts(packs)
        self._tidy()
        prepare_s = time.monotonic() - began_s
        losses = []

        def sample() -> StepTimes:
            times, loss_share = trainer.step(packs, parts)
            losses.append(loss_share)
            return times

        samples = take_samples(
            self._rule,
            self._watch,
            lambda: together(self._ranks, sample),
            lambda times: times.step_s,
            lambda times: times.step_s,
            self._reset_peak,
        )
        padded_tokens = sum(documents.padded_to(parallelism.sp).tokens for documents in packs)
        tokens = sum(documents.tokens for documents in packs)
        row: dict[str, Any] = {
            "case": case.text,
            "library": "torch",
            "source": "",
            "samples_s": samples.times_s,
            "parts_s": {
                "forward": [times.forward_s for times in samples.rows],
                "backward": [times.backward_s for times in samples.rows],
                "optimizer": [times.optimizer_s for times in samples.rows],
            },
            "flags": samples.flags,
            "details": samples.details
            | {
                "prepare_s": round(prepare_s, 3),
                "tokens": tokens,
                "padding_tokens": padded_tokens - tokens,
                "first_loss": round(trainer.mean_loss(losses[0]), 6),
            },
        }
        if self._toolbox.device.type == "cuda":
            device = self._toolbox.device
            peaks = (torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device))
            rows = self._ranks.gather(peaks)
            row["peak_memory_bytes"] = max(allocated for allocated, _ in rows)
            row["details"]["peak_reserved_bytes"] = max(reserved for _, reserved in rows)
            # The GPU keeps these between steps: weights and optimizer states, without gradients and
            # activations.
            row["details"]["kept_bytes"] = torch.cuda.memory_allocated(device)
        return row

    def _trainer_of(self, case: KernelCase, parallelism: Parallelism) -> Trainer:
        key = (case.value("model"), case.integer("layers"), parallelism)
        if self._trainer is None or self._trainer_key != key:
            self.forget()
            architecture = self._architectures[key[0]]

            # Kept here, not sent: ranks gather what the work returns.
            def build() -> None:
                self._trainer = Trainer(architecture, key[1], parallelism, self._toolbox, self._ranks)

            together(self._ranks, build)
            self._trainer_key = key
        assert self._trainer is not None
        return self._trainer

    def _tidy(self) -> None:
        """What the case before left in the allocator is in pieces of its own sizes."""
        if self._toolbox.device.type == "cuda":
            torch.cuda.synchronize(self._toolbox.device)
            torch.cuda.empty_cache()

    def _reset_peak(self) -> None:
        if self._toolbox.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._toolbox.device)

    def forget(self) -> None:
        """Gives the model's memory back."""
        self._trainer, self._trainer_key = None, None
        gc.collect()
        if self._toolbox.device.type == "cuda":
            torch.cuda.empty_cache()
