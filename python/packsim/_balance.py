"""balance(): samples that are all at hand, such as rollouts, over ranks and micro-batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packsim import _core
from packsim._arguments import Problems, index_of
from packsim._lengths_array import LengthsLike, as_lengths, as_numbers

_MOST_RANKS = 1 << 20


@dataclass(frozen=True, eq=False)
class Balance:
    """Micro-batches of all ranks: as many on every rank, none empty, none over the budget.

    Attributes
    ----------
    n_ranks, micro_batches_per_rank
        Every rank has the same number of micro-batches.
    samples : ndarray of uint32, shape (n_samples,)
        Every sample once, micro-batch after micro-batch, rank after rank.
    offsets : ndarray of uint32, shape (n_ranks * micro_batches_per_rank + 1,)
        Micro-batch m of rank r is ``samples[offsets[i]:offsets[i + 1]]`` with
        ``i = r * micro_batches_per_rank + m``. Those of a rank are by descending cost.
    rank_costs : ndarray of float64, shape (n_ranks,)
        Sum of the costs of each rank's samples.
    """

    n_ranks: int
    micro_batches_per_rank: int
    samples: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    rank_costs: NDArray[np.float64]

    def micro_batch(self, rank: int, index: int) -> NDArray[np.uint32]:
        """The samples of a micro-batch of a rank."""
        rank, index = index_of("rank", rank), index_of("index", index)
        counts = (("rank", rank, self.n_ranks), ("index", index, self.micro_batches_per_rank))
        for name, given, count in counts:
            if not 0 <= given < count:
                raise IndexError(f"{name}: expected 0..{count - 1}, got {given}")
        at = rank * self.micro_batches_per_rank + index
        return self.samples[self.offsets[at] : self.offsets[at + 1]]

    def rank(self, rank: int) -> Iterator[NDArray[np.uint32]]:
        """The micro-batches of a rank, in the order in which it trains them."""
        return (self.micro_batch(rank, index) for index in range(self.micro_batches_per_rank))

    @property
    def largest_over_mean(self) -> float:
        """Cost of the largest rank over the mean: 1 is perfect. NaN if nothing costs anything."""
        mean = float(self.rank_costs.mean())
        return float(self.rank_costs.max()) / mean if mean > 0 else float("nan")

    def __repr__(self) -> str:
        shape = f"{self.n_ranks} ranks x {self.micro_batches_per_rank} micro-batches"
        largest = f"largest rank {self.largest_over_mean:.4f} x mean"
        return f"<Balance: {len(self.samples)} samples on {shape}, {largest}>"


def balance(
    lengths_tokens: LengthsLike,
    n_ranks: int,
    token_budget: int,
    *,
    costs: ArrayLike | None = None,
    linear_weight_tokens: int = _core.linear_weight_tokens,
) -> Balance:
    """Divide samples over data-parallel ranks and micro-batches, so that ranks cost nearly the same.

    It takes less than a microsecond a sample. The same arguments give the same result on any machine, so each
    rank can call it for itself. Other Python threads run meanwhile.

    Parameters
    ----------
    lengths_tokens : array_like of int, shape (n_samples,)
        Tokens of each sample, prompt and response together; each in 1..token_budget.
    n_ranks : int
        Data-parallel ranks; at most the number of samples.
    token_budget : int
        Most tokens of a micro-batch.
    costs : array_like of float, shape (n_samples,), optional
        Cost of each sample, in any unit. By default ``s * (linear_weight_tokens + s)`` for a sample of s
        tokens, which is its work in a decoder layer up to a factor.
    linear_weight_tokens : int
        For the default cost: six times the hidden size is a good value.

    Returns
    -------
    Balance
        Arrays of samples and offsets, and the cost of each rank.

    Raises
    ------
    ValueError
        For arguments that are wrong, all of them at once; for samples longer than the budget; and if
        samples are too few for every rank to have as many micro-batches, none of them empty.

    Examples
    --------
    >>> division = packsim.balance([8, 6, 4, 2], n_ranks=2, token_budget=10)
    >>> division
    <Balance: 4 samples on 2 ranks x 1 micro-batches, largest rank 1.0000 x mean>
    >>> [samples.tolist() for samples in division.rank(0)]
    [[0, 3]]
    """
    problems = Problems()
    ranks = problems.integer("n_ranks", n_ranks, 1, _MOST_RANKS)
    budget = problems.integer("token_budget", token_budget, 1, _core.longest_capacity_tokens)
    weight = problems.integer("linear_weight_tokens", linear_weight_tokens, 0, _core.longest_capacity_tokens)
    checked_costs = np.empty(0) if costs is None else as_numbers("costs", costs, problems, least=1)
    problems.raise_if_any()
    made = _core.balance(
        as_lengths(lengths_tokens),
        n_ranks=ranks,
        token_budget=budget,
        costs=checked_costs,
        linear_weight_tokens=weight,
    )
    return Balance(ranks, made.micro_batches_per_rank, made.samples(), made.offsets(), made.rank_costs())


def dealt_in_rounds(work: NDArray[Any], n_ranks: int) -> NDArray[np.intp]:
    """Which pack each rank has in each round: that of rank r in round i stands at i * n_ranks + r.

    Packs by descending work, one to each rank in every round, so that ranks do about the same in each; in a
    round the rank that has least so far gets the most.
    """
    order = np.argsort(-work, kind="stable")
    dealt = np.empty_like(order)
    total = np.zeros(n_ranks, dtype=work.dtype)
    for begin in range(0, len(order), n_ranks):
        packs = order[begin : begin + n_ranks]
        # A short last round is on the first ranks, as plans have it.
        least_first = np.argsort(total[: len(packs)], kind="stable")
        dealt[begin + least_first] = packs
        total[least_first] += work[packs]
    return dealt
