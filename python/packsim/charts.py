"""The charts of a report as Altair objects, to show in a notebook, change and save.

>>> import packsim.charts
>>> charts = packsim.charts.load("packsim-report")
>>> charts["gpu_days"]
>>> charts["gpu_days"].properties(title="Our job").save("gpu_days.svg")

Needs `pip install packsim[plot]`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packsim._optional import import_optional

if TYPE_CHECKING:
    import altair

__all__ = ["Charts", "load"]

_Spec = dict[str, Any]
_PARTS = ("layer", "concat", "hconcat", "vconcat")


class Charts(Mapping[str, "altair.TopLevelMixin"]):
    """The charts of a report by name, in the order of its page.

    A chart is the Altair object of its kind, such as `altair.LayerChart` or `altair.FacetChart`. It holds the
    theme of the page and the data sets that it shows. Each look-up makes a new one, so that changes stay with
    who made them.
    """

    def __init__(self, path: Path, document: _Spec, width_px: int) -> None:
        self._path = path
        self._document = document
        self._width_px = width_px

    def __getitem__(self, name: str) -> altair.TopLevelMixin:
        return _altair().Chart.from_dict(self.spec(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._document["specs"])

    def __len__(self) -> int:
        return len(self._document["specs"])

    def __repr__(self) -> str:
        return f"Charts({', '.join(self)})"

    def spec(self, name: str) -> _Spec:
        """The chart as one whole Vega-Lite spec, as `packsim plot --out NAME.json` writes it."""
        if name not in self._document["specs"]:
            raise KeyError(f"{self._path}: expected one of {', '.join(self)}, got {name!r}")
        spec: _Spec = json.loads(json.dumps(self._document["specs"][name]))
        _set_width(spec, self._width_px)
        own = spec.get("datasets", {})
        used = {each: self._rows(each, name) for each in sorted(_data_sets(spec) - own.keys())}
        spec["datasets"] = {**own, **used}
        theme = {**self._document["theme"], "background": "white"}  # a page has a background of its own
        spec["config"] = _merged(theme, spec.get("config", {}))
        return spec

    def _rows(self, data_set: str, chart: str) -> Any:
        try:
            return self._document["datasets"][data_set]
        except KeyError:
            message = f"{self._path}: /specs/{chart}: expected data sets of the file, got {data_set!r}"
            raise ValueError(message) from None


def load(path: str | os.PathLike[str], *, width_px: int = 900) -> Charts:
    """Reads the charts of a report that `packsim compare` or `packsim run` wrote.

    Parameters
    ----------
    path
        The folder of the report, or its charts.json.
    width_px
        The width of charts that fill the page. `Chart.properties(width=...)` changes one chart.

    Raises
    ------
    FileNotFoundError
        If there is no charts.json, as older versions wrote none.
    ValueError
        If the file is not one that `packsim` wrote.
    ImportError
        If Altair is not installed, with how to install it.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "charts.json"
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: no such file: run packsim compare again with --out {path.parent}"
            )
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error
    return of_document(document, path, width_px)


def of_document(document: Any, path: Path, width_px: int) -> Charts:
    """The charts of what charts.json says. path: for messages. Raises as `load()`."""
    _altair()
    for key in ("theme", "specs", "datasets"):
        if not isinstance(document, dict) or not isinstance(document.get(key), dict):
            raise ValueError(f"{path}: /{key}: expected an object, as in charts.json of a report")
    return Charts(path, document, width_px)


def _altair() -> Any:
    return import_optional("altair", "packsim.charts", "plot")


def _set_width(view: _Spec, width_px: int) -> None:
    if view.get("width") == "container":
        view["width"] = width_px
    for part in [*(part for key in _PARTS for part in view.get(key, [])), view.get("spec")]:
        if isinstance(part, dict):
            _set_width(part, width_px)


def _data_sets(node: Any) -> set[str]:
    """The names in {"data": {"name": ...}} of views and look-ups; rows in a spec are no views."""
    names: set[str] = set()
    if isinstance(node, dict):
        data = node.get("data")
        if (
            isinstance(data, dict)
            and isinstance(data.get("name"), str)
            and not {"values", "url"} & data.keys()
        ):
            names.add(data["name"])
        for key, child in node.items():
            if key not in ("values", "datasets", "usermeta"):
                names |= _data_sets(child)
    elif isinstance(node, list):
        for child in node:
            names |= _data_sets(child)
    return names


def _merged(under: _Spec, over: _Spec) -> _Spec:
    """Both objects; where both have a value, that of `over`."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
