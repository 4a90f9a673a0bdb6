"""Cases, plans and measurement files read and write what the C++ programs do. Needs no PyTorch."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

_REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_REPOSITORY))

from calibration.steps.documents import Documents
from calibration.steps.errors import MachineError, UserError
from calibration.steps.kernel_case import KERNEL_KINDS, KernelCase, STANDARD
from calibration.steps.measurement_file import MeasurementFile
from calibration.steps.plan_file import read_plan
from calibration.steps.sampling import StoppingRule, relative_noise
from calibration.steps.step_plan import main as step_plan
from calibration.steps.training.architecture import known_architectures, load_architecture

_SOURCE = {"id": "", "gpu": "H100", "provenance": "test", "details": {}}


class KernelCaseTest(unittest.TestCase):
    def test_the_table_is_that_of_the_cpp_program(self) -> None:
        text = (_REPOSITORY / "models/kernels/kernel_case.cpp").read_text()
        table = text[text.index("> kKinds = {") :].partition("\n};")[0]
        words = {
            name: re.findall(r'"(\w+)"', values)
            for name, values in re.findall(r"std::string_view> (k\w+) = \{(.*?)\};", text, re.DOTALL)
        }
        collectives = (_REPOSITORY / "models/kernels/collectives.hpp").read_text()
        words["kCollectives"] = re.findall(r'\{\.name = "(\w+)"', collectives[collectives.index("kCollectiveKinds") :])
        # Rows are {"gemm", {{"m", count}, {"layout", word, {"tn", "nn"}}, ...}, "summary"}: a kernel's name
        # comes before a list.
        cpp: dict[str, dict[str, str | tuple[str, ...]]] = {}
        # A key with a standard value ends with it: {"dtype", word, {"bf16", "fp8"}, "bf16"}.
        pattern = r'\{"(\w+)",\s*(?=\{)|\{"(\w+)", (\w+)(?:, (?:(k\w+)|\{([^}]*)\}))?(?:, "(\w+)")?\}'
        standard = {}
        for kernel, key, kind, list_name, literal, value in re.findall(pattern, table):
            if value:
                standard[key] = value
            if kernel:
                cpp[kernel] = {}
                last = kernel
            elif kind == "word":
                cpp[last][key] = tuple(words[list_name] if list_name else re.findall(r'"(\w+)"', literal))
            else:
                cpp[last][key] = kind
        self.assertEqual(cpp, KERNEL_KINDS)
        self.assertEqual(standard, STANDARD)

    def test_a_standard_value_need_not_be_given_and_is_not_in_the_text(self) -> None:
        case = KernelCase.parse("gemm m=1 n=2 k=3 layout=tn cache=hot dtype=bf16")
        self.assertEqual(case.text, "gemm m=1 n=2 k=3 layout=tn cache=hot")
        self.assertEqual(KernelCase.parse(case.text), case)
        fp8 = KernelCase.parse(case.text + " dtype=fp8")
        self.assertEqual(fp8.text, case.text + " dtype=fp8")

    def test_keys_in_any_order_give_one_text(self) -> None:
        case = KernelCase.parse("attention  heads=4 docs=2x8+1x8 pass=fwd head_dim=64 kv_heads=2")
        self.assertEqual(case.text, "attention pass=fwd docs=3x8 heads=4 kv_heads=2 head_dim=64")
        self.assertEqual(KernelCase.parse(case.text), case)

    def test_all_mistakes_come_at_once(self) -> None:
        with self.assertRaises(ValueError) as caught:
            KernelCase.parse("gemm m=0 n=4 n=5 layout=tt spam eggs=1")
        for mistake in (
            'm: expected an integer of at least 1, got "0"',
            "expected n once, got it twice",
            'layout: expected one of tn, nn, nt, got "tt"',
            'expected key=value, got "spam"',
            "expected no such key, got eggs=1",
            "expected a value of k, got none",
            "expected a value of cache, got none",
        ):
            self.assertIn(mistake, str(caught.exception))

    def test_padding_is_a_document_of_its_own(self) -> None:
        # 21 tokens for 4 ranks: 3 of padding.
        self.assertEqual(Documents.parse("3x7").padded_to(4).text, "3x7+1x3")
        self.assertEqual(Documents.parse("3x8").padded_to(4).text, "3x8")

    def test_a_plan_names_the_line_of_every_mistake(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/plan.txt"
            Path(path).write_text("# a plan\n\nlaunch_gap\nspam\ngemm m=1\nlaunch_gap\n")
            with self.assertRaises(UserError) as caught:
                read_plan(path)
            self.assertIn(f"{path}:4: expected a kernel", str(caught.exception))
            self.assertIn(f"{path}:5: kernel gemm: expected a value of n", str(caught.exception))
            Path(path).write_text("launch_gap # twice\nlaunch_gap\n")
            self.assertEqual(list(read_plan(path)), [KernelCase.parse("launch_gap")])


class ArchitectureTest(unittest.TestCase):
    def test_shipped_models_have_their_published_parameters(self) -> None:
        for name, architecture in known_architectures([]).items():
            path = _REPOSITORY / f"models/architectures/{name}.json"
            published = json.loads(path.read_text())["published_parameters"]
            self.assertEqual(architecture.parameters(architecture.layers), published, name)

    def test_models_that_steps_would_run_as_others_are_refused(self) -> None:
        folder = _REPOSITORY / "models/architectures"
        known = known_architectures([])
        self.assertIn("qwen2.5-7b", known)
        for name, mistakes in {
            "qwen3-30b-a3b": (
                '/experts: expected none: mixtures of experts are not run, got {"routed": 128, ',
                "/qk_norm: expected false: norms of queries and keys are not run, got true",
            ),
            "deepseek-v2": (
                "/experts: expected none",
                "/latent_attention: expected none: latent attention is not run, got {",
            ),
            "phi-4": ("/fused_projections: expected false: fused projections are not run, got true",),
        }.items():
            self.assertNotIn(name, known)
            path = folder / f"{name}.json"
            # Named by the user it is refused, not skipped.
            with self.assertRaises(UserError) as caught:
                known_architectures([str(path)])
            self.assertEqual(len(str(caught.exception).splitlines()), len(mistakes))
            for mistake in mistakes:
                self.assertIn(f"{path}: {mistake}", str(caught.exception))

    def test_a_sliding_window_is_refused_and_one_that_is_switched_off_is_not(self) -> None:
        configs = _REPOSITORY / "tests/scenarios/hf_configs"
        for name in ("mistral-7b-v0.3", "qwen2.5-0.5b"):
            self.assertGreater(load_architecture(configs / f"{name}.json").layers, 0)
        with self.assertRaises(UserError) as caught:
            load_architecture(configs / "mistral-7b-v0.1.json")
        reason = "/sliding_window: expected none: sliding windows are not run, got 4096"
        self.assertIn(reason, str(caught.exception))
        shipped = json.loads((_REPOSITORY / "models/architectures/llama3.1-8b.json").read_text())
        config = json.loads((configs / "mistral-7b-v0.3.json").read_text())
        del config["sliding_window"]  # transformers' default is 4096
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            for values in (
                shipped | {"sliding_window": {"tokens": 4096, "layers": 32}},
                config,
                json.loads((configs / "qwen2.5-0.5b.json").read_text()) | {"use_sliding_window": True},
            ):
                path.write_text(json.dumps(values))
                with self.assertRaises(UserError) as caught:
                    load_architecture(path)
                self.assertIn("/sliding_window: expected none", str(caught.exception))

    def test_a_hugging_face_config_is_read(self) -> None:
        config = {
            "model_type": "qwen2",
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 96,
            "vocab_size": 100,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            path.write_text(json.dumps(config))
            architecture = load_architecture(path)
            self.assertEqual((architecture.head_dim, architecture.qkv_bias), (16, True))
            path.write_text(json.dumps(config | {"hidden_size": "64", "num_key_value_heads": 3}))
            with self.assertRaises(UserError) as caught:
                load_architecture(path)
            self.assertIn('/hidden_size: expected an integer of at least 1, got "64"', str(caught.exception))
            self.assertIn("/head_dim", str(caught.exception))


class SamplingTest(unittest.TestCase):
    def test_noise_is_the_standard_error_of_the_median(self) -> None:
        # Median 10, and 6 of 9 are 1 away: 1.2533 x 1.4826 x 1 / sqrt(9) = 0.619, of 10.
        samples_s = [9, 10, 11, 9, 9.9, 11, 9, 10.1, 11]
        self.assertAlmostEqual(relative_noise(samples_s), 0.0619, places=4)
        # Ranks sqrt(5) / 2 = 1.12 from the middle, 2, are 0.88 and 3.12: 0.9 and 1.1, half their distance.
        self.assertAlmostEqual(relative_noise([0.9, 1.0, 1.1, 0.9, 1.1]), 0.1, places=6)

    def test_one_outlier_does_not_count(self) -> None:
        quiet = [1.0, 1.0001, 0.9999, 1.0, 1.0002]
        self.assertLess(relative_noise([*quiet, 9.0]), 1e-3)

    def test_samples_that_hop_between_two_clocks_are_not_quiet(self) -> None:
        # 6 of 10 samples are 1: no median deviation. Ranks sqrt(10) / 2 = 1.58 from the middle, 4.5, are 2.92
        # and 6.08: the samples there are 1 and 1.1, and half their distance is 0.05.
        self.assertAlmostEqual(relative_noise([1.0, 1.1] * 4 + [1.0, 1.0]), 0.05, places=6)

    def test_a_clock_that_falls_is_noise(self) -> None:
        # 30 samples from 1 to 1.08, evenly: 8 % / 29 apart. Thirds are 20 of those apart, halved 2.76 %; the
        # median's own error, sqrt(30) / 2 = 2.74 ranks or 0.76 %, is taken off; of the median, 1.04.
        falling = [1 + 0.08 * index / 29 for index in range(30)]
        self.assertAlmostEqual(relative_noise(falling), (0.02759 - 0.00756) / 1.04, places=4)
        # The same samples in any order are no drift.
        shuffled = [falling[(7 * index) % 30] for index in range(30)]
        self.assertLess(relative_noise(shuffled), 0.008)

    def test_sampling_ends_when_quiet_or_when_the_budget_is_used_up(self) -> None:
        rule = StoppingRule(
            min_samples=3, max_samples=5, budget_s=100, noise_fraction=0.01, warmup=0, min_case_s=0
        )

        def is_enough(samples_s: list[float]) -> bool:
            return rule.is_enough(samples_s, sum(samples_s))

        self.assertFalse(is_enough([1.0, 1.0]))
        self.assertTrue(is_enough([1.0, 1.0, 1.0]))
        loud = [1.0, 2.0, 3.0, 4.0]
        self.assertFalse(is_enough(loud))
        self.assertTrue(is_enough([*loud, 5.0]))
        self.assertEqual(rule.flags([*loud, 5.0]), ["noisy"])
        self.assertTrue(is_enough([20.0, 40.0, 60.0]))
        # Of calls that last 1 s each, 40 in a sample.
        self.assertTrue(rule.is_enough(loud[:3], spent_s=120))

    def test_quiet_samples_go_on_for_the_least_time(self) -> None:
        rule = StoppingRule(
            min_samples=3, max_samples=5, budget_s=9, noise_fraction=0.01, warmup=2, warmup_s=0.2
        )
        self.assertFalse(rule.is_enough([0.01] * 6, spent_s=0.06))
        self.assertTrue(rule.is_enough([0.01] * 15, spent_s=0.15))
        # Samples that are next to nothing must end, too.
        self.assertTrue(rule.is_enough([1e-5] * 20, spent_s=2e-4))
        self.assertFalse(rule.is_warm(1, spent_s=0.3))
        self.assertFalse(rule.is_warm(2, spent_s=0.1))
        self.assertTrue(rule.is_warm(2, spent_s=0.2))
        self.assertTrue(rule.is_warm(20, spent_s=2e-4))


class MeasurementFileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/out.jsonl"

    def _open(self, gpu: str = "H100") -> MeasurementFile:
        file = MeasurementFile(self.path, _SOURCE | {"gpu": gpu})
        self.addCleanup(file.close)
        return file

    def _write_one(self) -> None:
        file = MeasurementFile(self.path, _SOURCE)
        file.append({"case": "launch_gap", "library": "torch", "source": "", "samples_s": [1e-6]})
        file.skip(KernelCase.parse("adamw parameters=7"), "out of memory: of 80 GB")
        file.skip(KernelCase.parse("adamw parameters=8"), "no such thing")
        file.close()

    def test_a_second_run_knows_what_the_first_measured(self) -> None:
        self._write_one()
        file = self._open()
        self.assertTrue(file.is_done(KernelCase.parse("launch_gap")))
        # What did not fit will not; what was missing may be there now.
        self.assertTrue(file.is_done(KernelCase.parse("adamw parameters=7")))
        self.assertFalse(file.is_done(KernelCase.parse("adamw parameters=8")))
        self.assertEqual(file.warning, "")

    def test_a_case_that_ended_a_run_is_passed_by(self) -> None:
        case = KernelCase.parse("adamw parameters=9")
        for began_again in (False, True):
            file = MeasurementFile(self.path, _SOURCE)
            self.assertEqual(file.warning, "")
            self.assertEqual(file.is_done(case, retries_failed=False), began_again)
            self.assertFalse(file.is_done(case, retries_failed=True))
            file.begin(case)
            file.close()  # as when the process is killed
            file = MeasurementFile(self.path, _SOURCE)
            self.assertTrue(file.is_done(case))
            self.assertIn(f"{case.text}: failed: an earlier run ended in the middle of it", file.warning)
            file.close()
        skipped = json.loads(Path(self.path).read_text().splitlines()[-1])
        reason = "failed: an earlier run ended in the middle of it (crash, hang or kill)"
        self.assertEqual(skipped, {"skipped": case.text, "reason": reason})

    def test_a_case_that_came_to_an_end_does_not_dangle(self) -> None:
        case = KernelCase.parse("launch_gap")
        for end in (
            {"case": "launch_gap", "library": "torch", "source": "", "samples_s": [1e-6]},
            {"skipped": "launch_gap", "reason": "no such thing"},
            {"end": "interrupted"},
        ):
            file = MeasurementFile(self.path, _SOURCE)
            file.begin(case)
            file.append(end)
            file.close()
            file = MeasurementFile(self.path, _SOURCE)
            self.assertEqual((file.warning, file.is_done(case)), ("", "case" in end))
            file.close()
            Path(self.path).unlink()

    def test_a_case_that_was_cut_short_is_measured_again(self) -> None:
        self._write_one()
        with open(self.path, "a") as file:
            row = {"case": "adamw parameters=9", "library": "cuda", "samples_s": [1e-6], "flags": ["cut"]}
            file.write(json.dumps(row) + "\n")
        self.assertFalse(self._open().is_done(KernelCase.parse("adamw parameters=9")))

    def test_a_reason_that_is_known_still_ends_what_began(self) -> None:
        case = KernelCase.parse("launch_gap")
        for _ in range(2):
            file = MeasurementFile(self.path, _SOURCE)
            self.assertEqual(file.warning, "")
            file.begin(case)
            file.skip(case, "no such thing")
            file.skip(case, "no such thing")
            file.close()
        self.assertEqual(Path(self.path).read_text().count("skipped"), 2)

    def test_a_case_that_found_the_disk_full_is_measured_later(self) -> None:
        case = KernelCase.parse("launch_gap")
        file = self._open()
        file.begin(case)
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("os.write", side_effect=full), self.assertRaises(MachineError):
            file.append({"case": case.text, "samples_s": [1e-6]})
        self.assertNotIn("began", Path(self.path).read_text())

    def test_a_torn_last_line_is_cut_off(self) -> None:
        self._write_one()
        whole = Path(self.path).read_text()
        Path(self.path).write_text(whole + '{"case": "adamw parame')
        file = self._open()
        self.assertIn("incomplete last line", file.warning)
        for line in Path(self.path).read_text().splitlines():
            json.loads(line)

    def test_another_gpu_is_refused_and_the_file_left_as_it_is(self) -> None:
        self._write_one()
        before = Path(self.path).read_text()
        with self.assertRaises(UserError) as caught:
            MeasurementFile(self.path, _SOURCE | {"gpu": "H200"})
        self.assertIn(f'{self.path}:1: expected measurements of "H200", got of "H100"', str(caught.exception))
        self.assertEqual(Path(self.path).read_text(), before)

    def test_a_malformed_line_is_named(self) -> None:
        self._write_one()
        with open(self.path, "a") as file:
            file.write("spam\n")
        with self.assertRaises(UserError) as caught:
            MeasurementFile(self.path, _SOURCE)
        self.assertIn(f"{self.path}:5:", str(caught.exception))

    def test_a_file_of_something_else_is_left_as_it_is(self) -> None:
        for text in ("my notes", "my notes\n"):
            Path(self.path).write_text(text)
            with self.assertRaises(UserError):
                MeasurementFile(self.path, _SOURCE)
            self.assertEqual(Path(self.path).read_text(), text)

    def test_two_runs_do_not_write_one_file(self) -> None:
        file = self._open()
        with self.assertRaises(UserError) as caught:
            MeasurementFile(self.path, _SOURCE)
        self.assertIn("another run is writing", str(caught.exception))
        del file


class StepPlanTest(unittest.TestCase):
    def test_the_shipped_plans_are_what_the_program_writes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(step_plan(["--out-folder", folder]), 0)
            for name in ("steps-fit.txt", "steps-held-out.txt"):
                shipped = _REPOSITORY / "calibration/plans" / name
                self.assertEqual((Path(folder) / name).read_text(), shipped.read_text())

    def test_the_halves_share_no_step_and_span_what_they_should(self) -> None:
        folder = _REPOSITORY / "calibration/plans"
        fit, held_out = (list(read_plan(str(folder / f"steps-{name}.txt"))) for name in ("fit", "held-out"))
        self.assertFalse(set(fit) & set(held_out))
        self.assertGreaterEqual(len(fit) + len(held_out), 30)
        for half in (fit, held_out):
            largest_tokens = [max(pack.tokens for pack in case.packs()) for case in half]
            self.assertLess(min(largest_tokens), 2100)
            self.assertGreater(max(largest_tokens), 60000)
            fractions = {case.integer("gc_layers") / case.integer("layers") for case in half}
            self.assertIn(0.0, fractions)
            self.assertIn(1.0, fractions)


if __name__ == "__main__":
    unittest.main()
