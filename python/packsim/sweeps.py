"""The database of `packsim sweep` as a table of other libraries, and as Parquet (docs/sweep.md)."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from html import escape
from pathlib import Path

from packsim._frames import Column, Table
from packsim._optional import import_optional
from packsim._program import run_program
from packsim._whole_file import whole_file

__all__ = ["Sweep", "SweepPage", "read_sweep"]

_TYPES = {"INTEGER": "int", "REAL": "float", "TEXT": "str"}


class SweepPage:
    """A page on which to pick a cluster: `packsim page` (docs/planning.md). A notebook shows it.

    Attributes
    ----------
    html : str
        The whole page, which loads nothing.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced when it is whole."""
        with whole_file(path) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        # A frame of its own, whose scripts reach nothing of the notebook.
        return (
            '<iframe sandbox="allow-scripts" title="Which cluster"'
            ' style="width: 100%; height: 800px; border: 0"'
            f' srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"SweepPage of {len(self.html)} characters"


class Sweep(Table):
    """The points of a sweep, a row each, in the order of the grid.

    Attributes
    ----------
    facts : dict of str to str
        What decides the points: the grid, hashes of the scenario and its profiles, and packsim's version.
    n_points : int
        Number of points that are in the database.
    """

    def __init__(self, facts: dict[str, str], columns: list[Column], path: str) -> None:
        self.facts = facts
        self._path = path
        self._data = columns
        self.n_points = len(columns[0][2])

    def _columns(self) -> list[Column]:
        return self._data

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the points to a Parquet file; needs pyarrow.

        Parameters
        ----------
        path : path-like
            A file, which is replaced when it is whole.
        """
        parquet = import_optional("pyarrow.parquet", "write_parquet()", "frames")
        with whole_file(path) as file:
            parquet.write_table(self.to_arrow(), file)

    def page(self, recommendation: str | os.PathLike[str] | None = None) -> SweepPage:
        """The page of the database as it is now, on which to pick a cluster; a notebook shows it.

        Parameters
        ----------
        recommendation : path-like, optional
            A recommendation.json, of which the page shows what the answer depends on.

        Raises
        ------
        RuntimeError
            Where the package was built without the program, or this fails.
        ValueError
            With the message of the program, for files that it refuses.
        """
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "planning.html"
            words = [] if recommendation is None else ["--recommendation", os.fspath(recommendation)]
            run_program("Sweep.page()", "page", self._path, *words, "--out", str(page))
            return SweepPage(page.read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"Sweep of {self.n_points} points and {len(self._data)} columns"


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read the database of a sweep, which may still be running.

    Parameters
    ----------
    path : path-like
        What `packsim sweep --out` names.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no database of a sweep.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"{name}: no such file")
    connection = sqlite3.connect(f"{Path(name).absolute().as_uri()}?mode=ro", uri=True)
    try:
        facts = dict(connection.execute("SELECT fact, value FROM sweep"))
        described = connection.execute("SELECT name, type FROM pragma_table_info('points')").fetchall()
        rows = connection.execute("SELECT * FROM points ORDER BY point").fetchall()
    except sqlite3.DatabaseError as error:
        raise ValueError(
            f"{name}: expected a database of packsim sweep, got another file: {error}"
        ) from error
    finally:
        connection.close()
    values = list(zip(*rows, strict=True)) or [() for _ in described]
    return Sweep(
        facts,
        [
            (key, _TYPES.get(kind, "str"), list(of_key))
            for (key, kind), of_key in zip(described, values, strict=True)
        ],
        os.path.abspath(name),
    )
