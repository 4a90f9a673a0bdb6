"""What drawing from a mixture and packing the draws costs beside a training step.

    .venv-python/bin/python tests/bench/mixing.py [--steps 400] [--packs-per-step 64]

The lengths are those of a million samples in 8 subsets of 4 levels, packed by best-fit decreasing; the policy
is hbo. `core` is the C++ alone, Mixture.draw() and StreamPacker.push(); `loop` is all that a rank of
MixtureLoader does for a step but for loading its samples, place for checkpoints and micro-batches included.
Times are CPU times: the mean, so that updates and windows count, and the slowest step.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from python_packing import one_million_lengths

import packsim
from packsim._arguments import Problems
from packsim._mixture_steps import MixtureSteps, drawn_samples
from packsim._normalisers import find_normaliser

N_SUBSETS, N_GROUPS = 8, 4
UPDATE_EVERY_STEPS = 200
STEP_S = 0.5  # of the smallest shipped job
# (capacity, window): a window has the samples of some packs.
SETTINGS = ((4096, 1024), (16384, 4096), (131072, 16384))


def mixture_of(n_samples: int) -> packsim.Mixture:
    draw = np.random.default_rng(0)
    # Subsets of a half, a quarter and so on.
    subset_of = np.minimum(draw.geometric(0.5, n_samples) - 1, N_SUBSETS - 1)
    group_of = np.zeros(n_samples, dtype=np.int64)
    for subset in range(N_SUBSETS):
        own = np.flatnonzero(subset_of == subset)
        group_of[own] = packsim.quantile_groups(draw.random(len(own)), N_GROUPS)
    return packsim.Mixture(subset_of, group_of, policy="hbo")


def rewards() -> tuple[list[float], list[list[float]]]:
    return [1.0 + i for i in range(N_SUBSETS)], [[1.0, 2.0, 3.0, 4.0]] * N_SUBSETS


def packer_of(capacity_tokens: int, window_samples: int) -> packsim.StreamPacker:
    return packsim.StreamPacker(
        strategy="bfd",
        capacity_tokens=capacity_tokens,
        window_samples=window_samples,
        over_long="truncate",
    )


def core_s(
    mixture: packsim.Mixture, packer: packsim.StreamPacker, lengths: np.ndarray, n_packs: int
) -> float:
    """Seconds until so many packs have come."""
    start_s = time.process_time()
    while packer.counts.n_packs < n_packs:
        packer.push(lengths[mixture.draw(packer.room_samples).samples])
    return time.process_time() - start_s


def loop_times_s(steps: MixtureSteps, n_steps: int, n_ranks: int) -> list[float]:
    times_s = []
    for step in range(n_steps):
        start_s = time.process_time()
        if step > 0 and step % UPDATE_EVERY_STEPS == 0:
            steps.update(rewards())
        steps.next_step().of_rank(step % n_ranks, n_ranks)
        times_s.append(time.process_time() - start_s)
    return times_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--packs-per-step", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    lengths = one_million_lengths()
    n_packs = options.packs_per_step

    mixture = mixture_of(len(lengths))
    start_s = time.process_time()
    mixture.draw(1 << 22)
    print(f"draws/s alone: {(1 << 22) / (time.process_time() - start_s):.3g}")
    start_s = time.process_time()
    mixture.update(*rewards())
    print(f"one update of hbo: {(time.process_time() - start_s) * 1e3:.2f} ms")
    start_s = time.process_time()
    mixture.counts()
    print(f"counts of {mixture.n_draws} draws: {time.process_time() - start_s:.2f} s")

    head = "capacity_tokens window samples/step core_ms/step loop_ms/step slowest_ms % of 0.5 s  state_bytes"
    print(head)
    for capacity_tokens, window_samples in SETTINGS:
        mixture, packer = mixture_of(len(lengths)), packer_of(capacity_tokens, window_samples)
        of_core_s = core_s(mixture, packer, lengths, n_packs * options.steps) / options.steps
        mixture, packer = mixture_of(len(lengths)), packer_of(capacity_tokens, window_samples)
        data = drawn_samples(lengths, None, mixture, packer, Problems())
        steps = MixtureSteps(mixture, packer, data, n_packs, find_normaliser("stable"))
        times_s = loop_times_s(steps, options.steps, options.ranks)
        mean_s = sum(times_s) / len(times_s)
        n_samples = mixture.n_draws / options.steps
        state_bytes = len(json.dumps(steps.place.to_dict()))
        print(
            f"{capacity_tokens:15} {window_samples:6} {n_samples:12.0f} {of_core_s * 1e3:12.2f} "
            f"{mean_s * 1e3:12.2f} {max(times_s) * 1e3:10.2f} {mean_s / STEP_S:10.2%} {state_bytes:12}"
        )


if __name__ == "__main__":
    main()
