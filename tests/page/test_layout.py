"""What a page looks like in each window: nothing overflows, is too small to read or overlaps."""

from __future__ import annotations

from view import SMALLEST_TEXT_PX, View, expect_none

LARGEST_OVERLAP_PX = 2


def test_the_page_is_all_that_the_browser_loads(view: View) -> None:
    assert view.requests == [view.url]  # console messages: page_says_nothing


def test_the_page_says_when_it_is_ready(view: View) -> None:
    assert view.page.evaluate("document.documentElement.dataset.ready") == "true"


def test_the_document_is_no_wider_than_its_window(view: View) -> None:
    expect_none(view.check("wideElements"))


def test_what_scrolls_by_itself_shows_it_and_can_be_reached(view: View) -> None:
    expect_none(view.check("scrollMistakes"))


def test_all_text_is_large_enough_to_read(view: View) -> None:
    expect_none(view.check("smallText", SMALLEST_TEXT_PX))


def test_every_chart_is_drawn_with_data_inside_its_figure(view: View) -> None:
    expect_none(view.check("chartMistakes"))


def test_no_two_texts_of_a_chart_overlap(view: View) -> None:
    expect_none(view.check("overlappingTexts", LARGEST_OVERLAP_PX))


def test_axe_finds_nothing_serious(view: View) -> None:
    expect_none(
        [
            f"{violation['impact']}: {violation['id']}: {violation['help']}: {node['html'][:200]}"
            for violation in view.axe()
            for node in violation["nodes"]
            if violation["impact"] in ("serious", "critical")
        ]
    )


def test_text_from_the_scenario_runs_nothing(view: View) -> None:
    assert view.page.title() != "owned"
