"""Which subset and group each sample is in, as the core takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packsim import _core
from packsim._arguments import Problems, described, is_text
from packsim._lengths_array import MOST_SAMPLES, as_lengths, as_numbers

_NO_NUMBERS: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)


def subset_numbers(
    subset_of: object, names: Sequence[str] | None, problems: Problems
) -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    """The subset of each sample, from 0, and the names of the subsets."""
    given_names = None if names is None else _checked_names(names, problems)
    texts = _texts_of(subset_of)
    if texts is None:
        numbers = integers_from_0("subset_of", subset_of, problems)
        n_subsets = int(numbers.max()) + 1 if len(numbers) else 0
        # Where there are more numbers than samples, the core says so; names would take memory before.
        n_subsets = min(n_subsets, len(numbers))
        if given_names is None:
            return numbers, tuple(str(subset) for subset in range(n_subsets))
        if len(numbers) and len(given_names) != n_subsets:
            problems.add(f"names: expected {n_subsets}, one for each subset, got {len(given_names)}")
        return numbers, given_names
    order = {name: i for i, name in enumerate(given_names or ())}
    for name in texts if given_names is None else ():
        order.setdefault(name, len(order))
    used = set(texts)
    unknown = sorted(used - order.keys())
    if unknown:
        problems.add(f"subset_of: expected names of `names`, got {', '.join(map(repr, unknown[:10]))}")
        return _NO_NUMBERS, tuple(order)
    if missing := [name for name in order if name not in used]:
        problems.add(f"names: expected subsets that have samples, got {', '.join(map(repr, missing[:10]))}")
    return np.array([order[name] for name in texts], dtype=np.uint32), tuple(order)


def integers_from_0(name: str, values: Any, problems: Problems) -> NDArray[np.uint32]:
    """Numbers of subsets or groups; none after a mistake."""
    try:
        numbers = as_lengths(values, name)
    except ValueError as error:
        problems.add(str(error).replace("expected lengths in", "expected integers in"))
        return _NO_NUMBERS
    if len(numbers) and numbers.min() < 0:
        sample = int(np.flatnonzero(numbers < 0)[0])
        problems.add(f"{name}: expected integers from 0, got {numbers[sample]} at sample {sample}")
        return _NO_NUMBERS
    return np.ascontiguousarray(numbers).astype(np.uint32)


def _texts_of(values: object) -> list[str] | None:
    """The names, where there are names."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "UO" and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, (list, tuple)) and values and all(map(is_text, values)):
        return list(values)
    return None


def _checked_names(names: object, problems: Problems) -> tuple[str, ...]:
    texts = _texts_of(names)
    if texts is None or len(set(texts)) != len(texts):
        problems.add(f"names: expected different texts, one for each subset, got {described(names)}")
        return ()
    return tuple(texts)


def quantile_groups(scores: ArrayLike, n_groups: int) -> NDArray[np.uint32]:
    """Groups of nearly equal size by ascending score, such as levels of difficulty.

    The first group has the smallest scores; equal ones are in the order of the samples. Where the samples
    cannot be divided evenly, the first groups have one more each, so that none is left out.

    Parameters
    ----------
    scores : array_like of float, shape (n_samples,)
        Finite.
    n_groups : int
        At most as many as samples.

    Returns
    -------
    ndarray of uint32, shape (n_samples,)
        The group of each sample, from 0. Read-only.

    Examples
    --------
    >>> packsim.quantile_groups([0.3, 0.1, 0.9, 0.5, 0.2], 2).tolist()
    [0, 0, 1, 1, 0]
    """
    with Problems() as problems:
        n = problems.integer("n_groups", n_groups, 1, MOST_SAMPLES)
        array = as_numbers("scores", scores, problems)
    return _core.quantile_groups(array, n)
