"""Small writers of the data formats of trainers, from the descriptions of the formats."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def mds_array(values: Any, has_type: bool, has_shape: bool) -> bytes:
    """streaming/base/format/mds/encodings.py NDArray: type and shape where the encoding has them not."""
    array = np.asarray(values)
    codes = {"uint8": 8, "uint16": 16, "uint32": 32, "int32": 33, "int64": 65, "float32": 34}
    head = b"" if has_type else bytes([codes[array.dtype.name]])
    if not has_shape:
        code = 0 if max(array.shape) < 256 else 1
        head += bytes([array.ndim << 2 | code]) + np.array(array.shape, ["<u1", "<u2"][code]).tobytes()
    return head + array.tobytes()


def mds_shard(columns: dict[str, tuple[str, int | None]], samples: list[dict[str, bytes]]) -> bytes:
    """A shard as MDSWriter.encode_joint_shard() makes it. A column has an encoding and perhaps one size."""
    names = sorted(columns)
    config = json.dumps(
        {
            "column_encodings": [columns[name][0] for name in names],
            "column_names": names,
            "column_sizes": [columns[name][1] for name in names],
            "format": "mds",
            "version": 2,
        }
    ).encode()
    bodies = []
    for sample in samples:
        told = [len(sample[name]) for name in names if columns[name][1] is None]
        bodies.append(np.array(told, "<u4").tobytes() + b"".join(sample[name] for name in names))
    offsets = np.cumsum([4 + 4 * (len(samples) + 1) + len(config)] + [len(body) for body in bodies])
    return struct.pack("<I", len(samples)) + offsets.astype("<u4").tobytes() + config + b"".join(bodies)


def write_mds(
    folder: Path,
    columns: dict[str, tuple[str, int | None]],
    shards: list[list[dict[str, bytes]]],
    compression: str | None = None,
    compress: Callable[[bytes], bytes] | None = None,
) -> None:
    """Writes shards, compressed alone where there is a compression, and their index.json."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, samples in enumerate(shards):
        name, content = f"shard.{number:05}.mds", mds_shard(columns, samples)
        entry: dict[str, Any] = {
            "column_encodings": [columns[column][0] for column in sorted(columns)],
            "column_names": sorted(columns),
            "column_sizes": [columns[column][1] for column in sorted(columns)],
            "compression": compression,
            "format": "mds",
            "hashes": ["sha1", "xxh64"],
            "raw_data": _file_info(name, content),
            "samples": len(samples),
            "size_limit": 1 << 26,
            "version": 2,
            "zip_data": None,
        }
        if compress is not None:
            content = compress(content)
            name = f"{name}.{(compression or '').partition(':')[0]}"
            entry["zip_data"] = _file_info(name, content)
        (folder / name).write_bytes(content)
        entries.append(entry)
    (folder / "index.json").write_text(json.dumps({"shards": entries, "version": 2}, sort_keys=True))


def _file_info(name: str, content: bytes) -> dict[str, Any]:
    hashes = {"sha1": hashlib.sha1(content).hexdigest(), "xxh64": "of no algorithm that Python has"}
    return {"basename": name, "bytes": len(content), "hashes": hashes}


def npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(values))
    return file.getvalue()


def write_tar(path: Path, files: list[tuple[str, bytes]], mode: str = "w") -> None:
    """Files in the order given, as webdataset.TarWriter writes them."""
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
