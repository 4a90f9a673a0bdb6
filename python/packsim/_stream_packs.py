"""What StreamPacker returns and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packsim._packing import SampleCounts


@dataclass(frozen=True)
class StreamCounts(SampleCounts):
    """The counts of a stream so far, beside those of `SampleCounts`.

    Attributes
    ----------
    packed_samples, packed_tokens, n_packs
        Of the packs returned.
    carried_samples, n_carries
        Samples that waited for a later window, and for how many windows, summed.
    most_carried_samples
        The most that waited at one time.
    longest_delay_samples, total_delay_samples
        The delay of a sample is how many the stream had after it when its pack was returned: the longest, and
        the sum over packed samples.
    """

    packed_samples: int
    packed_tokens: int
    n_packs: int
    carried_samples: int
    n_carries: int
    most_carried_samples: int
    longest_delay_samples: int
    total_delay_samples: int


class StreamPacks:
    """Complete packs: a sequence of arrays of positions in the stream.

    Attributes
    ----------
    offsets : ndarray of uint64, shape (n_packs + 1,)
        Pack p is `samples[offsets[p]:offsets[p + 1]]`. Read-only, like `samples`.
    samples : ndarray of uint64, shape (n_samples,)
        Where each sample was in the stream, counted from its beginning.
    """

    def __init__(self, offsets: NDArray[np.uint64], samples: NDArray[np.uint64]) -> None:
        self.offsets = offsets
        self.samples = samples

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.uint64]:
        n_packs = len(self)
        if not -n_packs <= index < n_packs:
            raise IndexError(f"pack: expected index in {-n_packs}..{n_packs - 1}, got {index}")
        index %= n_packs
        return self.samples[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def __iter__(self) -> Iterator[NDArray[np.uint64]]:
        bounds = self.offsets.tolist()
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            yield self.samples[begin:end]

    def __repr__(self) -> str:
        return f"<StreamPacks: {len(self.samples)} samples in {len(self)} packs>"
