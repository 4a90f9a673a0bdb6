"""window_quality(): what windows cost."""

from __future__ import annotations

import numpy as np
import pytest
from cases import heavy_tailed

import packsim

LENGTHS = heavy_tailed(20_000, seed=3, longest_tokens=4096)


def test_a_window_on_paper() -> None:
    # Windows of two: {6, 7} and {4, 3} are a pack of 6, one of 7, and one of 7: 20 tokens in 3 packs of 10.
    # Where the pack of 6 waits for the second window, it takes the 4; the 3 alone is left: 3 packs too.
    without, with_carry, whole = packsim.window_quality(
        [6, 7, 4, 3], strategy="bfd", capacity_tokens=10, windows=(2, 0)
    )
    assert (without.window_samples, without.carries, without.n_packs) == (2, False, 3)
    assert without.fill_fraction == pytest.approx(20 / 30)
    assert without.excess_packs_fraction == pytest.approx(3 / 2 - 1)
    assert (without.mean_delay_samples, without.longest_delay_samples) == (0.5, 1)
    assert (with_carry.carries, with_carry.n_packs, with_carry.carried_samples) == (True, 3, 1)
    assert with_carry.longest_delay_samples == 2
    assert (whole.window_samples, whole.n_packs, whole.fill_fraction) == (0, 2, 1.0)
    assert (whole.mean_delay_samples, whole.longest_delay_samples) == (1.5, 3)


@pytest.mark.parametrize("strategy", ["bfd", "ffd", "isf"])
def test_larger_windows_and_carrying_fill_packs_better(strategy: str) -> None:
    rows = packsim.window_quality(LENGTHS, strategy=strategy, capacity_tokens=4096, windows=(50, 1000, 0))
    small, small_carry, large, large_carry, whole = rows
    assert small.n_packs > small_carry.n_packs > whole.n_packs
    assert small.n_packs > large.n_packs >= large_carry.n_packs
    assert large.n_packs >= whole.n_packs
    assert all(row.samples_per_s > 0 for row in rows)
    assert small_carry.longest_delay_samples > small.longest_delay_samples == 49


def test_a_window_without_carrying_is_that_of_pack() -> None:
    row = packsim.window_quality(LENGTHS, strategy="bfd", capacity_tokens=4096, windows=(1000,))[0]
    packing = packsim.pack(LENGTHS, strategy="trl_bfd", capacity_tokens=4096)
    assert row.n_packs == packing.n_packs
    assert row.fill_fraction == pytest.approx(packing.statistics.fill_fraction)


def test_samples_that_are_cut_or_left_out_do_not_count_as_filling() -> None:
    for over_long, fill in [("truncate", 1.0), ("drop", 0.5)]:
        rows = packsim.window_quality(
            [20, 5],
            strategy="bfd",
            capacity_tokens=10,
            windows=(5, 0),
            over_long=over_long,  # type: ignore[arg-type]
        )
        expected = 15 / 20 if fill == 1.0 else fill
        assert [row.fill_fraction for row in rows] == [expected] * 3


def test_no_data_and_bad_arguments() -> None:
    rows = packsim.window_quality([], strategy="bfd", capacity_tokens=10, windows=(5, 0))
    assert all(np.isnan(row.fill_fraction) and np.isnan(row.excess_packs_fraction) for row in rows)
    with pytest.raises(ValueError, match="windows\\[1\\]: expected integer"):
        packsim.window_quality([1], strategy="bfd", capacity_tokens=10, windows=(5, -1))
    with pytest.raises(ValueError, match="which takes several capacities"):
        packsim.window_quality([1], strategy="hbp", capacity_tokens=10)
