"""Tokenizers and files for the tests of lengths, made here as nothing may be downloaded."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def word_tokenizer() -> Tokenizer:
    """A token a word."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def byte_tokenizer() -> Tokenizer:
    """Byte-level BPE, which can tell any text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["the quick brown fox and the lazy dog"] * 3, trainer)
    return tokenizer


def count_words(text: str) -> list[str]:
    return text.split()


def _parquet(texts: list[str], path: Path) -> None:
    # Three rows a row group: chunks of any size straddle them.
    pq.write_table(pa.table({"other": list(range(len(texts))), "text": texts}), path, row_group_size=3)


def _arrow_file(texts: list[str], path: Path) -> None:
    table = pa.table({"text": texts})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def _arrow_stream(texts: list[str], path: Path) -> None:
    table = pa.table({"text": texts})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def json_lines(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def _zst(texts: list[str], path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(json_lines(texts))


def _csv(texts: list[str], path: Path) -> None:
    pa.csv.write_csv(pa.table({"text": texts}), path)


# File name to what writes it.
WRITERS: dict[str, Callable[[list[str], Path], Any]] = {
    "data.parquet": _parquet,
    "file.arrow": _arrow_file,
    "stream.arrow": _arrow_stream,
    "data.jsonl": lambda texts, path: path.write_bytes(json_lines(texts)),
    "data.ndjson": lambda texts, path: path.write_bytes(json_lines(texts)),
    "data.jsonl.gz": lambda texts, path: path.write_bytes(gzip.compress(json_lines(texts))),
    "data.jsonl.zst": _zst,
    "data.json": lambda texts, path: path.write_bytes(json_lines(texts)),
    "data.csv": _csv,
}
