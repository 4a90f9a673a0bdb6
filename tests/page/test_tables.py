"""Tables sort, hide rows and hide columns, and keep each number under its head."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from printed import value
from view import View, expect_none

_COMPARISON = 0  # the first table of a page


def order_mistakes(head: str, cells: list[str], state: str) -> list[str]:
    """Where a column is not in the order that aria-sort tells; cells without a number come last in both."""
    numbers = [value(cell) for cell in cells]
    known = [number for number in numbers if number is not None]
    if not known:
        return []  # a column of text: the browser's rules of language decide
    mistakes: list[str] = []
    if None in numbers[: len(known)]:
        mistakes.append(f"{head}, {state}: expected cells without a number behind the others, got {cells}")
    if known != sorted(known, reverse=state == "descending"):
        mistakes.append(f"{head}, {state}: expected the order of numbers, got {cells}")
    return mistakes


@pytest.mark.parametrize("how", ["click", "Enter"])
def test_tables_sort_by_number(used: View, how: str) -> None:
    columns = used.check("sortableColumns")
    mistakes = []
    if not any(table == _COMPARISON for table, _, _ in columns):
        mistakes.append("expected heads of the first table that sort (th with aria-sort), got none")
    for table, column, head in columns:
        before = sorted(used.check("column", table, column))
        states = []
        for _ in range(2):
            sorter = used.element("sorter", table, column)
            if how == "click":
                sorter.click()
            else:
                sorter.focus()
                used.page.keyboard.press(how)
            states.append(used.check("sortState", table, column))
            cells = used.check("column", table, column)
            if sorted(cells) != before:
                mistakes.append(f"{head}: sorting changed the cells from {before} to {sorted(cells)}")
            mistakes += order_mistakes(head, cells, states[-1])
        if sorted(states) != ["ascending", "descending"]:
            mistakes.append(
                f"{head}: expected aria-sort to change between ascending and descending, got {states}"
            )
        mistakes += used.check("misplacedCells", table)
    expect_none(mistakes)


def test_rows_of_a_sorted_table_keep_their_cells(used: View) -> None:
    columns = [column for column in used.check("sortableColumns") if column[0] == _COMPARISON]
    if not columns:
        pytest.fail("no heads of the first table sort", pytrace=False)

    def rows() -> list[list[str]]:
        names: list[str] = used.check("rowNames", _COMPARISON)
        cells = [used.check("column", _COMPARISON, column) for _, column, _ in columns]
        return sorted(map(list, zip(names, *cells, strict=True)))

    before = rows()
    used.element("sorter", *columns[-1][:2]).click()
    assert rows() == before


def test_a_filter_hides_rows_that_do_not_match_and_counts_the_others(used: View) -> None:
    box = used.page.locator("input[type=search], input[type=text], input:not([type])").first
    if not box.count():
        pytest.fail("expected a box that filters rows (input type=search), got none", pytrace=False)
    names = used.check("rowNames", _COMPARISON)
    runs = [run["name"] for run in used.report["runs"]]
    mistakes = []
    for sought in [runs[0], runs[-1], runs[0].upper(), "(*[", "\\", "no such run"]:
        box.fill(sought)
        expected = [name for name in names if sought.casefold() in name.casefold()]
        counted = re.compile(rf"\b{len(expected)} of {len(names)}\b")
        used.wait_for(f"check.rowNames({_COMPARISON}).length === {len(expected)}", 1000)
        shown = used.check("rowNames", _COMPARISON)
        if shown != expected:
            mistakes.append(f'"{sought}": expected the rows {expected}, got {shown}')
        if not counted.search(used.page.inner_text("body")):
            mistakes.append(f'"{sought}": expected "{len(expected)} of {len(names)}" on the page')
    box.fill("")
    if used.check("rowNames", _COMPARISON) != names:
        mistakes.append("an empty filter does not show all rows again")
    expect_none(mistakes)


def test_a_column_that_is_hidden_takes_its_cells_along(used: View) -> None:
    used.check("openAll")
    boxes = used.page.locator(".tools").first.get_by_role("checkbox").all()
    if not boxes:
        pytest.fail("expected checkboxes that show and hide columns, got none", pytrace=False)
    mistakes = []
    for box in boxes:
        name = box.evaluate(
            "(box) => box.getAttribute('aria-label') ?? box.labels[0]?.innerText ?? ''"
        ).strip()
        if not name:
            mistakes.append("a checkbox has no name")
        heads = used.check("heads", _COMPARISON)
        was_checked = box.is_checked()
        box.set_checked(not was_checked)
        changed = len(used.check("heads", _COMPARISON)) - len(heads)
        if (changed >= 0) is was_checked or changed == 0:
            mistakes.append(f"{name}: {'un' if was_checked else ''}checked, it adds {changed} columns")
        mistakes += used.check("misplacedCells", _COMPARISON)
        box.set_checked(was_checked)
        if used.check("heads", _COMPARISON) != heads:
            mistakes.append(f"{name}: set back, the heads are not those from before")
    expect_none(mistakes)


def test_what_the_order_is_checked_by() -> None:
    assert [value(text) for text in ["1,234 (2.5%)", "1.34M", "128K"]] == [1234, 1_340_000, 131_072]
    assert value("<0.1%") == Decimal("0.1")
    assert [value(text) for text in ["\u22120.5", "+3.0%", "1.51x"]] == [
        Decimal(n) for n in ("-0.5", "3", "1.51")
    ]
    assert [value(text) for text in ["OOM", "failed", "-", ""]] == [None] * 4
    assert order_mistakes("packs", ["9", "10", "-"], "ascending") == []
    assert order_mistakes("packs", ["10", "9", "-"], "descending") == []
    assert len(order_mistakes("packs", ["10", "9"], "ascending")) == 1  # as text they are in order
    assert len(order_mistakes("packs", ["-", "9", "10"], "ascending")) == 1
