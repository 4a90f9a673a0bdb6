"""How well windows of a stream are packed, beside the whole data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from packsim import _core
from packsim._arguments import Problems
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._options import DEFAULT_SEED
from packsim._pack import pack
from packsim._stream_packer import StreamPacker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._option_types import Options


@dataclass(frozen=True)
class WindowQuality:
    """What packing in windows of one size comes to.

    Attributes
    ----------
    window_samples
        0: the whole data.
    carries
        Whether badly filled packs wait for the next window.
    n_packs
        How many packs there are.
    fill_fraction
        Tokens over pack length.
    excess_packs_fraction
        Packs above the fewest that could hold the tokens, over these.
    carried_samples, n_carries
        Samples that waited for a later window, and for how many windows, summed.
    mean_delay_samples, longest_delay_samples
        How many samples the stream had after a sample when its pack was there.
    samples_per_s
        Speed of packing in this run.
    """

    window_samples: int
    carries: bool
    n_packs: int
    fill_fraction: float
    excess_packs_fraction: float
    carried_samples: int
    n_carries: int
    mean_delay_samples: float
    longest_delay_samples: int
    samples_per_s: float


def window_quality(
    lengths_tokens: LengthsLike,
    *,
    strategy: str,
    capacity_tokens: int,
    windows: Sequence[int] = (100, 1000, 10_000, 100_000, 0),
    over_long: Literal["error", "drop", "truncate"] = "error",
    carry_below_fraction: float = _core.carry_below_fraction,
    most_carries: int = _core.most_carries,
    seed: int = DEFAULT_SEED,
    **options: Unpack[Options],
) -> tuple[WindowQuality, ...]:
    """Pack the data as a stream in windows of several sizes, with and without carrying packs over.

    Parameters
    ----------
    lengths_tokens : array_like of int, shape (n_samples,)
        In the order of the stream. Files are often sorted in some way, which windows show: shuffle first.
    windows : sequence of int
        Window sizes in samples; 0 is the whole data.
    strategy, capacity_tokens, over_long, carry_below_fraction, most_carries, seed, **options
        As for `StreamPacker`.

    Returns
    -------
    tuple of WindowQuality
        Two for each window, without and with carrying; one for the whole data.
    """
    with Problems() as problems:
        sizes = problems.integers("windows", windows, 0, 2**32 - 1)
    lengths = as_lengths(lengths_tokens)
    arguments: dict[str, Any] = {
        "strategy": strategy,
        "capacity_tokens": capacity_tokens,
        "over_long": over_long,
        "seed": seed,
        **options,
    }

    def packer(window_samples: int, fraction: float) -> StreamPacker:
        return StreamPacker(
            window_samples=window_samples,
            carry_below_fraction=fraction,
            most_carries=most_carries,
            **arguments,
        )

    packer(1, carry_below_fraction)  # refuses what pack() would not
    rows: list[WindowQuality] = []
    for window_samples in sizes:
        if window_samples > 0:
            rows.append(_of_stream(packer(window_samples, 0.0), lengths, carries=False))
            rows.append(_of_stream(packer(window_samples, carry_below_fraction), lengths, carries=True))
            continue
        begin_s = time.perf_counter()
        packing = pack(lengths, window_samples=0, **arguments)
        took_s = time.perf_counter() - begin_s
        counts = packing.counts
        packed_tokens = counts.n_tokens - counts.dropped_tokens - counts.truncated_tokens
        # The last sample is there before anything is packed.
        delays = counts.n_samples - 1 - packing.groups[0].samples.astype(np.float64)
        rows.append(
            WindowQuality(
                window_samples=0,
                carries=False,
                n_packs=packing.n_packs,
                fill_fraction=_fill(packed_tokens, packing.n_packs, capacity_tokens),
                excess_packs_fraction=_excess(packed_tokens, packing.n_packs, capacity_tokens),
                carried_samples=0,
                n_carries=0,
                mean_delay_samples=float(delays.mean()) if len(delays) else 0.0,
                longest_delay_samples=int(delays.max()) if len(delays) else 0,
                samples_per_s=len(lengths) / took_s,
            )
        )
    return tuple(rows)


def _of_stream(packer: StreamPacker, lengths: NDArray[np.int32], *, carries: bool) -> WindowQuality:
    begin_s = time.perf_counter()
    packer.push(lengths)
    packer.finish()
    took_s = time.perf_counter() - begin_s
    counts = packer.counts
    capacity_tokens = packer.setting.capacity_tokens
    return WindowQuality(
        window_samples=packer.setting.window_samples,
        carries=carries,
        n_packs=counts.n_packs,
        fill_fraction=_fill(counts.packed_tokens, counts.n_packs, capacity_tokens),
        excess_packs_fraction=_excess(counts.packed_tokens, counts.n_packs, capacity_tokens),
        carried_samples=counts.carried_samples,
        n_carries=counts.n_carries,
        mean_delay_samples=counts.total_delay_samples / max(counts.packed_samples, 1),
        longest_delay_samples=counts.longest_delay_samples,
        samples_per_s=len(lengths) / took_s,
    )


def _fill(tokens: int, n_packs: int, capacity_tokens: int) -> float:
    return tokens / (n_packs * capacity_tokens) if n_packs else float("nan")


def _excess(tokens: int, n_packs: int, capacity_tokens: int) -> float:
    fewest = -(-tokens // capacity_tokens)
    return n_packs / fewest - 1 if fewest else float("nan")
