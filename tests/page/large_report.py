"""large_report.py [LOADS]: how large the page of the largest shipped job is, and how soon it can be used.

The job is llama3.1-8b-hybrid-128k: eleven strategies, one of them with 470 000 iterations. The exit code is 1
if the page is over its limits.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from view import PROGRAM, new_context, start_browser

LARGEST_PAGE_BYTES = 2_500_000
LONGEST_START_S = 2.0

# The time from navigation until the page says that it is ready, or until all its charts are there.
_READY_MS = """new Promise((resolve) => {
  const look = () => {
    const figures = [...document.querySelectorAll("figure[data-chart]")];
    const isDrawn = document.readyState === "complete" && figures.every((f) => f.querySelector("svg"));
    if (document.documentElement.dataset.ready === "true" || isDrawn) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""


def start_s(browser: Browser, page_file: Path) -> float:
    context = new_context(browser, 1280, "light")
    page = context.new_page()
    page.goto(page_file.as_uri(), wait_until="commit")
    ready_ms: float = page.evaluate(_READY_MS)
    context.close()
    return ready_ms / 1000


def main() -> None:
    n_loads = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run(
            [PROGRAM, "compare", "llama3.1-8b-hybrid-128k", "--quiet", "--out", folder], check=True
        )
        page_file = Path(folder) / "report.html"
        size_bytes = page_file.stat().st_size
        browser = start_browser(playwright)
        times_s = [start_s(browser, page_file) for _ in range(n_loads)]
        browser.close()
    median_s = statistics.median(times_s)
    print(f"report.html: {size_bytes / 1e6:.2f} MB (at most {LARGEST_PAGE_BYTES / 1e6} MB)")
    loads_s = ", ".join(f"{time_s:.2f}" for time_s in times_s)
    print(f"ready after {median_s:.2f} s, median of {loads_s} (at most {LONGEST_START_S} s)")
    sys.exit(size_bytes > LARGEST_PAGE_BYTES or median_s > LONGEST_START_S)


if __name__ == "__main__":
    main()
