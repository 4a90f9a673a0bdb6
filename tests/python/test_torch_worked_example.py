"""The commands and the loop of docs/worked_example.md print what the page says, and its picture is theirs."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

import pytest
from cases import REPOSITORY
from doc_blocks import blocks, missing_lines, output_of_command, project_folder

pytest.importorskip("torch")

PAGE = REPOSITORY / "docs" / "worked_example.md"
LENGTHS = "scenarios/lengths/math_tora.csv"
DRAWS = REPOSITORY / ".venv/bin/python"  # has vl-convert, as the build needs it


def output_of(language: str, code: str, folder: Path) -> str:
    if language == "sh":
        return output_of_command(code, folder)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, str(PAGE), "exec"), {})
    return printed.getvalue()


def test_every_block_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project_folder(tmp_path, [LENGTHS])
    found = blocks(PAGE)
    assert [language for language, _ in found] == ["sh", "text"] * 6 + ["python", "text"]
    for (language, code), (_, expected) in zip(found[::2], found[1::2], strict=True):
        assert missing_lines(expected, output_of(language, code, tmp_path)) == [], code
    picture = tmp_path / "picture.svg"
    script = REPOSITORY / "docs/images/draw_report.py"
    subprocess.run([DRAWS, script, tmp_path / "report/report.html", picture], check=True)
    assert picture.read_text() == (REPOSITORY / "docs/images/worked_example.svg").read_text()
