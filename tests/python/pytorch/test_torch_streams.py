"""Streams equal plans: batches, exact loss weights over ranks, resume anywhere."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import stream_training  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from process_pool import ProcessPool  # noqa: E402
from stream_training import (  # noqa: E402
    CAPACITY_TOKENS,
    N_SHARDS,
    check_every_sample_once,
    check_weights,
    dataset_of,
    samples_of,
)

import packsim  # noqa: E402
from packsim.torch import (  # noqa: E402
    PackCollator,
    PlanLoader,
    StreamCollator,
    StreamDataset,
    StreamLoader,
    StreamMicroBatch,
    merge_stream_states,
)

NORMALISERS = [row.name for row in packsim.normalisers()]
N_PAIRS = 37
CAPACITY_OF_PAIRS = 100


def pairs() -> list[dict[str, Any]]:
    """Samples of which two by two fill a pack exactly, and no other two do."""
    draw = np.random.default_rng(3)
    short = draw.permutation(np.arange(5, 5 + N_PAIRS)).tolist()
    lengths = [n for a in short for n in (a, CAPACITY_OF_PAIRS - a)]
    ids = [draw.integers(1, 50, n) for n in lengths]
    masks = [draw.random(len(of_sample)) < 0.4 for of_sample in ids]
    return [
        {"input_ids": of_sample.tolist(), "labels": np.where(mask, -100, of_sample).tolist()}
        for of_sample, mask in zip(ids, masks, strict=True)
    ]


def as_seen(batch: Any) -> tuple[Any, ...]:
    names = ("input_ids", "labels", "loss_weights", "position_ids", "cu_seqlens", "max_seqlen")
    values = (batch[name] for name in names)
    return (*(v.tolist() if isinstance(v, torch.Tensor) else v for v in values), batch.is_last)


class GatheredPlan:
    """The exchange of ranks that run one after another: the first run of each leaves its rows behind."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []

    def of(self, rank: int) -> Any:
        calls = iter(range(10**6))

        def gather(value: Any) -> list[Any]:
            call = next(calls)
            if call == len(self.rows):
                self.rows.append([None, None])
            self.rows[call][rank] = value
            return [value if row is None else row for row in self.rows[call]]

        return gather


@pytest.mark.parametrize("micro_batches", [1, 3])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_stream_gives_the_batches_of_a_plan_to_the_bit(normaliser: str, micro_batches: int) -> None:
    """Two ranks. The samples of the plan's packs on each GPU are a stream, with windows of one pack."""
    data = pairs()
    lengths = [len(sample["input_ids"]) for sample in data]
    loss_tokens = [sum(label != -100 for label in sample["labels"][1:]) for sample in data]
    plan = packsim.make_plan(
        packsim.pack(lengths, strategy="bfd", capacity_tokens=CAPACITY_OF_PAIRS),
        n_gpus=2,
        micro_batches_per_rank=micro_batches,
        last_iteration="shorten",
        normaliser=normaliser,
        loss_tokens=loss_tokens,
    )
    planned = [list(PlanLoader(plan, data, PackCollator(plan), rank, 2)) for rank in range(2)]
    assert all(len(pack) in (0, 2) for rank in planned for pack in (b.micro_batch for b in rank))
    streams = [[data[i] for batch in rank for i in batch.micro_batch] for rank in planned]

    exchange = GatheredPlan()

    def run(rank: int) -> list[Any]:
        dataset = StreamDataset(
            lambda shard, n_shards, start: iter(streams[shard][start:]),
            n_shards=2,
            length_of=lambda sample: len(sample["input_ids"]),
            collator=StreamCollator(normaliser=normaliser),
            rank=rank,
            world_size=2,
            strategy="bfd",
            capacity_tokens=CAPACITY_OF_PAIRS,
            window_samples=2,
        )
        loader = StreamLoader(
            dataset,
            micro_batches_per_step=micro_batches,
            n_steps=len(planned[rank]),
            gather_from_all_ranks=exchange.of(rank),
            agree_every_steps=100,
        )
        return [as_seen(batch) for batch in loader]

    # A plan's short iteration may stand anywhere; a stream's is the last one.
    run(0), run(1)
    streamed = [run(rank) for rank in range(2)]
    ends = [batch.is_last for batch in planned[0]]
    if any(end != ((i + 1) % micro_batches == 0) for i, end in enumerate(ends[:-1])):
        pytest.fail("the case is of no use: its short iteration is not the last one")
    assert streamed == [[as_seen(batch) for batch in rank] for rank in planned]


