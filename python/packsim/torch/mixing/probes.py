"""Losses and gradients of samples, measured in packed rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from packsim._arguments import Problems
from packsim._micro_batch import MicroBatch
from packsim._pack import pack
from packsim._plan import PlanGroup
from packsim.torch.collator import CollatorRules, PackCollator
from packsim.torch.dataset import MapStyleDataset, PackDataset
from packsim.torch.isolation import attention_inputs
from packsim.torch.loss import accurate_type
from packsim.torch.packed_batch import PackedBatch

# A Forward takes a model and a PackedBatch to its logits, or to what has them as `logits`.
Forward = Callable[[Any, PackedBatch], Any]
# TokenLosses take logits, shape (n_tokens, n_words), and their labels to the loss of each token, shape
# (n_tokens,).
TokenLosses = Callable[[Tensor, Tensor], Tensor]

# Losses without gradients are taken of so many tokens at a time: logits of a whole row in float32 may be
# larger than the model.
_TOKENS_AT_A_TIME = 2048
MOST_TOKENS = (1 << 31) - 1  # of a row


def rows_of(
    samples: NDArray[np.int64], lengths_tokens: NDArray[np.int32], capacity_tokens: int
) -> list[NDArray[np.int64]]:
    """Places in `samples` that share a row; those longer than the capacity have one of their own.

    Samples without tokens are in no row.
    """
    packing = pack(
        lengths_tokens[samples], strategy="ffd", capacity_tokens=capacity_tokens, over_long="own_pack"
    )
    return [row.astype(np.int64) for group in packing.groups for row in group]


def probe_collator(collator: PackCollator | None, truncates_tokens: int, problems: Problems) -> PackCollator:
    """One of packed rows that knows no loss tokens beforehand.

    truncates_tokens: samples may go on behind so many tokens; 0: as the collator's rules say.
    """
    if collator is None:
        collator = PackCollator(CollatorRules())
    if collator.rules.layout != "packed":
        problems.add(f"collator: expected one of layout 'packed', got {collator.rules.layout!r}")
    made = copy.copy(collator)
    made.check_loss_tokens = False
    if truncates_tokens:
        made.rules = replace(made.rules, truncates_tokens=truncates_tokens)
    return made


@dataclass
class ProbePasses:
    """Passes of one process that trained nothing.

    Attributes
    ----------
    gradient_passes, gradient_samples, gradient_tokens : int
        Forward and backward: calls of the model, and the samples and tokens in them.
    forward_passes, forward_samples, forward_tokens : int
        Forward alone.
    """

    gradient_passes: int = 0
    gradient_samples: int = 0
    gradient_tokens: int = 0
    forward_passes: int = 0
    forward_samples: int = 0
    forward_tokens: int = 0

    def add_gradient(self, n_samples: int, n_tokens: int) -> None:
        """One pass forward and backward."""
        self.gradient_passes += 1
        self.gradient_samples += n_samples
        self.gradient_tokens += n_tokens

    def add_forward(self, n_samples: int, n_tokens: int) -> None:
        """One pass forward."""
        self.forward_passes += 1
        self.forward_samples += n_samples
        self.forward_tokens += n_tokens


@dataclass(eq=False)
class Prober:
    """Measures samples of a data set with a model, and counts what that takes.

    Parameters
    ----------
    model : nn.Module or callable
        In the mode in which it is to be measured. A callable is called with a PackedBatch.
    parameters : sequence of Parameter
        Of which gradients are taken.
    """

    model: Any
    dataset: MapStyleDataset
    lengths_tokens: NDArray[np.int32]
    collator: PackCollator
    device: torch.device
    forward: Forward | None = None
    loss: TokenLosses | None = None
    parameters: Sequence[nn.Parameter] = ()
    passes: ProbePasses = field(default_factory=ProbePasses)

    def __post_init__(self) -> None:
        self._packs = PackDataset(self.dataset, as_arrays=True)

    def mean_losses(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The mean loss of each sample's labels, from one row of all of them, and which have labels.

        The logarithm of a sample's perplexity; 0 for samples without labels.
        """
        batch = self._row(samples)
        with torch.no_grad():
            logits = self._logits(batch)
            labels = batch["labels"][0, 1:]
            cuts = tuple(range(_TOKENS_AT_A_TIME, len(labels), _TOKENS_AT_A_TIME))
            pieces = zip(logits[:-1].tensor_split(cuts), labels.tensor_split(cuts), strict=True)
            losses = torch.cat([self._cross_entropies(*piece) for piece in pieces]).double().cpu().numpy()
        self.passes.add_forward(len(samples), len(labels) + 1)
        has_loss = (labels != self.collator.ignore_index).cpu().numpy()
        # A document's first label is ignored, so that no document has the loss of another one's.
        places = np.repeat(np.arange(len(samples)), self.lengths_tokens[samples])[1:]
        losses, has_loss = losses[: len(places)], has_loss[: len(places)]
        sums = np.bincount(places[has_loss], losses[has_loss], minlength=len(samples))
        counts = np.bincount(places[has_loss], minlength=len(samples))
        return sums / np.maximum(counts, 1), counts > 0

    def gradient_norm(self, rows: Sequence[NDArray[np.int64]]) -> tuple[float, bool]:
        """The L2 norm of the gradient of the mean loss of all labels in these rows, and whether there is any.

        Gradients of parameters (`.grad`) stay as they are. 0 where the rows have no labels.
        """
        batches = [self._row(samples) for samples in rows]
        n_labels = sum(int((batch["labels"] != self.collator.ignore_index).sum()) for batch in batches)
        if not n_labels:
            return 0.0, False
        total: list[Tensor | None] = [None] * len(self.parameters)
        for batch, samples in zip(batches, rows, strict=True):
            gradient = self._gradient(batch, n_labels)
            total = [_sum(one, other) for one, other in zip(total, gradient, strict=True)]
            self.passes.add_gradient(len(samples), batch["input_ids"].shape[1])
        squares = [_norm(gradient).double() ** 2 for gradient in total if gradient is not None]
        return float(torch.stack(squares).sum().sqrt()) if squares else 0.0, True

    def _gradient(self, batch: PackedBatch, n_labels: int) -> Iterator[Tensor | None]:
        """Yields the gradient of the row's part of the mean loss."""
        with torch.enable_grad():
            labels = batch["labels"][0, 1:]
            losses = (self.loss or _cross_entropy)(self._logits(batch)[:-1], labels)
            loss = losses[labels != self.collator.ignore_index].sum() / n_labels
            if not loss.requires_grad:
                expected = "expected one with a gradient, got one that depends on no parameter"
                raise ValueError(f"loss: {expected}; forward() and loss() must not be under no_grad()")
            # Not backward(): neither .grad nor what DistributedDataParallel waits for is touched.
            return iter(torch.autograd.grad(loss, self.parameters, allow_unused=True))

    def _row(self, samples: NDArray[np.int64]) -> PackedBatch:
        tokens = self.lengths_tokens[samples]
        micro_batch = MicroBatch(
            group=PlanGroup(int(tokens.sum())),
            samples=samples.astype(np.uint64),
            starts_tokens=np.zeros(len(samples), dtype=np.int32),
            tokens=tokens,
            loss_tokens=np.zeros(len(samples), dtype=np.int32),
        )
        return self.collator(self._packs.__getitems__(micro_batch)).to(self.device)

    def _logits(self, batch: PackedBatch) -> Tensor:
        """Shape (n_tokens, n_words)."""
        found = (self.forward or _called)(self.model, batch)
        logits: Tensor = found if isinstance(found, Tensor) else found.logits
        expected = batch["input_ids"].shape[1]
        if logits.dim() != 3 or logits.shape[:2] != (1, expected):
            got = f"shape {tuple(logits.shape)}"
            raise ValueError(
                f"logits: expected shape (1, {expected}, n_words), one for each token, got {got}"
            )
        return logits[0]

    def _cross_entropies(self, logits: Tensor, labels: Tensor) -> Tensor:
        ignored = self.collator.ignore_index
        logits = logits.to(accurate_type(logits))
        return functional.cross_entropy(logits, labels, reduction="none", ignore_index=ignored)


def _called(model: Any, batch: PackedBatch) -> Any:
    return model(**attention_inputs(batch, model)) if isinstance(model, nn.Module) else model(batch)


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    # Labels to ignore are left out by the caller, whatever their number is.
    logits = logits.to(accurate_type(logits))
    return functional.cross_entropy(logits, labels.clamp(min=0), reduction="none")


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def _norm(gradient: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(gradient.detach(), dtype=accurate_type(gradient))
    return norm.cpu()
