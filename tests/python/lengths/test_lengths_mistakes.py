"""Every mistake has its place, what was expected and what came; nothing is skipped."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lengths_data import byte_tokenizer, count_words, json_lines, word_tokenizer
from tokenizers import Tokenizer, models

from packsim.lengths import LONGEST_TOKENS, Lengths, LengthsError, measure_lengths

_TOKENIZER = word_tokenizer()


def _message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(*arguments, **options)
    return str(caught.value)


def test_missing_column_lists_the_columns_of_every_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"prompt": ["a"], "answer": ["b"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "2.parquet")
    (tmp_path / "3.csv").write_text("id,body\n1,a\n")
    assert _message(tmp_path / "*", _TOKENIZER, column="text").splitlines() == [
        f"{tmp_path}/1.parquet: expected a column text, got columns prompt, answer",
        f"{tmp_path}/3.csv: expected a column text, got columns id, body",
    ]


def test_missing_key_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a"}\n{"id": 1, "body": "a"}\n[1]\n')
    assert _message(path, _TOKENIZER, column="text").splitlines() == [
        f"{path}:2: expected a column text, got columns id, body",
        f"{path}:3: expected a mapping with text, got list [1]",
    ]


def test_column_of_a_type_without_lengths() -> None:
    table = pa.table({"x": [1.5], "y": [["a"]], "z": [b"a"], "i": [[1]]})
    tokens = "lists of token ids, or lengths"
    assert _message(table, column="x") == f"table: column x: expected {tokens}, got double"
    assert re.fullmatch(
        f"table: column y: expected {tokens}, got list<.*string>", _message(table, column="y")
    )
    assert _message(table, _TOKENIZER, column="z") == "table: column z: expected text, got binary"
    assert _message(table, _TOKENIZER, column="x") == "table: column x: expected text, got double"
    mistake = "table: column x: expected lists of labels, got double"
    assert _message(table, column="i", labels_column="x") == mistake
    assert "expected column to be one of x, y, z, i; got None" in _message(table, _TOKENIZER)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("batch_samples", [1, 2, 100])
@pytest.mark.parametrize("tokenize", [_TOKENIZER, count_words])
def test_row_without_text_is_a_mistake(processes: int, batch_samples: int, tokenize: Any) -> None:
    table = pa.table({"text": ["a", None, "b", None]})
    message = _message(table, tokenize, column="text", processes=processes, batch_samples=batch_samples)
    assert message.splitlines() == [
        "table: row 1: expected a value in column text, got None",
        "table: row 3: expected a value in column text, got None",
    ]


def test_row_without_token_ids_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"ids": [[1], None, [2]]}), path)
    expected = f"{path}: row 1: expected a value in column ids, got None"
    assert _message(path, column="ids", batch_samples=1) == expected


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("line", [b"{", b"", b'{"text": "\xff"}', b'{"text": 1}', b"{} {}"])
def test_bad_line_is_named_with_its_file(line: bytes, processes: int, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json_lines(["a", "b", "a"]) + line + b"\n" + json_lines(["a"]))
    message = _message(path, _TOKENIZER, column="text", batch_samples=2, processes=processes)
    assert message.startswith(f"{path}:4: expected ")
    assert len(message.splitlines()) == 1


def test_ten_bad_rows_are_shown_and_counted() -> None:
    # The tenth is row 9 * 2 = 18, in the chunk of rows 15 to 19.
    texts = [None if row % 2 == 0 else "a" for row in range(100)]
    for processes in (1, 2, 3):
        lines = _message(texts, count_words, batch_samples=5, processes=processes).splitlines()
        assert lines == [f"samples: row {row}: expected a sample, got None" for row in range(0, 20, 2)]
    lines = _message(texts, count_words, batch_samples=50).splitlines()
    assert lines[10:] == ["25 bad rows among the first 50; these are the first 10"]


class _Unpicklable(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def _fails_on_seven(text: str) -> int:
    if text == "7":
        raise KeyError("seven")
    if text == "8":
        raise _Unpicklable("no", "eight")
    return len(text)


@pytest.mark.parametrize("processes", [1, 2])
def test_exception_of_a_function_is_chained_and_its_row_named(processes: int) -> None:
    samples = [str(number) for number in range(10)]
    with pytest.raises(LengthsError) as caught:
        measure_lengths(samples, _fails_on_seven, batch_samples=3, processes=processes)
    assert str(caught.value).splitlines() == [
        "samples: row 7: expected a length from the tokenizer, got KeyError: 'seven'",
        "samples: row 8: expected a length from the tokenizer, got _Unpicklable: no eight",
    ]
    assert isinstance(caught.value.__cause__, KeyError)
    assert "_fails_on_seven" in "".join(getattr(caught.value.__cause__, "__notes__", []))
    with pytest.raises(LengthsError) as caught:
        measure_lengths(samples[8:], _fails_on_seven, processes=processes)
    assert str(caught.value.__cause__) == "_Unpicklable: no eight"


def test_exception_of_a_batched_function_names_the_rows_it_was_given() -> None:
    message = _message(["a", "b", "c"], lambda texts: 1 / 0, batched=True, batch_samples=2)
    assert message.splitlines()[0].startswith("samples: row 0 and the 1 after it: expected a length from")


def test_text_that_the_tokenizer_refuses_is_found_in_its_batch() -> None:
    # It has no token for words that it does not know.
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]"))
    message = _message(["a", "b", "a"], tokenizer)
    assert message.startswith("samples: row 1: expected a length from the tokenizer, got ")
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("result", "got"),
    [
        (LONGEST_TOKENS + 1, f"expected 0 to {LONGEST_TOKENS} tokens, got {LONGEST_TOKENS + 1}"),
        (2**31, f"expected 0 to {LONGEST_TOKENS} tokens, got {2**31}"),
        (-1, "got -1"),
        (1.5, "got float 1.5"),
        (True, "got bool True"),
        (None, "got None"),
        ("a b", "got str 'a b'"),
        ({"ids": [1]}, "expected a mapping with input_ids, got dict with ids"),
        ([[1, 2]], "got list [[1, 2]]"),
        (np.zeros((1, 5), int), "got ndarray"),
        (({1, 2}), "got set {1, 2}"),
        ({"input_ids": [1, 2], "labels": [1]}, "expected 2 labels, got list [1]"),
        ({"input_ids": [1, 2], "labels": [1, None]}, "expected integers as labels, got list [1, None]"),
        ({"input_ids": 2, "labels": 2}, "expected 2 labels, got int 2"),
    ],
)
def test_results_without_a_length_are_mistakes(result: Any, got: str) -> None:
    message = _message(["x"], lambda _: result)
    assert message.startswith("samples: row 0: the tokenizer's result: expected ")
    assert got in message


def test_lengths_out_of_range_in_a_column() -> None:
    table = pa.table({"n": pa.array([1, LONGEST_TOKENS, 2**40, -1])})
    assert _message(table, column="n").splitlines() == [
        f"table: row 2: expected 0 to {LONGEST_TOKENS} tokens, got {2**40}",
        f"table: row 3: expected 0 to {LONGEST_TOKENS} tokens, got -1",
    ]


def test_labels_that_do_not_fit_their_token_ids() -> None:
    ids, labels = [[1, 2], [1], [1, 2]], [[1, 2], [1, 1], [None, 1]]
    table = pa.table({"ids": ids, "labels": labels})
    assert _message(table, column="ids", labels_column="labels").splitlines() == [
        "table: row 1: expected 1 labels in column labels, got 2",
        "table: row 2: expected integers in column labels, got None",
    ]
    message = _message(table.to_pylist(), column="ids", labels_column="labels")
    assert message.splitlines()[0] == "samples: row 1: expected 1 labels, got list [1, 1]"


@pytest.mark.parametrize("batch_samples", [1, 10])
def test_labels_of_some_rows_only(batch_samples: int) -> None:
    def tokenize(text: str) -> dict[str, Any]:
        return {"input_ids": [1], "labels": [1]} if text == "b" else {"input_ids": [1]}

    message = _message(["a", "b"], tokenize, batch_samples=batch_samples)
    assert message.startswith("samples: row 1: expected no labels, as ")


def test_source_that_has_to_be_chosen_from() -> None:
    dataset = datasets.Dataset.from_dict({"text": ["a"]})
    splits = datasets.DatasetDict({"train": dataset, "test": dataset})
    expected = "source: expected one data set, got a DatasetDict with splits train, test"
    assert _message(splits, _TOKENIZER, column="text") == expected
    assert "got a dict with keys text" in _message({"text": ["a"]}, _TOKENIZER)
    assert _message(5, _TOKENIZER).endswith("got int 5")
    frame = dataset.to_pandas()
    assert _message(frame, _TOKENIZER).startswith(
        "source: expected files, a table, a data set or samples, got"
    )


def test_files_given_as_text_in_a_list_are_not_measured_as_samples(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json_lines(["a"]))
    assert "give files as pathlib.Path" in _message([str(path)], _TOKENIZER)


def test_paths_that_name_no_data_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("a")
    (tmp_path / "folder").mkdir()
    names = ["none.parquet", "data.txt", "folder"]
    lines = _message([tmp_path / name for name in names], _TOKENIZER, column="text").splitlines()
    assert [line.split(": expected")[0] for line in lines] == [f"{tmp_path}/{name}" for name in names]


def test_no_samples_are_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_bytes(b"\n")
    table = pa.table({"text": pa.array([], pa.string())})
    sources: list[Any] = [[], iter(()), table, tmp_path / "data.jsonl"]
    for source in sources:
        assert "expected at least one sample, got none" in _message(source, count_words, column="text")


def test_json_array_is_not_json_lines(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('[{"text": "a"}]')
    message = _message(tmp_path / "data.json", _TOKENIZER, column="text")
    assert message == f"{tmp_path}/data.json: expected a JSON object a line, got an array of the whole file"


@pytest.mark.parametrize(
    "name", ["data.parquet", "data.arrow", "data.jsonl.gz", "data.jsonl.zst", "data.csv"]
)
def test_file_of_another_kind_than_its_name_says(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"none of this\xff, is\n what it,says,\n")
    assert _message(tmp_path / name, _TOKENIZER, column="text").startswith(f"{tmp_path}/{name}: expected ")


def test_a_damaged_page_or_name_in_parquet_is_noticed(tmp_path: Path) -> None:
    """Pages that have a checksum are checked, and a name that is no UTF-8 is not an error from the inside."""
    path = tmp_path / "data.parquet"
    table = pa.table({"tokens": np.arange(1000, 1100)})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for at, expected in (
        (whole.index(np.arange(1050, 1051).tobytes()), "CRC"),
        (whole.index(b"tokens", footer), "'utf-8' codec can't decode byte 0xff"),
    ):
        path.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        message = _message(path, column="tokens")
        assert message.startswith(f"{path}: expected a readable file, got ") and expected in message


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data.jsonl")
    message = _message(tmp_path, column="n")
    assert message == f"{tmp_path}/data.jsonl: expected a regular file, got another kind"


def test_csv_record_of_too_few_fields(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("id,text\n1,a\n2\n")
    message = _message(tmp_path / "data.csv", _TOKENIZER, column="text")
    assert message.startswith(f"{tmp_path}/data.csv: expected a readable file, got CSV parse error")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda tokenizer: tokenizer.enable_truncation(4),
            "does not truncate, got one that does at 4 tokens",
        ),
        (lambda tokenizer: tokenizer.enable_padding(), "does not pad"),
        (lambda tokenizer: setattr(tokenizer.model, "dropout", 0.5), "expected no dropout, got 0.5"),
    ],
)
def test_tokenizer_that_would_change_lengths(change: Callable[[Any], Any], expected: str) -> None:
    tokenizer = byte_tokenizer()
    change(tokenizer)
    assert expected in _message(["a"], tokenizer)


def test_arguments_that_do_not_fit_come_at_once() -> None:
    lines = _message(["a"], _TOKENIZER, labels_column="x", batched=True, processes=0, batch_samples=True)
    assert [line.split(":")[0] for line in lines.splitlines()] == [
        "labels_column",
        "batched",
        "processes",
        "batch_samples",
    ]
    assert _message(["a"], 5) == "tokenize: expected a tokenizer, a function or None, got int 5"
    assert _message(["a"], len, add_special_tokens=False).startswith("add_special_tokens: ")


def test_file_that_is_written_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json_lines(["a"] * 10))

    def append(text: str) -> int:
        with path.open("ab") as file:
            file.write(json_lines(["b"]))
        return 1

    assert "expected a file that stays as it is" in _message(path, append, column="text", batch_samples=2)


def test_bad_rows_before_a_damaged_file_are_told_first(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(b"{\n")
    content = gzip.compress(json_lines([f"{7**number}" for number in range(2000)]))
    (tmp_path / "2.jsonl.gz").write_bytes(content[: len(content) // 2])
    for processes in (1, 3):
        with pytest.raises(LengthsError) as caught:
            measure_lengths(tmp_path / "*", count_words, column="text", processes=processes)
        assert str(caught.value).startswith(f"{tmp_path}/1.jsonl:1: ")
        assert len(str(caught.value).splitlines()) == 1
    (tmp_path / "1.jsonl").write_bytes(json_lines(["a"]))
    assert _message(tmp_path / "*", count_words, column="text").startswith(f"{tmp_path}/2.jsonl.gz: ")


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.array([1.5]), "expected elements of <i4, <i8, <u2, <u4, <u8, got <f8"),
        (np.array([[1]]), "expected one dimension, got 2"),
        (np.array([1, -1]), "element 1: expected 0 to 16777216, got -1"),
    ],
)
def test_npy_without_lengths(array: Any, got: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(LengthsError, match=re.escape(f"{tmp_path}/x.npy: lengths: {got}")):
        Lengths.load(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_damaged_saved_lengths(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 none of it")
    with pytest.raises(LengthsError, match="expected a NumPy file"):
        Lengths.load(tmp_path / name)
    with pytest.raises(LengthsError, match=r"expected a file ending in \.npy or \.npz, got \.txt"):
        Lengths.load(tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("arrays", "mistake"),
    [
        (
            {"loss_tokens": [1, 0]},
            "expected arrays loss_offsets, loss_begins, loss_ends of labelled data, got",
        ),
        (
            {"loss_offsets": [0, 1, 1], "loss_begins": [0]},
            "expected arrays loss_offsets, .*, got lengths_tokens",
        ),
        ({"loss_offsets": [0, 1], "loss_begins": [0], "loss_ends": [2]}, "expected 2 samples, got 1"),
        ({"loss_offsets": [0, 1, 1], "loss_begins": [0], "loss_ends": [4]}, "sample 0: .* in 0..3, got 0..4"),
        ({"loss_offsets": [[0]], "loss_begins": [0], "loss_ends": [2]}, "offsets: expected one dimension"),
    ],
)
def test_saved_spans_that_do_not_fit_are_refused(
    arrays: dict[str, Any], mistake: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", lengths_tokens=np.array([3, 0], np.int32), **arrays)
    with pytest.raises(LengthsError, match=f"x.npz: {mistake}"):
        Lengths.load(tmp_path / "x.npz")
