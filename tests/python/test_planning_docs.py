"""The decision of docs/planning.md: its commands print what the page says, and its page has their points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import REPOSITORY
from doc_blocks import PROGRAM, blocks, missing_lines, output_of_command, project_folder

PAGE = REPOSITORY / "docs" / "planning.md"
LENGTHS = ["scenarios/lengths/mixture_real_long_2k.csv", "scenarios/lengths/gsm8k.csv"]


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the program packsim")
def test_the_decision_prints_what_the_page_says(tmp_path: Path) -> None:
    project_folder(tmp_path, LENGTHS)
    found = [block for block in blocks(PAGE) if block[0] in ("sh", "text")]
    assert [language for language, _ in found] == ["sh", "text"] * 5
    for (_, command), (_, expected) in zip(found[::2], found[1::2], strict=True):
        assert missing_lines(expected, output_of_command(command, tmp_path)) == [], command
    page = (tmp_path / "planning.html").read_text()
    for cause in ("network cards", "mixture_real_long_2k.csv"):  # of the recommendation's sensitivity
        assert cause in page
    candidates = json.loads((tmp_path / "answer/recommendation.json").read_text())["candidates"]
    assert {candidate["nodes"] for candidate in candidates} == {1, 2, 4, 8}


def test_the_comparison_notices_other_lines() -> None:
    assert missing_lines("a\n...\nd\n", "a\nb\nc\nd\n") == []
    assert missing_lines("a\nd\n", "a\nb\nd\n") == ["d", "b", "d"]
    assert missing_lines("a\n", "a\nb\n") == ["b"]
