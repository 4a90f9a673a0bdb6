"""StreamPacker: packs of a stream, whatever way it is fed, interrupted or resumed."""

from __future__ import annotations

import json
import pickle
import threading
import time
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from cases import heavy_tailed
from hypothesis import given, settings
from hypothesis import strategies as st

import packsim

CAPACITY_TOKENS = 4096


def packer_of(**more: Any) -> packsim.StreamPacker:
    arguments: dict[str, Any] = {"strategy": "bfd", "capacity_tokens": CAPACITY_TOKENS, "window_samples": 100}
    return packsim.StreamPacker(**(arguments | more))


def lists_of(packs: packsim.StreamPacks) -> list[list[int]]:
    return [samples.tolist() for samples in packs]


def packed_at_once(lengths: Any, **more: Any) -> list[list[int]]:
    packer = packer_of(**more)
    return lists_of(packer.push(lengths)) + lists_of(packer.finish())


STRATEGIES = ["random", "isf", "ffd", "ffs", "bfd", "bfs", "spfhp", "lpfhp", "nemo_ffs", "longalign"]
LENGTHS = heavy_tailed(3000, seed=1, longest_tokens=CAPACITY_TOKENS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_carrying_a_stream_is_packed_like_data_with_the_same_window(strategy: str) -> None:
    packing = packsim.pack(
        LENGTHS, strategy=strategy, capacity_tokens=CAPACITY_TOKENS, window_samples=700, seed=3
    )
    ours = packed_at_once(LENGTHS, strategy=strategy, window_samples=700, seed=3, carry_below_fraction=0)
    assert ours == [samples.tolist() for samples in packing.groups[0]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_packs_do_not_depend_on_chunks_and_every_sample_is_packed_or_counted(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, 60), max_size=200))
    arguments: dict[str, Any] = {
        "strategy": data.draw(st.sampled_from(STRATEGIES)),
        "capacity_tokens": 40,
        "window_samples": data.draw(st.integers(1, 50)),
        "over_long": data.draw(st.sampled_from(["drop", "truncate"])),
        "empty": data.draw(st.sampled_from(["drop", "keep"])),
        "carry_below_fraction": data.draw(st.sampled_from([0, 0.5, 0.9, 1])),
        "most_carries": data.draw(st.integers(0, 3)),
    }
    packer = packsim.StreamPacker(**arguments)
    packs: list[list[int]] = []
    rest = lengths
    while rest:
        n = data.draw(st.integers(0, len(rest)))
        packs += lists_of(packer.push(rest[:n]))
        rest = rest[n:] if n else rest[:0]
        if not n:
            break
        assert len(packer.state_dict()["held"]["samples"]) < arguments["window_samples"]
        if data.draw(st.booleans()):
            state = json.loads(json.dumps(packer.state_dict()))
            packer = packsim.StreamPacker(**arguments)
            packer.load_state_dict(state)
    n_fed = packer.counts.n_samples
    packs += lists_of(packer.finish())
    assert packs == packed_at_once(lengths[:n_fed], **arguments)

    counts = packer.counts
    packed = [sample for samples in packs for sample in samples]
    assert len(set(packed)) == len(packed) == counts.packed_samples
    assert n_fed == counts.packed_samples + counts.dropped_samples + counts.empty_samples
    kept = [min(lengths[sample], 40) for sample in packed]
    assert counts.packed_tokens == sum(kept)
    assert counts.n_tokens == counts.packed_tokens + counts.dropped_tokens + counts.truncated_tokens
    assert all(sum(min(lengths[sample], 40) for sample in samples) <= 40 for samples in packs)


def test_a_packer_is_copied_by_pickling() -> None:
    packer = packer_of()
    packer.push(LENGTHS[:250])
    copy = pickle.loads(pickle.dumps(packer))
    assert lists_of(copy.push(LENGTHS[250:])) == lists_of(packer.push(LENGTHS[250:]))
    assert copy.state_dict() == packer.state_dict()


def test_packs_are_read_only_arrays_of_positions() -> None:
    packs = packer_of().push(LENGTHS)
    assert packs.samples.dtype == packs.offsets.dtype == np.uint64
    assert len(packs) == len(packs.offsets) - 1
    assert packs[-1].tolist() == packs[len(packs) - 1].tolist() == lists_of(packs)[-1]
    for array in (packs.samples, packs.offsets, packs[0]):
        assert not array.flags.writeable
    with pytest.raises(IndexError, match="pack: expected index in "):
        packs[len(packs)]
    assert repr(packs) == f"<StreamPacks: {len(packs.samples)} samples in {len(packs)} packs>"
    nothing = packer_of().finish()
    assert (len(nothing), nothing.samples.tolist(), nothing.offsets.tolist()) == (0, [], [0])


def test_the_representation_says_how_far_it_is() -> None:
    packer = packer_of()
    packer.push([5000 - 1000, 20])
    assert repr(packer) == "<StreamPacker by bfd: 0 of 2 samples in 0 packs of 4096 tokens>"
    assert packer.room_samples == 98
    assert {field.name for field in fields(packsim.StreamCounts)} == set(packer.state_dict()["counts"])


def mistakes(**more: Any) -> str:
    with pytest.raises(ValueError) as caught:
        packer_of(**more)
    return str(caught.value)


