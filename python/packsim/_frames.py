"""Rows as tables of other libraries, with types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from packsim._optional import import_optional

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Column = tuple[str, str, list[Any]]  # key, type (bool, int, float, str), value of each row or None

# What each library calls the types. All of them take None, so that a column has its type in every table.
_ARROW = {"bool": "bool_", "int": "int64", "float": "float64", "str": "string"}
_PANDAS = {"bool": "boolean", "int": "Int64", "float": "float64", "str": "string"}
_POLARS = {"bool": "Boolean", "int": "Int64", "float": "Float64", "str": "String"}


class Table(ABC):
    """What has rows: the runs of a report, the candidates of a recommendation, the points of a sweep."""

    @abstractmethod
    def _columns(self) -> Sequence[Column]: ...

    def to_arrow(self) -> pyarrow.Table:
        """The rows, with columns of bool, int64, float64 and string; needs pyarrow."""
        arrow = import_optional("pyarrow", "to_arrow()", "frames")
        types = {kind: getattr(arrow, name)() for kind, name in _ARROW.items()}
        return arrow.table({key: arrow.array(values, types[kind]) for key, kind, values in self._columns()})

    def to_pandas(self) -> pandas.DataFrame:
        """The same as boolean, Int64, float64 and string; missing values are <NA> or nan. Needs pandas."""
        pandas = import_optional("pandas", "to_pandas()", "frames")
        return pandas.DataFrame(
            {key: pandas.Series(values, dtype=_PANDAS[kind]) for key, kind, values in self._columns()}
        )

    def to_polars(self) -> polars.DataFrame:
        """The same as Boolean, Int64, Float64 and String; needs polars."""
        polars = import_optional("polars", "to_polars()", "frames")
        schema = {key: getattr(polars, _POLARS[kind]) for key, kind, _ in self._columns()}
        return polars.DataFrame({key: values for key, _, values in self._columns()}, schema=schema)
