"""The database of `packsim sweep` as tables and as Parquet."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from run_command import run
from simulated import PROGRAM, small_job

import packsim
from packsim.sweeps import Sweep, read_sweep

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of 2 x 2 points, one pair of which does not fit in memory."""
    folder = tmp_path_factory.mktemp("a sweep?#%")
    job = small_job(strategies=[{"strategy": "isf"}, {"strategy": "bfd"}])
    (folder / "job.json").write_text(json.dumps({**job, "lengths": {"mix": [{"source": "gsm8k.csv"}]}}))
    run(
        PROGRAM,
        "sweep",
        "job.json",
        "--vary",
        "model=llama3.1-8b,llama3.1-70b",
        "--out",
        "s.db",
        folder=folder,
    )
    return folder


@pytest.fixture(scope="module")
def sweep(folder: Path) -> Sweep:
    return read_sweep(folder / "s.db")


def test_the_tables_have_the_rows_of_the_database(folder: Path, sweep: Sweep) -> None:
    connection = sqlite3.connect(folder / "s.db")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM points ORDER BY point")]
    assert [row["status"] for row in rows] == ["ok", "does not fit"] * 2
    assert sweep.n_points == len(rows) == 4
    assert sweep.facts["points"] == "4"
    assert sweep.to_arrow().to_pylist() == rows
    assert sweep.to_polars().to_dicts() == rows
    frame = sweep.to_pandas()
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows


def test_columns_have_types_and_the_keys_of_the_grid(sweep: Sweep) -> None:
    types = {field.name: str(field.type) for field in sweep.to_arrow().schema}
    assert types["point"] == types["n_gpus"] == types["packs"] == "int64"
    assert types["gpu_days"] == types["cost"] == "double"
    assert types["model"] == types["status"] == types["groups"] == "string"


def test_points_are_runs_of_compare(sweep: Sweep) -> None:
    job = {**small_job(strategies=[{"strategy": "isf"}, {"strategy": "bfd"}])}
    report = packsim.compare({**job, "lengths": {"mix": [{"source": "gsm8k.csv"}]}})
    points = {row["name"]: row for row in sweep.to_arrow().to_pylist() if row["model"] == "llama3.1-8b"}
    for name in ("isf", "bfd"):
        assert points[name]["gpu_days"] == report[name].gpu_days
        assert points[name]["abr"] == report[name].abr


def test_parquet_has_the_same_table(folder: Path, sweep: Sweep) -> None:
    import pyarrow.parquet

    sweep.write_parquet(folder / "s.parquet")
    assert pyarrow.parquet.read_table(folder / "s.parquet").equals(sweep.to_arrow())
    assert sorted(path.name for path in folder.iterdir() if "parquet" in path.name) == ["s.parquet"]


def test_what_is_no_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.db: no such file"):
        read_sweep(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("x" * 5000)
    with pytest.raises(ValueError, match=r"text\.db: expected a database of packsim sweep"):
        read_sweep(tmp_path / "text.db")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE a (b)")
    with pytest.raises(ValueError, match=r"other\.db: expected a database of packsim sweep"):
        read_sweep(tmp_path / "other.db")


def test_the_page_is_that_of_the_program_in_a_frame_of_its_own(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = sweep.page()
    assert page.html.startswith("<!DOCTYPE html>")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    frame = page._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame  # all of the page is in an attribute
    with pytest.raises(RuntimeError, match="none.json: No such file or directory"):
        sweep.page(tmp_path / "none.json")
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(ValueError, match="empty.json: /format: expected 1, got nothing"):
        sweep.page(tmp_path / "empty.json")
    monkeypatch.setattr("packsim._program.which", lambda name: None)
    monkeypatch.setattr("packsim._program.sys.executable", str(tmp_path / "python"))
    with pytest.raises(RuntimeError, match="needs the simulator"):
        sweep.page()