def test_two_ranks_train_every_sample_once_with_the_weights_of_the_definition(
    two_processes: ProcessPool,
) -> None:
    for normaliser in NORMALISERS:
        ranks = two_processes.run(stream_training.whole_run, 3, normaliser)
        assert len(ranks[0]) == len(ranks[1])
        check_every_sample_once(ranks)
        check_weights(ranks, normaliser)


@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_micro_batches_two_ranks_resume_exactly(
    seed: int, is_merged: bool, two_processes: ProcessPool
) -> None:
    """With 1, 2 or 4 workers each time, also inside an accumulation: same order, same weights."""
    normaliser = NORMALISERS[seed]
    whole = two_processes.run(stream_training.whole_run, 3, normaliser)
    found = two_processes.run(stream_training.interrupted_run, 3, normaliser, seed, is_merged)
    assert found == whole


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_workers_change_nothing(num_workers: int, two_processes: ProcessPool) -> None:
    whole = two_processes.run(stream_training.whole_run, 2, "stable")
    assert two_processes.run(stream_training.whole_run, 2, "stable", num_workers) == whole


def test_ranks_agree_by_the_group_that_they_are_given(two_processes: ProcessPool) -> None:
    whole = two_processes.run(stream_training.whole_run, 2, "stable")
    assert two_processes.run(stream_training.run_with_own_group, 2) == whole


@pytest.mark.parametrize("micro_batches", [1, 4])
def test_gradients_are_those_of_samples_on_their_own(micro_batches: int, two_processes: ProcessPool) -> None:
    ranks = two_processes.run(stream_training.packed_gradients, micro_batches)
    n_idle = 0
    for step, ((gradient, batches), (other, others)) in enumerate(zip(*ranks, strict=True)):
        assert (gradient == other).all()
        documents = [(batch[0], i) for batch in batches + others for i in batch[1]]
        is_idle = any(batch[0] < 0 for batch in batches + others)
        n_idle += is_idle
        if step > 2 and not is_idle:
            continue
        expected = stream_training.unpacked_gradient(documents)
        assert np.linalg.norm(gradient - expected) < 1e-5 * np.linalg.norm(expected)
    assert n_idle > 0


def test_a_gathered_state_is_the_merged_one_and_other_ranks_go_on(two_processes: ProcessPool) -> None:
    (state, merged), (other, _) = two_processes.run(stream_training.gathered_states)
    assert state == merged == other
    assert json.loads(json.dumps(state)) == state
    loader = StreamLoader(dataset_of(0, 1), micro_batches_per_step=5)
    loader.load_state_dict(state)
    assert loader.dataset.step == 6
    before = two_processes.run(stream_training.whole_run, 3, "stable")
    after = [stream_training.seen(batch) for batch in loader]
    check_every_sample_once([before[0][:6], before[1][:6], after])
    assert [batch[3] for batch in after[:10]] == [False] * 4 + [True] + [False] * 4 + [True]


def loader_of_one_rank(**more: Any) -> StreamLoader:
    return StreamLoader(dataset_of(0, 1), micro_batches_per_step=4, **more)


