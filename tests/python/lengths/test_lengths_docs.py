"""The code of docs/lengths.md runs, block after block, over data of the names that it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lengths_data import word_tokenizer
from trainer_formats import mds_array, write_mds, write_megatron, write_tar

_TEXT = (Path(__file__).resolve().parents[3] / "docs" / "lengths.md").read_text()


def test_every_block_gives_the_lengths_of_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    word_tokenizer().save("tokenizer.json")
    pq.write_table(pa.table({"text": ["a b", "a"]}), data / "1.parquet")
    write_megatron(data / "corpus_text_document", [[3, 4], [5]])
    for number in range(11):
        write_tar(data / f"shard-{number:06d}.tar", [(f"{number}.txt", b"a " * number)])
    for name, n_tokens in (("train", 3), ("web", 2), ("code", 1)):
        sample = {"tokens": mds_array([1] * n_tokens, False, False)}
        write_mds(data / name, {"tokens": ("ndarray", None)}, [[sample]])

    blocks = re.findall(r"^```python\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    found = []
    for block in blocks:
        exec(block, names)
        found.append(names["lengths"].lengths_tokens.tolist())
    assert found == [[2, 1], [7, 5], [2, 1], list(range(11))]
