"""The program as a user runs it: files, resuming, mistakes, Ctrl-C, a full disk, too little memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import reference_run as reference
import torch

from calibration.steps.kernel_case import KernelCase
from calibration.steps.main import main
from calibration.steps.measurement_file import ENDED_WITHIN
from calibration.steps.training.trainer import Trainer

_TINY = str(reference.FOLDER / "tiny.json")
_STEP = "step model=tiny layers=2 gc_layers=1 sp=1 dp=1 zero=0 packs=2x8+1x16/1x24"
_OTHER_STEP = "step model=tiny layers=2 gc_layers=0 sp=1 dp=1 zero=0 packs=1x24"
_FATAL = "adamw parameters=7"
_THREE = ("launch_gap", _FATAL, "adamw parameters=8")
_QUICK = [
    "--architecture",
    _TINY,
    "--device",
    "cpu",
    "--dtype",
    "fp32",
    "--warmup",
    "1",
    "--warmup-s",
    "0",
    "--min-case-s",
    "0",
    "--max-samples",
    "5",
]


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = f"{self.folder}/out.jsonl"

    def _run(self, *cases: str, out: str = "", more: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """(exit status, stdout, stderr)"""
        arguments = [*_QUICK, "--out", out or self.path, *more]
        for case in cases:
            arguments += ["--case", case]
        stdout, stderr = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            status = main(arguments)
        return status, stdout.getvalue(), stderr.getvalue()

    def _rows(self) -> list[dict]:
        return [json.loads(line) for line in Path(self.path).read_text().splitlines()]

    def _results(self) -> list[dict]:
        """Without the lines that say what began."""
        return [row for row in self._rows() if "began" not in row]

    def test_a_step_is_written_as_a_measurement(self) -> None:
        status, said, _ = self._run(_STEP, "adamw parameters=1000")
        self.assertEqual(status, 0)
        self.assertIn("attention sdpa_documents, elementwise eager, adamw fused; started in ", said)
        head, step, adamw, end = self._results()
        self.assertEqual(head["packsim_measurements"], 1)
        self.assertEqual(head["source"]["id"], "")
        self.assertTrue(all(isinstance(text, str) for text in head["source"]["details"].values()))
        self.assertEqual(KernelCase.parse(step["case"]).text, step["case"])
        self.assertEqual((step["library"], step["source"]), ("torch", ""))
        self.assertGreaterEqual(len(step["samples_s"]), 5)
        self.assertEqual(set(step["parts_s"]), {"forward", "backward", "optimizer"})
        for index, sample_s in enumerate(step["samples_s"]):
            parts_s = [step["parts_s"][part][index] for part in ("forward", "backward", "optimizer")]
            self.assertGreater(min(parts_s), 0)
            self.assertAlmostEqual(sum(parts_s), sample_s)
        # 2 x 8 + 16 + 24 tokens; at random weights every token of the 96 is about as likely: ln 96 = 4.56.
        self.assertEqual((step["details"]["tokens"], step["details"]["padding_tokens"]), (56, 0))
        self.assertAlmostEqual(step["details"]["first_loss"], 4.56, delta=0.3)
        self.assertEqual(adamw["case"], "adamw parameters=1000")
        self.assertEqual(end, {"end": "complete"})

    def test_a_model_is_kept_while_its_layers_stay(self) -> None:
        with mock.patch("calibration.steps.step_cases.Trainer", side_effect=Trainer) as builds:
            self._run(_STEP, _OTHER_STEP, _OTHER_STEP.replace("layers=2", "layers=1"))
        # One for 2 layers, whatever the packs and the checkpointed layers, and one for 1.
        self.assertEqual([call.args[1] for call in builds.call_args_list], [2, 1])
        for row in self._results():
            if "case" in row:
                self.assertLessEqual(row["details"]["prepare_s"], row["details"]["case_wall_s"])

    def test_only_one_sort_of_cases_is_measured_on_request(self) -> None:
        self._run(_STEP, "launch_gap", more=("--only", "kernels"))
        self.assertEqual([row["case"] for row in self._rows() if "case" in row], ["launch_gap"])

    def test_a_second_run_goes_on(self) -> None:
        self._run(_STEP)
        status, said, _ = self._run(_STEP, _OTHER_STEP)
        self.assertEqual(status, 0)
        self.assertIn("1 of 2 cases are in the file already", said)
        rows = self._rows()
        self.assertEqual([row["case"] for row in rows if "case" in row], [_STEP, _OTHER_STEP])
        self.assertEqual(sum("source" in row and isinstance(row["source"], dict) for row in rows), 2)

    def test_out_of_memory_skips_the_case_alone(self) -> None:
        step = Trainer.step

        def step_without_memory(trainer, packs, parts):
            if len(packs) == 2:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nMore lines")
            return step(trainer, packs, parts)

        with mock.patch.object(Trainer, "step", step_without_memory):
            status, said, _ = self._run(_STEP, _OTHER_STEP)
        self.assertEqual(status, 0)
        self.assertIn("skipped: out of memory", said)
        _, skipped, measured, _ = self._results()
        reason = "out of memory: CUDA out of memory. Tried to allocate 20.00 GiB."
        self.assertEqual(skipped, {"skipped": _STEP, "reason": reason})
        self.assertEqual(measured["case"], _OTHER_STEP)
        # It is not tried again.
        self._run(_STEP)
        self.assertEqual(sum(row.get("case") == _STEP for row in self._rows()), 0)

    def test_a_case_that_fails_costs_itself_alone(self) -> None:
        with mock.patch.object(Trainer, "step", side_effect=ValueError("of the library")):
            status, _, _ = self._run(_STEP, "launch_gap")
        self.assertEqual(status, 0)
        _, skipped, measured, _ = self._results()
        self.assertEqual(skipped["reason"], "failed: ValueError: of the library")
        self.assertEqual(measured["case"], "launch_gap")
        # It is tried again.
        self._run(_STEP)
        self.assertEqual([row["case"] for row in self._rows() if "case" in row], ["launch_gap", _STEP])

    def test_a_case_for_more_processes_is_skipped(self) -> None:
        collective_case = "collective op=all_reduce gpus=2 nodes=1 bytes=64 imbalance=1"
        status, _, _ = self._run(_STEP.replace("sp=1 dp=1", "sp=2 dp=2"), collective_case)
        self.assertEqual(status, 0)
        _, step, collective, _ = self._results()
        self.assertIn("expected 4 processes (dp x sp), got 1", step["reason"])
        self.assertIn("expected 2 processes, got 1", collective["reason"])

    def test_all_mistakes_of_the_command_line_come_at_once(self) -> None:
        status, _, said = self._run(
            _STEP, more=("--dtype", "fp8", "--noise-fraction", "spam", "--min-samples", "0")
        )
        self.assertEqual(status, 2)
        for option in ("--dtype", "--noise-fraction", "--min-samples"):
            self.assertIn(f"{option}: expected", said)
        self.assertFalse(os.path.exists(self.path))

    def test_all_mistakes_of_a_plan_come_at_once(self) -> None:
        plan = f"{self.folder}/plan.txt"
        Path(plan).write_text(
            "step model=spam layers=2 gc_layers=3 sp=1 dp=1 zero=4 packs=1x8\n"
            "step model=tiny layers=5 gc_layers=0 sp=3 dp=1 zero=0 packs=1x8\n"
        )
        status, _, said = self._run(more=("--plan", plan))
        self.assertEqual(status, 2)
        for mistake in ("1: model:", "1: gc_layers:", "1: zero:", "2: sp:", "2: layers:"):
            self.assertIn(f"{plan}:{mistake} expected", said)

    def test_a_full_disk_is_the_machines_failure(self) -> None:
        status, _, said = self._run(_STEP, out="/dev/full")
        self.assertEqual(status, 3)
        self.assertIn("/dev/full: No space left on device", said)

    def test_a_file_that_cannot_be_opened_is_named(self) -> None:
        status, _, said = self._run(_STEP, out=f"{self.folder}/no/such/out.jsonl")
        self.assertEqual(status, 3)
        self.assertIn("no/such/out.jsonl: No such file or directory", said)

    def test_ctrl_c_keeps_what_was_measured(self) -> None:
        script = str(reference.REPOSITORY / "calibration/steps/measure_steps.py")
        # The second case would go on for an hour.
        endless = ["--noise-fraction", "0", "--max-samples", "1000000", "--budget-s", "3600"]
        arguments = [*_QUICK, *endless, "--out", self.path, "--min-samples", "1000000"]
        command = [sys.executable, "-W", "ignore", script, *arguments, "--case", _OTHER_STEP]
        self._run("launch_gap")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            # The lines: head, began, case, end, head, began.
            while len(Path(self.path).read_text().splitlines()) < 6 and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("interrupted", said)
        rows = self._rows()
        self.assertEqual(rows[-1], {"end": "interrupted"})
        self.assertEqual([row["case"] for row in rows if "case" in row], ["launch_gap"])
        self.assertEqual(self._run(_OTHER_STEP)[0], 0)
        self.assertEqual(self._rows()[-1], {"end": "complete"})

    def _start(self, patch: str, *more: str) -> subprocess.CompletedProcess[str]:
        """A process whose adamw kernel does what `patch` says, in the middle of three cases."""
        cases = [f"--case={case}" for case in _THREE]
        program = (
            "import os, sys, time\n"
            f"sys.path.insert(0, {str(reference.REPOSITORY)!r})\n"
            "from calibration.steps import kernel_cases\n"
            "from calibration.steps.main import main\n"
            "adamw = kernel_cases.KERNELS['adamw']\n"
            "def fatal(case, toolbox):\n"
            f"    if case.integer('parameters') == 7: {patch}\n"
            "    return adamw(case, toolbox)\n"
            "kernel_cases.KERNELS['adamw'] = fatal\n"
            f"sys.exit(main({[*_QUICK, '--out', self.path, *more, *cases]!r}))\n"
        )
        command = [sys.executable, "-W", "ignore", "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def test_a_case_that_crashes_the_program_is_passed_by_on_the_next_start(self) -> None:
        self.assertEqual(self._start("os._exit(9)").returncode, 9)
        self.assertEqual(self._rows()[-1], {"began": _FATAL})
        status, said, warned = self._run(*_THREE)
        self.assertEqual(status, 0)
        self.assertIn(f"skipped: {_FATAL}: failed: an earlier run ended in the middle of it", warned)
        self.assertIn("2 of 3 cases are in the file already", said)
        self.assertEqual(self._rows()[-1], {"end": "complete"})
        measured = [row["case"] for row in self._rows() if "case" in row]
        self.assertEqual(measured, ["launch_gap", "adamw parameters=8"])
        self.assertEqual(self._run(*_THREE, more=("--retry-failed",))[0], 0)
        self.assertEqual([row["case"] for row in self._rows() if "case" in row][-1], _FATAL)

    def test_a_case_that_hangs_ends_the_program_and_is_passed_by(self) -> None:
        hung = self._start("time.sleep(3600)", "--case-timeout-s", "2")
        self.assertEqual(hung.returncode, 3, hung.stderr)
        self.assertIn(f"{_FATAL}: expected an end within 2 s (--case-timeout-s), got none", hung.stderr)
        self.assertEqual(self._run(*_THREE)[0], 0)
        self.assertIn({"skipped": _FATAL, "reason": ENDED_WITHIN}, self._rows())

    def test_the_budget_of_a_run_ends_it_before_a_case(self) -> None:
        cases = ("launch_gap", "adamw parameters=8")
        status, said, _ = self._run(*cases, more=("--budget-total-s", "1e-9"))
        self.assertEqual(status, 0)
        self.assertIn("--budget-total-s 1e-09 is used up: 2 of 2 cases are left", said)
        self.assertEqual(self._rows()[1:], [{"end": "interrupted"}])
        self._run("launch_gap")
        status, said, _ = self._run(*cases, more=("--budget-total-s", "1e-9"))
        self.assertIn("1 of 2 cases are left", said)
        self.assertEqual(self._run(*cases, more=("--budget-total-s", "600"))[0], 0)
        self.assertEqual(self._rows()[-1], {"end": "complete"})


if __name__ == "__main__":
    unittest.main()
