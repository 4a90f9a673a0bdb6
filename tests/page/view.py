"""A report page in a window of some width and colour scheme, and what it said while it was open."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python  # type: ignore[import-untyped]
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    ElementHandle,
    Page,
    Playwright,
    TimeoutError,
)

Scheme = Literal["light", "dark"]
WIDTHS_PX = (1280, 768, 390)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
# The dark differs in its colours alone, and those do not depend on the width.
WINDOWS = [(width, s) for width in WIDTHS_PX for s in SCHEMES if s == "light" or width == WIDTHS_PX[0]]
HEIGHT_PX = 800
SMALLEST_TEXT_PX = 11
MOST_PAGES = 8
PAPERS_POINTS = {"A4": (843, 596), "Letter": (792, 612)}  # landscape
CHROMIUM = "/usr/bin/chromium"
PROGRAM = Path(os.environ.get("PACKSIM", Path(__file__).parents[2] / "build" / "packsim"))

_scripts = Path(__file__).parent / "scripts"
_axe = Path(axe_playwright_python.__file__).with_name("axe.min.js")

# Opens what is folded, and resolves when all charts are drawn, or have said that they cannot be.
_DRAW_ALL = """async () => {
  const root = document.documentElement;
  const until = async (done) => { while (!done()) await new Promise(requestAnimationFrame); };
  document.querySelectorAll("details.fold").forEach((part) => { part.open = true; });
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    figure.scrollIntoView();
    await until(() => figure.querySelector(".plot svg") || figure.textContent.includes("cannot be drawn"));
  }
  window.scrollTo(0, 0);
  await document.fonts.ready;
}"""


def _checks() -> str:
    first = "visible.js"  # the others use it
    files = sorted(_scripts.glob("*.js"), key=lambda file: (file.name != first, file.name))
    return "\n".join(file.read_text() for file in files)


@dataclass
class View:
    """A page, its report.json, and what it asked for and said."""

    page: Page
    folder: Path
    width_px: int
    scheme: Scheme
    file_name: str
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return (self.folder / self.file_name).as_uri()

    @cached_property
    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return loaded

    def check(self, question: str, *arguments: Any) -> Any:
        """The answer of window.check.<question>(...), a function in scripts/."""
        return self.page.evaluate(f"(arguments) => check.{question}(...arguments)", list(arguments))

    def element(self, question: str, *arguments: Any) -> ElementHandle:
        """The element that window.check.<question>(...) returns."""
        found = self.page.evaluate_handle(
            f"(arguments) => check.{question}(...arguments)", list(arguments)
        ).as_element()
        assert found is not None, f"{question}{arguments}: expected an element, got none"
        return found

    def wait_for(self, expression: str, at_most_ms: int) -> Any:
        """The value of a JavaScript expression once it is true; None if it was not within this time."""
        try:
            return self.page.wait_for_function(expression, timeout=at_most_ms).json_value()
        except TimeoutError:
            return None

    def load(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.goto(self.url)
        self.page.evaluate(_DRAW_ALL)
        self.page.evaluate(f"() => {{ {_checks()} }}")

    def axe(self) -> list[dict[str, Any]]:
        """What axe-core says against the page. In the dark it judges colours only: nothing else differs."""
        self.page.evaluate(_axe.read_text())
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if self.scheme == "dark":
            options["runOnly"] = ["color-contrast"]
        result: dict[str, Any] = self.page.evaluate("(options) => axe.run(document, options)", options)
        violations: list[dict[str, Any]] = result["violations"]
        return violations

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text}")


def expect_none(mistakes: list[Any]) -> None:
    """Fails with all of them, one a line: pytest itself shows the first one of a list."""
    if mistakes:
        pytest.fail(f"{len(mistakes)} found:\n" + "\n".join(map(str, mistakes)), pytrace=False)


def start_browser(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def new_context(browser: Browser, width_px: int, scheme: Scheme) -> BrowserContext:
    context = browser.new_context(viewport={"width": width_px, "height": HEIGHT_PX}, color_scheme=scheme)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(10_000)
    return context


def printed_pages(browser: Browser, file: Path, paper: str) -> list[tuple[int, int]]:
    """The size in points of each page of the PDF of a page as it is when it is opened, without choices."""
    context = new_context(browser, 1280, "light")
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'true'", timeout=30_000)
    pdf = page.pdf(format=paper, prefer_css_page_size=True)
    context.close()
    n_pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(sizes) == n_pages
    return [(round(float(width)), round(float(height))) for width, height in sizes]


@contextmanager
def opened(
    browser: Browser, folder: Path, width_px: int, scheme: Scheme, file_name: str = "report.html"
) -> Iterator[View]:
    context = new_context(browser, width_px, scheme)
    view = View(context.new_page(), folder, width_px, scheme, file_name)
    view.load()
    yield view
    context.close()
