"""Folders give all of their files in a stated order, or are refused with what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lengths_data import WRITERS, count_words, json_lines

from packsim.lengths import LengthsError, measure_lengths
from packsim.lengths.command import main


def _message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(*arguments, **options)
    return str(caught.value)


def _lengths(source: Any, **options: Any) -> list[int]:
    lengths: list[int] = measure_lengths(
        source, count_words, column="text", **options
    ).lengths_tokens.tolist()
    return lengths


def _write(path: Path, n_words: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[f"data.{path.suffix[1:]}" if path.suffix != ".arrow" else "file.arrow"](["a " * n_words], path)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "csv"])
def test_nested_files_come_in_the_order_of_their_paths(ending: str, tmp_path: Path) -> None:
    # As texts: "-" comes before "/", and "10" before "2".
    names = ["year=2023-a/0", "year=2023/10", "year=2023/2", "year=2024/month=1/0", "z"]
    for n_words, name in enumerate(names):
        _write(tmp_path / f"{name}.{ending}", n_words)
    for name in ("_SUCCESS", ".0.parquet.crc", "README.md", "_metadata.parquet", "dataset_info.json"):
        (tmp_path / name).write_bytes(b"no data")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "0.jsonl").write_bytes(b"no data")
    assert _lengths(tmp_path) == _lengths(f"{tmp_path}/") == [0, 1, 2, 3, 4]
    assert _lengths(
        tmp_path, batch_samples=1, processes=2, cache=tmp_path / "_cache", tokenizer_key="words"
    ) == [0, 1, 2, 3, 4]
    # The folders of a pattern come one after another: year=2023, year=2023-a, year=2024.
    assert _lengths(str(tmp_path / "year=*")) == [1, 2, 0, 3]
    assert _lengths([tmp_path / "year=2024", tmp_path / "year=2023"]) == [3, 1, 2]


def test_a_folder_of_several_formats_is_refused_with_their_numbers(tmp_path: Path) -> None:
    for name in ("1.parquet", "2.parquet", "below/1.jsonl"):
        _write(tmp_path / name, 1)
    assert _message(tmp_path, count_words, column="text") == (
        f"{tmp_path}: expected files of one format, got 1 .jsonl, 2 .parquet; "
        f"give a pattern such as {tmp_path}/**/*.parquet"
    )
    assert _lengths(f"{tmp_path}/**/*.parquet") == [1, 1]


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("a")
    expected = f"{tmp_path}: expected files ending in .parquet, .arrow, "
    assert _message(tmp_path, count_words, column="text").startswith(expected)


def test_a_link_to_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    _write(tmp_path / "data" / "1.parquet", 1)
    _write(tmp_path / "elsewhere" / "2.parquet", 2)
    (tmp_path / "data" / "more").symlink_to(tmp_path / "elsewhere")
    assert _message(tmp_path / "data", count_words, column="text") == (
        f"{tmp_path}/data: expected files, got data sets or links in it; give them one by one: "
        f"{tmp_path}/data/more"
    )
    (tmp_path / "data" / "more").unlink()
    (tmp_path / "data" / "more.parquet").symlink_to(tmp_path / "elsewhere" / "2.parquet")
    assert _lengths(tmp_path / "data") == [1, 2]


def test_a_missing_column_is_told_of_every_file(tmp_path: Path) -> None:
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(pa.table({"body": ["a"]}), tmp_path / name)
    lines = _message(tmp_path, count_words, column="text").splitlines()
    assert lines == [f"{tmp_path}/{n}.parquet: expected a column text, got columns body" for n in (1, 2)]


def test_a_saved_data_set_is_read_in_the_order_of_its_state(tmp_path: Path) -> None:
    texts = ["a " * number for number in range(25)]
    dataset = datasets.Dataset.from_dict({"text": texts}).select(range(24, -1, -1))
    dataset.save_to_disk(tmp_path, num_shards=11)
    WRITERS["file.arrow"](["no data"], tmp_path / "cache-0123.arrow")
    loaded = datasets.load_from_disk(tmp_path)
    assert _lengths(tmp_path) == [len(text.split()) for text in loaded["text"]] == list(range(24, -1, -1))
    state = json.loads((tmp_path / "state.json").read_text())
    state["_data_files"].reverse()
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert _lengths(tmp_path) == [len(text.split()) for text in datasets.load_from_disk(tmp_path)["text"]]


def test_a_split_of_saved_data_sets_has_to_be_chosen(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_dict({"text": ["a"]})
    datasets.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(tmp_path)
    assert _message(tmp_path, count_words, column="text") == (
        f"{tmp_path}: expected one data set, got the splits train, test; give the folder of one"
    )
    assert _lengths(tmp_path / "test") == [1]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("[]", "expected a JSON object, got a list"),
        ("{", "expected a JSON object, got Expecting property name"),
        ("{}", "expected the names of _data_files, got KeyError"),
        (
            '{"_data_files": [{"filename": "1.arrow"}]}',
            "expected an .arrow file {folder}/1.arrow, found none",
        ),
        ('{"_data_files": [{"filename": "x.json"}]}', "expected an .arrow file {folder}/x.json, found none"),
        ('{"_data_files": [], "_indices_data_files": [{}]}', "expected no _indices_data_files, which choose"),
    ],
)
def test_a_state_that_names_no_files_is_refused(state: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(json_lines(["a"]))
    (tmp_path / "state.json").write_text(state)
    message = _message(tmp_path, count_words, column="text")
    assert message.startswith(f"{tmp_path}/state.json: {expected.format(folder=tmp_path)}")


def test_json_lines_with_a_column_called_shards_are_samples(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('{"text": "a a", "n": {"shards": 1}}\n{"text": "a"}\n')
    assert _lengths(path) == [2, 1]


def test_folders_given_as_text_in_a_list_are_not_measured_as_samples(tmp_path: Path) -> None:
    assert "give files as pathlib.Path" in _message([str(tmp_path)], count_words)
    # A text that is the name of a folder by chance is a text.
    assert measure_lengths(["tests"], count_words).lengths_tokens.tolist() == [1]


def test_the_command_takes_folders_and_needs_no_column_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"ids": [[1, 2], [3]]}), tmp_path / "1.parquet")
    assert main([str(tmp_path), "--column=ids", f"--out={tmp_path}/x.npy"]) == 0
    assert "2 samples, 3 tokens" in capsys.readouterr().out
    assert main([str(tmp_path), f"--out={tmp_path}/x.npy"]) == 2
    assert "1.parquet: expected column to be one of ids; got None" in capsys.readouterr().err
