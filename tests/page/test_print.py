"""A page on paper: nothing scrolls there, so whatever does not fit is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from jobs import N_CROWDED_RUNS, print_jobs
from test_layout import LARGEST_OVERLAP_PX
from view import SMALLEST_TEXT_PX, View, expect_none

_A4_POINTS = [595, 842]

_on_screen = pytest.mark.parametrize(
    "view", [(name, 1280, "light") for name in print_jobs()], indirect=True, ids=str
)


@pytest.fixture
def printed(view: View) -> Iterator[View]:
    """The page as it is laid out on its paper, after it was drawn on a screen."""
    screen = view.page.viewport_size
    assert screen is not None
    before = view.check("chartSizes")
    view.page.emulate_media(media="print")
    view.page.set_viewport_size({**screen, "width": view.check("paperWidth")})
    assert view.wait_for("document.documentElement.dataset.paper === 'ready'", at_most_ms=30_000)
    yield view
    view.page.emulate_media(media="screen")
    view.page.set_viewport_size(screen)
    # The next test has the same page, whose charts take a while to be as they were.
    assert view.wait_for(f"String(check.chartSizes()) === {','.join(before)!r}", at_most_ms=30_000)


@_on_screen
def test_everything_fits_on_the_paper(printed: View) -> None:
    expect_none(printed.check("wideElements") + printed.check("cutElements"))


@_on_screen
def test_print_is_large_enough_to_read(printed: View) -> None:
    expect_none(printed.check("smallText", SMALLEST_TEXT_PX))


@_on_screen
def test_charts_are_printed_with_data_inside_their_figures(printed: View) -> None:
    expect_none(printed.check("chartMistakes") + printed.check("overlappingTexts", LARGEST_OVERLAP_PX))


@_on_screen
def test_no_text_of_a_chart_is_cut_where_the_chart_is(printed: View) -> None:
    expect_none(printed.check("cutTexts", LARGEST_OVERLAP_PX))


@pytest.mark.parametrize("view", [("crowded", 1280, "light")], indirect=True, ids=str)
def test_a_chart_that_is_cut_has_every_run_once(printed: View) -> None:
    names = [text for text in printed.check("shownTexts", "gpu_days") if text.startswith("run ")]
    assert sorted(names) == sorted(f"run {n}" for n in range(1, N_CROWDED_RUNS + 1))
    assert len(printed.page.query_selector_all("figure[data-chart=gpu_days] svg.marks")) > 1


@_on_screen
def test_after_printing_charts_are_as_they_were(view: View) -> None:
    before = view.check("chartSizes")
    view.page.emulate_media(media="print")
    assert view.wait_for(f"String(check.chartSizes()) !== {','.join(before)!r}", at_most_ms=30_000)
    view.page.emulate_media(media="screen")
    assert view.wait_for(f"String(check.chartSizes()) === {','.join(before)!r}", at_most_ms=30_000)


@pytest.mark.parametrize("view", [("crowded", 1280, "light")], indirect=True, ids=str)
def test_a_print_that_is_left_at_once_changes_no_chart(view: View) -> None:
    before = view.check("chartSizes")
    view.page.evaluate("() => ['beforeprint', 'afterprint'].forEach((name) => dispatchEvent(new Event(name)))")
    view.page.wait_for_timeout(2_000)  # nothing to wait for: charts must not change
    assert view.check("chartSizes") == before


@_on_screen
def test_every_page_is_of_the_size_a4(view: View) -> None:
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", view.page.pdf(prefer_css_page_size=True))
    assert pages
    assert {tuple(sorted(round(float(points)) for points in page)) for page in pages} == {tuple(_A4_POINTS)}
