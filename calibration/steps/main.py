"""Reads the plan, measures its cases one after another, keeps each as soon as it is measured."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from calibration.steps import step_cases
from calibration.steps.errors import Interrupted, MachineError, UserError
from calibration.steps.kernel_case import KernelCase
from calibration.steps.kernel_measurer import KernelMeasurer
from calibration.steps.machine import GpuWatch, device_name, library_versions
from calibration.steps.measurement_file import MeasurementFile
from calibration.steps.measuring import Unavailable
from calibration.steps.options import parse_options
from calibration.steps.plan_file import read_plan
from calibration.steps.ranks import Ranks, pick_device
from calibration.steps.sampling import StoppingRule
from calibration.steps.step_cases import StepMeasurer
from calibration.steps.training.architecture import Architecture, known_architectures, load_architecture
from calibration.steps.training.attention import IMPLEMENTATIONS, choose_attention
from calibration.steps.training.optimizer import AdamW, AdamWSettings
from calibration.steps.training.pointwise import Pointwise, PointwiseSizes
from calibration.steps.training.trainer import Toolbox
from calibration.steps.watchdog import Watchdog

_EXIT_USER, _EXIT_MACHINE, _EXIT_INTERRUPTED = 2, 3, 130


def _cases(options: argparse.Namespace, architectures: dict[str, Architecture]) -> list[KernelCase]:
    """Returns the cases of all plans, each once. Raises UserError with every mistake of every plan."""
    cases: dict[KernelCase, str] = {}
    mistakes: list[str] = []
    for number, text in enumerate(options.case, 1):
        try:
            cases.setdefault(KernelCase.parse(text), f"--case {number}")
        except ValueError as mistake:
            mistakes.append(f"--case {number}: {mistake}")
    for path in options.plan:
        try:
            for case, place in read_plan(path).items():
                cases.setdefault(case, place)
        except UserError as error:
            mistakes.append(str(error))
    for case, place in cases.items():
        if case.kernel == "step":
            _add_architecture_of(case, place, architectures, mistakes)
            mistakes += [f"{place}: {mistake}" for mistake in step_cases.mistakes_of(case, architectures)]
    if mistakes:
        raise UserError("\n".join(mistakes))
    wanted = {"all": (True, False), "steps": (True,), "kernels": (False,)}[options.only]
    return [case for case in cases if (case.kernel == "step") in wanted]


def _add_architecture_of(
    case: KernelCase, place: str, architectures: dict[str, Architecture], mistakes: list[str]
) -> None:
    """A model that is the path of a JSON file is read from there."""
    model = case.value("model")
    if model not in architectures and ("/" in model or model.endswith(".json")):
        try:
            architectures[model] = load_architecture(Path(model))
        except (UserError, MachineError) as error:
            mistakes.append(f"{place}: model: {error}")


def _pointwise_sizes(
    cases: list[KernelCase], architectures: dict[str, Architecture]
) -> PointwiseSizes | None:
    """Takes the sizes of the first model; others are compiled when they are built."""
    models = [case.value("model") for case in cases if case.kernel == "step"]
    if not models:
        return None
    a = architectures[models[0]]
    heads = tuple(sorted({a.kv_heads, a.heads}))
    return PointwiseSizes(a.hidden_size, a.ffn_size, heads, a.head_dim, a.vocab_size)


def _toolbox(
    options: argparse.Namespace,
    device: torch.device,
    cases: list[KernelCase],
    architectures: dict[str, Architecture],
) -> Toolbox:
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[options.dtype]
    wants_compiled = options.compile == "yes" or (options.compile == "auto" and device.type == "cuda")
    if wants_compiled and any(case.kernel == "elementwise" for case in cases):
        # Single backward passes are run again and again on what one forward pass saved.
        import torch._functorch.config as functorch_config

        functorch_config.donated_buffer = False
    name, reasons = choose_attention(options.attention, device, dtype)
    if not name:
        why = "; ".join(f"{key}: {reason}" for key, reason in reasons.items())
        raise MachineError(f"--attention {options.attention}: it does not work here: {why}")
    return Toolbox(
        device=device,
        dtype=dtype,
        attention_name=name,
        attention=IMPLEMENTATIONS[name],
        pointwise=Pointwise(wants_compiled, device, dtype, _pointwise_sizes(cases, architectures)),
        adamw=AdamW(wants_compiled, device, AdamWSettings()),
        loss_form=options.loss,
    )


def _source(
    options: argparse.Namespace, toolbox: Toolbox, ranks: Ranks, watch: GpuWatch, started_s: float
) -> dict[str, Any]:
    details = library_versions(toolbox.device) | {
        "start_up_s": f"{time.monotonic() - started_s:.3g}",  # imports and compilations
        "started": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "dtype": options.dtype,
        "attention": toolbox.attention_name,
        "elementwise": toolbox.pointwise.standing,
        "adamw": toolbox.adamw.standing,
        "loss": toolbox.loss_form,
        "processes": str(ranks.size),
        "processes_per_node": str(ranks.local_size),
        "threads_per_process": str(torch.get_num_threads()),
        "noise_fraction": f"{options.noise_fraction:g}",
        # torch.utils.checkpoint runs a layer again up to the last value needed: not its down projection.
        "recompute": "stops_early",
    }
    if watch.driver:
        details["driver"] = watch.driver
    words = ["measure_steps", *(f"--plan {shlex.quote(path)}" for path in options.plan)]
    return {
        "id": "",
        "gpu": device_name(toolbox.device),
        "provenance": " ".join(words),
        "details": details,
    }


@dataclass(frozen=True)
class _Limits:
    """What ends a run before its last case."""

    started_s: float
    budget_total_s: float
    case_timeout_s: float
    retries_failed: bool

    def is_over(self) -> bool:
        return 0 < self.budget_total_s <= time.monotonic() - self.started_s


class _Run:
    """The loop over the cases. Rank 0 alone has the file and speaks."""

    def __init__(
        self,
        ranks: Ranks,
        out: MeasurementFile | None,
        steps: StepMeasurer,
        kernels: KernelMeasurer,
        limits: _Limits,
    ):
        self._ranks = ranks
        self._out = out
        self._steps = steps
        self._kernels = kernels
        self._limits = limits

    def run(self, cases: list[KernelCase]) -> None:
        retries = self._limits.retries_failed
        is_done = self._ranks.gather([bool(self._out) and self._out.is_done(case, retries) for case in cases])
        left = [(number, case) for number, case in enumerate(cases, 1) if not is_done[0][number - 1]]
        if len(left) < len(cases):
            self._say(f"{len(cases) - len(left)} of {len(cases)} cases are in the file already")
        for n_before, (number, case) in enumerate(left):
            # Rank 0's clock decides for all.
            if self._ranks.gather(self._limits.is_over())[0]:
                n_left = len(left) - n_before
                self._say(
                    f"--budget-total-s {self._limits.budget_total_s:g} is used up: {n_left} of {len(cases)} "
                    "cases are left, the same command goes on from there"
                )
                self._end("interrupted")
                return
            with Watchdog(case.text, self._limits.case_timeout_s):
                self._measure(case, f"[{number}/{len(cases)}] {case.text}")
        self._end("complete")

    def _measure(self, case: KernelCase, title: str) -> None:
        reason = ""
        if self._out:
            self._out.begin(case)
        began_s = time.monotonic()
        try:
            if case.kernel == "step":
                row = self._steps.measure(case)
            else:
                self._steps.forget()
                row = self._kernels.measure(case)
        except Unavailable as unavailable:
            reason = str(unavailable)
        if reason:
            # Out of the handler: the exception held what the case had in memory.
            self._steps.forget()
            self._say(f"{title}: skipped: {reason}")
            if self._out:
                self._out.skip(case, reason)
            return
        row["details"]["case_wall_s"] = round(time.monotonic() - began_s, 3)
        self._say(f"{title}: {_told(row)}")
        if self._out:
            self._out.append(row)

    def end_interrupted(self) -> None:
        self._end("interrupted")

    def _end(self, how: str) -> None:
        if self._out:
            self._out.append({"end": how})

    def _say(self, text: str) -> None:
        if self._ranks.rank == 0:
            print(text, flush=True)


def _setup(toolbox: Toolbox, start_up_s: float) -> str:
    """What is measured, and why it is not compiled where it should be."""
    return (
        f"attention {toolbox.attention_name}, elementwise {toolbox.pointwise.standing}, "
        f"adamw {toolbox.adamw.standing}; started in {start_up_s:.3g} s"
    )


def _told(row: dict[str, Any]) -> str:
    details = row["details"]
    flags = f" ({', '.join(row['flags'])})" if row["flags"] else ""
    noise = details["relative_noise"] or 0.0
    prepared = f"prepared in {details['prepare_s']:.3g} s, " if "prepare_s" in details else ""
    return (
        f"{details['median_s']:.6g} s +- {noise:.2%}{flags}; {prepared}{details['case_wall_s']:.3g} s in all"
    )


def _run(options: argparse.Namespace, started_s: float) -> int:
    architectures = known_architectures(options.architecture)
    cases = _cases(options, architectures)
    device = pick_device(options.device)
    ranks = Ranks(device.type)
    try:
        toolbox = _toolbox(options, device, cases, architectures)
        names = ranks.gather(device_name(device))
        if len(set(names)) > 1:
            raise UserError(f"expected one kind of GPU, got {', '.join(sorted(set(names)))}")
        watch = GpuWatch(device)
        out = _open(options, _source(options, toolbox, ranks, watch, started_s), ranks)
        if ranks.rank == 0:
            print(_setup(toolbox, time.monotonic() - started_s), flush=True)
        rule = StoppingRule(
            options.min_samples,
            options.max_samples,
            options.budget_s,
            options.noise_fraction,
            options.warmup,
            options.warmup_s,
            options.min_case_s,
        )
        steps = StepMeasurer(architectures, toolbox, ranks, rule, watch)
        limits = _Limits(started_s, options.budget_total_s, options.case_timeout_s, options.retry_failed)
        run = _Run(ranks, out, steps, KernelMeasurer(toolbox, ranks, rule, watch), limits)
        try:
            run.run(cases)
        except Interrupted:
            run.end_interrupted()
            raise
        finally:
            if out:
                out.close()
    finally:
        ranks.close()
    return 0


def _open(options: argparse.Namespace, source: dict[str, Any], ranks: Ranks) -> MeasurementFile | None:
    """Rank 0's file; the other ranks learn whether it could be opened."""
    out: MeasurementFile | None = None
    failure: UserError | MachineError | None = None
    if ranks.rank == 0:
        try:
            out = MeasurementFile(options.out, source)
        except (UserError, MachineError) as error:
            failure = error
    # Rank 0's mistake ends all ranks; it alone speaks of it.
    try:
        is_open = ranks.gather(failure is None)[0]
    except Interrupted:
        if out:
            out.append({"end": "interrupted"})
        raise
    if failure:
        raise failure
    if not is_open:
        raise MachineError("")
    if out and out.warning:
        print(out.warning, file=sys.stderr)
    return out


def main(arguments: Sequence[str] | None = None, started_s: float | None = None) -> int:
    """The exit status: 0; 2 user's mistakes; 3 the machine's; 130 interrupted.

    started_s: by time.monotonic(), when the program started; now if not given.
    """
    try:
        return _run(parse_options(arguments), time.monotonic() if started_s is None else started_s)
    except UserError as error:
        # All ranks find the same mistakes.
        if os.environ.get("RANK", "0") == "0":
            print(error, file=sys.stderr)
        return _EXIT_USER
    except MachineError as error:
        if str(error):
            print(error, file=sys.stderr)
        return _EXIT_MACHINE
    except (Interrupted, KeyboardInterrupt):
        print("interrupted: what was measured is kept, the same command goes on from there", file=sys.stderr)
        return _EXIT_INTERRUPTED
