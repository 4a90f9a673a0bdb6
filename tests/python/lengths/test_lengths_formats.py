"""Every kind of source gives the lengths of its samples, in order."""

from __future__ import annotations

import gzip
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lengths_data import WRITERS, byte_tokenizer, count_words, json_lines, word_tokenizer

from packsim import LossSpans
from packsim.lengths import Lengths, LengthsError, measure_lengths

_TOKENIZER = byte_tokenizer()
_TEXTS = ["a b", "", "a", "b a b", "a a a a"]  # 2, 0, 1, 3 and 4 words
_N_WORDS = [2, 0, 1, 3, 4]

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=25)


def _sources(samples: list[str], folder: Path) -> dict[str, Any]:
    for name, write in WRITERS.items():
        write(samples, folder / name)
    table = pa.table({"text": samples})
    dataset = datasets.Dataset.from_dict({"text": samples})
    return {name: folder / name for name in WRITERS} | {
        "table": table,
        "sliced table": pa.table({"text": ["x", *samples, "y"]}).slice(1, len(samples)),
        "dictionary column": pa.table({"text": pa.array(samples).dictionary_encode()}),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3)),
        "dataset": dataset,
        "reordered dataset": datasets.Dataset.from_dict({"text": samples[::-1]}).select(
            range(len(samples))[::-1]
        ),
        "iterable dataset": dataset.to_iterable_dataset(),
        "list of dicts": [{"text": text} for text in samples],
        "generator": ({"text": text} for text in samples),
    }


@settings(max_examples=25, deadline=None)
@given(samples=texts, batch_samples=st.integers(1, 30), processes=st.integers(1, 3))
@example(samples=["", "", ""], batch_samples=1, processes=3)
@example(samples=["a\nb", "c\r\n", '"', ","], batch_samples=2, processes=2)
def test_every_source_gives_the_tokens_of_each_text_in_order(
    samples: list[str], batch_samples: int, processes: int
) -> None:
    expected = [len(_TOKENIZER.encode(text).ids) for text in samples]
    with tempfile.TemporaryDirectory() as folder:
        sources = _sources(samples, Path(folder))
        for name, source in sources.items():
            one_of_many = processes if name in ("data.parquet", "data.jsonl", "reader") else 1
            lengths = measure_lengths(
                source, _TOKENIZER, column="text", batch_samples=batch_samples, processes=one_of_many
            )
            assert lengths.lengths_tokens.tolist() == expected, name
            assert lengths.lengths_tokens.dtype == np.int32
            assert lengths.loss_tokens is None


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_every_source_gives_the_same_for_any_number_of_processes(processes: int, tmp_path: Path) -> None:
    for name, source in _sources([*_TEXTS, "b"], tmp_path).items():
        lengths = measure_lengths(source, count_words, column="text", batch_samples=2, processes=processes)
        assert lengths.lengths_tokens.tolist() == [*_N_WORDS, 1], name


def test_list_of_texts_needs_no_column() -> None:
    lengths = measure_lengths(_TEXTS, word_tokenizer())
    assert lengths.lengths_tokens.tolist() == _N_WORDS
    # 2 + 0 + 1 + 3 + 4 = 10 tokens; sorted 0 1 2 3 4.
    assert repr(lengths) == (
        "Lengths(5 samples, 10 tokens, shortest 0, median 2, p99 3, longest 4, 1 empty; list)"
    )


class _RandomAccess:
    """As map-style data sets of PyTorch are."""

    def __len__(self) -> int:
        return len(_TEXTS)

    def __getitem__(self, row: int) -> str:
        return _TEXTS[row]


def test_other_containers_give_their_samples_in_order() -> None:
    series = pandas.Series(_TEXTS, index=[4, 3, 2, 1, 0])
    column = datasets.Dataset.from_dict({"text": _TEXTS})["text"]
    sources: list[Any] = [_RandomAccess(), series, column, np.array(_TEXTS), tuple(_TEXTS), iter(_TEXTS)]
    for source in sources:
        assert measure_lengths(source, count_words, batch_samples=2).lengths_tokens.tolist() == _N_WORDS


def test_column_whose_name_has_a_dot_is_no_path(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": ["a a"], "a": [{"b": "a"}]}), tmp_path / "data.parquet")
    assert measure_lengths(tmp_path / "data.parquet", count_words, column="a.b").lengths_tokens.tolist() == [
        2
    ]
    lengths = measure_lengths(tmp_path / "data.parquet", lambda a: len(a["b"]), column="a")
    assert lengths.lengths_tokens.tolist() == [1]


def test_pattern_takes_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "2.jsonl").write_bytes(json_lines(["a a"]))
    WRITERS["data.parquet"](["a"], tmp_path / "1.parquet")
    (tmp_path / "10.jsonl").write_bytes(json_lines(["a a a"]))
    one = measure_lengths(str(tmp_path / "*"), word_tokenizer(), column="text")
    assert one.lengths_tokens.tolist() == [1, 3, 2]
    two = measure_lengths([tmp_path / "2.jsonl", tmp_path / "1*"], word_tokenizer(), column="text")
    assert two.lengths_tokens.tolist() == [2, 1, 3]


