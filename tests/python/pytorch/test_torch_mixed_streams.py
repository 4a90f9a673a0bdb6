"""Mixes of sources in a training loop: weights that change while it runs, counts, exact resume."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import stream_training  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from stream_training import CHANGES, N_SHARDS, SOURCES, mix_of, mixed_loader  # noqa: E402

from packsim._mixed_source import with_weights_from  # noqa: E402
from packsim.torch import SourceCounts, StreamLoader  # noqa: E402


def places_of(batches: list[Any]) -> list[tuple[int, int]]:
    return sorted((batch[0], i) for batch in batches for i in batch[1])


def check_every_sample_once(ranks: list[list[Any]]) -> None:
    """Where ended sources are dropped, a mix has all samples of all of them."""
    places = places_of([batch for rank in ranks for batch in rank])
    sizes = [sum(len(range(shard, size, N_SHARDS)) for size in SOURCES.values()) for shard in range(N_SHARDS)]
    assert places == [(shard, i) for shard in range(N_SHARDS) for i in range(sizes[shard])]
    sources = Counter(name for rank in ranks for batch in rank for name in batch[-1])
    assert sources == SOURCES


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_a_change_of_weights_does_not_depend_on_workers(num_workers: int, two_processes: ProcessPool) -> None:
    whole = two_processes.run(stream_training.mixed_run, None, 2)
    assert two_processes.run(stream_training.mixed_run, None, 2, num_workers) == whole
    # Both changes were within the run. "code" has no weight in the end, and is not read on.
    assert min(map(len, whole)) > max(CHANGES) + 10


@pytest.mark.parametrize("seed", range(3))
def test_a_mix_killed_at_random_micro_batches_resumes_exactly(seed: int, two_processes: ProcessPool) -> None:
    """Also inside an accumulation in which weights were set, and between the change and its windows."""
    whole = two_processes.run(stream_training.mixed_run, None, 3)
    assert two_processes.run(stream_training.mixed_run, seed, 3) == whole


def test_new_weights_begin_with_the_next_window_of_each_shard() -> None:
    loader, mix = mixed_loader(0, 1)
    batches: list[Any] = []
    ends: dict[int, int] = {}
    for batch in loader:
        batches.append(batch)
        if len(batches) == 21:
            mix.set_weights({"web": 1, "code": 1, "math": 1})
            rows = loader.state_dict()["shards"]
            ends = {row["shard"]: row["window"]["end"] for row in rows}
            assert loader.state_dict()["source"]["requested"] == {"web": 1, "code": 1, "math": 1}
    assert mix.history == [[0, 21, {"web": 1, "code": 1, "math": 1}]]
    found: dict[int, dict[int, str]] = {shard: {} for shard in range(N_SHARDS)}
    for batch in batches:
        micro_batch = batch.micro_batch
        found[micro_batch.shard_index] |= dict(
            zip(micro_batch.samples.tolist(), micro_batch.sources, strict=True)
        )
    assert len(ends) == N_SHARDS and min(ends.values()) >= 12
    for shard, sources in found.items():
        fresh = mix_of()
        state = fresh.shard_from(shard, N_SHARDS, None).state_dict()
        changed = with_weights_from(state, ends[shard], {"web": 1, "code": 1, "math": 1})
        expected = [sample.source for sample in fresh.shard_from(shard, N_SHARDS, changed)]
        assert [sources[i] for i in range(len(sources))] == expected
        # The change is seen: the old weights would have given others.
        assert expected != [sample.source for sample in fresh(shard, N_SHARDS, 0)]


def test_dropped_sources_lose_no_sample_and_all_are_counted() -> None:
    loader, _ = mixed_loader(0, 1)
    batches = []
    for batch in loader:
        batches.append(stream_training.seen_mixed(batch))
        last = loader.dataset.source_counts()
        if len(batches) == 30:
            state = json.loads(json.dumps(loader.state_dict()))
            counts = last
    check_every_sample_once([batches])
    tokens: Counter[str] = Counter()
    samples: Counter[str] = Counter()
    for batch in batches[:30]:
        bounds = batch[4][4]
        for i, name in enumerate(batch[-1]):
            samples[name] += 1
            tokens[name] += bounds[i + 1] - bounds[i]
    assert counts == {name: SourceCounts(samples[name], tokens[name], 0) for name in SOURCES}
    assert {name: count.n_samples for name, count in last.items()} == SOURCES
    resumed, _ = mixed_loader(0, 1)
    resumed.load_state_dict(state)
    assert resumed.dataset.source_counts() == counts
    assert [stream_training.seen_mixed(batch) for batch in resumed] == batches[30:]


def test_repeated_samples_are_counted() -> None:
    loader, _ = mixed_loader(0, 1, at_end={"web": "stop", "code": "repeat", "math": "repeat"})
    all_counts = [loader.dataset.source_counts() for _ in loader]
    counts = all_counts[-1]
    assert counts["web"].n_repeated_samples == 0
    for name in ("code", "math"):
        # Every shard has had all of the source before it repeats any.
        assert counts[name].n_repeated_samples == max(0, counts[name].n_samples - SOURCES[name])
    assert counts["math"].n_samples < counts["code"].n_samples < counts["web"].n_samples
    assert sum(count.n_repeated_samples for count in counts.values()) > 0


@pytest.mark.parametrize("n_after", [1, 4])
def test_another_number_of_ranks_goes_on_with_the_changed_weights(n_after: int) -> None:
    before, mix = mixed_loader(0, 1)
    batches = []
    for batch in islice(before, 20):
        batches.append(stream_training.seen_mixed(batch))
        if len(batches) == 11:
            mix.set_weights(CHANGES[5])
    state = before.gathered_state_dict()
    assert state["source"]["weights"] == CHANGES[5]
    after: list[Any] = []
    for rank in range(n_after):
        # The ranks do not wait for each other: each counts its own packs.
        loader, other = mixed_loader(rank, n_after, gather_from_all_ranks=lambda row: [row] * n_after)
        loader.load_state_dict(state)
        assert other.weights == CHANGES[5]
        after += [stream_training.seen_mixed(batch) for batch in loader]
    check_every_sample_once([batches, after])


@pytest.mark.parametrize("of_other", [None, {"web": 1.0, "code": 0.0, "math": 3.0}])
def test_ranks_that_do_not_change_weights_together_notice_it(
    of_other: dict[str, float] | None, two_processes: ProcessPool
) -> None:
    """Before they exchange gradients: these came where the other rank expected numbers of the loader."""
    ranks = two_processes.run(stream_training.changed_run, [CHANGES[5], of_other])
    expected = (
        r"loader: expected equal hash of new weights of sources \(0: none\) on all ranks, got \[\d+, \d+\]"
    )
    assert all(re.fullmatch(expected, message) for _, message in ranks), ranks
    assert [n_batches for n_batches, _ in ranks] == [5, 5]
    assert (ranks[0][1].endswith(", 0]")) == (of_other is None)


def test_states_of_other_mixes_are_refused() -> None:
    loader, _ = mixed_loader(0, 1)
    other, _ = mixed_loader(0, 1, at_end="stop")
    with pytest.raises(ValueError, match="state.source.setting: expected one of .*'stop'.*, got .*'drop'"):
        other.load_state_dict(loader.state_dict())
    plain = StreamLoader(stream_training.dataset_of(0, 1))
    assert plain.dataset.source_counts() == {}
    with pytest.raises(ValueError, match="state.source: expected the state of a MixedSource, got None"):
        loader.load_state_dict(plain.state_dict())
