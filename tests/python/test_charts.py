"""packsim.charts: the charts of a report as Altair objects."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from run_command import run

import packsim.charts

altair = pytest.importorskip("altair")
PROGRAM = Path(sys.executable).parent / "packsim"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 100 samples and two strategies that fit in memory."""
    folder = tmp_path_factory.mktemp("report")
    strategies = [
        {"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4},
        {"strategy": "ffd", "capacity_tokens": 32768, "sp_degree": 8},
    ]
    scenario = {
        "format": 1,
        "name": "small",
        "model": "llama3.1-8b",
        "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
        "profile": "deepspeed-ulysses-h100",
        "training": {"tokens_per_iteration": 131072, "epochs": 1, "zero_stage": 3},
        "lengths": {"mix": [{"source": "qmsum.csv", "count": 100}]},
        "packing": {"over_long": "truncate"},
        "seed": 1,
        "strategies": strategies,
    }
    (folder / "small.json").write_text(json.dumps(scenario))
    run(PROGRAM, "compare", "small.json", "--quiet", "--out", "report", folder=folder)
    return folder / "report"


def test_every_chart_is_an_altair_object_that_draws_text_and_marks(report: Path, tmp_path: Path) -> None:
    charts = packsim.charts.load(report)
    assert len(charts) >= 5 and list(charts) == list(
        json.loads((report / "charts.json").read_text())["specs"]
    )
    for name, chart in charts.items():
        assert isinstance(chart, altair.TopLevelMixin)
        chart.save(tmp_path / "chart.svg")
        svg = (tmp_path / "chart.svg").read_text()
        assert "</text>" in svg, name
        assert any(f'class="mark-{mark} role-mark' in svg for mark in ("rect", "line", "symbol")), name


def test_specs_are_those_that_the_program_writes(report: Path) -> None:
    charts = packsim.charts.load(report / "charts.json")
    for name in charts:
        written = run(
            PROGRAM, "plot", report, "--chart", name, "--out", "-", "--format", "json", folder=report
        )
        assert charts.spec(name) == json.loads(written)


def test_a_spec_that_uses_everything_is_the_same_in_python_and_in_the_program(tmp_path: Path) -> None:
    layers = [
        {"transform": [{"lookup": "run", "from": {"data": {"name": "parts"}, "key": "run"}}]},
        {"data": {"name": "own", "values": [{"data": {"name": "a row"}}]}},
        {"data": {"name": "inline"}},
    ]
    spec = {
        "usermeta": {"data": {"name": "of no view"}},
        "vconcat": [
            {"width": "container", "data": {"name": "runs"}, "layer": layers},
            {"spec": {"width": 3}},
        ],
        "datasets": {"inline": [1]},
        "config": {"axis": {"ticks": None}, "background": "black"},
    }
    document = {
        "theme": {"background": "transparent", "axis": {"grid": False, "ticks": True}},
        "datasets": {"runs": [{"run": "é"}], "parts": [], "unused": [1]},
        "specs": {"all": spec},
    }
    (tmp_path / "charts.json").write_text(json.dumps(document))
    written = run(
        PROGRAM, "plot", tmp_path, "--chart", "all", "--out", "x", "--format", "json", folder=tmp_path
    )
    assert written == "x/all.json\n"
    made = packsim.charts.load(tmp_path).spec("all")
    assert made == json.loads((tmp_path / "x" / "all.json").read_text())
    assert made["datasets"].keys() == {"runs", "parts", "inline"}
    assert made["config"] == {"background": "black", "axis": {"grid": False, "ticks": None}}
    assert made["vconcat"][0]["width"] == 900
    assert packsim.charts.load(tmp_path, width_px=400).spec("all")["vconcat"][0]["width"] == 400


def test_changes_of_a_chart_stay_with_it(report: Path) -> None:
    charts = packsim.charts.load(report)
    charts["gpu_days"].title = "Changed"
    charts.spec("gpu_days")["layer"].clear()
    assert "title" not in charts["gpu_days"].to_dict() and charts.spec("gpu_days")["layer"]


def test_what_is_no_report_says_what_was_expected(report: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"run packsim compare again with --out"):
        packsim.charts.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        packsim.charts.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="/theme: expected an object, as in charts.json"):
        packsim.charts.load(report / "report.json")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a.json: expected JSON"):
        packsim.charts.load(tmp_path / "a.json")
    (tmp_path / "b.json").write_text(
        '{"theme": {}, "datasets": {}, "specs": {"a": {"data": {"name": "runs"}}}}'
    )
    with pytest.raises(ValueError, match="/specs/a: expected data sets of the file, got 'runs'"):
        packsim.charts.load(tmp_path / "b.json")["a"]
    with pytest.raises(KeyError, match="expected one of gpu_days, .*, got 'gpu_dys'"):
        packsim.charts.load(report)["gpu_dys"]


def test_without_altair_the_message_says_how_to_install_it(report: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match=r"packsim.charts needs altair: pip install packsim\[plot\]"):
        packsim.charts.load(report)