def test_arguments_are_checked_all_at_once() -> None:
    lines = mistakes(
        capacity_tokens=0, window_samples=0, over_long="split", empty="x", carry_below_fraction=1.5,
        most_carries=-1, seed=-1, rounds=5,
    ).splitlines()  # fmt: skip
    names = ["rounds", "seed", "capacity_tokens", "window_samples", "over_long", "empty"]
    assert [line.split(":")[0] for line in lines] == [*names, "carry_below_fraction", "most_carries"]
    assert "over_long: expected one of error, drop, truncate, got 'split' (str)" in lines
    assert "carry_below_fraction: expected a number in 0..1, got 1.5 (float)" in lines
    assert mistakes(carry_below_fraction=True).endswith("got True (bool)")


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        ("none", "whose samples are rows of their own"),
        ("wrapped", "which cuts samples"),
        ("hbp", "which takes several capacities"),
        ("trl_bfd", "which has windows of its own"),
        ("planner", "which forms whole iterations"),
    ],
)
def test_strategies_that_cannot_pack_a_stream_are_refused_with_the_reason(strategy: str, why: str) -> None:
    expected = "strategy: expected one that packs whole samples into one row, got "
    assert mistakes(strategy=strategy) == f'{expected}"{strategy}", {why}'


def test_bad_lengths_are_named_by_their_positions_and_nothing_is_taken() -> None:
    packer = packer_of(empty="error")
    packer.push(LENGTHS[:50])
    before = packer.state_dict()
    for lengths, message in [
        ([5, 5000], r"lengths of at most 4096 .* got 1 that are not: sample 51 has 5000"),
        ([5, 7, 0], r"lengths of at least 1 .* got 1 that are not: sample 52 has 0"),
        (np.array([-3], dtype=np.int32), r"lengths of at least 0, got 1 that are not: sample 50 has -3"),
        ([1.5], "expected integers, got 1.5"),
    ]:
        with pytest.raises(ValueError, match=message):
            packer.push(lengths)
    assert packer.state_dict() == before


def test_states_of_other_packers_and_what_is_no_state_are_refused() -> None:
    packer = packer_of(strategy="isf", rounds=3)
    packer.push(LENGTHS[:130])
    state = packer.state_dict()

    def refused(state: Any, **more: Any) -> str:
        other = packer_of(**({"strategy": "isf", "rounds": 3} | more))
        before = other.state_dict()
        with pytest.raises(ValueError) as caught:
            other.load_state_dict(state)
        assert other.state_dict() == before
        return str(caught.value)

    assert refused(state, capacity_tokens=5000, rounds=4).splitlines() == [
        "state.setting: expected capacity_tokens 5000, got 4096",
        "state.setting: expected rounds 4, got 3",
    ]
    assert "state.setting: expected strategy 'isf', got 'bfd'" in refused(packer_of().state_dict())
    assert refused(state, window_samples=99) == "state.setting: expected window_samples 99, got 100"
    assert refused(5) == "state.version: expected 1, got 5 (int)"
    assert refused({}) == "state.version: expected 1, got None (NoneType)"
    assert refused({"version": 1}) == "state.setting: expected the setting of a stream, got NoneType"
    assert refused(state | {"position": -1}).startswith("state.position: expected integer in 0..")
    assert refused(state | {"position": 131}).startswith(
        "state.counts: expected every sample and token of 131"
    )
    assert refused(state | {"held": None}).startswith("state.held: expected lists samples, lengths_tokens, ")
    held = state["held"]
    wrong = held | {"n_carries": held["n_carries"][1:]}
    assert refused(state | {"held": wrong}).startswith("state.held.n_carries: expected ")
    wrong = held | {"samples": ["0", *held["samples"][1:]]}
    assert refused(state | {"held": wrong}).startswith("state.held.samples[0]: expected integer in 0..")
    wrong = held | {"samples": [x + 100 for x in held["samples"]]}
    assert "].sample_index: expected at least " in refused(state | {"held": wrong})
    assert refused(state | {"counts": {}}).startswith("state.counts.n_samples: expected integer in 0..")


def test_positions_go_on_beyond_32_bits() -> None:
    packer = packer_of(window_samples=2)
    state = packer.state_dict()
    state["position"] = state["counts"]["n_samples"] = state["counts"]["packed_samples"] = 2**40
    packer.load_state_dict(state)
    assert lists_of(packer.push([3000, 1096])) == [[2**40, 2**40 + 1]]


def test_threads_run_meanwhile_and_wait_for_each_other() -> None:
    lengths = np.tile(LENGTHS, 300)
    packer = packer_of(strategy="isf")
    n_packs: list[int] = []
    threads = [threading.Thread(target=lambda: n_packs.append(len(packer.push(lengths)))) for _ in range(2)]
    begin_s = time.perf_counter()
    for thread in threads:
        thread.start()
    ticks = 0
    while any(thread.is_alive() for thread in threads):
        ticks += 1
        time.sleep(0.001)
    took_s = time.perf_counter() - begin_s
    assert ticks > took_s * 1000 / 50
    n_packs.append(len(packer.finish()))
    assert packer.counts.packed_samples == packer.counts.n_samples == 2 * len(lengths)
    assert packer.counts.n_packs == sum(n_packs)
