"""The tables of docs/isolation.md: documents never see each other in silence."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from versions import FOLDER, LARGEST_ERROR, PAGE, Cell, all_cells, with_tables  # noqa: E402

N_VERSIONS = 5  # of cmake/install_transformers.sh, and that of the environment


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    if not any(FOLDER.glob("*/.packsim")):
        pytest.skip("cmake/install_transformers.sh has put no versions of transformers there")
    return all_cells()


def name_of(cell: Cell) -> str:
    return f"transformers {cell['transformers']}, {cell['model']}, {cell['attention']}"


def test_what_is_passed_to_the_model_gives_exact_gradients_or_is_refused_with_the_reason(
    cells: list[Cell],
) -> None:
    for cell in cells:
        if "error" in cell:
            assert cell["error"] <= LARGEST_ERROR, name_of(cell)
        else:
            assert cell["why"], name_of(cell)
    assert sum("error" in cell for cell in cells) > len(cells) / 2


def test_the_check_refuses_all_that_mixes_documents_and_nothing_else(cells: list[Cell]) -> None:
    for cell in cells:
        for what, passed in cell.get("passed", {}).items():
            is_refused = bool(passed["refused"])
            assert is_refused == (passed["error"] > LARGEST_ERROR), f"{name_of(cell)}, {what}: {passed}"


def test_eager_and_sdpa_attention_always_have_a_way(cells: list[Cell]) -> None:
    for cell in cells:
        if cell["attention"] in ("eager", "sdpa") and "passed" in cell:
            assert "error" in cell, f"{name_of(cell)}: {cell['why']}"


def test_the_page_has_these_tables(cells: list[Cell]) -> None:
    if len({cell["transformers"] for cell in cells}) < N_VERSIONS:
        pytest.skip("some versions of transformers are not there")
    assert with_tables(PAGE.read_text(), cells) == PAGE.read_text()