def test_inside_a_step_only_the_same_number_of_ranks_goes_on() -> None:
    loader = loader_of_one_rank()
    whole = [stream_training.seen(batch) for batch in loader_of_one_rank()]
    batches = iter(loader)
    for _ in range(6):
        next(batches)
    state = loader.gathered_state_dict()
    expected = r"state: expected 1 ranks, got 2: it was taken behind micro-batch 2 of 4 of an optimizer step"
    with pytest.raises(ValueError, match=expected):
        dataset_of(1, 2).load_state_dict(state)
    # The step ends as it began, whatever later steps have.
    other = StreamLoader(dataset_of(0, 1), micro_batches_per_step=3)
    other.load_state_dict(state)
    rest = [stream_training.seen(batch) for batch in other]
    assert rest[:2] == whole[6:8]
    assert [batch[:2] for batch in rest] == [batch[:2] for batch in whole[6:]]
    assert [batch[3] for batch in rest[2:8]] == [False, False, True] * 2
    for broken in ({"n_done": -1}, {"loss": 3}, {"loss": {"n_packs": [1]}}):
        with pytest.raises(ValueError, match=r"state\.accumulation"):
            loader.load_state_dict({**state, "accumulation": {**state["accumulation"], **broken}})


def test_steps_have_their_micro_batches_and_are_taken_whole() -> None:
    steps = [[stream_training.seen(batch) for batch in step] for step in loader_of_one_rank().steps()]
    assert [batch for step in steps for batch in step] == [
        stream_training.seen(batch) for batch in loader_of_one_rank()
    ]
    assert {len(step) for step in steps[:-1]} == {4}
    assert [batch[3] for step in steps for batch in step] == [
        place + 1 == len(step) for step in steps for place in range(len(step))
    ]
    unfinished = loader_of_one_rank().steps()
    next(next(unfinished))
    with pytest.raises(
        RuntimeError, match="steps: expected all batches of a step to be taken before the next"
    ):
        next(unfinished)


