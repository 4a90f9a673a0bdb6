"""The samples of each group whose perplexity is followed, and what it was at the start."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from packsim._arguments import Problems, described
from packsim._whole_file import write_whole
from packsim.torch.collator import _ids_and_labels
from packsim.torch.dataset import MapStyleDataset

_FORMAT = 1


@dataclass(frozen=True)
class StartLosses:
    """A fixed pool of samples of each group, with their mean losses at the start.

    Attributes
    ----------
    samples : tuple of tuple of tuple of int, [n_subsets][n_groups][...]
        Indices of the data set, each once.
    losses : of float, in the same shape
        Mean loss of each sample's labels: the logarithm of its perplexity.
    """

    samples: tuple[tuple[tuple[int, ...], ...], ...]
    losses: tuple[tuple[tuple[float, ...], ...], ...]

    def of_update(self, subset: int, group: int, n: int, step: int) -> tuple[list[int], list[float]]:
        """n samples of the group's pool and their losses, or all where it has less; others for each step."""
        # A hash orders them, so that neither the place in a training run nor a library's generator matters.
        keys = [_draw_key(step, subset, group, sample) for sample in self.samples[subset][group]]
        places = sorted(range(len(keys)), key=keys.__getitem__)[:n]
        samples, losses = self.samples[subset][group], self.losses[subset][group]
        return [samples[place] for place in places], [losses[place] for place in places]

    def to_dict(self) -> dict[str, Any]:
        """What JSON can write."""
        return {
            "samples": [[list(group) for group in subset] for subset in self.samples],
            "losses": [[list(group) for group in subset] for subset in self.losses],
        }

    @classmethod
    def from_dict(
        cls, state: object, n_groups: Sequence[int], n_samples: int, where: str, problems: Problems
    ) -> StartLosses | None:
        """None with problems added where it is not of so many groups and samples."""
        if not isinstance(state, Mapping):
            problems.add(f"{where}: expected a mapping with samples and losses, got {described(state)}")
            return None
        samples, losses = state.get("samples"), state.get("losses")
        shapes = [_shape(samples), _shape(losses)]
        if shapes[0] != shapes[1] or shapes[0] is None or [len(row) for row in shapes[0]] != list(n_groups):
            expected = f"samples and losses of {list(n_groups)} groups in each subset"
            problems.add(f"{where}: expected {expected}, got others")
            return None
        assert samples is not None and losses is not None
        indices = [index for subset in samples for group in subset for index in group]
        numbers = [number for subset in losses for group in subset for number in group]
        wrong = [index for index in indices if not (type(index) is int and 0 <= index < n_samples)]
        wrong += [number for number in numbers if not (type(number) is float and math.isfinite(number))]
        if wrong:
            expected = f"samples in 0..{n_samples - 1} and finite losses"
            problems.add(f"{where}: expected {expected}, got {described(wrong[0])}")
            return None
        return cls(_tuples(samples), _tuples(losses))


class StartLossCache:
    """A JSON file that keeps start losses from run to run, of one model and pool at a time.

    path: None: nothing is kept.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)

    def __bool__(self) -> bool:
        return self._path is not None

    def read(self, key: str, n_samples: int) -> list[float | None] | None:
        """A loss of each sample, None for one without labels; None where the file has those of another key.

        ValueError for a file that is no such cache, which is left as it is.
        """
        assert self._path is not None
        if not self._path.exists():
            return None
        try:
            found = json.loads(self._path.read_bytes())
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != _FORMAT or "key" not in found:
            raise ValueError(f"{self._path}: expected a cache of start perplexities, got another file")
        losses = found.get("losses")
        if found["key"] != key or not isinstance(losses, list) or len(losses) != n_samples:
            return None
        return losses

    def write(self, key: str, losses: Sequence[float | None]) -> None:
        """Replaces the file as a whole."""
        assert self._path is not None
        content = {"format": _FORMAT, "key": key, "losses": list(losses)}
        write_whole(self._path, json.dumps(content).encode())


def content_key(model_key: str, dataset: MapStyleDataset, samples: Sequence[int]) -> str:
    """A hash of a model's fingerprint, and of the indices, token ids and labels of these samples."""
    digest = hashlib.blake2b(model_key.encode(), digest_size=16)
    for sample in samples:
        digest.update(f"|{sample}".encode())
        digest.update(sample_bytes(dataset[sample]))
    return digest.hexdigest()


def sample_bytes(sample: Any) -> bytes:
    """Token ids and labels of a sample, for a hash."""
    ids, labels = _ids_and_labels(sample)
    parts = [np.asarray(ids, dtype="<i8").tobytes()]
    if labels is not None:
        parts.append(np.asarray(labels, dtype="<i8").tobytes())
    return b"".join(f"{len(part)}:".encode() + part for part in parts)


def _draw_key(step: int, subset: int, group: int, sample: int) -> bytes:
    return hashlib.blake2b(f"{step}:{subset}:{group}:{sample}".encode(), digest_size=8).digest()


def _shape(nested: object) -> list[list[int]] | None:
    """Lengths of the lists in lists; None for what is none."""
    try:
        return [[len(group) for group in subset] for subset in nested]  # type: ignore[attr-defined]
    except TypeError:
        return None


def _tuples(nested: Any) -> Any:
    return tuple(tuple(tuple(group) for group in subset) for subset in nested)
