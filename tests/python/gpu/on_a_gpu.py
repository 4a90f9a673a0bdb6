"""What packsim.torch does on a GPU: whether documents stay apart there, and what a loader costs a step.

    python tests/python/gpu/on_a_gpu.py RESULT.jsonl [--parts isolation,loader,flex] [--small]

Needs packsim, torch and transformers, and one GPU; less than a minute. Each line of the result is written as
soon as it is known, and a check that fails has its error in its line. `--small` is for a try on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import flash_attention
import torch

FOLDER = Path(__file__).parent


class OutOfTime(BaseException):
    """No Exception, because what is checked takes those for its own: a way that does not work, say."""


class Results:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._begin = time.perf_counter()

    def add(self, line: dict[str, Any]) -> None:
        text = json.dumps(line | {"at_s": round(time.perf_counter() - self._begin, 2)})
        self._file.write(text + "\n")
        self._file.flush()
        print(text, flush=True)

    def add_of(self, facts: dict[str, Any], check: Callable[[], dict[str, Any]], limit_s: float) -> None:
        """The facts and what the check found, or its error; one that takes longer is given up."""
        begin = time.perf_counter()
        try:
            with time_limit(limit_s):
                found = check()
        except (Exception, OutOfTime) as error:
            found = {"error": f"{type(error).__name__}: {error}"[:2000]}
        self.add(facts | found | {"took_s": round(time.perf_counter() - begin, 2)})


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    def stop(_signal: int, _frame: Any) -> None:
        raise OutOfTime(f"expected at most {limit_s:.1f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(limit_s, 0.001), 1.0)  # again, where somebody has caught it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def machine(device: torch.device) -> dict[str, Any]:
    import transformers

    import packsim

    on_gpu = device.type == "cuda"
    return {
        "check": "machine",
        "device": torch.cuda.get_device_name(device) if on_gpu else "CPU",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "packsim": packsim.__version__,
        "python": sys.version.split()[0],
        "flash_attention_2": flash_attention.NAME if on_gpu else flash_attention.NAME_ON_A_CPU,
    }


def run_part(
    part: str,
    results: Results,
    device: torch.device,
    at_most: Callable[[float], float],
    arguments: argparse.Namespace,
) -> None:
    # They import transformers, which must find the stand-in.
    if part == "isolation":
        import isolation_on_a_gpu

        isolation_on_a_gpu.check_cells(results, device, at_most(arguments.isolation_s))
    elif part == "loader":
        import loader_beside_training

        loader_beside_training.measure(results, device, at_most(arguments.loader_s), arguments.small)
    elif part == "flex":
        import isolation_on_a_gpu

        isolation_on_a_gpu.check_compiled_flex_attention(results, device, at_most(arguments.flex_s))
    else:
        raise ValueError(f"--parts: expected isolation, loader or flex, got {part}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", type=Path)
    parser.add_argument("--parts", default="isolation,loader,flex")
    parser.add_argument("--isolation-s", type=float, default=16.0, help="cells behind it are left out")
    parser.add_argument("--loader-s", type=float, default=28.0, help="turns behind it are left out")
    parser.add_argument("--flex-s", type=float, default=20.0, help="for compiling FlexAttention")
    parser.add_argument("--limit-s", type=float, default=58.0, help="of all parts together")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    results = Results(arguments.result)
    end = time.perf_counter() + arguments.limit_s

    def at_most(limit_s: float) -> float:
        return max(min(limit_s, end - time.perf_counter()), 1.0)

    with tempfile.TemporaryDirectory() as folder:
        flash_attention.install(Path(folder))
        sys.path.insert(0, str(FOLDER.parent / "isolation"))
        results.add_of({}, lambda: machine(device), 60.0)
        if device.type != "cuda":
            flash_attention.allow_cpus()
        for part in arguments.parts.split(","):
            try:
                run_part(part, results, device, at_most, arguments)
            except Exception as error:
                results.add({"check": part, "error": f"{type(error).__name__}: {error}"[:2000]})
    results.add({"check": "end"})


if __name__ == "__main__":
    main()
