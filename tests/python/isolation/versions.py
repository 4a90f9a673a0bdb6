"""The cells of every version of transformers that is there, each in a process of its own, and their tables.

    .venv-python/bin/python tests/python/isolation/versions.py

writes the tables of docs/isolation.md again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("PACKSIM_TRANSFORMERS", REPOSITORY / ".venv-transformers"))
PAGE = REPOSITORY / "docs" / "isolation.md"
LARGEST_ERROR = 1e-5

Cell = dict[str, Any]


def all_cells() -> list[Cell]:
    """Older versions first; the last is that of the environment."""
    folders = sorted(path.parent for path in FOLDER.glob("*/.packsim"))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(_cells, [*map(str, folders), ""]))
    return [cell for cells in sorted(found, key=_version) for cell in cells]


def _cells(folder: str) -> list[Cell]:
    paths = [path for path in (folder, os.environ.get("PYTHONPATH", "")) if path]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("cells.py")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(f"cells.py with transformers of {folder or 'the environment'}:\n{run.stderr}")
    # In the last line: some versions import DeepSpeed where it is installed, which logs to the same place.
    cells: list[Cell] = json.loads(run.stdout.splitlines()[-1])
    return cells


def _version(cells: list[Cell]) -> tuple[int, ...]:
    return tuple(int(part) for part in cells[0]["transformers"].split("."))


def tables(cells: list[Cell]) -> dict[str, str]:
    """By name, in Markdown."""
    return {
        "routes": _table(cells, _route),
        "positions": _table(cells, lambda cell: _passed(cell, "positions")),
        "ones": _table(cells, lambda cell: _passed(cell, "positions and a mask of ones")),
    }


def _table(cells: list[Cell], text_of: Any) -> str:
    models = list(dict.fromkeys(cell["model"] for cell in cells))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        rows.setdefault((cell["transformers"], cell["attention"]), {})[cell["model"]] = text_of(cell)
    # Implementations that behave alike share a row.
    alike: dict[tuple[str, ...], list[str]] = {}
    for (version, attention), row in rows.items():
        alike.setdefault((version, *(row[model] for model in models)), []).append(attention)
    lines = [f"| transformers | attention | {' | '.join(models)} |", "|---" * (len(models) + 2) + "|"]
    for (version, *texts), attentions in alike.items():
        lines.append(f"| {version} | {', '.join(attentions)} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _route(cell: Cell) -> str:
    if "passed" not in cell:
        return "none"
    return cell.get("route", "refused").replace("FlexAttention's ", "")


def _passed(cell: Cell, name: str) -> str:
    if "passed" not in cell:
        return "none"
    error = cell["passed"][name]["error"]
    return "exact" if error <= LARGEST_ERROR else f"{error:.0%} off"


def with_tables(page: str, cells: list[Cell]) -> str:
    for name, table in tables(cells).items():
        marks = f"<!-- isolation: {name} -->", "<!-- end -->"
        page, n_found = re.subn(
            f"{re.escape(marks[0])}\n.*?{re.escape(marks[1])}",
            lambda _, marks=marks, table=table: f"{marks[0]}\n{table}\n{marks[1]}",
            page,
            flags=re.DOTALL,
        )
        if n_found != 1:
            raise ValueError(f"{PAGE}: expected one table {name}, got {n_found}")
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(), all_cells()))
