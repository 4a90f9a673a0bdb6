"""A page on paper: nothing scrolls there, so whatever does not fit is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from jobs import jobs
from test_layout import LARGEST_OVERLAP_PX
from view import View, expect_none

SMALLEST_PRINT_PX = 8  # 6 points
_A4_POINTS = [595, 842]

_on_screen = pytest.mark.parametrize(
    "view", [(name, 1280, "light") for name in jobs()], indirect=True, ids=str
)


@pytest.fixture
def printed(view: View) -> Iterator[View]:
    """The page as it is laid out on its paper, after it was drawn on a screen."""
    screen = view.page.viewport_size
    assert screen is not None
    view.page.emulate_media(media="print")
    view.page.set_viewport_size({**screen, "width": view.check("paperWidth")})
    yield view
    view.page.emulate_media(media="screen")
    view.page.set_viewport_size(screen)


@_on_screen
def test_everything_fits_on_the_paper(printed: View) -> None:
    expect_none(printed.check("wideElements") + printed.check("cutElements"))


@_on_screen
def test_print_is_large_enough_to_read(printed: View) -> None:
    expect_none(printed.check("smallText", SMALLEST_PRINT_PX))


@_on_screen
def test_charts_are_printed_with_data_inside_their_figures(printed: View) -> None:
    expect_none(printed.check("chartMistakes") + printed.check("overlappingTexts", LARGEST_OVERLAP_PX))


@_on_screen
def test_every_page_is_of_the_size_a4(view: View) -> None:
    pages = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", view.page.pdf(prefer_css_page_size=True))
    assert pages
    assert {tuple(sorted(round(float(points)) for points in page)) for page in pages} == {tuple(_A4_POINTS)}