def test_batches_say_what_they_are_of() -> None:
    batches = list(loader_of_one_rank())
    micro_batches = [batch.micro_batch for batch in batches]
    assert all(isinstance(m, StreamMicroBatch) for m in micro_batches)
    assert [(m.iteration, m.round) for m in micro_batches[:5]] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    n_cut = sum(
        max(0, len(sample["input_ids"]) - CAPACITY_TOKENS)
        for shard in range(N_SHARDS)
        for sample in samples_of(shard)
    )
    assert sum(m.truncated_tokens for m in micro_batches) == n_cut > 0
    assert all(m.n_tokens <= CAPACITY_TOKENS for m in micro_batches)


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), max_size=40),
    empty=st.sampled_from(["drop", "keep"]),
    over_long=st.sampled_from(["truncate", "drop"]),
    normaliser=st.sampled_from(NORMALISERS),
    micro_batches=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_every_token_of_random_streams_is_in_its_place_or_counted(
    lengths: list[int], empty: str, over_long: str, normaliser: str, micro_batches: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    data = [{"input_ids": draw.integers(1, 99, n), "labels": draw.integers(-1, 3, n)} for n in lengths]
    dataset = StreamDataset(
        lambda shard, n_shards, start: iter(data[start:]),
        n_shards=1,
        rank=0,
        world_size=1,
        length_of=lambda sample: len(sample["input_ids"]),
        collator=StreamCollator(normaliser=normaliser, ignore_index=-1, columns={}),
        strategy="bfd",
        capacity_tokens=20,
        window_samples=7,
        empty=empty,
        over_long=over_long,
    )
    trained: list[int] = []
    n_cut = 0
    for step in StreamLoader(dataset, micro_batches_per_step=micro_batches).steps():
        total = 0.0
        has_loss = False
        for batch in step:
            micro_batch, begin = batch.micro_batch, 0
            counts = (micro_batch.tokens.tolist(), micro_batch.loss_tokens.tolist())
            for sample, n, n_loss_tokens in zip(micro_batch, *counts, strict=True):
                labels = batch["labels"][0, begin : begin + n].numpy()
                ids = batch["input_ids"][0, begin : begin + n].numpy()
                assert (ids == data[sample]["input_ids"][:n]).all()
                assert (labels[1:] == data[sample]["labels"][1:n]).all() and (labels[:1] == -1).all()
                assert n_loss_tokens == np.count_nonzero(labels != -1)
                begin += n
            assert begin <= 20
            trained += micro_batch.samples.tolist()
            n_cut += micro_batch.truncated_tokens
            total += float(batch["loss_weights"].sum(dtype=torch.float64))
            has_loss |= int(micro_batch.loss_tokens.sum()) > 0
            assert (batch["loss_weights"][0] > 0).tolist() == (batch["labels"][0] != -1).tolist()
        # Every mean over a step has weights that add up to 1, unless packs have no token with loss.
        if normaliser in ("stable", "longalign"):
            assert total == pytest.approx(float(has_loss), abs=1e-6)
    longest = 20 if over_long == "drop" else 30
    kept = [i for i, n in enumerate(lengths) if (n > 0 or empty == "keep") and n <= longest]
    assert sorted(trained) == kept
    assert n_cut == sum(max(0, lengths[i] - 20) for i in kept)


def test_padding_and_columns_are_those_of_the_collator() -> None:
    def with_column(shard_index: int, n_shards: int, start_sample: int) -> Any:
        for i, sample in enumerate(samples_of(shard_index)[start_sample:], start_sample):
            yield {**sample, "place": [shard_index, i], "noise": [0.5] * len(sample["input_ids"])}

    collator = StreamCollator(padding="capacity", columns={"place": "stack", "noise": "concatenate"})
    dataset = dataset_of(0, 1, open_shard=with_column, collator=collator)
    for batch in StreamLoader(dataset):
        micro_batch = batch.micro_batch
        assert batch["input_ids"].shape == batch["noise"].shape == (1, CAPACITY_TOKENS)
        assert batch["place"].tolist() == [[micro_batch.shard_index, i] for i in micro_batch.samples.tolist()]
        assert float(batch["noise"].sum()) == 0.5 * micro_batch.n_tokens
    empty = dataset.empty_batch()
    assert (empty["place"].shape, empty["noise"].shape) == ((0, 2), (1, CAPACITY_TOKENS))
    assert empty["loss_weights"].sum() == 0


def test_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="normaliser: expected one of stable, .*, got 'mean'"):
        StreamCollator(normaliser="mean")
    with pytest.raises(
        ValueError, match="padding: expected one of none, .*\ncheck_loss_tokens: expected none"
    ):
        StreamCollator(padding="longest", check_loss_tokens=True)
    with pytest.raises(
        ValueError, match="gather_from_all_ranks: expected a function or torch.distributed for 2"
    ):
        StreamLoader(dataset_of(0, 2), n_steps=5)
    plain = StreamCollator()
    wrapped = dataset_of(0, 1, collator=lambda pack: plain(pack))
    with pytest.raises(ValueError, match="collator: expected a StreamCollator, or a callable with its"):
        next(iter(StreamLoader(wrapped)))
    unnamed = dataset_of(0, 1, collator=StreamCollator(columns={"x": "stack"}))
    with pytest.raises(ValueError, match="shard 0: column 'x': expected in every sample, got none in sample"):
        list(StreamLoader(unnamed))


def test_ranks_that_are_not_at_the_same_micro_batch_notice_it() -> None:
    loader = StreamLoader(dataset_of(0, 2), gather_from_all_ranks=lambda row: [row, [row[0] + 1, *row[1:]]])
    with pytest.raises(
        RuntimeError, match=r"loader: expected equal micro-batches on all ranks, got \[0, 1\]"
    ):
        next(iter(loader))
    states = [dataset_of(rank, 2).state_dict() for rank in range(2)]
    accumulation = {"n_done": 1, "n_micro_batches": 2, "loss": {}}
    with pytest.raises(ValueError, match="states: expected equal accumulation, got None of rank 0"):
        merge_stream_states([states[0], {**states[1], "accumulation": accumulation}])
