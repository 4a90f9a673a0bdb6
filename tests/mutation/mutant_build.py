"""Builds mutants: one object file each, linked with those of other sources into test programs of build/."""

from __future__ import annotations

import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drawn_mutants import Mutant

BUILT_WITH = ["-O1", "-w"]  # quick to compile; a change that only warns is a mutant, too


class MutantBuild:
    """The library of a folder, each source compiled by itself, and its test programs, from build/."""

    def __init__(self, root: Path, library: str, programs: list[str], scratch: Path, jobs: int) -> None:
        self.root = root
        self.build = root / "build"
        self.scratch = scratch
        self.archive = f"libpacksim_{library}.a"
        subprocess.run(
            ["cmake", "--build", str(self.build), "--target", *programs],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.compiler = _compiler(self._commands(f"packsim_{library}"), f"packsim_{library}.dir/")
        self.links = {program: self._link_of(program) for program in programs}
        sources = sorted(path.relative_to(root) for path in (root / library).rglob("*.cpp"))
        with ThreadPoolExecutor(jobs) as pool:
            objects = pool.map(
                lambda source: self._compiled(source, root / source, scratch / "unchanged"), sources
            )
            self.objects = dict(zip(sources, objects, strict=True))

    def unchanged(self, program: str) -> Path:
        return self._linked(program, list(self.objects.values()), self.scratch / "unchanged")

    def compiled(self, mutant: Mutant, folder: Path) -> Path | None:
        """The mutant's object, or None if it does not compile."""
        changed = folder / mutant.source
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(mutant.text(self.root))
        try:
            return self._compiled(mutant.source, changed, folder)
        except subprocess.CalledProcessError:
            return None

    def is_equivalent(self, mutant: Mutant, changed: Path) -> bool:
        return changed.read_bytes() == self.objects[mutant.source].read_bytes()

    def linked(self, program: str, mutant: Mutant, changed: Path, folder: Path) -> Path:
        others = [path for source, path in self.objects.items() if source != mutant.source]
        return self._linked(program, [changed, *others], folder)

    def _compiled(self, source: Path, text: Path, folder: Path) -> Path:
        made = folder / source.with_suffix(".o")
        made.parent.mkdir(parents=True, exist_ok=True)
        # What it includes by name alone would be looked for beside the text; nothing of ours is.
        command = [*self.compiler, *BUILT_WITH, "-o", str(made), "-c", str(text)]
        subprocess.run(command, cwd=self.build, check=True, capture_output=True)
        return made

    def _linked(self, program: str, objects: list[Path], folder: Path) -> Path:
        made = folder / program
        command = [word for word in self.links[program] if word != self.archive]
        place = self.links[program].index(self.archive)
        command[place:place] = map(str, objects)
        command[command.index("-o") + 1] = str(made)
        subprocess.run([*command, "-fuse-ld=gold"], cwd=self.build, check=True, capture_output=True)
        return made

    def _link_of(self, program: str) -> list[str]:
        words = self._commands(program)[-1]
        return words[words.index("&&") + 1 : len(words) - 1 - words[::-1].index("&&")]

    def _commands(self, target: str) -> list[list[str]]:
        told = subprocess.run(
            ["ninja", "-C", str(self.build), "-t", "commands", target],
            check=True,
            capture_output=True,
            text=True,
        )
        return [shlex.split(line) for line in told.stdout.splitlines()]


def _compiler(commands: list[list[str]], objects_below: str) -> list[str]:
    """The compiler and its flags, without what names one file."""
    words = next(words for words in commands if "-c" in words and objects_below in " ".join(words))
    names_file = {"-MT", "-MF", "-o", "-c"}
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if before not in names_file and word not in names_file | {"-MD"}
    ]
