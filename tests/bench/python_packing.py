"""Packing one million samples from Python, beside what others pack with, in one run.

    .venv-bench/bin/python tests/bench/python_packing.py

Needs cmake/install_bench_packers.sh, packsim in the same environment, and for the C++ numbers `make bench`.
Times are CPU times, medians of several runs, so that what else the machine does counts little.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import packsim

REPOSITORY = Path(__file__).resolve().parents[2]
CAPACITIES_TOKENS = (131072, 4096)
HBP_CAPACITIES_TOKENS = (16384, 131072)


def shipped_lengths(name: str) -> list[int]:
    path = REPOSITORY / "scenarios/lengths" / name
    if path.suffix == ".npy":
        return np.load(path).tolist()
    return [int(line) for line in path.read_text().split()[1:]]


def one_million_lengths() -> NDArray[np.int32]:
    """The lengths of tests/bench/one_million_lengths.hpp, draw for draw."""
    n_samples = 1_000_000
    lengths = shipped_lengths("tulu3_like_939344.npy")
    n_short = len(lengths)
    lengths += shipped_lengths("longcite_like_2k.csv")
    generator = np.random.MT19937()
    generator._legacy_seeding(1024)  # the words of std::mt19937
    missing = n_samples - len(lengths)
    draws = generator.random_raw(missing + n_samples - 1).tolist()
    lengths += [lengths[draw % n_short] for draw in draws[:missing]]
    for i, draw in zip(range(n_samples - 1, 0, -1), draws[missing:], strict=True):
        other = draw % (i + 1)
        lengths[i], lengths[other] = lengths[other], lengths[i]
    return np.array(lengths, dtype=np.int32)


@dataclass
class Result:
    name: str
    capacity_tokens: int
    time_ms: float
    fill_fraction: float | None = None
    n_packs: int | None = None


def median_ms(work: Callable[[], Any], repetitions: int) -> float:
    """CPU time of all threads of this process. A run before has compiled and loaded what there is to."""
    times_ms = []
    for _ in range(repetitions):
        begin_s = time.process_time()
        work()
        times_ms.append(1000 * (time.process_time() - begin_s))
    return statistics.median(times_ms)


def time_numpy(lengths: NDArray[np.int32], repetitions: int) -> Iterable[Result]:
    np.sort(lengths)
    yield Result("numpy sort", 0, median_ms(lambda: np.sort(lengths), repetitions))
    yield Result("numpy argsort", 0, median_ms(lambda: np.argsort(lengths), repetitions))
    stable = median_ms(lambda: np.argsort(lengths, kind="stable"), repetitions)
    yield Result("numpy argsort, stable", 0, stable)


def time_packsim(lengths: NDArray[np.int32], repetitions: int) -> Iterable[Result]:
    def timed(
        name: str, capacity_tokens: int | tuple[int, ...], given: NDArray[Any], note: str = ""
    ) -> Result:
        def work() -> packsim.Packing:
            return packsim.pack(given, strategy=name, capacity_tokens=capacity_tokens, over_long="drop")

        packing = work()
        longest = packing.capacities_tokens[-1]
        fill = packing.statistics.fill_fraction
        return Result(f"packsim {name}{note}", longest, median_ms(work, repetitions), fill, packing.n_packs)

    for capacity_tokens in CAPACITIES_TOKENS:
        for name in ("bfd", "ffd", "trl_bfd", "ffs", "axolotl_multipack"):
            yield timed(name, capacity_tokens, lengths)
    yield timed("bfd", CAPACITIES_TOKENS[0], lengths.astype(np.int64), " of int64")
    yield timed("hbp", HBP_CAPACITIES_TOKENS, lengths)


def time_cpp(program: Path) -> Iterable[Result]:
    if not program.exists():
        print(f"{program}: not built, so no C++ numbers", file=sys.stderr)
        return
    command = [program, "--benchmark_filter=pack_all/(bfd|ffd|ffs)_|^hbp$", "--benchmark_format=json"]
    command += ["--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for row in json.loads(done.stdout)["benchmarks"]:
        if row["aggregate_name"] != "median":
            continue
        name, _, capacity = row["run_name"].removeprefix("pack_all/").partition("_")
        longest = int(capacity or HBP_CAPACITIES_TOKENS[-1])
        yield Result(f"C++ {name}", longest, row["cpu_time"], row.get("fill"))


def time_trl(lengths: NDArray[np.int32], repetitions: int) -> Iterable[Result]:
    """`pack_dataset` as trainers call it, and `_pack_bfd`, which does the packing, on the table that it gets.

    Samples are lists of zeros of one byte a token, so that copying tokens costs as little as it can.
    """
    try:
        import datasets
        import pyarrow as pa
        from trl.data_utils import _pack_bfd, pack_dataset
    except ImportError as error:
        print(f"trl: {error}", file=sys.stderr)
        return
    datasets.disable_progress_bars()
    datasets.disable_caching()
    for capacity_tokens in CAPACITIES_TOKENS:
        kept = lengths[lengths <= capacity_tokens]
        offsets = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)]).astype(np.int64)
        values = pa.array(np.zeros(offsets[-1], dtype=np.int8))
        table = pa.table({"input_ids": pa.LargeListArray.from_arrays(pa.array(offsets), values)})
        dataset = datasets.Dataset(table)

        def fill_of(packed: Any, capacity: int = capacity_tokens, tokens: int = int(kept.sum())) -> Result:
            return Result("", capacity, 0.0, tokens / (len(packed) * capacity), len(packed))

        def inner(table: Any = table, capacity: int = capacity_tokens) -> Any:
            return _pack_bfd(table, capacity)

        def whole(dataset: Any = dataset, capacity: int = capacity_tokens, rows: int = len(kept)) -> Any:
            return pack_dataset(dataset, capacity, strategy="bfd", map_kwargs={"batch_size": rows})

        def by_default(dataset: Any = dataset, capacity: int = capacity_tokens) -> Any:
            return pack_dataset(dataset, capacity, strategy="bfd")

        for name, work in (
            ("_pack_bfd", inner),
            ("pack_dataset", whole),
            ("pack_dataset by 1000", by_default),
        ):
            shown = fill_of(work())
            time_ms = median_ms(work, repetitions)
            yield Result(f"trl {name}", capacity_tokens, time_ms, shown.fill_fraction, shown.n_packs)


def axolotl_multipack() -> types.ModuleType | None:
    """The one file of axolotl's sampler, without what the package imports around it."""
    try:
        package = importlib.metadata.distribution("axolotl").locate_file("axolotl")
        path = Path(str(package)) / "utils/samplers/multipack.py"
        text = path.read_text()
    except (importlib.metadata.PackageNotFoundError, OSError) as error:
        print(f"axolotl: {error}", file=sys.stderr)
        return None
    for name in ("axolotl", "axolotl.utils", "axolotl.utils.distributed", "axolotl.utils.logging"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["axolotl.utils.distributed"].reduce_and_broadcast = lambda fn1, fn2: fn2([fn1()])  # type: ignore[attr-defined]
    import logging

    sys.modules["axolotl.utils.logging"].get_logger = logging.getLogger  # type: ignore[attr-defined]
    module = types.ModuleType("axolotl_multipack")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def time_axolotl(lengths: NDArray[np.int32], repetitions: int) -> Iterable[Result]:
    """`pack_parallel` in this process, with the group and pack sizes that axolotl's configuration has."""
    module = axolotl_multipack()
    if module is None:
        return
    for capacity_tokens in CAPACITIES_TOKENS:
        kept = lengths[lengths <= capacity_tokens].astype(np.int64)

        def work(kept: Any = kept, capacity: int = capacity_tokens) -> Any:
            return module.pack_parallel(kept, capacity, group_size=100_000, bin_size=200, num_processes=1)

        packs = work()
        fill = int(kept.sum()) / (len(packs) * capacity_tokens)
        time_ms = median_ms(work, repetitions)
        yield Result("axolotl pack_parallel", capacity_tokens, time_ms, fill, len(packs))


def versions() -> str:
    found = [f"python {sys.version.split()[0]}"]
    for name in ("packsim", "numpy", "trl", "datasets", "pyarrow", "axolotl", "numba"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def print_table(results: list[Result]) -> None:
    base = {row.capacity_tokens: row.time_ms for row in results if row.name == "packsim bfd"}
    print("| | capacity | ms | x packsim bfd | packs | fill |")
    print("|---|---|---|---|---|---|")
    for row in results:
        of_base = row.time_ms / base[row.capacity_tokens or CAPACITIES_TOKENS[0]]
        fill = "" if row.fill_fraction is None else f"{row.fill_fraction:.5f}"
        packs = "" if row.n_packs is None else f"{row.n_packs}"
        capacity = row.capacity_tokens or ""
        print(f"| {row.name} | {capacity} | {row.time_ms:.1f} | {of_base:.2f} | {packs} | {fill} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=11, help="of packsim and numpy")
    parser.add_argument("--slow-repetitions", type=int, default=2, help="of trl and axolotl")
    default = REPOSITORY / "build/tests/bench/packsim_bench"
    parser.add_argument("--cpp", type=Path, default=default, help="the C++ benchmarks")
    parser.add_argument("--only-packsim", action="store_true", help="without trl and axolotl")
    given = parser.parse_args()
    print(f"{versions()}; {os.cpu_count()} processors", flush=True)
    lengths = one_million_lengths()
    results = []
    timed = [
        time_numpy(lengths, given.repetitions),
        time_packsim(lengths, given.repetitions),
        time_cpp(given.cpp),
    ]
    if not given.only_packsim:
        timed += [
            time_axolotl(lengths, given.slow_repetitions),
            time_trl(lengths, given.slow_repetitions),
        ]
    for result in itertools.chain.from_iterable(timed):
        print(result, file=sys.stderr, flush=True)  # the slow ones take minutes
        results.append(result)
    print_table(results)


if __name__ == "__main__":
    main()
