"""The code blocks of a page of the docs, and what they print beside what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cases import REPOSITORY

PROGRAM = Path(os.environ.get("PACKSIM", REPOSITORY / "build/packsim"))


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def missing_lines(expected: str, output: str) -> list[str]:
    """Lines that do not follow where they should; "..." stands for any lines."""
    printed = output.splitlines()
    missing, may_skip = [], False
    for line in expected.splitlines():
        if line == "...":
            may_skip = True
        elif may_skip and line in printed or printed[:1] == [line]:
            printed = printed[printed.index(line) + 1 :]
            may_skip = False
        else:
            missing.append(line)
    return missing if may_skip else missing + printed


def project_folder(folder: Path, files: Sequence[str]) -> None:
    """Make of `folder` what commands of the docs see of the project: the program, and copies of these files."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / file, folder / file)
    (folder / "build").mkdir()
    (folder / "build/packsim").symlink_to(PROGRAM)


# What pages say of the commit of the program, and of a plan file that names it, whatever it is.
BUILD = re.compile(r"(?<=packsim )(\d+\.\d+\.\d+)\+[0-9a-z.]+")
HASH = re.compile(r"(?<=content hash )[0-9a-f]{16}")


def output_of_command(command: str, folder: Path) -> str:
    environment = {**os.environ, "COLUMNS": "80"}
    run = subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return HASH.sub("c142030238650132", BUILD.sub(r"\1+g123456789abc", run.stdout))
