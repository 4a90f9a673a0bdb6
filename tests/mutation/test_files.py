"""The tests that could kill a mutant, in the order in which they run: one file of them after another."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# Tests of a folder that lie beside those of another one, which they need: those that include its headers.
TESTED_IN = {"packing/planner": "planning"}
LIMIT_BYTES = 4 << 30  # a mutant may ask for all memory


@dataclass(frozen=True)
class TestFile:
    program: str
    stem: str

    def failure(self, binary: Path, folder: Path, limit_s: float | None = None) -> str | None:
        """None where the tests pass, else how they end: `failed`, `crashed` or `hung`.

        More memory than LIMIT_BYTES ends them, too.
        """
        cases = f"[#{self.stem}]~[slow]"
        with subprocess.Popen(
            [str(binary), "--filenames-as-tags", "--abort", cases],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that processes which the tests start end with them
            preexec_fn=_limit_memory,
        ) as run:
            try:
                status = run.wait(limit_s)
            except subprocess.TimeoutExpired:
                return "hung"
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)
        if status == 0:
            return None
        return "crashed" if status < 0 else "failed"


def _limit_memory() -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]  # stays, for tests that set a limit themselves
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test_files(root: Path, library: str) -> dict[str, list[TestFile]]:
    """By the folder whose sources they test, all its own and those of TESTED_IN."""
    files = {library: _files_of(root, library)}
    for folder, elsewhere in TESTED_IN.items():
        if folder.startswith(f"{library}/"):
            files[folder] = [
                file
                for file in _files_of(root, elsewhere)
                if f'"{folder}/' in _path_of(root, elsewhere, file).read_text()
            ]
    return files


def _files_of(root: Path, folder: str) -> list[TestFile]:
    paths = sorted((root / "tests" / folder).rglob("*_test.cpp"))
    return [TestFile(f"test_{folder}", path.stem) for path in paths]


def _path_of(root: Path, folder: str, file: TestFile) -> Path:
    return next((root / "tests" / folder).rglob(f"{file.stem}.cpp"))


def seconds_of(file: TestFile, binary: Path, folder: Path) -> float:
    began = time.perf_counter()
    failure = file.failure(binary, folder)
    if failure is not None:
        raise SystemExit(f"{file.stem}: expected to pass without any mutant, but it {failure}")
    return time.perf_counter() - began


def in_order(source: Path, files: list[TestFile], seconds: dict[TestFile, float]) -> list[TestFile]:
    """Tests named after the source or its folder first, and then the quickest."""

    def rank(file: TestFile) -> tuple[bool, float]:
        name = file.stem.removesuffix("_test")
        is_named = name in source.stem or source.stem in name or name in source.parent.parts
        return (not (is_named and seconds[file] < 3), seconds[file])

    return sorted(files, key=rank)
