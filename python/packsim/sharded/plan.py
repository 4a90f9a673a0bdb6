"""ShardedPlan: which process trains which pack of a data set in shards, computed where it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packsim._arguments import Problems
from packsim._balance import dealt_in_rounds
from packsim._iterations import Iterations
from packsim._make_plan import checked_padding
from packsim._micro_batch import MicroBatch
from packsim._normalisers import find_normaliser
from packsim._plan import PlanGroup
from packsim.sharded.checked_files import record_checksum
from packsim.sharded.packs import ShardedPacks
from packsim.sharded.permutation import Permutation

_PLACED = np.dtype([("first_gpu", "<i8"), ("group", "<i8"), ("round", "<i8")])


@dataclass(frozen=True)
class EpochCounts:
    """What the last iteration of an epoch leaves out or trains once more.

    Attributes
    ----------
    dropped_packs, dropped_tokens
        Left out.
    repeated_packs, repeated_tokens
        Trained twice in the epoch.
    """

    dropped_packs: int
    dropped_tokens: int
    repeated_packs: int
    repeated_tokens: int


class ShardedPlan(Iterations):
    """The packs of all shards, dealt to iterations and GPUs.

    Every epoch shuffles all packs over all shards, by a permutation of which any place is computed on its
    own: a process works out its packs of an iteration without a table of the others, whatever their number.
    It takes the place of a `packsim.Plan` in PlanLoader, PlanSampler, PlanDataset and PackCollator of
    `packsim.torch`. Loss weights are exact: 1 over the loss tokens of the iteration on all GPUs.

    Parameters
    ----------
    packs : ShardedPacks
    n_gpus : int
        Data-parallel GPUs; a divisor of them may train the plan.
    micro_batches_per_rank : int
        Packs of a GPU in an iteration.
    epochs, seed : int
        Epoch e shuffles packs with seed + e.
    order : {"balanced", "shuffled"}
        How the packs of an iteration are dealt to GPUs: so that the work of attention is nearly the same on
        all of them, or as shuffled.
    last_iteration : {"repeat", "drop", "shorten"}
        Packs of an epoch that are too few for an iteration: fill up with the epoch's first packs, leave them
        out, or run it with fewer. `epoch_counts()` counts them.
    padding, pad_multiple_tokens
        As for `make_plan()`.
    """

    def __init__(
        self,
        packs: ShardedPacks,
        *,
        n_gpus: int,
        micro_batches_per_rank: int = 1,
        epochs: int = 1,
        seed: int = 1024,
        order: Literal["balanced", "shuffled"] = "balanced",
        last_iteration: Literal["repeat", "drop", "shorten"] = "repeat",
        padding: Literal["none", "longest", "capacity", "multiple"] = "none",
        pad_multiple_tokens: int = 1,
    ) -> None:
        problems = Problems()
        policy, multiple = checked_padding(padding, pad_multiple_tokens, problems)
        rounds = problems.integer("micro_batches_per_rank", micro_batches_per_rank, 1, 1 << 16)
        self.facts: dict[str, Any] = {
            "strategy": packs.arguments.strategy,
            "over_long": packs.arguments.over_long,
            "n_gpus": problems.integer("n_gpus", n_gpus, 1, 1 << 20),
            "micro_batches_per_rank": rounds,
            "epochs": problems.integer("epochs", epochs, 1, 1 << 16),
            "seed": problems.integer("seed", seed, 0, 2**32 - 1),
            "order": problems.word("order", order, ("balanced", "shuffled")),
            "last_iteration": problems.word("last_iteration", last_iteration, ("repeat", "drop", "shorten")),
            "padding": policy,
            "pad_multiple_tokens": multiple,
            "normaliser": "stable",
        }
        problems.raise_if_any()
        self.packs = packs
        self.n_samples = packs.n_samples
        self.packs_per_iteration = n_each = self.n_gpus * rounds
        n_spare = n_each - 1 if self.facts["last_iteration"] != "drop" else 0
        self.iterations_per_epoch = (packs.n_packs + n_spare) // n_each
        self.content_hash = record_checksum([packs.content_hash, self.facts])
        self.groups = (PlanGroup(packs.capacity_tokens, n_packs=packs.n_packs),)
        self.normaliser = find_normaliser("stable")
        self._dealt: tuple[int, NDArray[np.int64], float] | None = None  # the iteration last asked for

    def epoch_counts(self, epoch: int) -> EpochCounts:
        """What is left out or trained twice, which packs depends on the epoch."""
        n_packs = self.packs.n_packs
        n_placed = self.iterations_per_epoch * self.packs_per_iteration
        permutation = self._permutation(epoch)
        dropped, repeated = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if n_placed < n_packs:
            dropped = permutation(np.arange(n_placed, n_packs))
        elif self.facts["last_iteration"] == "repeat" and n_packs:
            repeated = permutation(np.arange(n_packs, n_placed) % n_packs)
        return EpochCounts(len(dropped), self._tokens(dropped), len(repeated), self._tokens(repeated))

    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        # GPU after GPU in each round.
        places = np.arange(self._n_placed(iteration))
        placed = np.zeros(len(places), dtype=_PLACED)
        placed["round"], placed["first_gpu"] = places // self.n_gpus, places % self.n_gpus
        return 0, placed

    def _n_placed(self, iteration: int) -> int:
        self._check(iteration)
        if self.facts["last_iteration"] != "shorten":
            return self.packs_per_iteration
        first = iteration % self.iterations_per_epoch * self.packs_per_iteration
        return min(self.packs_per_iteration, self.packs.n_packs - first)

    def _micro_batch(self, iteration: int, placed_index: int) -> MicroBatch:
        packs, weight = self._deal(iteration)
        pack = self.packs.pack(int(packs[placed_index]))
        starts = pack.starts_tokens
        return MicroBatch(
            iteration=iteration,
            round=placed_index // self.n_gpus,
            first_gpu=placed_index % self.n_gpus,
            group=self.groups[0],
            samples=pack.samples,
            starts_tokens=np.zeros(len(pack.samples), np.int32)
            if starts is None
            else starts.astype(np.int32),
            tokens=pack.tokens.astype(np.int32),
            loss_tokens=pack.piece_loss_tokens().astype(np.int32),
            weight=weight,
        )

    def _deal(self, iteration: int) -> tuple[NDArray[np.int64], float]:
        """(pack at each place, weight of a loss token)."""
        if self._dealt is None or self._dealt[0] != iteration:
            epoch, place = divmod(iteration, self.iterations_per_epoch)
            first = place * self.packs_per_iteration
            places = np.arange(first, first + self._n_placed(iteration)) % self.packs.n_packs
            packs = self._permutation(epoch)(places)
            n_loss_tokens = int(self.packs.pack_loss_tokens(packs).sum())
            if self.facts["order"] == "balanced":
                packs = packs[dealt_in_rounds(self.packs.pack_work(packs), self.n_gpus)]
            self._dealt = iteration, packs, 1.0 / n_loss_tokens if n_loss_tokens else 0.0
        return self._dealt[1:]

    def _permutation(self, epoch: int) -> Permutation:
        return Permutation(self.packs.n_packs, self.facts["seed"] + epoch)

    def _tokens(self, packs: NDArray[np.int64]) -> int:
        return sum(int(self.packs.pack(pack).tokens.sum(dtype=np.int64)) for pack in packs.tolist())

    def __repr__(self) -> str:
        where = f"{self.n_iterations} iterations in {self.n_epochs} epochs on {self.n_gpus} GPUs"
        return f"<ShardedPlan of {self.packs.n_packs} packs: {where}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_dealt": None}
