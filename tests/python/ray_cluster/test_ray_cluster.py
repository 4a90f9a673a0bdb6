"""A Ray cluster of two local nodes: same packs as without it, and a killed worker loses nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import REPOSITORY
from ray_cases import fragile, lengths_of, two_nodes, unreadable

ray = pytest.importorskip("ray")
pytest.importorskip("torch")
parquet = pytest.importorskip("pyarrow.parquet")

from packsim.lengths import Lengths, LengthsError  # noqa: E402
from packsim.ray import measure, pack_shards  # noqa: E402
from packsim.sharded import ShardArguments, ShardError, join_shards, pack_shard  # noqa: E402

ARGUMENTS = ShardArguments("bfd", 64, over_long="truncate")
N_SHARDS = 6


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with two_nodes():
        yield


@pytest.fixture(scope="module")
def content_hash(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the packs that are made without a cluster."""
    folder = tmp_path_factory.mktemp("alone")
    for shard in range(N_SHARDS):
        pack_shard(lengths_of(shard), ARGUMENTS, folder=folder, shard=shard)
    return join_shards(folder, N_SHARDS).content_hash


def n_begun(folder: Path) -> list[int]:
    return [len(list(folder.glob(f"begun-{shard}-*"))) for shard in range(N_SHARDS)]


def test_a_killed_worker_loses_nothing(cluster: None, tmp_path: Path, content_hash: str) -> None:
    seen: list[tuple[int, int]] = []
    source = partial(fragile, folder=str(tmp_path), kills=1)
    packs = pack_shards(
        source,
        ARGUMENTS,
        folder=tmp_path / "packs",
        n_shards=N_SHARDS,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert n_begun(tmp_path)[2] == 2  # killed, and begun again
    assert packs.content_hash == content_hash
    assert seen == [(done, N_SHARDS) for done in range(1, N_SHARDS + 1)]
    packs.check()


def test_what_is_done_is_kept_when_retries_end(cluster: None, tmp_path: Path, content_hash: str) -> None:
    folder = tmp_path / "packs"
    source = partial(fragile, folder=str(tmp_path), kills=1)
    with pytest.raises(RuntimeError, match="^shard 2: not packed, call again to go on: "):
        pack_shards(source, ARGUMENTS, folder=folder, n_shards=N_SHARDS, retries=0)
    assert not (folder / "manifest.json").exists()
    records = {path.name: path.stat().st_mtime_ns for path in folder.glob("shard-*.json")}
    assert len(records) == N_SHARDS - 1
    packs = pack_shards(source, ARGUMENTS, folder=folder, n_shards=N_SHARDS)
    assert packs.content_hash == content_hash
    # Those that were done were not written again.
    assert records.items() <= {p.name: p.stat().st_mtime_ns for p in folder.glob("shard-*.json")}.items()


def test_a_shard_that_cannot_be_read_is_tried_again(cluster: None, tmp_path: Path, content_hash: str) -> None:
    source = partial(unreadable, folder=str(tmp_path), times=2)
    folder = tmp_path / "packs"
    with pytest.raises(RuntimeError, match=r"^shard 1: not packed, .*: OSError: .*lengths\.npy'$"):
        pack_shards(source, ARGUMENTS, folder=folder, n_shards=N_SHARDS, retries=0)
    packs = pack_shards(source, ARGUMENTS, folder=folder, n_shards=N_SHARDS, retries=1)
    assert n_begun(tmp_path)[1] == 3
    assert packs.content_hash == content_hash


def test_every_bad_shard_is_named_and_the_others_are_packed(cluster: None, tmp_path: Path) -> None:
    files: list[Any] = []
    for shard in range(4):
        files.append(tmp_path / f"lengths-{shard}.npy")
        np.save(files[-1], np.array([5, 70 if shard in (1, 3) else 6], dtype=np.int32))
    with pytest.raises(ShardError) as caught:
        pack_shards(files, ShardArguments("bfd", 64), folder=tmp_path / "packs")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("shard")] == ["shard 1", "shard 3"]
    assert all("sample 1" in line for line in lines if line.startswith("shard"))
    assert len(list((tmp_path / "packs").glob("shard-*.json"))) == 2


def test_a_ray_data_set_is_measured_in_the_order_of_its_rows(cluster: None, tmp_path: Path) -> None:
    import ray.data

    rows = [{"ids": list(range(n)), "labels": [-100] * (n // 2) + [1] * (n - n // 2)} for n in range(25)]
    dataset = ray.data.from_items(rows, override_num_blocks=2)
    paths = measure(
        dataset, column="ids", labels_column="labels", folder=tmp_path, shard_samples=10, batch_samples=3
    )
    measured = [Lengths.load(path) for path in paths]
    assert [len(one) for one in measured] == [10, 10, 5]
    assert [n for one in measured for n in one.lengths_tokens.tolist()] == list(range(25))
    # The first token of a sample has no loss even where it has a label.
    expected = [sum(label != -100 for label in row["labels"][1:]) for row in rows]
    losses = [one.loss_tokens for one in measured]
    assert [n for loss in losses if loss is not None for n in loss.tolist()] == expected
    packs = pack_shards(paths, ShardArguments("bfd", 32), folder=tmp_path / "packs")
    assert (packs.n_samples, packs.n_tokens, packs.n_loss_tokens) == (25, sum(range(25)), sum(expected))
    rows[17]["labels"] = [1]
    wrong = ray.data.from_items(rows, override_num_blocks=2)
    with pytest.raises(LengthsError, match=r"samples 1\d to 1\d: .*expected 17 labels .*got 1"):
        measure(
            wrong,
            column="ids",
            labels_column="labels",
            folder=tmp_path / "wrong",
            shard_samples=10,
            batch_samples=3,
        )
    assert len(list((tmp_path / "wrong").iterdir())) == 1
    with pytest.raises(LengthsError, match="column"):
        measure(dataset, column="texts", folder=tmp_path, shard_samples=10)


def test_the_blocks_of_the_page_run(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow

    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    samples = [list(range(1, n + 1)) for n in np.random.default_rng(3).integers(1, 80, 230).tolist()]
    (tmp_path / "data").mkdir()
    parquet.write_table(pyarrow.table({"input_ids": samples}), tmp_path / "data" / "part.parquet")
    page = (REPOSITORY / "docs" / "sharded_data.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {"open_shard": lambda shard: samples[shard * 100 : shard * 100 + 100]}
    for block in blocks:
        code = block.replace("/shared", str(tmp_path))
        exec(compile(code, "docs/sharded_data.md", "exec"), names)
    assert names["packs"].n_samples == 230
    assert len(names["length_files"]) == 3
    # The loop has trained an epoch, and nothing was left out.
    assert names["loader"].epoch == 1
    assert "dropped_packs=0, dropped_tokens=0, repeated_packs=0" in capsys.readouterr().out
