"""Reports in Python: attributes, files, charts and what a notebook shows."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import REPOSITORY
from run_command import run
from simulated import LENGTHS, small_job, without_timings

import packsim
from packsim import charts


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> packsim.Report:
    np.save(tmp_path_factory.getbasetemp() / "lengths.npy", LENGTHS)
    job = small_job(lengths={"mix": [{"source": str(tmp_path_factory.getbasetemp() / "lengths.npy")}]})
    return packsim.compare(job)


def test_what_report_json_has_are_attributes(report: packsim.Report) -> None:
    document = json.loads(report.to_json())
    assert report.manifest.model == document["manifest"]["model"] == "llama3.1-8b"
    assert report.manifest.parallelism.zero_stage == document["manifest"]["parallelism"]["zero_stage"]
    assert report.lengths.n_samples == len(LENGTHS)
    assert report.lengths.histogram[0].to_dict() == document["lengths"]["histogram"][0]
    assert report.baseline == "isf"
    assert [bound.gpu_days for bound in report.bounds] == [each["gpu_days"] for each in document["bounds"]]
    assert report.timings.total_s > 0
    assert [run.name for run in report.runs] == list(report.scenario.strategies)
    best = report["planner"]
    assert best.gpu_days == document["runs"][2]["gpu_days"] > 0
    assert best.groups[0].sp_degree == document["runs"][2]["groups"][0]["sp_degree"]
    assert {**best} == {key: best[key] for key in document["runs"][2]}
    assert "gpu_days" in dir(best)


def test_what_it_does_not_have_is_refused_with_what_it_has(report: packsim.Report) -> None:
    with pytest.raises(AttributeError, match=r"^run bfd: expected one of name, strategy, .*, got gpu_day$"):
        _ = report["bfd"].gpu_day
    with pytest.raises(KeyError, match="expected one of isf, bfd, planner, got 'ffd'"):
        report["ffd"]


def test_saved_files_are_those_of_the_program(report: packsim.Report, tmp_path: Path) -> None:
    report.save(tmp_path / "out" / "report")
    saved = {path.name: path for path in (tmp_path / "out" / "report").iterdir()}
    assert set(saved) == {"report.json", "report.csv", "report.html", "charts.json"}
    assert without_timings(saved["report.json"].read_text()) == without_timings(report.to_json())
    assert [row["name"] for row in csv.DictReader(saved["report.csv"].open())] == ["isf", "bfd", "planner"]


def test_charts_are_those_of_the_saved_report(report: packsim.Report, tmp_path: Path) -> None:
    report.save(tmp_path)
    of_files = charts.load(tmp_path, width_px=500)
    of_report = report.charts(width_px=500)
    assert list(of_report) == list(of_files)
    for name in of_files:
        assert of_report.spec(name) == of_files.spec(name)


def test_a_notebook_shows_the_verdict_and_the_runs(report: packsim.Report) -> None:
    html = report._repr_html_()
    assert "Best plan: " in html and "GPU-days" in html
    assert all(run.name in html for run in report.runs)
    assert len(html) < 20_000
    assert report["bfd"]._repr_html_() is None
    assert repr(report["bfd"]).startswith("Run(bfd: ")
    alone = packsim.simulate(report.scenario, "bfd")
    assert alone._repr_html_() == alone.report._repr_html_()


def test_a_missing_library_is_named(report: packsim.Report, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pyarrow", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    for convert, library in (
        (report.to_arrow, "pyarrow"),
        (report.to_pandas, "pandas"),
        (report.to_polars, "polars"),
    ):
        with pytest.raises(ImportError, match=rf"needs {library}: pip install packsim\[frames\]"):
            convert()


def test_the_listings_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("lengths.npy", LENGTHS)
    page = (REPOSITORY / "docs" / "python.md").read_text()
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert names["swept"].n_points == 4
    assert packsim.Plan.open("hbp.plan").n_samples == len(LENGTHS)
    assert Path("my-report/report.html").exists()


def test_a_package_without_the_simulator_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['packsim._simulator'] = None\n"
        "import packsim\n"
        "try: packsim.load_scenario('llama3.1-8b-tulu3-4k')\n"
        "except ImportError as error: print(error)\n"
    )
    printed = run(sys.executable, "-c", code, folder=tmp_path)
    assert "the simulator is not in this build of packsim" in printed
    assert "PACKSIM_PROGRAM=1 pip install ." in printed
