"""Reports as tables of pyarrow, pandas and polars: the rows of report.csv, with types."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from simulated import LENGTHS, small_job

import packsim

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

# What a cell of report.csv is with its type.
_TYPES: dict[str, Any] = {
    "bool": lambda text: {"true": True, "false": False}[text],
    "int64": int,
    "double": float,
    "string": str,
}


@pytest.fixture(scope="module")
def reports() -> list[packsim.Report]:
    job = small_job(lengths={"mix": [{"source": "gsm8k.csv"}]})
    scenario = packsim.load_scenario(job).with_lengths(LENGTHS)
    too_large = packsim.load_scenario({**job, "model": "llama3.1-70b"}).with_lengths(LENGTHS)
    return [packsim.compare(scenario), packsim.compare(too_large, "bfd")]


def rows_of_csv(report: packsim.Report, folder: Path) -> list[dict[str, Any]]:
    report.save(folder)
    types = dict(zip(report.to_arrow().column_names, map(str, report.to_arrow().schema.types), strict=True))
    with (folder / "report.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(types)
    return [{key: _TYPES[types[key]](text) if text else None for key, text in row.items()} for row in rows]


def test_the_tables_have_the_cells_of_report_csv(reports: list[packsim.Report], tmp_path: Path) -> None:
    for report in reports:
        rows = rows_of_csv(report, tmp_path)
        assert report.to_arrow().to_pylist() == rows
        assert report.to_polars().to_dicts() == rows
        frame = report.to_pandas()
        plain = frame.astype(object).where(frame.notna(), None)
        assert plain.to_dict("records") == rows


def test_types_are_the_same_where_no_run_has_a_value(reports: list[packsim.Report]) -> None:
    whole, too_large = reports
    assert too_large.to_arrow()["gpu_days"].to_pylist() == [None]
    assert whole.to_arrow().schema == too_large.to_arrow().schema
    assert whole.to_polars().schema == too_large.to_polars().schema
    assert whole.to_pandas().dtypes.equals(too_large.to_pandas().dtypes)
    assert str(whole.to_pandas().dtypes["gpu_days"]) == "float64"
    assert str(whole.to_pandas().dtypes["packs"]) == "Int64"


def test_candidates_of_a_recommendation_are_tables() -> None:
    job = small_job(
        lengths={"mix": [{"source": "gsm8k.csv"}]},
        packing={"capacity_tokens": 32768, "sp_degree": 4, "last_iteration": "shorten"},
        strategies=[{"strategy": "isf"}, {"strategy": "bfd"}],
    )
    found = packsim.recommend(job, ["h100-sxm-80gb"], most_gpus=16, nodes=[1, 2, 4], lengths=LENGTHS)
    frame = found.to_pandas()
    assert len(frame) == len(found.candidates)
    assert str(frame["n_gpus"].dtype) == "Int64"
    assert frame["gpu_days"].max() == max(each.times.gpu_days for each in found.candidates if each.times)
    assert found.to_arrow().column_names == list(frame.columns) == found.to_polars().columns
