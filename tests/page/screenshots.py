"""screenshots.py REPORT.html OUT_FOLDER: pictures of a page at each width, light and dark, and its print."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from view import SCHEMES, WIDTHS_PX, opened, start_browser


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        for width_px in WIDTHS_PX:
            for scheme in SCHEMES:
                with opened(browser, report.parent, width_px, scheme, report.name) as view:
                    view.page.screenshot(path=out / f"{width_px}-{scheme}.png", full_page=True)
                    if (width_px, scheme) == (WIDTHS_PX[0], SCHEMES[0]):
                        view.page.pdf(
                            path=out / "print.pdf", prefer_css_page_size=True, print_background=True
                        )
        browser.close()
    print("\n".join(str(path) for path in sorted(out.iterdir())))


if __name__ == "__main__":
    main()
