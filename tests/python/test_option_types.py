"""Type checkers know the options that strategies read: python/packsim/_option_types.py says what the records say.

python tests/python/test_option_types.py writes the file again, after an option was added or changed.
"""

from __future__ import annotations

from pathlib import Path

import packsim

FILE = Path(__file__).resolve().parents[2] / "python/packsim/_option_types.py"
_TYPES = {"boolean": "bool", "integer": "int", "seconds": "float", "word": "str"}


def text() -> str:
    """The file as the records of all strategies' options say. `seed` is an argument of its own."""
    types: dict[str, str] = {}
    for strategy in packsim.strategies():
        for option in packsim.options(strategy.name):
            if option.name != "seed":
                types[option.name] = _TYPES[option.kind] + (" | None" if option.is_optional else "")
    members = "".join(f"    {name}: {types[name]}\n" for name in sorted(types))
    return f'''"""Written by tests/python/test_option_types.py from the records of strategies' options."""

from __future__ import annotations

from typing_extensions import TypedDict


class Options(TypedDict, total=False):
    """The options of all strategies, for type checkers. Each strategy reads some: packsim.options()."""

{members}'''


def test_the_types_of_options_are_those_of_their_records() -> None:
    assert FILE.read_text() == text()


if __name__ == "__main__":
    FILE.write_text(text())
