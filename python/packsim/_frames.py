"""The rows of report.csv as tables of other libraries, with types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from packsim._optional import import_optional

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Column = tuple[str, str, list[Any]]  # key, type (bool, int, float, str), value of each run or None

# What each library calls the types. All of them take None, so that a column has its type in every report.
_ARROW = {"bool": "bool_", "int": "int64", "float": "float64", "str": "string"}
_PANDAS = {"bool": "boolean", "int": "Int64", "float": "float64", "str": "string"}
_POLARS = {"bool": "Boolean", "int": "Int64", "float": "Float64", "str": "String"}


def arrow_table(columns: Sequence[Column]) -> pyarrow.Table:
    arrow = import_optional("pyarrow", "to_arrow()", "frames")
    types = {kind: getattr(arrow, name)() for kind, name in _ARROW.items()}
    return arrow.table({key: arrow.array(values, types[kind]) for key, kind, values in columns})


def pandas_frame(columns: Sequence[Column]) -> pandas.DataFrame:
    pandas = import_optional("pandas", "to_pandas()", "frames")
    return pandas.DataFrame(
        {key: pandas.Series(values, dtype=_PANDAS[kind]) for key, kind, values in columns}
    )


def polars_frame(columns: Sequence[Column]) -> polars.DataFrame:
    polars = import_optional("polars", "to_polars()", "frames")
    schema = {key: getattr(polars, _POLARS[kind]) for key, kind, _ in columns}
    return polars.DataFrame({key: values for key, _, values in columns}, schema=schema)
