"""Mutants of a folder's C++ sources: one changed line each, made by universalmutator, drawn by a seed."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
from dataclasses import dataclass
from pathlib import Path

RULES = Path(__file__).with_name("cpp.rules")


@dataclass(frozen=True)
class Mutant:
    source: Path  # below the root of the repository
    line: int  # from 1
    before: str
    after: str

    def text(self, root: Path) -> str:
        lines = (root / self.source).read_text().splitlines(keepends=True)
        lines[self.line - 1] = self.after
        return "".join(lines)

    def __str__(self) -> str:
        return f"{self.source}:{self.line}\n  - {self.before.strip()}\n  + {self.after.strip()}"


def draw_mutants(root: Path, sources: list[Path], number: int, seed: int) -> list[Mutant]:
    """Lines are drawn first, all equally, and then one change of each."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for source in sources:
        for mutant in _mutants_of(root, source):
            by_line.setdefault((source, mutant.line), []).append(mutant)
    drawing = random.Random(seed)
    lines = sorted(by_line)
    drawing.shuffle(lines)
    return [drawing.choice(by_line[line]) for line in lines[:number]]


def _mutants_of(root: Path, source: Path) -> list[Mutant]:
    mutator = importlib.import_module("universalmutator.mutator")
    lines = (root / source).read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):  # it tells which rules it reads
        changes = mutator.mutants_regexp(lines, [str(RULES)], ignorePatterns=[])
    return [Mutant(source, change[0], lines[change[0] - 1], change[1]) for change in changes]
