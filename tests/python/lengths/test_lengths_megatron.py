"""Lengths of Megatron-Core's indexed data sets come from the .idx alone, and a wrong one is refused.

The files follow megatron/core/datasets/indexed_dataset.py of Megatron-Core.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lengths_data import word_tokenizer
from trainer_formats import MEGATRON_TYPES, megatron_index, write_megatron

from packsim.lengths import LONGEST_TOKENS, LengthsError, measure_lengths
from packsim.lengths.command import main

_HEAD_BYTES = 34  # 9 of the magic, 8 of the version, 1 of the type, 8 and 8 of the sizes


def _message(*arguments: Any, **options: Any) -> str:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(*arguments, **options)
    return str(caught.value)


@settings(max_examples=40, deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(0, 70), max_size=4), min_size=1, max_size=12),
    dtype=st.sampled_from(sorted(MEGATRON_TYPES)),
    has_modes=st.booleans(),
    batch_samples=st.integers(1, 14),
)
@example(documents=[[], [], [5]], dtype="uint16", has_modes=True, batch_samples=1)
def test_documents_and_sequences_have_their_lengths(
    documents: list[list[int]], dtype: str, has_modes: bool, batch_samples: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_megatron(Path(folder) / "data_text_document", documents, dtype)
        path.write_bytes(megatron_index(documents, dtype, has_modes))
        of_documents = measure_lengths(path, batch_samples=batch_samples)
        assert of_documents.lengths_tokens.tolist() == [sum(document) for document in documents]
        sequences = [length for document in documents for length in document]
        if sequences:
            found = measure_lengths(path, column="sequence", batch_samples=batch_samples, processes=2)
            assert found.lengths_tokens.tolist() == sequences


def test_prefix_names_the_index_and_the_bin_may_be_elsewhere(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data_text_document", [[3, 4], [5]])
    path.with_suffix(".bin").unlink()
    for source in (str(tmp_path / "data_text_document"), tmp_path, path, str(tmp_path / "*.idx")):
        assert measure_lengths(source, column="document").lengths_tokens.tolist() == [7, 5]


def test_every_change_of_a_length_or_pointer_is_refused(tmp_path: Path) -> None:
    # 5 sequences: their lengths are 5 int32, the pointers 5 int64 behind them.
    path = write_megatron(tmp_path / "data", [[3, 4], [5], [], [1, 1]])
    right = path.read_bytes()
    places = [(_HEAD_BYTES + 4 * row, "<i") for row in range(5)]
    places += [(_HEAD_BYTES + 20 + 8 * row, "<q") for row in range(5)]
    for at, kind in places:
        for change in (-1, 1, -100):
            wrong = bytearray(right)
            (value,) = struct.unpack_from(kind, wrong, at)
            struct.pack_into(kind, wrong, at, value + change)
            path.write_bytes(wrong)
            assert "expected " in _message(path), (at, change)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data", [[3, 4], [5]])
    right = path.read_bytes()
    for n_bytes in range(len(right)):
        path.write_bytes(right[:n_bytes])
        assert _message(path).startswith(f"{path}: expected "), n_bytes


@pytest.mark.parametrize(
    ("at", "kind", "value", "expected"),
    [
        (0, "B", 0, r"expected an index of Megatron-Core that starts with b'MMIDIDX\x00\x00', got bytes"),
        (9, "<Q", 2, "expected version 1, got 2"),
        (17, "B", 9, "expected a type code in 1..8, got 9"),
        (18, "<Q", 4, "expected 106 bytes for 4 sequences and 2 documents, or 110 with modes, got 94"),
        (26, "<Q", 0, "expected at least 1 document index, got 0"),
        # Three int32 lengths from byte 34, three pointers from 46, three document indices from 70.
        (38, "<i", -1, "sequence 1: expected a length, got -1"),
        (54, "<q", 16, "sequence 1: expected pointer 12, where the sequences before it end, got 16"),
        (70, "<q", 1, "document 0: expected to start at sequence 0, got 1"),
        (78, "<q", -2, "document 1: expected to start at sequence 0 or later, got -2"),
        (78, "<q", 4, "document 2: expected to start at sequence 4 or later, got 3"),
        (86, "<q", 2, "expected documents that end with sequence 3, got 2"),
    ],
)
def test_what_is_wrong_in_an_index_is_named(
    at: int, kind: str, value: int, expected: str, tmp_path: Path
) -> None:
    path = write_megatron(tmp_path / "data", [[3, 4], [5]])
    wrong = bytearray(path.read_bytes())
    assert len(wrong) == 94
    struct.pack_into(kind, wrong, at, value)
    path.write_bytes(wrong)
    message = _message(path)
    assert message.startswith(f"{path}: ")
    assert expected in message


@pytest.mark.parametrize("row", [0, 262_143, 262_144, 299_999])
def test_a_wrong_pointer_is_found_in_any_block(row: int, tmp_path: Path) -> None:
    # Blocks have 262 144 sequences.
    content = bytearray(megatron_index([[1]] * 300_000))
    struct.pack_into("<q", content, _HEAD_BYTES + 4 * 300_000 + 8 * row, 7)
    path = tmp_path / "data.idx"
    path.write_bytes(content)
    expected = f"{path}: sequence {row}: expected pointer {4 * row}, where the sequences before it end, got 7"
    assert _message(path) == expected


def test_a_bin_of_another_size_is_refused(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data", [[3, 4], [5]], "uint16")
    path.with_suffix(".bin").write_bytes(bytes(23))
    message = f"{tmp_path}/data.bin: expected 24 bytes, 12 token ids as its .idx says, got 23"
    assert _message(path) == message


def test_all_that_does_not_fit_an_index_comes_at_once(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data", [[3]])
    assert _message(path, word_tokenizer(), column="text").splitlines() == [
        f"{path}: expected column to be document or sequence, got text",
        f"{path}: expected no tokenizer, as the index counts token ids, got one",
    ]
    assert _message(path, labels_column="labels") == (
        f"{path}: expected no labels_column, as the index knows no labels, got labels"
    )


def test_document_longer_than_any_sample_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "data.idx"
    path.write_bytes(megatron_index([[1], [LONGEST_TOKENS, 1], [2]]))
    message = f"{path}: row 1: expected 0 to {LONGEST_TOKENS} tokens, got {LONGEST_TOKENS + 1}"
    assert _message(path) == message


def test_the_command_needs_no_column(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data", [[3, 4], [5]])
    assert main([str(path), f"--out={tmp_path}/lengths.npy"]) == 0
    assert np.load(tmp_path / "lengths.npy").tolist() == [7, 5]


def test_cache_knows_an_index_by_its_bytes_and_column(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "data", [[3, 4], [5]])
    for n_cached, column in ((0, "document"), (1, "document"), (0, "sequence")):
        lengths = measure_lengths(path, column=column, cache=tmp_path / "cache")
        assert lengths.cache_use.n_cached == n_cached
        assert lengths.lengths_tokens.tolist() == ([7, 5] if column == "document" else [3, 4, 5])


_MEMORY = """
import sys
import pyarrow.compute
from packsim.lengths import measure_lengths

