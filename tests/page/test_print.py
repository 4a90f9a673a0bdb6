"""A page on paper: nothing scrolls there, so whatever does not fit is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Reports
from jobs import N_CROWDED_RUNS, print_jobs
from playwright.sync_api import Browser
from test_layout import LARGEST_OVERLAP_PX
from view import (
    MOST_PAGES,
    PAPERS_POINTS,
    SMALLEST_TEXT_PX,
    View,
    expect_none,
    new_context,
    printed_pages,
)

N_SHOWN_RUNS = 32
CHART_PX = 570  # as in reports/page/print.js

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
def test_a_chart_has_each_of_the_runs_that_are_shown_once_and_fits_on_a_page(printed: View) -> None:
    names = [text for text in printed.check("shownTexts", "gpu_days") if text.startswith("run ")]
    assert len(set(names)) == len(names) == N_SHOWN_RUNS
    assert f"show {N_SHOWN_RUNS} of {N_CROWDED_RUNS} runs" in printed.page.inner_text("main")
    for chart in ("gpu_days", "time_parts"):
        height_px = printed.page.locator(f"figure[data-chart={chart}] svg.marks").get_attribute("height")
        assert float(height_px or "inf") <= CHART_PX


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


@pytest.mark.parametrize("paper", PAPERS_POINTS)
@pytest.mark.parametrize("name", print_jobs())
def test_a_report_as_it_is_opened_is_printed_on_at_most_eight_pages(
    browser: Browser, reports: Reports, name: str, paper: str
) -> None:
    pages = printed_pages(browser, reports(name) / "report.html", paper)
    assert 1 <= len(pages) <= MOST_PAGES
    assert set(pages) == {PAPERS_POINTS[paper]}


def test_paper_names_what_is_folded_and_where_it_is(browser: Browser, reports: Reports) -> None:
    context = new_context(browser, 1280, "light")
    page = context.new_page()
    page.goto((reports("plain") / "report.html").as_uri())
    page.emulate_media(media="print")
    text = page.inner_text("main")
    assert "printed only if they are open in the browser. Their numbers are in report.json" in text
    for part in ("Steps and ranks", "Memory, packs and plans", "Data", "Definitions"):
        assert part in text
    assert "What became of the data" not in text
    for shown in ("Best plan", "What to set", "Comparison", "Where this comes from"):
        assert shown in text
    context.close()
