"""The command line: all its mistakes at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from calibration.steps.errors import UserError
from calibration.steps.training.attention import IMPLEMENTATIONS
from calibration.steps.training.loss import FORMS

_DESCRIPTION = """Measures whole training steps and single kernels of PyTorch, for packsim calibrate.
Several GPUs: torchrun --nproc-per-node N calibration/steps/measure_steps.py ..."""

# Option, default, least value, help. A default without a point: an integer.
_NUMBERS = (
    ("--warmup", 3, 0, "samples that are thrown away, at least"),
    ("--warmup-s", 0.2, 0, "seconds of samples that are thrown away, at least"),
    ("--min-samples", 5, 1, "at least so many samples"),
    ("--max-samples", 50, 1, "at most so many samples"),
    ("--noise-fraction", 0.005, 0, "enough when the median is known this well"),
    ("--min-case-s", 0.15, 0, "seconds of samples a case, at least; before --max-samples"),
    ("--budget-s", 30.0, 0, "seconds of samples a case at most"),
    ("--budget-total-s", 0.0, 0, "no case begins when the run has taken so many seconds; 0: no such end"),
    ("--case-timeout-s", 300.0, 0.001, "a case that takes longer ends the program, status 3"),
)

class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise UserError(f"{message}; --help says more")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="measure_steps", description=_DESCRIPTION)
    parser.add_argument(
        "--plan", action="append", default=[], help="file of cases, one a line; may be repeated"
    )
    parser.add_argument(
        "--case", action="append", default=[], help="one case, as a plan's line; may be repeated"
    )
    parser.add_argument(
        "--out", default="", help="measurement file: appended to, so that a killed run goes on"
    )
    parser.add_argument("--only", default="all", help="of the plan's cases: all, steps or kernels")
    parser.add_argument(
        "--architecture", action="append", default=[], help="model JSON or Hugging Face config.json"
    )
    parser.add_argument("--device", default="auto", help="auto, cuda (NVIDIA or AMD) or cpu")
    parser.add_argument("--dtype", default="bf16", help="bf16, or fp32 for tests on a CPU")
    parser.add_argument("--attention", default="auto", help="auto, " + ", ".join(IMPLEMENTATIONS))
    parser.add_argument(
        "--loss", default=FORMS[0], help="chunked: bf16 logits, fp32 by rows; fp32: a whole fp32 copy"
    )
    parser.add_argument("--compile", default="auto", help="memory-bound operations: auto (on a GPU), yes, no")
    for option, default, _, text in _NUMBERS:
        parser.add_argument(option, default=default, help=f"{text} ({default:g})")
    parser.add_argument(
        "--retry-failed", action="store_true", help="measure cases again in which an earlier run ended"
    )
    return parser


def _one_of(mistakes: list[str], option: str, value: str, words: Sequence[str]) -> None:
    if value not in words:
        mistakes.append(f'{option}: expected one of {", ".join(words)}, got "{value}"')


def _number(mistakes: list[str], option: str, text: str, low: float, is_integer: bool) -> float:
    try:
        value = int(text) if is_integer else float(text)
        if value >= low and value < float("inf"):
            return value
    except ValueError:
        pass
    kind = "an integer" if is_integer else "a number"
    mistakes.append(f'{option}: expected {kind} of at least {low:g}, got "{text}"')
    return low


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Numbers are numbers in the result. Raises UserError with every mistake."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    mistakes: list[str] = []
    if not options.plan and not options.case:
        mistakes.append("--plan: expected a plan file, or a --case, got none")
    if not options.out:
        mistakes.append("--out: expected the measurement file to write, got none")
    _one_of(mistakes, "--only", options.only, ("all", "steps", "kernels"))
    _one_of(mistakes, "--device", options.device, ("auto", "cuda", "cpu"))
    _one_of(mistakes, "--dtype", options.dtype, ("bf16", "fp32"))
    _one_of(mistakes, "--attention", options.attention, ("auto", *IMPLEMENTATIONS))
    _one_of(mistakes, "--loss", options.loss, FORMS)
    _one_of(mistakes, "--compile", options.compile, ("auto", "yes", "no"))
    for option, default, low, _ in _NUMBERS:
        name = option.removeprefix("--").replace("-", "_")
        value = _number(mistakes, option, getattr(options, name), low, isinstance(default, int))
        setattr(options, name, value)
    if options.max_samples < options.min_samples:
        got = f"got {options.max_samples} after --min-samples {options.min_samples}"
        mistakes.append(f"--max-samples: expected at least as many as --min-samples, {got}")
    if mistakes:
        raise UserError("\n".join(mistakes))
    return options
