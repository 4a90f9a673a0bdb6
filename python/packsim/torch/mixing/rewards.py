"""Rewards of HBO, measured in a training loop: docs/mixing_in_training.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from packsim._arguments import Problems
from packsim._lengths_array import LengthsLike, as_lengths
from packsim.torch.collator import PackCollator
from packsim.torch.dataset import MapStyleDataset, check_map_style
from packsim.torch.isolation import at_rest, device_of
from packsim.torch.mixing.probe_model import fingerprint, probed_model
from packsim.torch.mixing.probe_units import ProbeUnit, ProbeUnits
from packsim.torch.mixing.probes import MOST_TOKENS, Forward, ProbePasses, Prober, TokenLosses, probe_collator
from packsim.torch.mixing.shared_work import SharedWork, dealt
from packsim.torch.mixing.start_losses import StartLossCache, StartLosses, content_key

# What the samples are drawn for, so that no reward is measured with another one's samples.
_POOL = 0
_GRADIENT = 1
_MOST_PROBES = 1 << 20
_FORMAT = 1


class ProbedMixture(Protocol):
    """What rewards need of a mixture, such as packsim.Mixture.

    Attributes
    ----------
    names : sequence of str
        Of the subsets.
    n_groups : sequence of int
        Of each subset.
    """

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def n_groups(self) -> Sequence[int]: ...

    def probe_samples(self, subset: int, group: int, n: int, purpose: int) -> ArrayLike:
        """n indices of the data set, of samples in that group of that subset.

        A function of the mixture's seed, the updates before, and the arguments.
        """
        ...


class HboRewards:
    """Measures what HBO learns from: a gradient norm of each subset, and of each group what is left to learn.

    The reward of a subset is the L2 norm of the loss's gradient, before clipping. That of a group is the mean
    over its samples of the perplexity now beside that at the start. Nothing of training is touched: neither
    `.grad` nor the modes of modules nor random numbers, and DistributedDataParallel does not hear of it.

    All processes call `measure()` at the same place of the loop. Each measures its part, and one all-reduce
    of some kilobytes gives all of them the same rewards, to the last bit.

    Parameters
    ----------
    model : nn.Module
        As it is trained, perhaps inside DistributedDataParallel. Every process has all of its parameters.
    dataset
        Map-style; samples as PackCollator takes them.
    mixture : ProbedMixture
        Says which samples are measured.
    lengths_tokens : array_like of int
        Of all samples of the data set.
    capacity_tokens : int
        Of the rows in which samples are measured without gradients.
    over_long : {"own_row", "truncate"}
        What becomes of longer samples: a row of their own, or their first `capacity_tokens` are measured, as
        where training truncates them.
    gradient_samples, perplexity_samples : int
        Of each group, at each update.
    gradient_of : {"samples", "batch"}
        "samples": the mean of the gradient norms of single samples, as in HBO's released code. "batch": the
        norm of the gradient of the mean loss of all labels of the subset's samples, as in its paper.
    pool_samples : int
        Of each group, drawn once. Their perplexities are measured at the start, and each update takes its
        `perplexity_samples` from them. Samples without labels are left out.
    placement : {"spread", "repeated"}
        "spread": processes share the work. "repeated": each does all of it, as in HBO's released code.
    cache : path, optional
        A JSON file with the perplexities at the start, for the next run of the same model and data.
    collator : PackCollator, optional
        Of packed rows.
    loss : callable, optional
        `loss(logits, labels)`, of shapes (n_tokens, n_words) and (n_tokens,), gives the loss of each token,
        of which gradients are taken; by default cross-entropy. Perplexities are always of cross-entropy.
    forward : callable, optional
        `forward(model, batch)` gives logits, and waits for no other process; by default
        `model(**attention_inputs(batch, model))`.
    group : ProcessGroup, optional
        Of data-parallel processes, which all have the whole model; by default all.
    device : optional
        By default that of the model's parameters.

    Attributes
    ----------
    passes : ProbePasses
        What this process has measured so far.

    Raises
    ------
    ValueError
        For wrong arguments, all at once, a sharded model among them.
    """

    def __init__(
        self,
        model: nn.Module,
        dataset: MapStyleDataset,
        mixture: ProbedMixture,
        *,
        lengths_tokens: LengthsLike,
        capacity_tokens: int,
        gradient_samples: int = 8,
        perplexity_samples: int = 16,
        gradient_of: Literal["samples", "batch"] = "samples",
        pool_samples: int = 64,
        over_long: Literal["own_row", "truncate"] = "own_row",
        placement: Literal["spread", "repeated"] = "spread",
        cache: str | os.PathLike[str] | None = None,
        collator: PackCollator | None = None,
        loss: TokenLosses | None = None,
        forward: Forward | None = None,
        group: Any = None,
        device: torch.device | str | int | None = None,
    ) -> None:
        check_map_style(dataset)
        with Problems() as problems:
            self._model = probed_model(model, problems)
            self._capacity_tokens = problems.integer("capacity_tokens", capacity_tokens, 1, MOST_TOKENS)
            self._n_gradient = problems.integer("gradient_samples", gradient_samples, 1, _MOST_PROBES)
            self._n_perplexity = problems.integer("perplexity_samples", perplexity_samples, 1, _MOST_PROBES)
            self._n_pool = problems.integer("pool_samples", pool_samples, 1, _MOST_PROBES)
            self._gradient_of = problems.word("gradient_of", gradient_of, ("samples", "batch"))
            truncates = problems.word("over_long", over_long, ("own_row", "truncate")) == "truncate"
            is_spread = problems.word("placement", placement, ("spread", "repeated")) == "spread"
            parameters = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
            if isinstance(model, nn.Module) and not parameters:
                problems.add("model: expected a parameter that is trained, got none")
            probe = probe_collator(collator, self._capacity_tokens if truncates else 0, problems)
        self._lengths_tokens = as_lengths(lengths_tokens)
        if len(self._lengths_tokens) != len(dataset):
            expected = f"expected one for each of {len(dataset)} samples"
            raise ValueError(f"lengths_tokens: {expected}, got {len(self._lengths_tokens)}")
        if truncates:
            self._lengths_tokens = np.minimum(self._lengths_tokens, self._capacity_tokens)
        self._units = ProbeUnits(self._lengths_tokens, self._capacity_tokens)
        self._dataset = dataset
        self._mixture = mixture
        self._names = tuple(mixture.names)
        self._n_groups = tuple(int(n) for n in mixture.n_groups)
        self._work = SharedWork(group, is_spread)
        self._cache = StartLossCache(cache)
        self._start: StartLosses | None = None
        self.passes = ProbePasses()
        self._prober = Prober(
            self._model,
            dataset,
            self._lengths_tokens,
            collator=probe,
            device=device_of(self._model, device),
            forward=forward,
            loss=loss,
            parameters=parameters,
            passes=self.passes,
        )

    def begin(self) -> None:
        """Measure the perplexities at the start, unless they are known already.

        Call it before the first step; else the first `measure()` does it, with the model as it is then.
        """
        if self._start is not None:
            return
        with at_rest(self._model):
            pool = [self._samples(*arm, self._n_pool, _POOL) for arm in self._arms()]
            pool = [np.array(list(dict.fromkeys(samples.tolist())), dtype=np.int64) for samples in pool]
            samples = np.concatenate(pool)
            losses, has_loss = self._start_losses(samples)
        self._start = self._checked_start(pool, losses, has_loss)

    def measure(self, step: int) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Rewards of the subsets, and of the groups of each.

        Parameters
        ----------
        step : int
            Optimizer step, which says which samples of the pool are measured.

        Raises
        ------
        RuntimeError
            Where a reward is not finite, and where another process failed.
        ValueError
            Where none of a subset's samples has labels.
        """
        self.begin()
        assert self._start is not None
        of_groups = [self._start.of_update(*arm, self._n_perplexity, step) for arm in self._arms()]
        gradient_places, gradient_units = self._gradient_units()
        n_gradient = len(gradient_places)
        samples = np.array([sample for chosen, _ in of_groups for sample in chosen], dtype=np.int64)
        units = gradient_units + self._units.of_perplexities(samples, first_place=n_gradient)
        with at_rest(self._model):
            values, has_loss = self._measured(units, n_gradient + len(samples))
        subsets = self._subset_rewards(values[:n_gradient], has_loss[:n_gradient], gradient_places)
        start = np.array([loss for _, losses in of_groups for loss in losses])
        with np.errstate(over="ignore", invalid="ignore"):
            ratios = np.exp(values[n_gradient:] - start)
        ends = np.cumsum([len(chosen) for chosen, _ in of_groups])[:-1]
        means = iter([float(part.mean()) for part in np.split(ratios, ends)])
        groups = [np.array([next(means) for _ in range(n)]) for n in self._n_groups]
        self._check_finite(subsets, groups)
        return subsets, groups

    def state_dict(self) -> dict[str, Any]:
        """What JSON can write: the pool of each group with its losses at the start. The same on all ranks."""
        return {
            "format": _FORMAT,
            "names": list(self._names),
            "n_groups": list(self._n_groups),
            "start": None if self._start is None else self._start.to_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict()` was taken; the start stays what it was.

        Raises
        ------
        ValueError
            For the state of another mixture; then nothing has changed.
        """
        with Problems() as problems:
            expected = {"format": _FORMAT, "names": list(self._names), "n_groups": list(self._n_groups)}
            for key, value in expected.items():
                if state.get(key) != value:
                    problems.add(f"rewards: {key}: expected {value}, got {state.get(key)}")
        start = None
        if state.get("start") is not None:
            with Problems() as problems:
                start = StartLosses.from_dict(
                    state["start"], self._n_groups, len(self._dataset), "rewards: start", problems
                )
        self._start = start

    def _arms(self) -> Iterator[tuple[int, int]]:
        for subset, n_groups in enumerate(self._n_groups):
            for group in range(n_groups):
                yield subset, group

    def _samples(self, subset: int, group: int, n: int, purpose: int) -> NDArray[np.int64]:
        return np.asarray(self._mixture.probe_samples(subset, group, n, purpose), dtype=np.int64)

    def _name(self, subset: int, group: int) -> str:
        return f"subset {self._names[subset]!r}, group {group}"

    def _start_losses(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Returns the losses of the cache, else measures them."""
        if not self._cache:
            return self._measured(self._units.of_perplexities(samples), len(samples))
        key = ""
        reads = self._work.rank == 0
        n = len(samples)

        def read(values: NDArray[np.float64]) -> None:
            nonlocal key
            if not reads:
                return
            # A truncated sample has another perplexity.
            model_key = f"{fingerprint(self._model)}|{self._lengths_tokens[samples].tolist()}"
            key = content_key(model_key, self._dataset, samples.tolist())
            known = self._cache.read(key, n)
            if known is not None:
                values[0] = 1
                values[1 : 1 + n] = [loss or 0.0 for loss in known]
                values[1 + n :] = [loss is not None for loss in known]

        # One process reads it for all: they must agree on whether it is there.
        found = self._work.numbers(1 + 2 * n, read)
        if found[0]:
            return found[1 : 1 + n], found[1 + n :] > 0
        losses, has_loss = self._measured(self._units.of_perplexities(samples), n)

        def write(_values: NDArray[np.float64]) -> None:
            if reads:
                pairs = zip(losses.tolist(), has_loss.tolist(), strict=True)
                self._cache.write(key, [loss if has else None for loss, has in pairs])

        self._work.numbers(0, write)
        return losses, has_loss

    def _checked_start(
        self, pool: list[NDArray[np.int64]], losses: NDArray[np.float64], has_loss: NDArray[np.bool_]
    ) -> StartLosses:
        """Leaves out samples that have no labels. ValueError for groups that have no others."""
        with Problems() as problems:
            of_arms: list[tuple[tuple[int, ...], tuple[float, ...]]] = []
            begin = 0
            for arm, samples in zip(self._arms(), pool, strict=True):
                part = slice(begin, begin + len(samples))
                begin = part.stop
                kept = has_loss[part]
                if not kept.any():
                    expected = f"expected a sample with labels among {len(samples)}"
                    problems.add(f"{self._name(*arm)}: {expected}, got none")
                elif not np.isfinite(losses[part][kept]).all():
                    problems.add(f"{self._name(*arm)}: expected finite losses at the start, got others")
                of_arms.append((tuple(samples[kept].tolist()), tuple(losses[part][kept].tolist())))
        arms = iter(of_arms)
        rows = [[next(arms) for _ in range(n)] for n in self._n_groups]
        return StartLosses(
            samples=tuple(tuple(samples for samples, _ in row) for row in rows),
            losses=tuple(tuple(losses for _, losses in row) for row in rows),
        )

    def _gradient_units(self) -> tuple[NDArray[np.int64], list[ProbeUnit]]:
        """The subset of each number that is measured, and the units that measure them."""
        subset_of: list[int] = []
        units: list[ProbeUnit] = []
        for subset, n_groups in enumerate(self._n_groups):
            drawn = [self._samples(subset, group, self._n_gradient, _GRADIENT) for group in range(n_groups)]
            of_subset = self._units.of_gradients(
                np.concatenate(drawn), first_place=len(units), is_batch=self._gradient_of == "batch"
            )
            units += of_subset
            subset_of += [subset] * len(of_subset)
        return np.array(subset_of, dtype=np.int64), units

    def _measured(self, units: list[ProbeUnit], n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """[n] numbers, and which of them have labels behind them."""
        places = dealt([unit.cost for unit in units], self._work.size)[self._work.rank]

        def fill(numbers: NDArray[np.float64]) -> None:
            for unit in [units[place] for place in places]:
                numbers[unit.places], numbers[n + unit.places] = unit.measured(self._prober)

        numbers = self._work.numbers(2 * n, fill)
        return numbers[:n], numbers[n:] > 0

    def _subset_rewards(
        self, norms: NDArray[np.float64], has_loss: NDArray[np.bool_], subset_of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        n_subsets = len(self._n_groups)
        sums = np.bincount(subset_of[has_loss], norms[has_loss], minlength=n_subsets)
        counts = np.bincount(subset_of[has_loss], minlength=n_subsets)
        with Problems() as problems:
            for subset in np.flatnonzero(counts == 0):
                expected = "expected a sample with labels among those of its gradient"
                problems.add(f"subset {self._names[subset]!r}: {expected}, got none")
        return sums / counts

    def _check_finite(self, subsets: NDArray[np.float64], groups: list[NDArray[np.float64]]) -> None:
        wrong = [
            f"subset {self._names[subset]!r}: expected a finite gradient norm, got {subsets[subset]}"
            for subset in np.flatnonzero(~np.isfinite(subsets))
        ]
        for subset, group in self._arms():
            if not np.isfinite(groups[subset][group]):
                expected = "expected a finite perplexity beside that at the start"
                wrong.append(f"{self._name(subset, group)}: {expected}, got {groups[subset][group]}")
        if wrong:
            raise RuntimeError("\n".join(wrong))