def test_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "part[1].jsonl").write_bytes(json_lines(["a a"]))
    lengths = measure_lengths(tmp_path / "part[1].jsonl", word_tokenizer(), column="text")
    assert lengths.lengths_tokens.tolist() == [2]


def test_compressed_files_of_several_members_are_read_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "two.jsonl.gz").write_bytes(b"".join(gzip.compress(json_lines([t])) for t in ["a", "a b"]))
    codec = pa.Codec("zstd")
    frames = [codec.compress(json_lines([text]), asbytes=True) for text in ["a", "a b"]]
    (tmp_path / "two.jsonl.zst").write_bytes(b"".join(frames))
    for name in ("two.jsonl.gz", "two.jsonl.zst"):
        assert measure_lengths(tmp_path / name, count_words, column="text").lengths_tokens.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["data.jsonl.gz", "data.jsonl.zst", "data.parquet", "stream.arrow"])
def test_truncated_file_is_no_shorter_data_set(name: str, tmp_path: Path) -> None:
    # 2000 different texts: no compression makes them fit into a buffer.
    WRITERS[name]([f"{7**number}" for number in range(2000)], tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(LengthsError, match=f"{name}: expected a readable file, got "):
        measure_lengths(tmp_path / name, count_words, column="text")


def test_byte_order_mark_and_last_empty_lines_are_no_samples(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_bytes(b"\xef\xbb\xbf" + json_lines(["a a"]) + b"\n\r\n")
    lengths = measure_lengths(tmp_path / "data.jsonl", count_words, column="text")
    assert lengths.lengths_tokens.tolist() == [2]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int32()), pa.large_list(pa.int64()), pa.list_(pa.uint16()), pa.list_(pa.int8())]
)
def test_lists_of_token_ids_need_no_tokenizer(kind: Any, tmp_path: Path) -> None:
    ids = [[1, 2, 3], [], [4], [5, 6]]
    table = pa.table({"input_ids": pa.array(ids, kind)})
    pq.write_table(table, tmp_path / "ids.parquet", row_group_size=3)
    whole = pa.table({"input_ids": pa.array([[9], *ids, [9, 9]], kind)})
    for source in (table, tmp_path / "ids.parquet", whole.slice(1, 4), table.to_pylist()):
        for batch_samples in (1, 3, 1000):
            lengths = measure_lengths(source, column="input_ids", batch_samples=batch_samples)
            assert lengths.lengths_tokens.tolist() == [3, 0, 1, 2]
    assert measure_lengths(ids).lengths_tokens.tolist() == [3, 0, 1, 2]


def test_lists_of_fixed_size_have_that_length() -> None:
    table = pa.table({"input_ids": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2))})
    assert measure_lengths(table.slice(1), column="input_ids").lengths_tokens.tolist() == [2, 2]


