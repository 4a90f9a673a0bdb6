"""Writes plans of steps on real document lengths: one to fit a profile with, one held out to judge it by.

python3 -m calibration.steps.step_plan --memory-bytes 80e9 --out-folder calibration/plans
"""

from __future__ import annotations

import argparse
import csv
import random
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from calibration.steps.documents import Documents
from calibration.steps.errors import MachineError, UserError
from calibration.steps.kernel_case import KernelCase
from calibration.steps.memory_estimate import step_memory_bytes
from calibration.steps.training.architecture import Architecture, known_architectures

LENGTHS_FOLDER = Path(__file__).resolve().parents[2] / "scenarios" / "lengths"
# Samples range from short tasks to whole books.
_SOURCES = (
    "tulu3_like_939344.npy",
    "mixture_real_short.csv",
    "servegen_deepseek_r1.csv",
    "mooncake_conversation.csv",
    "qmsum.csv",
    "mixture_real_long_2k.csv",
)
_PACK_TOKENS = (2048, 4096, 8192, 16384, 32768, 65536)
_LAYERS = (4, 8, 12, 16)
_GC_FRACTIONS = (0.0, 0.25, 0.5, 1.0)
# Draws that may fail to fit the rest of a pack before it is closed.
_MISSES = 200


@dataclass(frozen=True)
class PlannedStep:
    case: KernelCase
    source: str


def _read_npy(path: Path) -> list[int]:
    """The elements of a shipped array: NPY format 1, one dimension, unsigned 16-bit little-endian."""
    content = path.read_bytes()
    header_end = 10 + int.from_bytes(content[8:10], "little")
    header = content[10:header_end]
    if content[:8] != b"\x93NUMPY\x01\x00" or b"'<u2'" not in header:
        raise UserError(f"{path}: expected an NPY array of unsigned 16-bit integers, got {header!r}")
    return [element for (element,) in struct.iter_unpack("<H", content[header_end:])]


def read_lengths_tokens(path: Path) -> list[int]:
    """Sample lengths of a length file: an array, or its column tokens, or prompt and response together."""
    try:
        if path.suffix == ".npy":
            return [length for length in _read_npy(path) if length > 0]
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines)
            names = rows.fieldnames or []
            if "tokens" in names:
                lengths = [int(row["tokens"]) for row in rows]
            elif "prompt" in names and "response" in names:
                lengths = [int(row["prompt"]) + int(row["response"]) for row in rows]
            else:
                raise UserError(
                    f"{path}: expected a column tokens, or prompt and response, got {', '.join(names)}"
                )
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    return [length for length in lengths if length > 0]


def draw_pack(lengths_tokens: list[int], capacity_tokens: int, draw: random.Random) -> Documents:
    """Samples drawn one after another into a pack until draws no longer fit; one that is longer than a whole
    pack is cut to it."""
    picked: list[int] = []
    room_tokens, misses = capacity_tokens, 0
    while room_tokens > 0 and misses < _MISSES:
        # random() alone is the same in all versions of Python.
        length = lengths_tokens[int(draw.random() * len(lengths_tokens))]
        if not picked:
            length = min(length, capacity_tokens)
        if length > room_tokens:
            misses += 1
        else:
            picked.append(length)
            room_tokens -= length
    return Documents.of_lengths(picked)


def _settings_that_fit(architecture: Architecture, tokens: int, memory_bytes: float) -> list[tuple[int, int]]:
    """(layers, gc_layers): all of them, from few layers to many."""
    return [
        (layers, round(fraction * layers))
        for layers in _LAYERS
        for fraction in _GC_FRACTIONS
        if layers <= architecture.layers
        and step_memory_bytes(architecture, layers, round(fraction * layers), tokens) <= memory_bytes
    ]


def make_plan(
    architecture: Architecture, memory_bytes: float, seed: int
) -> tuple[list[PlannedStep], list[PlannedStep]]:
    """(to fit with, held out): one step for every source and pack size, like ones in both.

    A step has 1 pack of 16K tokens or more, or several smaller ones. Raises UserError where the memory does
    not hold the smallest step.
    """
    draw = random.Random(seed)
    halves: tuple[list[PlannedStep], list[PlannedStep]] = ([], [])
    lengths_tokens = {source: read_lengths_tokens(LENGTHS_FOLDER / source) for source in _SOURCES}
    for source_index in range(len(_SOURCES)):
        for size_index, capacity_tokens in enumerate(_PACK_TOKENS):
            n_packs = 1 if capacity_tokens >= 16384 else 1 + int(draw.random() * 3)
            # Packs of one document that was cut are alike whatever the source: the next source then.
            for source in (*_SOURCES[source_index:], *_SOURCES[:source_index]):
                packs = [draw_pack(lengths_tokens[source], capacity_tokens, draw) for _ in range(n_packs)]
                if any(len(documents.runs) > 1 for documents in packs):
                    break
            largest_tokens = max(documents.tokens for documents in packs)
            settings = _settings_that_fit(architecture, largest_tokens, memory_bytes)
            if not settings:
                need_bytes = step_memory_bytes(architecture, _LAYERS[0], _LAYERS[0], largest_tokens)
                expected = f"at least {need_bytes:.3g} for {architecture.name} with {largest_tokens} tokens"
                raise UserError(f"--memory-bytes: expected {expected}, got {memory_bytes:.3g}")
            layers, gc_layers = settings[int(draw.random() * len(settings))]
            text = (
                f"step model={architecture.name} layers={layers} gc_layers={gc_layers} sp=1 dp=1 zero=0 "
                f"packs={'/'.join(documents.text for documents in packs)}"
            )
            # A checkerboard: every source and every size is in both halves.
            halves[(source_index + size_index) % 2].append(PlannedStep(KernelCase.parse(text), source))
    return halves


def plan_text(steps: list[PlannedStep], title: str, command: str) -> str:
    """Steps of one model next to each other, as it is then built once."""
    ordered = sorted(steps, key=lambda step: (step.case.value("model"), step.case.integer("layers")))
    lines = [f"# {title}", f"# Written by: {command}"]
    for step in ordered:
        lines += [f"# lengths drawn from {Path(step.source).stem}", step.case.text]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="step_plan", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--model", default="llama3.1-8b", help="a shipped architecture, or of --architecture")
    parser.add_argument("--architecture", action="append", default=[], help="model JSON or config.json")
    parser.add_argument("--memory-bytes", type=float, default=80e9, help="of one GPU (80e9)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out-folder", default="calibration/plans")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        architectures = known_architectures(options.architecture)
        if options.model not in architectures:
            raise UserError(
                f'--model: expected one of {", ".join(sorted(architectures))}, got "{options.model}"'
            )
        halves = make_plan(architectures[options.model], options.memory_bytes, options.seed)
        command = (
            f"step_plan --model {options.model} --memory-bytes {options.memory_bytes:g} --seed {options.seed}"
        )
        titles = ("Steps to fit a profile with.", "Steps held out of every fit, to judge profiles by.")
        for name, title, steps in zip(("steps-fit.txt", "steps-held-out.txt"), titles, halves):
            path = Path(options.out_folder) / name
            try:
                path.write_text(plan_text(steps, title, command), encoding="utf-8")
            except OSError as error:
                raise MachineError(f"{path}: {error.strerror}") from error
            print(f"{path}: {len(steps)} steps")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except MachineError as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
