"""Lengths of WebDataset shards: samples are grouped as the library does it, and a damaged .tar is refused.

Names are split as webdataset/tariterators.py does it; the index follows wids/wids_index.py.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lengths_data import count_words, word_tokenizer
from trainer_formats import npy, write_tar

from packsim.lengths import LengthsError, measure_lengths

_TOKENIZER = word_tokenizer()


def _message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(*arguments, **options)
    return str(caught.value)


def _files(key: str, n_tokens: int) -> list[tuple[str, bytes]]:
    content = {"text": "a " * n_tokens, "ids": [1] * n_tokens, "n": n_tokens}
    return [
        (f"{key}.jpg", b"\xff" * 700),
        (f"{key}.txt", content["text"].encode()),
        (f"{key}.json", json.dumps(content).encode()),
        (f"{key}.input_ids.npy", npy(np.arange(n_tokens, dtype=np.uint16))),
    ]


def _write(path: Path, lengths: list[int], mode: str = "w") -> Path:
    write_tar(path, [file for row, n in enumerate(lengths) for file in _files(f"{row:06d}", n)], mode)
    return path


@settings(max_examples=20, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 300), min_size=1, max_size=9),
    batch_samples=st.integers(1, 10),
    ending=st.sampled_from(["tar", "tar.gz", "tgz"]),
)
def test_every_column_gives_the_lengths_in_the_order_of_the_shard(
    lengths: list[int], batch_samples: int, ending: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = _write(Path(folder) / f"shard.{ending}", lengths, "w" if ending == "tar" else "w:gz")
        for column, tokenize in (
            ("txt", _TOKENIZER),
            ("json/text", _TOKENIZER),
            ("json/ids", None),
            ("json/n", None),
            ("input_ids.npy", None),
            ("json", lambda content: content["n"]),
        ):
            found = measure_lengths(path, tokenize, column=column, batch_samples=batch_samples)
            assert found.lengths_tokens.tolist() == lengths, column


def test_processes_and_the_cache_give_the_same(tmp_path: Path) -> None:
    path, cache = _write(tmp_path / "shard.tar", [3, 1, 4, 1, 5]), tmp_path / "cache"
    for processes, n_cached in ((1, 0), (2, 3)):
        lengths = measure_lengths(
            path, _TOKENIZER, column="txt", batch_samples=2, processes=processes, cache=cache
        )
        assert lengths.lengths_tokens.tolist() == [3, 1, 4, 1, 5]
        assert lengths.cache_use.n_cached == n_cached


def test_braces_and_patterns_name_shards_in_order(tmp_path: Path) -> None:
    for number in range(11):
        _write(tmp_path / f"shard-{number:06d}.tar", [number])
    every = list(range(11))
    for source, expected in (
        ("shard-{000000..000010}.tar", every),
        ("shard-00000{8..9}.tar", [8, 9]),
        ("shard-0000{10,02}.tar", [10, 2]),
        ("shard-0000{0,1}{0..0}.tar", [0, 10]),
        ("*.tar", every),
        ("shard-00000{1,2}*.tar", [1, 2]),
    ):
        found = measure_lengths(f"{tmp_path}/{source}", count_words, column="txt")
        assert found.lengths_tokens.tolist() == expected, source
    assert measure_lengths(tmp_path, count_words, column="txt").lengths_tokens.tolist() == every


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{3..1}.tar", "expected a range that rises by up to 10000000, got {3..1}"),
        ("{0..99999999}.tar", "expected a range that rises by up to 10000000, got {0..99999999}"),
        ("{1,{2,3}}.tar", "expected braces that are closed and not nested, got others"),
        ("{1..3.tar", "expected braces that are closed and not nested, got others"),
    ],
)
def test_braces_that_name_nothing_are_refused(pattern: str, expected: str, tmp_path: Path) -> None:
    assert _message(f"{tmp_path}/{pattern}", count_words, column="txt") == f"{tmp_path}/{pattern}: {expected}"


def test_missing_shards_of_a_range_come_at_once(tmp_path: Path) -> None:
    _write(tmp_path / "1.tar", [1])
    lines = _message(f"{tmp_path}/{{0..2}}.tar", count_words, column="txt").splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"{tmp_path}/0.tar", f"{tmp_path}/2.tar"]


_NAMES = [
    ("__meta__/0.txt", b"a"),
    ("README", b"a a a a"),
    ("a.b/0.TXT", b"a"),  # a dot of a folder ends no key, and columns are in lower case
    ("a.b/0.seg.txt", b"a a a"),
    ("a.b/.hidden", b""),
    ("c/0.txt", b"a a"),
    ("a.b/0.txt", b""),  # a key that comes back is another sample
]


def test_names_are_split_at_the_first_dot_and_others_belong_to_no_sample(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", _NAMES)
    assert measure_lengths(tmp_path / "x.tar", count_words, column="txt").lengths_tokens.tolist() == [1, 2, 0]


def test_whole_samples_are_mappings_without_pickles(tmp_path: Path) -> None:
    code = b"cpytest\nfail\n(S'a pickle was loaded'\ntR."
    with pytest.raises(pytest.fail.Exception):
        pickle.loads(code)
    write_tar(tmp_path / "x.tar", [*_files("0", 2), ("0.pyd", code), ("0.cls", b"7")])

    def tokenize(sample: dict[str, Any]) -> int:
        assert sorted(sample) == ["cls", "input_ids.npy", "jpg", "json", "txt"]
        assert (sample["cls"], sample["json"]["n"]) == (b"7", 2)
        return len(sample["input_ids.npy"]) + len(sample["txt"])

    assert measure_lengths(tmp_path / "x.tar", tokenize).lengths_tokens.tolist() == [2 + 4]
    expected = "WebDataset: column pyd: expected anything but pickles, got pyd, whose code would run while it"
    assert _message(tmp_path / "x.tar", len, column="pyd").startswith(expected)


def test_labels_in_json_count_without_the_first(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", [("0.json", b'{"ids": [1, 2, 3, 4], "labels": [5, -100, 6, 7]}')])
    lengths = measure_lengths(tmp_path / "x.tar", column="json/ids", labels_column="json/labels")
    assert lengths.lengths_tokens.tolist() == [4]
    assert lengths.loss_tokens is not None
    assert lengths.loss_tokens.tolist() == [2]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "column: expected an extension of the files in a sample, such as txt or json/text, got None"),
        ({"column": "txt"}, "WebDataset: column txt: expected token ids, or lengths, got txt"),
        (
            {"column": "jpg"},
            "WebDataset: column jpg: expected token ids, or lengths, got jpg; give a function",
        ),
        (
            {"column": "ids.npy", "tokenize": _TOKENIZER},
            "WebDataset: column ids.npy: expected text, got ids.npy",
        ),
        ({"column": "txt/a", "tokenize": len}, "WebDataset: column txt/a: expected json/KEY, got another"),
    ],
)
def test_columns_that_give_no_lengths_are_told_once(
    options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    for name in ("1.tar", "2.tar"):
        _write(tmp_path / name, [1])
    message = _message(tmp_path / "*.tar", **options)
    assert message.startswith(expected)
    assert len(message.splitlines()) == 1


def _npy_of_objects() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{}], object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "column", "expected"),
    [
        ("txt", b"a", "json/n", "expected a column json/n, got columns txt"),
        ("json", b"{", "json/n", "column json/n: expected JSON, got bytes b'{'"),
        ("json", b"[1]", "json/n", "column json/n: expected an object with n, got list"),
        ("json", b'{"m": 1}', "json/n", "column json/n: expected an object with n, got keys m"),
        ("json", b'{"n": null}', "json/n", "expected a value in column json/n, got None"),
        (
            "json",
            b'{"n": "a"}',
            "json/n",
            "expected a list of token ids, a length, or a mapping with input_ids",
        ),
        ("npy", b"", "npy", "column npy: expected a NumPy file, got "),
        (
            "npy",
            npy([1, 2])[:-1],
            "npy",
            "column npy: expected 16 bytes, as shape (2,) of int64 takes, got 15",
        ),
        ("npy", npy([1.5]), "npy", "column npy: expected integers, got an array of float64"),
        ("npy", npy([[1]]), "npy", "expected a list of token ids, a length, or a mapping with input_ids"),
        (
            "npy",
            _npy_of_objects(),
            "npy",
            "column npy: expected numbers, got Python objects, whose code would",
        ),
    ],
)
def test_bad_samples_are_bad_rows_with_their_key(
    name: str, content: bytes, column: str, expected: str, tmp_path: Path
) -> None:
    write_tar(tmp_path / "x.tar", [(f"k.{name}", content)])
    message = _message(tmp_path / "x.tar", column=column)
    assert message.startswith(f"{tmp_path}/x.tar: row 0 (k): {expected}")
    assert len(message.splitlines()) == 1


def test_two_files_of_one_column_are_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", [("0.txt", b"a"), ("0.TXT", b"a")])
    expected = f"{tmp_path}/x.tar: expected one file 0.TXT in a sample, got two"
    assert _message(tmp_path / "x.tar", count_words, column="txt") == expected


@pytest.mark.parametrize("is_packed", [False, True])
def test_every_truncation_is_refused(is_packed: bool, tmp_path: Path) -> None:
    whole = _write(tmp_path / "x.tar", [2, 3, 1]).read_bytes()
    path = tmp_path / ("x.tar.gz" if is_packed else "x.tar")
    # The archive ends with blocks of zeros, of which the first is enough.
    with tarfile.open(tmp_path / "x.tar") as tar:
        last = tar.getmembers()[-1]
    end = last.offset_data + -(-last.size // 512) * 512 + 512
    for n_bytes in [*range(0, end, 512), end - 1, end - 513, 700]:
        path.write_bytes(gzip.compress(whole[:n_bytes], 1) if is_packed else whole[:n_bytes])
        assert f"{path}: expected " in _message(path, count_words, column="txt"), n_bytes
    path.write_bytes(gzip.compress(whole[:end]) if is_packed else whole[:end])
    assert measure_lengths(path, count_words, column="txt").lengths_tokens.tolist() == [2, 3, 1]


def test_a_damaged_head_is_no_end_of_the_archive(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.tar", [2, 3])
    with tarfile.open(path) as tar:
        heads = [member.offset for member in tar.getmembers()]
    right = path.read_bytes()
    for at in heads[1:]:
        wrong = bytearray(right)
        wrong[at + 3] ^= 1
        path.write_bytes(wrong)
        expected = (
            f"{path}: expected a block of zeros at the end of the archive, got a damaged head of a file"
        )
        assert _message(path, count_words, column="txt") == expected


def _write_index(folder: Path, **changes: Any) -> Path:
    shards = [{"url": f"{name}.tar", "nsamples": n, "filesize": 0} for name, n in (("b", 2), ("a", 1))]
    index = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": shards} | changes
    (folder / "shardindex.json").write_text(json.dumps(index, indent=2))
    return folder / "shardindex.json"


def test_an_index_of_wids_gives_its_shards_in_its_order(tmp_path: Path) -> None:
    _write(tmp_path / "a.tar", [7])
    _write(tmp_path / "b.tar", [1, 2])
    totals: list[int | None] = []
    lengths = measure_lengths(
        _write_index(tmp_path), count_words, column="txt", progress=lambda _, total: totals.append(total)
    )
    assert lengths.lengths_tokens.tolist() == [1, 2, 7]
    assert set(totals) == {3}
    (tmp_path / "below").mkdir()
    for base in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        lengths = measure_lengths(_write_index(tmp_path / "below", base=base), count_words, column="txt")
        assert lengths.lengths_tokens.tolist() == [1, 2, 7]


def test_a_shard_of_another_number_of_samples_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "a.tar", [7, 7])
    _write(tmp_path / "b.tar", [1, 2])
    message = _message(_write_index(tmp_path), count_words, column="txt", batch_samples=1)
    assert message == f"{tmp_path}/a.tar: expected 1 samples, as its index says, got 2"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"wids_version": 2}, "expected a shardlist of wids_version 1, got 2"),
        ({"datasets": [{"source_url": "x.json"}]}, "expected a shardlist alone, got datasets, too"),
        ({"base": "https://x/y"}, "shard 0: expected a file of this machine, got https://x/y"),
        ({"shardlist": [{"url": "gs://x/y.tar", "nsamples": 1}]}, "shard 0: expected a file of this machine"),
        (
            {"shardlist": [{"url": "y.tar", "nsamples": 1}]},
            "shard 0: expected a file {folder}/y.tar, found none",
        ),
        (
            {"shardlist": [{"url": "y.tar"}]},
            "shard 0: expected a url and a count nsamples, got dict with url",
        ),
        ({"shardlist": ["y.tar"]}, "shard 0: expected a url and a count nsamples, got str 'y.tar'"),
    ],
)
def test_an_index_of_no_local_shards_is_refused(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    index = _write_index(tmp_path, **changes)
    message = _message(index, count_words, column="txt")
    assert message.startswith(f"{index}: {expected.format(folder=tmp_path)}")


def test_the_library_groups_the_same_samples(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    write_tar(tmp_path / "x.tar", _NAMES)
    texts = [sample["txt"] for sample in webdataset.WebDataset(f"{tmp_path}/x.tar", shardshuffle=False)]
    assert texts == [b"a", b"a a", b""]
    with webdataset.ShardWriter(f"{tmp_path}/s-%06d.tar", maxcount=4, verbose=0) as writer:
        for number in range(10):
            text = "a " * (number * 7 % 5)
            ids = np.arange(number, dtype=np.int32)
            writer.write({"__key__": f"{number:06d}", "txt": text, "ids.npy": ids, "json": {"text": text}})
    shards = f"{tmp_path}/s-{{000000..000002}}.tar"
    samples = list(webdataset.WebDataset(shards, shardshuffle=False).decode())
    assert len(samples) == 10
    expected = [len(sample["txt"].split()) for sample in samples]
    for column in ("txt", "json/text"):
        assert measure_lengths(shards, count_words, column=column).lengths_tokens.tolist() == expected
    ids_found = measure_lengths(shards, column="ids.npy").lengths_tokens.tolist()
    assert ids_found == [len(sample["ids.npy"]) for sample in samples]
