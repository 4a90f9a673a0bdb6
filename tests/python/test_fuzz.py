"""Any array, any object, any option: a packing that holds what it promises, or ValueError. Never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import arguments_of, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import packsim
from packsim import _core

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)

SHAPES = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=12)
DTYPES = npst.scalar_dtypes() | npst.array_dtypes(max_size=2) | st.just(np.dtype(object))


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Any dtype, byte order and shape; often a view: strided, backwards, transposed, cut."""
    array = draw(npst.arrays(draw(DTYPES), draw(SHAPES)))
    if array.ndim and draw(st.booleans()):
        array = array[:: draw(st.sampled_from([1, 2, 3, -1, -2]))]
    if draw(st.booleans()):
        array = array.T
    if draw(st.booleans()):
        array = array[draw(npst.basic_indices(array.shape, allow_ellipsis=True))]
    return array


INTEGERS = st.integers(-3, 40) | st.integers(-(2**70), 2**70)
OBJECTS = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=8) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


def check(lengths: Any, **arguments: Any) -> packsim.Packing | None:
    try:
        packing = packsim.pack(lengths, **arguments)
    except ValueError as refused:
        assert str(refused)
        return None
    counts = packing.counts
    tokens = sum(int(group.pack_tokens().sum()) for group in packing.groups)
    assert tokens == counts.n_tokens - counts.dropped_tokens - counts.truncated_tokens
    for group in packing.groups:
        assert group.offsets[0] == 0 and group.offsets[-1] == len(group.samples)
        assert (np.diff(group.offsets.astype(np.int64)) > 0).all()
        assert (group.samples < counts.n_samples).all()
    repr(packing)
    return packing


@SETTINGS
@given(arrays(), st.sampled_from(rows()), st.sampled_from(["error", "drop", "truncate", "split", "own_pack"]))
def test_any_array(lengths: Any, row: packsim.Strategy, over_long: Any) -> None:
    packing = check(lengths, over_long=over_long, **arguments_of(row))
    if packing is not None:
        array = np.asarray(lengths)  # of a memoryview, too
        assert array.dtype.kind in "iu" and array.ndim == 1
        assert packing.counts.n_tokens == sum(int(length) for length in array)


@SETTINGS
@given(OBJECTS, st.sampled_from(rows()))
def test_any_object(lengths: Any, row: packsim.Strategy) -> None:
    packing = check(lengths, over_long="split", **arguments_of(row))
    if packing is not None:
        assert all(type(length) is int for length in lengths)


@SETTINGS
@given(
    st.lists(st.integers(0, 5000), max_size=60),
    st.sampled_from(rows()),
    st.dictionaries(
        st.sampled_from([row["name"] for row in _core.options()] + ["spam"]), OBJECTS, max_size=3
    ),
    st.dictionaries(
        st.sampled_from(
            ["capacity_tokens", "over_long", "empty", "window_samples", "seed", "n_gpus", "sp_degree"]
        ),
        OBJECTS,
        max_size=2,
    ),
)
def test_any_argument(
    lengths: list[int], row: packsim.Strategy, options: dict[str, Any], arguments: dict[str, Any]
) -> None:
    check(lengths, **{"over_long": "drop", **arguments_of(row), **options, **arguments})


@SETTINGS
@given(st.data(), st.lists(st.integers(0, 300), max_size=60), st.sampled_from(rows()))
def test_options_in_their_range(data: st.DataObject, lengths: list[int], row: packsim.Strategy) -> None:
    table = {option["name"]: option for option in _core.options()}
    options: dict[str, Any] = {}
    for name in data.draw(st.sets(st.sampled_from(row.options))) if row.options else ():
        option = table[name]
        if option["kind"] == "integer":
            low, high = option["low"], option["high"]
            # The ends of the range, but no more rounds than a test has time for.
            most = min(high, 2000) if name == "rounds" else high
            options[name] = data.draw(st.integers(low, min(low + 20, most)) | st.just(most))
        elif option["kind"] == "boolean":
            options[name] = data.draw(st.booleans())
        else:
            options[name] = data.draw(st.sampled_from(option["words"]))
    check(lengths, **{"over_long": "drop", **arguments_of(row), **options})
