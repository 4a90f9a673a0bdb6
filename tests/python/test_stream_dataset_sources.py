"""Where streams come from: files, datasets of Hugging Face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from cases import heavy_tailed

torch = pytest.importorskip("torch")

from packsim.stream_sources import DatasetShards, FileShards  # noqa: E402
from packsim.torch import StreamDataset, StreamLoader  # noqa: E402

N_SHARDS = 8
CAPACITY_TOKENS = 1024


def loader_of(
    source: Any, num_workers: int = 0, *, n_shards: int = 4, capacity_tokens: int = 12
) -> StreamLoader:
    dataset = StreamDataset(
        source,
        n_shards=n_shards,
        length_of=lambda row: len(row["input_ids"]),
        strategy="bfd",
        capacity_tokens=capacity_tokens,
        window_samples=5,
    )
    return StreamLoader(dataset, num_workers=num_workers)


def test_files_are_dealt_to_shards_and_skipped_whole() -> None:
    files = {f"file{i}": [f"{i}.{j}" for j in range(3)] for i in range(5)}
    read: list[str] = []

    def read_file(name: str) -> list[str]:
        read.append(name)
        return files[name]

    shards = FileShards(list(files), read_file, n_samples_of=lambda name: len(files[name]))
    assert list(shards(0, 2, 0)) == ["0.0", "0.1", "0.2", "2.0", "2.1", "2.2", "4.0", "4.1", "4.2"]
    read.clear()
    assert list(shards(0, 2, 4)) == ["2.1", "2.2", "4.0", "4.1", "4.2"]
    assert read == ["file2", "file4"]
    assert list(FileShards(list(files), read_file)(0, 2, 7)) == ["4.1", "4.2"]
    assert list(shards(1, 2, 6)) == list(shards(1, 2, 100)) == []
    with pytest.raises(ValueError, match="files: expected at least one for each of 6 shards, got 5"):
        shards(0, 6, 0)


def test_an_iterable_dataset_of_hugging_face_is_a_source() -> None:
    datasets = pytest.importorskip("datasets")

    def rows(shards: list[int]) -> Iterator[dict[str, Any]]:
        for shard in shards:
            for tokens in heavy_tailed(60, seed=shard, longest_tokens=CAPACITY_TOKENS).tolist():
                yield {"input_ids": [shard] * tokens}

    source = datasets.IterableDataset.from_generator(rows, gen_kwargs={"shards": list(range(N_SHARDS))})

    def loader() -> StreamLoader:
        return loader_of(DatasetShards(source), n_shards=N_SHARDS, capacity_tokens=CAPACITY_TOKENS)

    def batches_of(loader: StreamLoader, n_steps: int) -> list[Any]:
        iterator = iter(loader)
        return [(pack.shard_index, pack.sample_indices) for pack, _ in zip(iterator, range(n_steps))]  # noqa: B905

    whole = batches_of(loader(), 10**6)
    assert sum(len(samples) for _, samples in whole) == N_SHARDS * 60
    first = loader()
    before = []
    for pack in first:
        before.append((pack.shard_index, pack.sample_indices))
        if len(before) == 25:
            break
    second = loader()
    second.load_state_dict(first.state_dict())
    assert before + batches_of(second, 10**6) == whole
    with pytest.raises(ValueError, match="dataset: expected at least 16 shards, got 8"):
        DatasetShards(source)(0, 16, 0)


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_iterable_datasets_of_hugging_face_lose_nothing_to_workers(num_workers: int) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"input_ids": [[i] * 3 for i in range(40)], "name": [f"row {i}" for i in range(40)]}
    source = datasets.Dataset.from_dict(rows).to_iterable_dataset(num_shards=4)
    found = [row for pack in loader_of(DatasetShards(source), num_workers) for row in pack.samples]
    assert sorted(row["input_ids"][0] for row in found) == list(range(40))
    assert all(row["name"] == f"row {row['input_ids'][0]}" for row in found)


def test_files_whose_order_may_differ_among_ranks_are_refused(tmp_path: Path) -> None:
    """A set of names has another order in each process; a folder is listed as its machine has it."""
    for files in ({"a", "b"}, tmp_path.glob("*"), tmp_path, "texts", []):
        with pytest.raises(ValueError, match="files: expected a sequence of at least one path, got"):
            FileShards(files, list)  # type: ignore[arg-type]
    with pytest.raises(ValueError) as caught:
        FileShards(["a"], None, 3)  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "read_file: expected a callable, got None (NoneType)",
        "n_samples_of: expected a callable or none, got 3 (int)",
    ]


@pytest.mark.parametrize("told", [3, 5])
def test_a_file_of_another_number_of_samples_than_told_is_refused(told: int) -> None:
    """Resuming would skip it whole at the third or fifth sample of its four, and lose or repeat one."""
    shards = FileShards(["a", "b"], lambda name: [f"{name}{i}" for i in range(4)], lambda name: told)
    expected = f"a: expected {told} samples, as n_samples_of\\(\\) said, got 4"
    with pytest.raises(ValueError, match=expected):
        list(shards(0, 1, 0))


def rows_of(files: list[int]) -> Iterator[dict[str, list[int]]]:
    """25 rows of each file, which tell it and their place in it."""
    for file in files:
        for row in range(25):
            yield {"input_ids": [100 * file + row] * (1 + (7 * row + file) % 9)}


def iterable_datasets() -> dict[str, Any]:
    datasets = pytest.importorskip("datasets")
    files = datasets.IterableDataset.from_generator(rows_of, gen_kwargs={"files": list(range(24))})
    other = files.map(lambda row: {"input_ids": [-1 - token for token in row["input_ids"]]})
    return {
        "files": files,
        "shuffled": files.shuffle(seed=3, buffer_size=10),
        "mapped": files.map(lambda row: row).shuffle(seed=3, buffer_size=10),
        "interleaved": datasets.interleave_datasets([files, other], seed=2, probabilities=[0.5, 0.5]),
    }


def seen(packs: Any) -> list[Any]:
    return [
        (pack.shard_index, pack.sample_indices, [row["input_ids"][0] for row in pack.samples])
        for pack in packs
    ]


@pytest.mark.parametrize("name", ["files", "shuffled", "mapped", "interleaved"])
def test_a_dataset_of_hugging_face_has_its_order_of_every_epoch_and_resumes_in_it(name: str) -> None:
    """Its shards do not take over its epoch, and behind skip() files keep the order of the first."""
    source = DatasetShards(iterable_datasets()[name])
    loader = loader_of(source)
    first, second = seen(loader), seen(loader)
    assert first != second
    if name != "interleaved":  # which ends with the first of its datasets to end, in each epoch another one
        tokens = [sorted(token for _, _, of_pack in epoch for token in of_pack) for epoch in (first, second)]
        assert tokens == [[100 * file + row for file in range(24) for row in range(25)]] * 2
    for num_workers in (0, 2):
        loader = loader_of(source)
        assert seen(loader) == first
        assert seen(islice(loader, 21)) == second[:21]
        resumed = loader_of(source, num_workers)
        resumed.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert seen(resumed) == second[21:]


def test_what_is_no_dataset_of_shards_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dataset: expected one that has shard\(\), got \[1, 2\] \(list\)"):
        DatasetShards([1, 2])  # type: ignore[arg-type]