def highest_bytes():
    # Of this program alone: ru_maxrss begins with what the parent had.
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    return int(lines["VmHWM"].split()[0]) * 1024

measure_lengths(sys.argv[2])  # what is imported for it
before = highest_bytes()
lengths = measure_lengths(sys.argv[1], batch_samples=20_000)
print(int(lengths.lengths_tokens.sum()))
print(highest_bytes() - before)
"""


def test_an_index_of_millions_is_read_a_block_at_a_time(tmp_path: Path) -> None:
    # 4 million documents of 1 to 7 tokens: an index of 80 MB.
    n_documents, path = 4_000_000, tmp_path / "data.idx"
    lengths = np.arange(n_documents, dtype="<i4") % 7 + 1
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)[:-1] * 2]).astype("<i8")
    with path.open("wb") as file:
        file.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, n_documents, n_documents + 1))
        for array in (lengths, pointers, np.arange(n_documents + 1, dtype="<i8")):
            file.write(array.tobytes())
    small = write_megatron(tmp_path / "small", [[1]])
    arguments = [sys.executable, "-c", _MEMORY, path, small]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    n_tokens, grown_bytes = map(int, run.stdout.split())
    assert n_tokens == int(lengths.sum())
    # The result takes 16 MB, twice while its chunks are joined; blocks of 262 144 sequences take a few.
    assert grown_bytes < 45_000_000
