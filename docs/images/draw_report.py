"""Draws two charts of a report as one picture, the way the README shows them.

.venv/bin/python docs/images/draw_report.py packsim-report/report.html docs/images/report.svg
"""

import json
import pathlib
import re
import sys
from typing import Any

import vl_convert

VEGA_LITE_VERSION = "6.4"  # as in reports/charts/write_vega_bundle.py
WIDTH_PX = 1000
SPACING_PX = 30
TITLES = {"gpu_days": "GPU-days of each strategy", "time_parts": "What the GPUs spend their time on"}


def draw(charts: dict[str, Any], name: str, title: str) -> tuple[str, float]:
    """A chart as SVG, and its height in pixels."""
    spec = {
        **charts["specs"][name],
        "title": title,
        "width": WIDTH_PX,
        "padding": {"left": 20, "top": 5, "right": 60, "bottom": 5},  # browsers' fonts may be wider
        "datasets": charts["datasets"],
    }
    style = {"anchor": "start", "fontSize": 15, "dy": -4}
    config = {**charts["theme"], "background": "white", "title": style}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, config=config)
    height = re.search(r'<svg[^>]* height="([0-9.]+)"', svg)
    assert height is not None
    return svg, float(height.group(1))


def main() -> None:
    page, picture = map(pathlib.Path, sys.argv[1:])
    embedded = r'<script type="application/json" id="charts">(.*?)</script>'
    found = re.search(embedded, page.read_text(), re.DOTALL)
    if found is None:
        sys.exit(f"{page}: expected the charts of a report, found none")
    charts = json.loads(found.group(1))
    parts = ""
    top = 0.0
    for name, title in TITLES.items():
        svg, height = draw(charts, name, title)
        parts += svg.replace("<svg ", f'<svg y="{top:g}" ', 1) + "\n"
        top += height + SPACING_PX
    size = f'width="{WIDTH_PX}" height="{top - SPACING_PX:g}" viewBox="0 0 {WIDTH_PX} {top - SPACING_PX:g}"'
    background = '<rect width="100%" height="100%" fill="white"/>'
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{background}\n{parts}</svg>\n')


if __name__ == "__main__":
    main()
