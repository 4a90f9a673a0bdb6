"""torch.compile: one compilation for packs of any length, and none that goes unnoticed."""

from __future__ import annotations

import unittest
from dataclasses import replace
from unittest import mock

import reference_run as reference
import torch

from calibration.steps.machine import GpuWatch
from calibration.steps.measuring import take_samples
from calibration.steps.sampling import StoppingRule
from calibration.steps.training import compiling
from calibration.steps.training.optimizer import AdamW
from calibration.steps.training.pointwise import Pointwise, PointwiseSizes
from calibration.steps.training.trainer import Parallelism, Trainer

# AOTAutograd and eager kernels: the guards are the same, and nothing waits for a C++ compiler.
_COMPILE = torch.compile
_TINY = PointwiseSizes(hidden_size=32, ffn_size=64, heads=(2, 4), head_dim=8, vocab_size=96)


def _without_inductor(function, **options):
    return _COMPILE(function, backend="aot_eager", **options)


class CompileTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        patch = mock.patch("torch.compile", _without_inductor)
        patch.start()
        self.addCleanup(patch.stop)

    def test_steps_of_all_shapes_run_what_was_compiled_beforehand(self) -> None:
        dtype = torch.bfloat16
        pointwise = Pointwise(True, reference.CPU, dtype, _TINY)
        adamw = AdamW(True, reference.CPU, reference.SETTINGS)
        self.assertEqual((pointwise.standing, adamw.standing), ("compiled", "compiled"))
        tools = replace(reference.toolbox(dtype=dtype), pointwise=pointwise, adamw=adamw)
        n_graphs = compiling.compiled_graphs()
        self.assertGreater(n_graphs, 0)
        model = reference.architecture("tiny")
        for layers in (1, 2):
            trainer = Trainer(model, layers, Parallelism(1, 1, 0), tools, reference.OneRank())
            for gc_layers, text in ((0, "1x64+1x8"), (layers, "1x128"), (1, "1x77/1x200"), (0, "1x1030")):
                trainer.model.checkpoint_first(gc_layers)
                packs = reference.packs_of(text)
                trainer.step(packs, trainer.make_parts(packs))
                self.assertEqual(compiling.compiled_graphs(), n_graphs, text)

    def test_other_widths_are_constants_of_their_own(self) -> None:
        # More of them than PyTorch compiles by default, after which it would go on without compiling.
        pointwise = Pointwise(True, reference.CPU, torch.float32, _TINY)
        n_graphs = compiling.compiled_graphs()
        for width in range(40, 52):
            for rows in (5, 9):
                pointwise.residual_add(torch.ones(rows, width), torch.ones(rows, width))
        self.assertEqual(compiling.compiled_graphs() - n_graphs, 12)

    def test_a_compilation_during_the_samples_is_told(self) -> None:
        n_samples, compiles_at = 0, set()

        def sample() -> list[float]:
            nonlocal n_samples
            n_samples += 1
            if n_samples in compiles_at:
                _without_inductor(lambda x: x + n_samples, dynamic=False)(torch.ones(3))
            return [1.0]

        rule = StoppingRule(5, 5, 9, 0.005, warmup=2, warmup_s=0)
        for compiles_at, flags in (({1}, []), ({1, 4}, ["recompiled"])):
            torch._dynamo.reset()
            n_samples = 0
            samples = take_samples(rule, GpuWatch(reference.CPU), sample, lambda s: s, lambda s: s)
            self.assertEqual(samples.flags, flags)
            self.assertEqual(samples.details["compilations"], len(compiles_at))


if __name__ == "__main__":
    unittest.main()
