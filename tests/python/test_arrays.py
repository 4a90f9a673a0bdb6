"""What the arrays of a packing are: views, read-only, alive as long as anybody has them."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from cases import arguments_of, heavy_tailed, rows

import packsim


def arrays_of(packing: packsim.Packing) -> dict[str, np.ndarray]:
    arrays = {"placed": packing.placed, "iterations": packing.iterations}
    for g, group in enumerate(packing.groups):
        for name in ("offsets", "samples", "starts_tokens", "tokens"):
            arrays[f"{name} of group {g}"] = getattr(group, name)
    return arrays


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_arrays_have_their_types_and_cannot_be_written(row: packsim.Strategy) -> None:
    packing = packsim.pack(heavy_tailed(500, 1, 6000), over_long="split", **arguments_of(row))
    types = {"offsets": np.uint32, "samples": np.uint32, "starts_tokens": np.int32, "tokens": np.int32}
    for name, array in arrays_of(packing).items():
        assert array.ndim == 1
        if " of group" in name:
            assert array.dtype == types[name.split()[0]]
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array[:1] = array[:1]
    assert packing.placed.dtype.names == ("pack", "first_gpu", "group", "round", "after_barrier")
    assert packing.iterations.dtype.names == ("first_placed", "n_placed")


def test_packs_are_views_of_the_core_memory() -> None:
    packing = packsim.pack(heavy_tailed(500, 2, 4096), strategy="bfd", capacity_tokens=4096)
    group = packing.groups[0]
    again = packing._core.items(0)
    assert np.shares_memory(group.samples, again)
    assert not group.samples.flags.owndata and not group.offsets.flags.owndata
    assert np.shares_memory(group.offsets, packing._core.offsets(0))
    assert np.shares_memory(group.pack(3), group.samples)
    for array in (group.samples, group.offsets):  # nobody can make the memory of the core writable
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_arrays_outlive_the_packing_and_the_lengths() -> None:
    lengths = heavy_tailed(20000, 3, 4096)
    packing = packsim.pack(lengths, strategy="ffs", capacity_tokens=4096)
    wanted = {name: array.copy() for name, array in arrays_of(packing).items()}
    arrays = arrays_of(packing)
    one_pack = packing.groups[0].pack(7)
    core = weakref.ref(packing)
    del packing, lengths
    gc.collect()
    assert core() is None
    churn = [np.full(20000, 255, dtype=np.uint32) for _ in range(50)]  # over the memory, were it free
    for name, array in arrays.items():
        assert (array == wanted[name]).all()
    ends = arrays["offsets of group 0"]
    assert (one_pack == wanted["samples of group 0"][ends[7] : ends[8]]).all()
    assert len(churn) == 50


def test_groups_outlive_the_packing_and_the_lengths() -> None:
    # Tokens are read from the lengths when they are asked for.
    group = packsim.pack(np.array([5, 3, 2], dtype=np.int32), strategy="ffd", capacity_tokens=10).groups[0]
    gc.collect()
    assert group.tokens.tolist() == [5, 3, 2]


def test_lengths_stay_as_long_as_the_packing_needs_them() -> None:
    packing = packsim.pack(heavy_tailed(20000, 4, 4096), strategy="bfd", capacity_tokens=4096)
    gc.collect()
    churn = [np.full(20000, 255, dtype=np.int32) for _ in range(50)]
    tokens = int(heavy_tailed(20000, 4, 4096).sum())
    assert packing.statistics.tokens_per_pack == pytest.approx(tokens / packing.n_packs)
    assert len(churn) == 50


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_a_packing_can_be_pickled(row: packsim.Strategy) -> None:
    packing = packsim.pack(heavy_tailed(500, 5, 6000), over_long="truncate", **arguments_of(row))
    same = pickle.loads(pickle.dumps(packing))
    assert repr(same) == repr(packing)
    assert same.counts == packing.counts
    assert repr(same.statistics) == repr(packing.statistics)  # nan is not itself
    others = arrays_of(same)
    for name, array in arrays_of(packing).items():
        assert (others[name] == array).all()
        assert not others[name].flags.writeable
    for group, other in zip(packing.groups, same.groups, strict=True):
        assert (group.pack_tokens() == other.pack_tokens()).all()
    assert pickle.dumps(pickle.loads(pickle.dumps(same)))


def test_packs_by_index() -> None:
    group = packsim.pack([5, 3, 2, 7, 4], strategy="ffd", capacity_tokens=10).groups[0]
    assert group.pack(0).tolist() == group[0].tolist() == [3, 1]
    assert group.pack(-1).tolist() == [2]
    for index in (3, -4):
        with pytest.raises(IndexError, match="expected index in -3..2"):
            group.pack(index)
