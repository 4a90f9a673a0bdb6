"""The commands and the loop of docs/worked_example.md print what the page says, and its picture is theirs."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cases import REPOSITORY

pytest.importorskip("torch")

PAGE = REPOSITORY / "docs" / "worked_example.md"
LENGTHS = "scenarios/lengths/math_tora.csv"
PROGRAM = Path(os.environ.get("PACKSIM", REPOSITORY / "build/packsim"))
DRAWS = REPOSITORY / ".venv/bin/python"  # has vl-convert, as the build needs it


def blocks() -> list[tuple[str, str]]:
    """(language, text) of each, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


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


def output_of(language: str, code: str, folder: Path) -> str:
    if language == "sh":
        environment = {**os.environ, "COLUMNS": "80"}
        command = ["sh", "-e", "-c", code]
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stdout
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, str(PAGE), "exec"), {})
    return printed.getvalue()


def test_every_block_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / LENGTHS).parent.mkdir(parents=True)
    shutil.copy(REPOSITORY / LENGTHS, tmp_path / LENGTHS)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/packsim").symlink_to(PROGRAM)
    found = blocks()
    assert [language for language, _ in found] == ["sh", "text"] * 6 + ["python", "text"]
    for (language, code), (_, expected) in zip(found[::2], found[1::2], strict=True):
        assert missing_lines(expected, output_of(language, code, tmp_path)) == [], code
    picture = tmp_path / "picture.svg"
    script = REPOSITORY / "docs/images/draw_report.py"
    subprocess.run([DRAWS, script, tmp_path / "report/report.html", picture], check=True)
    assert picture.read_text() == (REPOSITORY / "docs/images/worked_example.svg").read_text()


def test_the_comparison_notices_other_lines() -> None:
    assert missing_lines("a\n...\nd\n", "a\nb\nc\nd\n") == []
    assert missing_lines("a\nd\n", "a\nb\nd\n") == ["d", "b", "d"]
    assert missing_lines("a\n", "a\nb\n") == ["b"]
