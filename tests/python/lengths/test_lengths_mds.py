"""Lengths of MosaicML streaming data sets (MDS) come from their shards, and damaged ones are refused.

The files follow streaming/base/format/mds/writer.py and encodings.py of mosaicml-streaming.
"""

from __future__ import annotations

import bz2
import gzip
import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lengths_data import count_words, word_tokenizer
from trainer_formats import mds_array, write_mds

from packsim.lengths import LengthsError, measure_lengths

_TOKENIZER = word_tokenizer()
_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "zstd:3": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    "gz": gzip.compress,
    "bz2:9": bz2.compress,
}
_COLUMNS: dict[str, tuple[str, int | None]] = {
    "text": ("str", None),
    "any": ("ndarray", None),
    "typed": ("ndarray:uint16", None),
    "shaped": ("ndarray:int32:3", 12),
    "count": ("int", 8),
    "short": ("uint16", 2),
    "digits": ("str_int", None),
    "list": ("json", None),
    "picture": ("jpeg", None),
    "old": ("pkl", None),
}


def _message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(*arguments, **options)
    return str(caught.value)


class _Fatal:
    """A pickle that fails the test where it is loaded."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was loaded",))


def _sample(n_tokens: int) -> dict[str, bytes]:
    """Each column has the length, or is so long; `typed` takes a shape of two bytes from 256 on."""
    types = ("uint8", "uint16", "int32", "int64")
    return {
        "text": ("a " * n_tokens).encode(),
        "any": mds_array(np.zeros(n_tokens, types[n_tokens % 4]), False, False),
        "typed": mds_array(np.zeros(n_tokens, np.uint16), True, False),
        "shaped": mds_array(np.zeros(3, np.int32), True, True),
        "count": n_tokens.to_bytes(8, "little"),
        "short": n_tokens.to_bytes(2, "little"),
        "digits": str(n_tokens).encode(),
        "list": json.dumps([1] * n_tokens).encode(),
        "picture": b"\xff" * n_tokens,
        "old": pickle.dumps(_Fatal()),
    }


@settings(max_examples=30, deadline=None)
@given(
    shards=st.lists(st.lists(st.integers(1, 400), min_size=1, max_size=6), min_size=1, max_size=3),
    compression=st.sampled_from([None, *_COMPRESSIONS]),
    batch_samples=st.integers(1, 7),
)
def test_every_encoding_gives_the_lengths_in_the_order_of_the_index(
    shards: list[list[int]], compression: str | None, batch_samples: int
) -> None:
    lengths = [n_tokens for shard in shards for n_tokens in shard]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = [[_sample(n_tokens) for n_tokens in shard] for shard in shards]
        write_mds(folder, _COLUMNS, samples, compression, _COMPRESSIONS.get(compression or ""))
        for column in ("any", "typed", "count", "short", "digits", "list"):
            found = measure_lengths(folder, column=column, batch_samples=batch_samples)
            assert found.lengths_tokens.tolist() == lengths, column
        shaped = measure_lengths(folder / "index.json", column="shaped", batch_samples=batch_samples)
        assert shaped.lengths_tokens.tolist() == [3] * len(lengths)
        texts = measure_lengths(folder, _TOKENIZER, column="text", batch_samples=batch_samples)
        assert texts.lengths_tokens.tolist() == lengths
        pictures = measure_lengths(folder, len, column="picture")
        assert pictures.lengths_tokens.tolist() == lengths


def test_processes_and_the_cache_give_the_same(tmp_path: Path) -> None:
    folder, cache = tmp_path / "data", tmp_path / "cache"
    write_mds(folder, _COLUMNS, [[_sample(n) for n in (2, 9, 1)], [_sample(4)]], "gz", gzip.compress)
    for processes, n_cached in ((1, 0), (2, 3), (1, 3)):
        lengths = measure_lengths(
            folder, _TOKENIZER, column="text", batch_samples=2, processes=processes, cache=cache
        )
        assert lengths.lengths_tokens.tolist() == [2, 9, 1, 4]
        assert lengths.cache_use.n_cached == n_cached
    # A chunk that is in the cache is passed over, and the ones after it are still right.
    (chunk,) = (path for path in cache.rglob("00000001.chunk"))
    chunk.unlink()
    (chunk.parent / "complete").unlink()
    again = measure_lengths(folder, _TOKENIZER, column="text", batch_samples=2, cache=cache)
    assert again.lengths_tokens.tolist() == [2, 9, 1, 4]
    assert (again.cache_use.n_cached, again.cache_use.n_measured) == (2, 1)


def test_labels_beside_token_ids_count_without_the_first(tmp_path: Path) -> None:
    columns: dict[str, tuple[str, int | None]] = {"ids": ("ndarray:int32", None), "labels": ("json", None)}
    sample = {"ids": mds_array(np.arange(4, dtype=np.int32), True, False), "labels": b"[1, -100, 2, 3]"}
    write_mds(tmp_path, columns, [[sample]])
    lengths = measure_lengths(tmp_path, column="ids", labels_column="labels")
    assert lengths.lengths_tokens.tolist() == [4]
    assert lengths.loss_tokens is not None
    assert lengths.loss_tokens.tolist() == [2]


def test_whole_samples_are_mappings_without_pickles(tmp_path: Path) -> None:
    write_mds(tmp_path, _COLUMNS, [[_sample(3), _sample(5)]])

    def tokenize(sample: dict[str, Any]) -> int:
        assert sorted(sample) == sorted(set(_COLUMNS) - {"old"})
        return len(sample["any"]) + int(sample["count"])

    assert measure_lengths(tmp_path, tokenize).lengths_tokens.tolist() == [6, 10]


def test_streams_are_given_one_by_one(tmp_path: Path) -> None:
    for name, n_tokens in (("a", 2), ("b", 3)):
        write_mds(tmp_path / name, _COLUMNS, [[_sample(n_tokens)]])
    for source in ([tmp_path / "b", tmp_path / "a"], str(tmp_path / "{b,a}")):
        assert measure_lengths(source, column="count").lengths_tokens.tolist() == [3, 2]
    assert measure_lengths(str(tmp_path / "*"), column="count").lengths_tokens.tolist() == [2, 3]
    assert _message(tmp_path, column="count") == (
        f"{tmp_path}: expected files, got data sets or links in it; give them one by one: "
        f"{tmp_path}/a, {tmp_path}/b"
    )


def test_the_raw_shard_is_taken_where_both_are_there(tmp_path: Path) -> None:
    write_mds(tmp_path, _COLUMNS, [[_sample(3)]], "br", lambda content: b"packed")
    message = _message(tmp_path, column="count")
    assert message == (
        f"{tmp_path}/index.json: shard 0: expected a compression of gz, bz2, zstd, got br; "
        f"unpack {tmp_path}/shard.00000.mds.br"
    )
    index = (tmp_path / "index.json").read_text()
    write_mds(tmp_path, _COLUMNS, [[_sample(3)]])
    (tmp_path / "index.json").write_text(index)
    assert measure_lengths(tmp_path, column="count").lengths_tokens.tolist() == [3]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {},
            "expected column to be one of any, count, digits, list, old, picture, shaped, short, text, typed",
        ),
        ({"column": "ids"}, "expected a column ids, got columns any, count, digits, "),
        ({"column": "text"}, "column text: expected token ids, or lengths, got str"),
        (
            {"column": "old"},
            "column old: expected token ids, or lengths, got pkl, whose code would run while",
        ),
        (
            {"column": "old", "tokenize": len},
            "column old: expected anything but pickles, got pkl, whose code",
        ),
        (
            {"column": "picture"},
            "column picture: expected token ids, or lengths, got jpeg; give a function of",
        ),
        ({"column": "any", "labels_column": "count"}, "column count: expected labels, got int"),
        ({"column": "any", "tokenize": _TOKENIZER}, "column any: expected text, got ndarray"),
    ],
)
def test_columns_that_give_no_lengths_are_told_once(
    options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    write_mds(tmp_path, _COLUMNS, [[_sample(3)], [_sample(4)]])
    message = _message(tmp_path, **options)
    assert message.startswith(f"{tmp_path}/index.json: {expected}")
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("encoding", "content", "expected"),
    [
        ("ndarray", b"", "an array (ndarray), got 0 bytes that are none"),
        ("ndarray", b"\x07\x04\x01", "an array (ndarray), got 3 bytes that are none"),
        ("ndarray:int32", b"\x05\x01", "an array (ndarray:int32), got 2 bytes that are none"),
        ("ndarray:object", b"\x04\x01", "an array (ndarray:object), got 2 bytes that are none"),
        ("ndarray:int32", b"\x04\x02\0\0\0\0", "8 bytes, as shape (2,) of int32 takes, got 4"),
        ("ndarray:int32:2", b"\0\0\0\0", "8 bytes, as shape (2,) of int32 takes, got 4"),
        ("ndarray:float32", b"\x04\x01\0\0\0\0", "integers, got an array of float32"),
        ("int", b"\0\0\0\0", "int, got 4 bytes"),
        ("str_int", b"x", "str_int, got 1 bytes"),
        ("json", b"[1,", "JSON, got bytes b'[1,'"),
        ("json", b"null", "a value in column x, got None"),
        ("ndarray:int32", b"\x08\x01\x01\0\0\0\0", "a list of token ids, a length, or a mapping with"),
    ],
)
def test_bad_values_are_bad_rows_with_their_shard(
    encoding: str, content: bytes, expected: str, tmp_path: Path
) -> None:
    write_mds(tmp_path, {"x": (encoding, None)}, [[{"x": content}]])
    message = _message(tmp_path, column="x")
    assert message.startswith(f"{tmp_path}/shard.00000.mds: row 0: ")
    assert f"expected {expected}" in message


def test_text_that_is_no_utf_8_is_a_bad_row(tmp_path: Path) -> None:
    write_mds(tmp_path, {"text": ("str", None)}, [[{"text": b"a"}, {"text": b"\xff"}]])
    message = _message(tmp_path, count_words, column="text")
    assert message.startswith(f"{tmp_path}/shard.00000.mds: row 1: column text: expected UTF-8 text, got ")


@pytest.mark.parametrize("compression", [None, *_COMPRESSIONS])
def test_a_changed_byte_and_a_truncation_are_refused(compression: str | None, tmp_path: Path) -> None:
    compress = _COMPRESSIONS.get(compression or "")
    write_mds(tmp_path, {"n": ("int", 8)}, [[{"n": bytes(8)}]], compression, compress)
    (path,) = tmp_path.glob("*.mds*")
    right = path.read_bytes()
    for at in range(len(right)):
        path.write_bytes(right[:at] + bytes([right[at] ^ 1]) + right[at + 1 :])
        assert f"{path}: expected sha1 " in _message(tmp_path, column="n")
    for at in range(0, len(right), 10):
        path.write_bytes(right[:at])
        expected = f"{path}: expected {len(right)} bytes, as its index says, got {at}"
        assert _message(tmp_path, column="n") == expected


_NO_HASHES: dict[str, Any] = {"hashes": {}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"samples": 3}, "shard.00000.mds: expected 3 samples, as its index says, got 2"),
        ({"samples": -1}, "index.json: shard 0: samples: expected a count, got int -1"),
        ({"format": "json"}, "index.json: shard 0: expected format mds of version 2, got json of 2"),
        ({"version": 1}, "index.json: shard 0: expected format mds of version 2, got mds of 1"),
        ({"raw_data": None}, "index.json: shard 0: expected an entry as MDSWriter makes it, got "),
        (
            {"column_names": ["m"]},
            "shard.00000.mds: column_names: expected ['m'], as its index says, got ['n']",
        ),
        (
            {"column_names": ["n", "m"]},
            "index.json: shard 0: expected a name, an encoding and a size for each",
        ),
        (
            {"column_sizes": [None]},
            "shard.00000.mds: column_sizes: expected [None], as its index says, got [8]",
        ),
        (
            {"column_sizes": ["8"]},
            "index.json: shard 0: column_sizes: expected a count, got str '8'",
        ),
        (
            {"raw_data": {"basename": "x.mds", "bytes": 1, "hashes": {}}},
            "index.json: shard 0: expected a file {folder}/x.mds, found none",
        ),
        (
            {
                "raw_data": {"basename": "x.mds", "bytes": 1},
                "zip_data": {"basename": "x.gz"},
                "compression": "gz",
            },
            "index.json: shard 0: expected a file {folder}/x.gz, or x.mds beside it, found neither",
        ),
    ],
)
def test_an_index_that_does_not_fit_its_shards_is_refused(
    change: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    write_mds(tmp_path, {"n": ("int", 8)}, [[{"n": bytes(8)}] * 2])
    index = json.loads((tmp_path / "index.json").read_text())
    index["shards"][0] |= change
    (tmp_path / "index.json").write_text(json.dumps(index))
    column = change.get("column_names", ["n"])[0]
    assert _message(tmp_path, column=column).startswith(f"{tmp_path}/{expected.format(folder=tmp_path)}")


def test_an_encoding_with_more_than_the_format_has_is_an_unknown_one(tmp_path: Path) -> None:
    write_mds(tmp_path, {"n": ("int:8", 8)}, [[{"n": bytes(8)}]])
    expected = "index.json: column n: expected token ids, or lengths, got int:8; give a function of them"
    assert expected in _message(tmp_path, column="n")


@pytest.mark.parametrize(
    ("at", "value", "expected"),
    [
        (4, 0, "expected offsets from at least 16 to 136, got 0 to 136"),
        (8, 1000, "row 1: expected an end behind its start 1000, got 136"),
        (12, 135, "expected offsets from at least 16 to 136, got 120 to 135"),
        (8, 129, "row 0: expected a sample of 8 bytes, got 9"),
        (4, 17, "expected JSON of its columns, got "),
    ],
)
def test_a_shard_without_hashes_is_checked_by_its_offsets(
    at: int, value: int, expected: str, tmp_path: Path
) -> None:
    # 2 samples of 8 bytes end at byte 136; the three offsets are bytes 4 to 15.
    write_mds(tmp_path, {"n": ("int", 8)}, [[{"n": bytes(8)}] * 2])
    index = json.loads((tmp_path / "index.json").read_text())
    index["shards"][0]["raw_data"]["hashes"] = {}
    (tmp_path / "index.json").write_text(json.dumps(index))
    path = tmp_path / "shard.00000.mds"
    content = bytearray(path.read_bytes())
    assert len(content) == 136
    content[at : at + 4] = value.to_bytes(4, "little")
    path.write_bytes(content)
    assert _message(tmp_path, column="n").startswith(f"{path}: {expected}")


def test_missing_shards_are_counted_and_ten_are_shown(tmp_path: Path) -> None:
    write_mds(tmp_path, {"n": ("int", 8)}, [[{"n": bytes(8)}]] * 12)
    for path in tmp_path.glob("*.mds"):
        path.unlink()
    lines = _message(tmp_path, column="n").splitlines()
    expected = f"{tmp_path}/index.json: shard 9: expected a file {tmp_path}/shard.00009.mds, found none"
    assert lines[9:] == [expected, "12 mistakes; these are the first 10"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{}", "expected an index with shards or shardlist, got none"),
        ('{"shards": [', "expected a JSON object, got Expecting value: line 1"),
        ('{"shards": [], "version": 1}', "expected a list of shards of version 2, got version 1"),
    ],
)
def test_an_index_of_another_kind_is_refused(content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(content)
    assert _message(tmp_path, column="n").startswith(f"{tmp_path}/index.json: {expected}")
