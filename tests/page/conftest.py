"""One browser, one report for each job and one load for each window: all checks of a window look at the same page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import jobs, write_report
from playwright.sync_api import Browser, sync_playwright
from view import SCHEMES, WIDTHS_PX, Scheme, View, expect_none, opened, start_browser

_root = Path(__file__).resolve().parents[2]
_windows = [(name, width, scheme) for name in jobs() for width in WIDTHS_PX for scheme in SCHEMES]


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each job's report."""
    program = Path(os.environ.get("PACKSIM", _root / "build" / "packsim"))
    folder = tmp_path_factory.mktemp("reports")
    return {name: write_report(program, name, folder) for name in jobs()}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = start_browser(playwright)
        yield started
        started.close()


@pytest.fixture(scope="session", params=_windows, ids=lambda window: "-".join(map(str, window)))
def view(request: pytest.FixtureRequest, browser: Browser, reports: dict[str, Path]) -> Iterator[View]:
    name, width_px, scheme = request.param
    with opened(browser, reports[name], width_px, scheme) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def page_says_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a check does to a page, the page asks for nothing and has nothing to complain about."""
    yield
    if "view" in request.fixturenames:
        seen: View = request.getfixturevalue("view")
        said, seen.said = seen.said, []
        others = [url for url in seen.requests if url != seen.url]
        seen.requests = []
        expect_none(said + [f"asks for {url}" for url in others])
