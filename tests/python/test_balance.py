"""balance(): rollouts over ranks and micro-batches."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from cases import REPOSITORY, heavy_tailed

import packsim

BUDGET_TOKENS = 16_384


@pytest.mark.parametrize("n_ranks", [1, 7, 64])
def test_every_sample_is_in_one_micro_batch_within_the_budget(n_ranks: int) -> None:
    lengths = heavy_tailed(3000, seed=n_ranks, longest_tokens=BUDGET_TOKENS)
    division = packsim.balance(lengths, n_ranks, BUDGET_TOKENS)
    assert np.array_equal(np.sort(division.samples), np.arange(3000))
    assert len(division.offsets) == n_ranks * division.micro_batches_per_rank + 1
    assert np.all(np.diff(division.offsets) > 0)
    assert np.add.reduceat(lengths[division.samples], division.offsets[:-1]).max() <= BUDGET_TOKENS
    work = lengths.astype(np.float64) * (24576 + lengths)
    sums = [sum(work[samples].sum() for samples in division.rank(rank)) for rank in range(n_ranks)]
    assert division.rank_costs == pytest.approx(sums)
    assert division.largest_over_mean == pytest.approx(max(sums) / np.mean(sums))


def test_100_000_rollouts_over_64_ranks_take_less_than_a_second_and_balance() -> None:
    lengths = heavy_tailed(100_000, seed=1, longest_tokens=32_768)
    begin_s = time.process_time()
    division = packsim.balance(lengths, 64, 32_768)
    assert time.process_time() - begin_s < 1  # 0.07 where nothing else runs
    assert division.largest_over_mean < 1.01


def test_given_costs_are_balanced() -> None:
    costs = [9, 1, 1, 1, 3, 3, 3, 3, 6, 2, 2, 2]  # 36: 12 on each of three ranks
    division = packsim.balance([5] * 12, 3, 30, costs=costs)
    assert division.rank_costs.tolist() == [12, 12, 12]
    with pytest.raises(ValueError, match="read-only"):
        division.samples[0] = 1


def test_micro_batches_are_found_by_rank_and_index() -> None:
    division = packsim.balance([8, 6, 4, 2], 2, 10)
    assert division.micro_batch(0, 0).tolist() == [0, 3]
    with pytest.raises(IndexError, match=re.escape("rank: expected 0..1, got 2")):
        division.micro_batch(2, 0)
    with pytest.raises(IndexError, match=re.escape("index: expected 0..0, got -1")):
        division.micro_batch(0, -1)


def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(ValueError) as caught:
        packsim.balance([1], 0, 0, costs="x", linear_weight_tokens=-1)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "n_ranks",
        "token_budget",
        "linear_weight_tokens",
        "costs",
    ]


@pytest.mark.parametrize(
    ("lengths", "n_ranks", "options", "message"),
    [
        ([6, 6, 6], 4, {}, "n_ranks: expected at most one for each of 3 samples"),
        ([6, 6, 6], 2, {}, "3 samples of 3 micro-batches give each of 2 ranks at most 1 that is not empty"),
        (
            [6, 11, 0],
            1,
            {},
            "expected lengths of 1..10 (the token budget), got 2 that are not: sample 1 has 11",
        ),
        ([6, 6], 1, {"costs": [1.0]}, "costs: expected one for each of 2 samples, got 1"),
        ([6, 6], 1, {"costs": [1.0, np.nan]}, "costs[1]: expected a finite number >= 0, got nan"),
        ([6, 6], 1, {"costs": [[1.0, 2.0]]}, "costs: expected an array of numbers of one dimension"),
        ([6.5], 1, {}, "lengths_tokens: "),
    ],
)
def test_what_cannot_be_divided_is_refused(
    lengths: Any, n_ranks: int, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        packsim.balance(lengths, n_ranks, 10, **options)


def test_the_blocks_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPOSITORY / "docs" / "rollouts.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/rollouts.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()[0]
    assert f"`{printed}`" in page