def test_integers_are_lengths_already(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n_tokens": [5, 0, 7]}), tmp_path / "data.parquet")
    for source in (tmp_path / "data.parquet", [{"n_tokens": n} for n in (5, 0, 7)]):
        assert measure_lengths(source, column="n_tokens").lengths_tokens.tolist() == [5, 0, 7]


_IDS = [[1, 2, 3], [], [4], [5, 6]]
_LABELS = [[-100, 2, 3], [], [-100], [5, 6]]  # 2, 0, 0 and 1 count: the first of a sample never does


@pytest.mark.parametrize("batch_samples", [1, 3, 1000])
def test_labels_other_than_minus_100_count_behind_the_first(batch_samples: int) -> None:
    table = pa.table({"input_ids": _IDS, "labels": _LABELS})
    padded = pa.table({"input_ids": [[7], *_IDS], "labels": [[7], *_LABELS]}).slice(1)
    dataset = datasets.Dataset.from_dict({"input_ids": _IDS, "labels": _LABELS})
    for source in (table, padded, dataset, table.to_pylist(), iter(table.to_pylist())):
        lengths = measure_lengths(
            source, column="input_ids", labels_column="labels", batch_samples=batch_samples
        )
        assert lengths.lengths_tokens.tolist() == [3, 0, 1, 2]
        assert lengths.loss_tokens is not None
        assert lengths.loss_tokens.tolist() == [2, 0, 0, 1]


def test_function_may_return_ids_lengths_encodings_and_mappings() -> None:
    tokenizer = word_tokenizer()
    samples = [{"n": 2, "text": "a b"}, {"n": 0, "text": ""}]
    functions = [
        lambda sample: sample["n"],
        lambda sample: np.int64(sample["n"]),
        lambda sample: list(range(sample["n"])),
        lambda sample: np.arange(sample["n"]),
        lambda sample: tokenizer.encode(sample["text"]),
        lambda sample: {"input_ids": list(range(sample["n"]))},
    ]
    for function in functions:
        assert measure_lengths(samples, function, processes=2).lengths_tokens.tolist() == [2, 0]
    labelled = measure_lengths(samples, lambda s: {"input_ids": [1] * s["n"], "labels": [-100, 5][: s["n"]]})
    assert labelled.loss_tokens is not None
    assert labelled.loss_tokens.tolist() == [1, 0]


def test_batched_function_takes_lists() -> None:
    def to_list(texts_: list[str]) -> list[list[str]]:
        return [text.split() for text in texts_]

    def to_mapping(texts_: list[str]) -> dict[str, Any]:
        return {"input_ids": to_list(texts_), "labels": [[-100] * len(ids) for ids in to_list(texts_)]}

    for function in (to_list, to_mapping):
        lengths = measure_lengths(_TEXTS, function, batched=True, batch_samples=2)
        assert lengths.lengths_tokens.tolist() == _N_WORDS
    assert lengths.loss_tokens is not None
    assert lengths.loss_tokens.tolist() == [0] * 5


def test_data_set_with_a_transform_is_read_through_it() -> None:
    dataset = datasets.Dataset.from_dict({"text": ["a", "b"]})
    dataset.set_transform(lambda batch: {"text": [text * 3 for text in batch["text"]]})
    assert measure_lengths(dataset, len, column="text").lengths_tokens.tolist() == [3, 3]


def test_special_tokens_count_unless_told_otherwise() -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = word_tokenizer()
    tokenizer.post_processor = TemplateProcessing(single="a $A b", special_tokens=[("a", 1), ("b", 2)])
    assert measure_lengths(["a b", ""], tokenizer).lengths_tokens.tolist() == [4, 2]
    without = measure_lengths(["a b", ""], tokenizer, add_special_tokens=False)
    assert without.lengths_tokens.tolist() == [2, 0]


def test_transformers_tokenizer_neither_truncates_nor_pads(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    backend = word_tokenizer()
    backend.enable_truncation(2)
    backend.enable_padding(length=8, pad_token="a")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=2)
    for processes in (1, 2):
        lengths = measure_lengths(_TEXTS, tokenizer, processes=processes, cache=tmp_path, source_key="texts")
        assert lengths.lengths_tokens.tolist() == _N_WORDS
    assert lengths.cache_use.n_cached == 1


def test_npy_is_what_the_program_packs(tmp_path: Path) -> None:
    programs = sorted(Path(__file__).resolve().parents[3].glob("build*/packsim"))
    if not programs:
        pytest.skip("the packsim program is not built")
    measure_lengths(_TEXTS, word_tokenizer()).save(tmp_path / "lengths.npy")
    command = [str(programs[0]), "pack", f"{tmp_path}/lengths.npy", "--strategy=ffd", "--capacity=5"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    # 2, 1, 3 and 4 tokens fill packs of 4 + 1 and 3 + 2.
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"5 samples, 10 tokens, packed by ffd", shown.stdout)
    assert re.search(r"packs +2 ", shown.stdout)


def test_saved_lengths_are_loaded(tmp_path: Path) -> None:
    spans = LossSpans.of_labels([[-100, 7, -100], []])
    lengths = Lengths(np.array([3, 0], np.int32), spans, "a list")
    lengths.save(tmp_path / "both.npz")
    both = Lengths.load(tmp_path / "both.npz")
    assert both.loss_tokens is not None
    assert (both.lengths_tokens.tolist(), both.loss_tokens.tolist(), both.source) == (
        [3, 0],
        [1, 0],
        "a list",
    )
    lengths.save(tmp_path / "one.npy")
    one = Lengths.load(tmp_path / "one.npy")
    assert (one.lengths_tokens.tolist(), one.loss_tokens) == ([3, 0], None)
    assert np.asarray(one) is one.lengths_tokens
    assert np.asarray(one, np.int64).tolist() == [3, 0]
    assert np.load(tmp_path / "one.npy").dtype.str == "<i4"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.npz", "one.npy"]
