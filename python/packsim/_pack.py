"""pack(): the packing core for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packsim import _core
from packsim._arguments import Problems, array_of, described
from packsim._lengths_array import MOST_SAMPLES, LengthsLike, as_lengths
from packsim._options import DEFAULT_SEED, check_options, check_seed
from packsim._packing import Packing
from packsim._strategies import find_strategy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._option_types import Options

_OVER_LONG = ("error", "drop", "truncate", "split", "own_pack")
EMPTY = ("drop", "keep", "error")
MOST_GPUS = 1 << 20
_MOST_EXTRA = (1 << 31) - 1
MOST_TOKENS = 10**12


def pack(
    lengths_tokens: LengthsLike,
    *,
    strategy: str,
    capacity_tokens: int | Sequence[int],
    over_long: Literal["error", "drop", "truncate", "split", "own_pack"] = "error",
    empty: Literal["drop", "keep", "error"] = "drop",
    window_samples: int | None = None,
    seed: int = DEFAULT_SEED,
    n_gpus: int = 1,
    tokens_per_iteration: int = 0,
    sp_degree: int | Sequence[int] = 1,
    extra_sizes: LengthsLike | None = None,
    extra_capacity: int | None = None,
    group_of: ArrayLike | None = None,
    **options: Unpack[Options],
) -> Packing:
    """Pack samples by their lengths.

    The result is that of the command `packsim pack`: same lengths, arguments and seed, same packs, on any
    machine. Other Python threads run meanwhile.

    Parameters
    ----------
    lengths_tokens : array_like of int, shape (n_samples,)
        Tokens of each sample. A contiguous int32 array is used as it is: do not change it while the packing
        is in use. Other integer arrays, strided views and arrays of other byte order among them, and
        lists, tuples and ranges of int are copied. Floats are refused, whole ones too.
    strategy : str
        The name of one of `strategies()`.
    capacity_tokens : int or sequence of int
        Pack length; several, ascending, for hbp and strategies with several SP degrees.
    over_long : {"error", "drop", "truncate", "split", "own_pack"}
        What becomes of samples that are longer than the longest pack: refuse the data, leave the sample out,
        keep the first tokens, cut it into full pieces and a rest, or give it a pack of its own.
    empty : {"drop", "keep", "error"}
        What becomes of samples without tokens.
    window_samples : int, optional
        Pack every so many samples on their own; 0: all together. By default the strategy's own.
    seed : int
        Of the shuffle, for strategies that shuffle.
    n_gpus, tokens_per_iteration : int
        For strategies that form iterations: GPUs, and tokens that all of them train in an iteration.
    sp_degree : int or sequence of int
        For strategies that form iterations: GPUs that share a pack, one number or one for each capacity.
    extra_sizes : array_like of int, shape (n_samples,), optional
        A second size of each sample, such as its images, audio frames or vision tokens: no pack holds more
        than `extra_capacity` of them. For bfd, which needs the fewest packs, ffd, bfs and isf; samples are
        not cut beside it.
    extra_capacity : int, optional
        The second limit, of every pack.
    group_of : array_like of int, shape (n_samples,), optional
        Samples of one number share a pack, side by side and in order, such as the pairs of DPO and the groups
        of GRPO. A group longer than a pack is refused, or dropped whole under `over_long="drop"`. A window
        counts groups. Not for strategies that cut samples or form iterations.
    **options
        Exactly what the strategy reads: the `options` of its row.

    Returns
    -------
    Packing
        Packs as read-only arrays, without a copy, and what became of every sample.

    Raises
    ------
    ValueError
        For arguments that are wrong, all of them at once, then for lengths that are: which samples, what was
        expected, what they have.

    Examples
    --------
    >>> packing = packsim.pack([5, 3, 2, 7, 4], strategy="bfd", capacity_tokens=10)
    >>> packing
    <Packing by bfd: 5 samples in 3 packs of 10 tokens, fill 0.7000>
    >>> packing.groups[0].pack(0)
    array([3, 1], dtype=uint32)
    """
    row = find_strategy(strategy)
    if row.needs_prices:
        what = "strategy: expected one that needs no prices"
        raise ValueError(f"{what}, got {row.name}; packsim run packs with it, for the model of a scenario")
    problems = Problems()
    capacities = problems.integers("capacity_tokens", capacity_tokens, 1, _core.longest_capacity_tokens)
    degrees = problems.integers("sp_degree", sp_degree, 1, MOST_GPUS)
    if len(degrees) not in (1, len(capacities)):
        problems.add(
            f"sp_degree: expected one, or one for each of {len(capacities)} capacities, got {len(degrees)}"
        )
    window = row.default_window_samples
    if window_samples is not None:
        window = problems.integer("window_samples", window_samples, 0, 1 << 32)
    policy = problems.word("over_long", over_long, _OVER_LONG)
    empty_policy = problems.word("empty", empty, EMPTY)
    gpus = problems.integer("n_gpus", n_gpus, 1, MOST_GPUS)
    batch = problems.integer("tokens_per_iteration", tokens_per_iteration, 0, MOST_TOKENS)
    if not row.forms_iterations and (gpus, batch, set(degrees)) != (1, 0, {1}):
        setting = "n_gpus, tokens_per_iteration, sp_degree"
        problems.add(f"{setting}: expected none for {row.name}, which forms no iterations")
    if (extra_sizes is None) != (extra_capacity is None):
        problems.add("extra_sizes, extra_capacity: expected both or neither, got one")
    most_extra = 0
    if extra_capacity is not None:
        most_extra = problems.integer("extra_capacity", extra_capacity, 1, _MOST_EXTRA)
    checked_options = check_options(row, options, problems)
    checked_options["seed"] = check_seed(seed, problems)
    problems.raise_if_any()

    array = as_lengths(lengths_tokens)
    sizes = None if extra_sizes is None else as_lengths(extra_sizes, "extra_sizes")
    groups = None if group_of is None else _as_groups(group_of)
    for name, given in (("extra_sizes", sizes), ("group_of", groups)):
        if given is not None and len(given) != len(array):
            raise ValueError(f"{name}: expected one for each of {len(array)} samples, got {len(given)}")
    try:
        packed = _core.pack(
            array,
            strategy=row.name,
            capacities_tokens=capacities,
            over_long=policy,
            empty=empty_policy,
            window_samples=window,
            options=checked_options,
            n_gpus=gpus,
            tokens_per_iteration=batch,
            sp_degrees=degrees if len(degrees) == len(capacities) else degrees * len(capacities),
            extra_sizes=sizes,
            extra_capacity=most_extra,
            group_of=groups,
        )
    except ValueError as error:
        # The core has the plural.
        raise ValueError(str(error).replace("capacities_tokens", "capacity_tokens", 1)) from None
    return Packing._of_core(packed, array, row.name, tuple(capacities))


def _as_groups(group_of: ArrayLike) -> NDArray[np.int64]:
    array = array_of(group_of)
    if array.ndim != 1 or array.dtype.kind not in "iu" and len(array) > 0:
        what = "group_of: expected an array of integers of one dimension"
        raise ValueError(f"{what}, got {described(group_of)}")
    if len(array) > MOST_SAMPLES:
        raise ValueError(f"group_of: expected at most {MOST_SAMPLES} samples, got {len(array)}")
    return np.ascontiguousarray(array, dtype=np.int64)
