#!/usr/bin/env python3
"""dictionary.py FOLDER: prints the words of a corpus as a dictionary for libFuzzer.

Words are what stands between quotes, keys with their colon, and names such as the columns of a CSV file.
"""

import re
import sys
from pathlib import Path

QUOTED = re.compile(rb"""(["'][\w<|][^"'\\,:{}\[\]\x00-\x1f]{0,39}["'](?:\s*:)?)""")
NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{3,31}")
VALUES = [b"true", b"false", b"null", b"0", b"-1", b"1e400", b"0.5", b"16777216", b"9223372036854775808"]


def words(data: bytes) -> list[bytes]:
    # Bytes that are no text have no names worth keeping.
    names = NAME.findall(data) if b"\0" not in data else []
    return [re.sub(rb"\s+", b"", word) if word.endswith(b":") else word for word in QUOTED.findall(data)] + names


def escaped(word: bytes) -> str:
    return "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02X}" for c in word)


def main() -> None:
    found = {word for path in Path(sys.argv[1]).iterdir() for word in words(path.read_bytes())}
    for word in sorted(found) + (VALUES if found else []):
        print(f'"{escaped(word)}"')


if __name__ == "__main__":
    main()
