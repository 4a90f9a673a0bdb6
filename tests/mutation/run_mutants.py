"""run_mutants.py FOLDER [--number N] [--seed S] [--jobs J]: changes one line of C++ at a time, and prints
what becomes of each and which changes no test of the folder sees.

FOLDER is a folder or file of `packing` or `plan_files`. Only .cpp files are changed. Needs build/, as
`cmake --preset check` makes it; `make mutants` sets all up.
"""

from __future__ import annotations

import argparse
import collections
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from drawn_mutants import Mutant, draw_mutants
from mutant_build import MutantBuild
from test_files import TestFile, in_order, seconds_of, test_files

ROOT = Path(__file__).resolve().parents[2]


class Mutation:
    """What happens to the mutants of a library."""

    def __init__(self, library: str, scratch: Path, jobs: int) -> None:
        self.scratch = scratch
        self.files = test_files(ROOT, library)
        programs = sorted({file.program for files in self.files.values() for file in files})
        self.build = MutantBuild(ROOT, library, programs, scratch, jobs)
        unchanged = {program: self.build.unchanged(program) for program in programs}
        self.seconds = {
            file: seconds_of(file, unchanged[file.program], scratch)
            for files in self.files.values()
            for file in files
        }

    def fate(self, mutant: Mutant) -> str:
        """`killed: TEST failed`, `survived`, `equivalent` or `not compiled`."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            changed = self.build.compiled(mutant, folder)
            if changed is None:
                return "not compiled"
            if self.build.is_equivalent(mutant, changed):
                return "equivalent"
            return self._tested(mutant, changed, folder)
        finally:
            shutil.rmtree(folder)

    def _tested(self, mutant: Mutant, changed: Path, folder: Path) -> str:
        binaries: dict[str, Path] = {}
        for file in in_order(mutant.source, self._files_for(mutant.source), self.seconds):
            if file.program not in binaries:
                binaries[file.program] = self.build.linked(file.program, mutant, changed, folder)
            failure = file.failure(binaries[file.program], folder, limit_s=5 + 10 * self.seconds[file])
            if failure is not None:
                return f"killed: {file.stem} {failure}"
        return "survived"

    def _files_for(self, source: Path) -> list[TestFile]:
        return [
            file for folder, files in self.files.items() if source.is_relative_to(folder) for file in files
        ]


def sources_below(place: Path) -> list[Path]:
    paths = sorted(place.rglob("*.cpp")) if place.is_dir() else [place]
    return [path.relative_to(ROOT) for path in paths]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--number", type=int, default=50, help="of mutants that are drawn (50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (1)")
    return parser.parse_args()


def tell_fates(mutation: Mutation, mutants: list[Mutant], jobs: int) -> collections.Counter[str]:
    """Prints what becomes of each mutant as soon as it is known. Returns how many there are of each kind."""
    counts: collections.Counter[str] = collections.Counter()
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(mutation.fate, mutant): mutant for mutant in mutants}
        for n_done, done in enumerate(as_completed(running), start=1):
            mutant, fate = running[done], done.result()
            counts[fate.split(":")[0]] += 1
            place = str(mutant) if fate == "survived" else f"{mutant.source}:{mutant.line}"
            print(f"{n_done}/{len(mutants)} killed {counts['killed']}  {fate}: {place}", flush=True)
    return counts


def main() -> None:
    args = arguments()
    library = args.folder.relative_to(ROOT).parts[0]
    mutants = draw_mutants(ROOT, sources_below(args.folder), args.number, args.seed)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="packsim-mutants-") as scratch:
        counts = tell_fates(Mutation(library, Path(scratch), args.jobs), mutants, args.jobs)
    n_tested = counts["killed"] + counts["survived"]
    drawn = f"{len(mutants)} mutants of {args.folder.relative_to(ROOT)}, seed {args.seed}"
    share = f" ({counts['killed'] / n_tested:.0%})" if n_tested > 0 else ""
    tested = f"{counts['killed']} of {n_tested} killed{share}, {counts['survived']} survived"
    others = f"{counts['equivalent']} equivalent, {counts['not compiled']} not compiled"
    print(f"{drawn}: {tested}; {others}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
