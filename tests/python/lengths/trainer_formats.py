"""Small writers of the data formats of trainers, from the descriptions of the formats."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

# Code of the type of a token id in a Megatron-Core index, megatron/core/datasets/indexed_dataset.py DType.
MEGATRON_TYPES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def megatron_index(documents: list[list[int]], dtype: str = "int32", has_modes: bool = False) -> bytes:
    """The .idx of documents of sequences of these lengths, as IndexedDatasetBuilder.finalize() writes it."""
    lengths = [length for document in documents for length in document]
    ends = np.cumsum(lengths) * np.dtype(dtype).itemsize
    pointers = [0, *ends.tolist()][: len(lengths)]
    starts = np.cumsum([0] + [len(document) for document in documents])
    parts = [
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, MEGATRON_TYPES[dtype], len(lengths), len(starts)),
        np.array(lengths, "<i4").tobytes(),
        np.array(pointers, "<i8").tobytes(),
        starts.astype("<i8").tobytes(),
        bytes(len(lengths)) if has_modes else b"",
    ]
    return b"".join(parts)


def write_megatron(prefix: Path, documents: list[list[int]], dtype: str = "int32") -> Path:
    """Writes .idx and .bin; the path of the .idx."""
    n_tokens = sum(map(sum, documents))
    prefix.with_suffix(".bin").write_bytes(np.zeros(n_tokens, dtype).tobytes())
    path = prefix.with_suffix(".idx")
    path.write_bytes(megatron_index(documents, dtype))
    return path
