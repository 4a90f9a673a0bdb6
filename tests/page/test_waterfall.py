"""Why one run takes longer than another: parts that add up to the difference, in the numbers of the page."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from playwright.sync_api import Locator
from printed import signed
from view import View, expect_none


def selects(view: View) -> tuple[Locator, Locator]:
    """The two selects that name runs."""
    runs = {run["name"] for run in view.report["runs"]}
    found = [
        select
        for select in view.page.locator("figure[data-chart=waterfall] select").all()
        if runs & set(select.locator("option").all_inner_texts())
    ]
    if len(found) != 2:
        pytest.fail(f"expected two selects with the names of runs, got {len(found)}", pytrace=False)
    return found[0], found[1]


def test_parts_add_up_to_the_difference_of_any_two_runs(used: View) -> None:
    first, second = selects(used)
    section = used.page.locator("section, figure").filter(has=first).last
    gpu_days = {run["name"]: run["gpu_days"] for run in used.report["runs"] if run["gpu_days"]}
    names = [name for name in first.locator("option").all_inner_texts() if name in gpu_days]
    mistakes = [f"{name} has no option" for name in gpu_days if name not in names]
    for one, other in [*pairwise(names), (names[-1], names[0])]:
        first.select_option(label=one)
        second.select_option(label=other)
        used.page.wait_for_timeout(300)  # a chart is drawn anew
        shown = list(signed(section.inner_text())) or [
            number for text in section.locator("svg text").all_text_contents() for number in signed(text)
        ]
        # The difference is the sum of the parts: some number is the sum of all others.
        total = sum(shown, Decimal(0)) / 2
        digits = -min((int(number.as_tuple().exponent) for number in shown), default=0)
        expected = gpu_days[other] - gpu_days[one]
        if len(shown) < 3 or total not in shown:
            mistakes.append(f"{one} to {other}: expected parts and their sum, got {list(map(str, shown))}")
        elif abs(abs(float(total)) - abs(expected)) > 10**-digits:
            mistakes.append(f"{one} to {other}: expected a difference of {expected}, got {total}")
    expect_none(mistakes)
