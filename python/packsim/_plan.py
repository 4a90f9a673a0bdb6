"""Plans: which packs are trained when and where, in memory or in a mapped file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import described, is_text
from packsim._iterations import Iterations
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._micro_batch import MicroBatch
from packsim._normalisers import LossBias, Normaliser, find_normaliser


@dataclass(frozen=True)
class PlanGroup:
    """Packs of one pack length, and how they run.

    Attributes
    ----------
    capacity_tokens
        Pack length.
    sp_degree, cp_degree
        Degrees of Ulysses and of ring attention: a pack is shared by `n_gpus`, their product.
    gc_layers
        Layers that are recomputed in the backward pass.
    n_packs
        Of one epoch.
    """

    capacity_tokens: int
    sp_degree: int = 1
    cp_degree: int = 1
    gc_layers: int = 0
    n_packs: int = 0

    @property
    def n_gpus(self) -> int:
        return self.sp_degree * self.cp_degree


class Plan(Iterations):
    """A whole schedule: iterations of packs placed on GPUs, with their loss weights.

    What `packsim run --plan` prices, and what a training loop executes. Made by `make_plan()`, or opened from
    a file that this package or the command `packsim` has written. All arrays are read-only views of the file.
    The first pack that anybody asks for, such as `PlanLoader` and the trainers, has `check()` called before.

    Attributes
    ----------
    facts : dict
        What the plan says of its making: strategy, policies, seed, counts of what became of every sample. The
        keys are those of docs/plan_files.md.
    normaliser : Normaliser
        Of the weights.
    iterations : structured ndarray of first_placed, n_placed
        Which part of `placed` each trains.
    """

    def __init__(self, core: _core.Plan, path: str | None = None) -> None:
        self._core = core
        self._path = path
        self.facts: dict[str, Any] = json.loads(core.facts)
        self.groups = tuple(
            PlanGroup(**{field.name: int(row[field.name]) for field in fields(PlanGroup)})
            for row in core.groups
        )
        self.content_hash = f"{core.content_hash:016x}"
        self._first_packs = core.groups["first_pack"]
        self.normaliser: Normaliser = find_normaliser(self.facts["normaliser"])
        self.n_samples = int(self.facts["n_samples"])
        self.iterations: NDArray[np.void] = core.iterations
        self.iterations_per_epoch = len(self.iterations) // self.n_epochs

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Plan:
        """Open a plan file: read it into memory, or map it, from 64 MiB on.

        A mapped file is shared between processes. It must not be changed meanwhile, which `save()` never
        does: where it is cut, the system ends the process (SIGBUS).

        Raises
        ------
        ValueError
            For a file that is damaged, truncated, or no plan: with the file's name and the reasons.
        OSError
            Where the system will not open it, it is no regular file, or it changes while it is read.
        """
        name = _file_name(path)
        return cls(_core.Plan.open(name), os.path.abspath(name))

    @classmethod
    def from_bytes(cls, plan: bytes | bytearray | memoryview) -> Plan:
        """The plan of a file's content. ValueError as for `open()`."""
        if not isinstance(plan, (bytes, bytearray, memoryview)):
            raise ValueError(f"plan: expected bytes, got {described(plan)}")
        return cls(_core.Plan.of_bytes(bytes(plan)))

    def to_bytes(self) -> bytes:
        """What `save()` writes. The same plan has the same bytes."""
        return self._core.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan file. Who reads the path sees the file that was there, or the whole new one."""
        self._core.save(_file_name(path))

    @property
    def placed(self) -> NDArray[np.void]:
        """pack (of its group), first_gpu, group, round, flags of each placed pack."""
        return self._core.placed

    @property
    def weights(self) -> NDArray[np.float64]:
        """Shape (n_placed,): see MicroBatch.weight."""
        return self._core.weights

    @cached_property
    def _arrays(self) -> _Arrays:
        # Whoever trains needs these, and nobody is to train what is not true.
        self.check()
        return _Arrays(self._core)

    def _placed_in(self, iteration: int) -> tuple[int, NDArray[np.void]]:
        self._check(iteration)
        first, n_placed = self.iterations[iteration].tolist()
        return first, self._arrays.placed[first : first + n_placed]

    def _micro_batch(self, iteration: int, placed_index: int) -> MicroBatch:
        arrays = self._arrays
        pack, first_gpu, group, round_, flags = arrays.placed[placed_index].tolist()
        index = int(self._first_packs[group]) + pack
        items = arrays.pack_items[arrays.pack_offsets[index] : arrays.pack_offsets[index + 1]]
        tokens = arrays.lengths_tokens[items]
        if len(arrays.piece_samples):
            samples, starts = arrays.piece_samples[items], arrays.piece_starts[items]
        else:
            samples, starts = items, np.zeros(len(items), dtype=np.int32)
        loss_tokens = arrays.loss_tokens[items] if len(arrays.loss_tokens) else np.maximum(tokens - 1, 0)
        return MicroBatch(
            iteration=iteration,
            round=round_,
            first_gpu=first_gpu,
            group=self.groups[group],
            after_barrier=bool(flags & 1),
            samples=samples,
            starts_tokens=starts,
            tokens=tokens,
            loss_tokens=loss_tokens,
            weight=float(arrays.weights[placed_index]),
            weight_per_sample=self.normaliser.per_sample,
        )

    def with_normaliser(self, normaliser: str) -> Plan:
        """The same plan with the loss weights of another normaliser (see `normalisers()`): a plan of its own,
        whose states are not those of this one."""
        return Plan(self._core.with_normaliser(find_normaliser(normaliser).name))

    def loss_bias(self, normaliser: str | None = None) -> LossBias:
        """How a normaliser's loss (by default the plan's) differs from the mean over all loss tokens."""
        return LossBias(
            **self._core.loss_bias(
                find_normaliser(self.normaliser.name if normaliser is None else normaliser).name
            )
        )

    def check(self) -> None:
        """ValueError unless all is true that docs/plan_files.md promises: with everything that is not.

        Every sample is in one pack or counted, packs fit and are trained once an epoch or counted, and facts
        and weights are what the tables give. Takes its time once: a plan that has passed is not looked
        through again.
        """
        self._core.check()

    def check_lengths(self, lengths_tokens: LengthsLike) -> None:
        """ValueError unless these are the lengths that the plan was made of."""
        array = as_lengths(lengths_tokens)
        found, made_of = _core.hash_of_lengths(array), self.facts["lengths_hash"]
        if found != made_of:
            raise ValueError(
                f"lengths_tokens: expected those that the plan was made of ({self.n_samples} samples, "
                f"hash {made_of}), got {len(array)} samples, hash {found}"
            )

    def __repr__(self) -> str:
        epochs = "an epoch" if self.n_epochs == 1 else f"{self.n_epochs} epochs"
        where = f"{self.n_iterations} iterations in {epochs} on {self.n_gpus} GPUs"
        return f"<Plan by {self.facts['name']}: {self.n_samples} samples, {where}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Processes that have the file map it, too.
        if self._path is not None:
            return _reopen, (self._path, self.content_hash)
        return Plan.from_bytes, (self.to_bytes(),)


class _Arrays:
    """Views of a plan's tables, made once."""

    def __init__(self, core: _core.Plan) -> None:
        self.placed = core.placed
        self.weights = core.weights
        self.pack_offsets = core.pack_offsets
        self.pack_items = core.pack_items
        self.lengths_tokens = core.lengths_tokens
        self.piece_samples = core.piece_samples
        self.piece_starts = core.piece_starts
        self.loss_tokens = core.loss_tokens


def _reopen(path: str, content_hash: str) -> Plan:
    plan = Plan.open(path)
    if plan.content_hash != content_hash:
        raise ValueError(f"{path}: expected plan {content_hash}, which was pickled, got {plan.content_hash}")
    return plan


def _file_name(path: str | os.PathLike[str]) -> str:
    try:
        name = os.fspath(path)
    except TypeError:
        raise TypeError(f"path: expected text or os.PathLike, got {described(path)}") from None
    if not is_text(name) or "\0" in name:
        raise ValueError(f"path: expected text without a null character, got {described(name)}")
    return name
