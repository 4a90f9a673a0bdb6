"""Objects of report.json, whose members are attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """An object of report.json. `record.key` and `record["key"]` are its members; null is None.

    Objects in it are records, and arrays are tuples. docs/report.md says what they mean.
    """

    def __init__(self, members: dict[str, Any], place: str) -> None:
        self._members = members
        self._place = place

    def __getitem__(self, key: str) -> Any:
        return _value(self._members[key], f"{self._place}.{key}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of Python itself, such as those of copies
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self._members)
            raise AttributeError(f"{self._place}: expected one of {known}, got {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place}: {', '.join(self._members)})"

    def to_dict(self) -> dict[str, Any]:
        """The object as `json.loads()` reads it; not a copy."""
        return self._members


def _value(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return Record(value, place)
    if isinstance(value, list):
        return tuple(_value(each, f"{place}[{i}]") for i, each in enumerate(value))
    return value
