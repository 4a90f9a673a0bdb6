"""Ulysses and data parallelism train the same model as one process does: the same losses and weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_TOLERANCE = 1e-5
# Collectives of a step of 2 packs. zero 0 and 1: once for each of the 7 buckets. FSDP has 3 parts, 2 layers
# and the rest: zero 2 gathers each once and scatters once a pack; zero 3 gathers forward and backward.
_CALLS = {
    0: {"all_reduce": 7, "reduce_scatter": 0, "all_gather": 0},
    1: {"all_reduce": 0, "reduce_scatter": 7, "all_gather": 7},
    2: {"all_reduce": 0, "reduce_scatter": 2 * 3, "all_gather": 3},
    3: {"all_reduce": 0, "reduce_scatter": 2 * 3, "all_gather": 2 * 2 * 3},
}


def _compare(n_ranks: int, setups: list[dict]) -> list[dict]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n_ranks}"]
    command += [str(_FOLDER / "parallel_worker.py"), json.dumps(setups)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode != 0:
        raise AssertionError(done.stderr[-6000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


class ParallelTest(unittest.TestCase):
    def _check(self, n_ranks: int, setups: list[dict]) -> None:
        for setup, result in zip(setups, _compare(n_ranks, setups), strict=True):
            with self.subTest(n_ranks=n_ranks, **setup):
                self.assertLess(result["loss_difference"], _TOLERANCE)
                self.assertLess(result["weight_difference"], _TOLERANCE)
                # Learning rate 0.1: the weights have gone somewhere, so that equal ones mean something.
                self.assertGreater(result["weight_change"], 1e-2)
                for name, count in setup.get("calls", {}).items():
                    self.assertEqual(result["collectives"].get(name, 0), count, name)

    def test_two_ranks_train_like_one(self) -> None:
        tiny = {"model": "tiny", "layers": 2, "gc_layers": 0, "sp": 1, "zero": 0, "packs": "2x8+1x24/3x7"}
        self._check(
            2,
            [
                tiny | {"sp": 2},
                # 21 tokens on 2 ranks: one of padding. Checkpointing runs the all-to-alls again.
                # 2 packs x 2 layers x 12 of them.
                tiny | {"sp": 2, "gc_layers": 2, "packs": "3x7/1x5", "calls": {"all_to_all": 48}},
                # One KV head on two ranks: each has a copy of it.
                tiny | {"sp": 2, "model": "one_kv_head"},
                tiny | {"sp": 2, "zero": 1},
                *(tiny | {"zero": zero, "gc_layers": 1, "calls": _CALLS[zero]} for zero in range(4)),
                # Tied embeddings get gradients from both ends.
                *(tiny | {"zero": zero, "model": "one_kv_head"} for zero in (1, 3)),
            ],
        )

    def test_two_by_two_ranks_train_like_one(self) -> None:
        tiny = {"model": "tiny", "layers": 2, "gc_layers": 1, "sp": 2, "zero": 0, "packs": "2x8+1x24/3x7"}
        four_kv_heads = tiny | {"sp": 4}
        self._check(4, [*(tiny | {"zero": zero} for zero in range(4)), four_kv_heads])


if __name__ == "__main__":
    unittest.main()
