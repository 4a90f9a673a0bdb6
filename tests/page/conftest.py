"""One browser, one report of each job, and one load for each window, whose checks look at the same page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from jobs import jobs, write_report
from playwright.sync_api import Browser, sync_playwright
from view import PROGRAM, WINDOWS, Scheme, View, expect_none, opened, start_browser

_windows = [(name, width, scheme) for name in jobs() for width, scheme in WINDOWS]
# What a page does depends little on its colours, and much on its width and names.
_used_windows: list[tuple[str, int, Scheme]] = [
    ("plain", 1280, "light"),
    ("troubled", 768, "dark"),
    ("hostile", 390, "light"),
]

Reports = Callable[[str], Path]


def _window_id(window: tuple[str, int, Scheme]) -> str:
    return "-".join(map(str, window))


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """The folder of a job's report, which is made when it is first asked for."""
    folder = tmp_path_factory.mktemp("reports")
    return cache(lambda name: write_report(PROGRAM, name, folder))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = start_browser(playwright)
        yield started
        started.close()


@pytest.fixture(scope="session", params=_windows, ids=_window_id)
def view(request: pytest.FixtureRequest, browser: Browser, reports: Reports) -> Iterator[View]:
    name, width_px, scheme = request.param
    with opened(browser, reports(name), width_px, scheme) as loaded:
        yield loaded


@pytest.fixture(scope="session", params=_used_windows, ids=_window_id)
def used(request: pytest.FixtureRequest, browser: Browser, reports: Reports) -> Iterator[View]:
    """A page to be used: each check leaves it as it likes, so that none may rely on what it was at first."""
    name, width_px, scheme = request.param
    with opened(browser, reports(name), width_px, scheme) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def page_says_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a check does to a page, the page asks for nothing and has nothing to complain about."""
    yield
    for name in {"view", "used"} & set(request.fixturenames):
        seen: View = request.getfixturevalue(name)
        said, seen.said = seen.said, []
        others = [url for url in seen.requests if url != seen.url]
        seen.requests = []
        expect_none(said + [f"asks for {url}" for url in others])
