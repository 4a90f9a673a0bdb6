"""ShardedPlan: which process trains which pack of a data set in shards, computed where it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems
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


class ShardedPlan:
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

    Raises
    ------
    ValueError
        For arguments that are wrong, all of them at once.
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
        multiple = problems.integer(
            "pad_multiple_tokens", pad_multiple_tokens, 1, _core.longest_capacity_tokens
        )
        policy = problems.word("padding", padding, ("none", "longest", "capacity", "multiple"))
        if (policy == "multiple") != (multiple > 1):
            problems.add('pad_multiple_tokens: expected with padding "multiple", and only with it')
        self._rounds = problems.integer("micro_batches_per_rank", micro_batches_per_rank, 1, 1 << 16)
        self.facts: dict[str, Any] = {
            "strategy": packs.arguments.strategy,
            "over_long": packs.arguments.over_long,
            "n_gpus": problems.integer("n_gpus", n_gpus, 1, 1 << 20),
            "micro_batches_per_rank": self._rounds,
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
        self.content_hash = record_checksum([packs.content_hash, self.facts])
        self.groups = (PlanGroup(packs.capacity_tokens, 1, 1, 0, packs.n_packs),)
        self.normaliser = find_normaliser("stable")
        self._dealt: tuple[int, NDArray[np.int64], float] | None = None  # the iteration last asked for

    @property
    def n_gpus(self) -> int:
        return int(self.facts["n_gpus"])

    @property
    def n_epochs(self) -> int:
        return int(self.facts["epochs"])

    @property
    def n_samples(self) -> int:
        """Samples of the data set, those that were left out among them."""
        return self.packs.n_samples

    @property
    def packs_per_iteration(self) -> int:
        return self.n_gpus * self._rounds

    @property
    def iterations_per_epoch(self) -> int:
        n_packs, n_each = self.packs.n_packs, self.packs_per_iteration
        return n_packs // n_each if self.facts["last_iteration"] == "drop" else -(-n_packs // n_each)

    @property
    def n_iterations(self) -> int:
        """Optimizer steps of all epochs."""
        return self.iterations_per_epoch * self.n_epochs

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

    def micro_batches(self, iteration: int) -> list[MicroBatch]:
        """The packs of an iteration on all GPUs, rounds ascending."""
        first, placed = self._placed_in(iteration)
        return [self._micro_batch(iteration, first + index) for index in range(len(placed))]

    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        """What a RankSchedule shares out: GPU after GPU in each round."""
        places = np.arange(self._n_placed(iteration))
        placed = np.zeros(len(places), dtype=_PLACED)
        placed["round"], placed["first_gpu"] = places // self.n_gpus, places % self.n_gpus
        return 0, placed

    def _n_placed(self, iteration: int) -> int:
        if not 0 <= iteration < self.n_iterations:
            raise IndexError(f"iteration: expected 0..{self.n_iterations - 1}, got {iteration}")
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
            after_barrier=False,
            samples=pack.samples,
            starts_tokens=np.zeros(len(pack.samples), np.int32)
            if starts is None
            else starts.astype(np.int32),
            tokens=pack.tokens.astype(np.int32),
            loss_tokens=pack.piece_loss_tokens().astype(np.int32),
            weight=weight,
            weight_per_sample=False,
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
                packs = _to_and_fro(packs, self.packs.pack_work(packs), self.n_gpus)
            self._dealt = iteration, packs, 1.0 / n_loss_tokens if n_loss_tokens else 0.0
        return self._dealt[1:]

    def _permutation(self, epoch: int) -> Permutation:
        return Permutation(self.packs.n_packs, self.facts["seed"] + epoch)

    def _tokens(self, packs: NDArray[np.int64]) -> int:
        return sum(int(self.packs.pack(pack).tokens.sum(dtype=np.int64)) for pack in packs.tolist())

    def __len__(self) -> int:
        return self.n_iterations

    def __repr__(self) -> str:
        where = f"{self.n_iterations} iterations in {self.n_epochs} epochs on {self.n_gpus} GPUs"
        return f"<ShardedPlan of {self.packs.n_packs} packs: {where}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_dealt": None}


def _to_and_fro(packs: NDArray[np.int64], work: NDArray[np.float64], n_gpus: int) -> NDArray[np.int64]:
    """Longest work first, each time to the GPU with the least so far, and every round one to each GPU."""
    ordered = packs[np.argsort(-work, kind="stable")]
    sorted_work = np.sort(-work, kind="stable") * -1
    dealt = np.empty_like(ordered)
    total = np.zeros(n_gpus)
    for begin in range(0, len(ordered), n_gpus):
        n_here = min(n_gpus, len(ordered) - begin)
        # A short last round is on the first GPUs, as plans have it.
        least_first = np.argsort(total[:n_here], kind="stable")
        dealt[begin + least_first] = ordered[begin : begin + n_here]
        total[least_first] += sorted_work[begin : begin + n_here]
    return dealt
