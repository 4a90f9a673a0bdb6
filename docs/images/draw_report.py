"""Draws two charts of a report as one picture, the way the README shows them.

.venv/bin/python docs/images/draw_report.py packsim-report/report.html docs/images/report.svg
"""

import json
import pathlib
import re
import sys

import vl_convert

VEGA_LITE_VERSION = "6.4"  # as in reports/charts/write_vega_bundle.py
WIDTH_PX = 900


def main() -> None:
    page, picture = map(pathlib.Path, sys.argv[1:])
    embedded = r'<script type="application/json" id="charts">(.*?)</script>'
    found = re.search(embedded, page.read_text(), re.DOTALL)
    if found is None:
        sys.exit(f"{page}: expected the charts of a report, found none")
    charts = json.loads(found.group(1))
    titles = {"gpu_days": "GPU-days of each strategy", "time_parts": "What the GPUs spend their time on"}
    parts = [{**charts["specs"][name], "title": title, "width": WIDTH_PX} for name, title in titles.items()]
    for part in parts:
        part.pop("$schema")
    spec = {
        "padding": {"left": 20, "top": 5, "right": 60, "bottom": 5},  # browsers' fonts may be wider
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "vconcat": parts,
        "spacing": 30,
        "resolve": {"scale": {"color": "independent"}},
        "datasets": charts["datasets"],
    }
    title = {"anchor": "start", "fontSize": 15, "dy": -4}
    config = {**charts["theme"], "background": "white", "title": title}
    picture.write_text(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, config=config))


if __name__ == "__main__":
    main()
