"""What packsim.ray refuses before it needs Ray, and what it says where Ray is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packsim.ray import measure, pack_shards
from packsim.sharded import ShardArguments

ARGUMENTS = ShardArguments("bfd", 64)


def test_ray_is_asked_for_by_the_name_of_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    expected = r"packsim\.ray needs ray.*: pip install packsim\[ray\]"
    with pytest.raises(ImportError, match=expected):
        pack_shards([[1, 2]], ARGUMENTS, folder=tmp_path)
    with pytest.raises(ImportError, match=expected):
        measure(None, folder=tmp_path, shard_samples=10)


def test_shards_that_are_not_there_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        pack_shards(
            [tmp_path / "a.npy", [1], str(tmp_path / "b.npy")], ARGUMENTS, folder=tmp_path, n_shards=2
        )
    assert str(caught.value).splitlines() == [
        "n_shards: expected 3, as shards are given, or none, got 2",
        f"shard 0: expected a length file {tmp_path / 'a.npy'}, found none",
        f"shard 2: expected a length file {tmp_path / 'b.npy'}, found none",
    ]
    with pytest.raises(ValueError, match=r"n_shards: expected integer in 1\.\.1000000, got None"):
        pack_shards(lambda shard: [1], ARGUMENTS, folder=tmp_path)
    with pytest.raises(ValueError, match="shards: expected a sequence of length files or lengths"):
        pack_shards("lengths.npy", ARGUMENTS, folder=tmp_path)
    with pytest.raises(ValueError, match=r"retries: expected integer in 0\.\.1000, got -1"):
        pack_shards([[1]], ARGUMENTS, folder=tmp_path, retries=-1)
