"""Loss tokens of cut samples, against a count of every token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import rows
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import packsim
from packsim import LossSpans

masks_of_samples = st.lists(st.lists(st.booleans(), max_size=40), min_size=1, max_size=12)
cutting = [row for row in rows() if not row.forms_iterations and not row.several_capacities]


def spans_of(masks: list[list[bool]]) -> LossSpans:
    return LossSpans.of_labels([[7 if flag else -100 for flag in mask] for mask in masks])


def tokens_of(spans: LossSpans) -> list[list[int]]:
    """The tokens in the spans of each sample."""
    bounds = list(zip(spans.begins.tolist(), spans.ends.tolist(), strict=True))
    of_samples = zip(spans.offsets[:-1].tolist(), spans.offsets[1:].tolist(), strict=True)
    return [[t for begin, end in bounds[low:high] for t in range(begin, end)] for low, high in of_samples]


@given(masks=masks_of_samples)
def test_spans_hold_the_tokens_with_loss(masks: list[list[bool]]) -> None:
    spans = spans_of(masks)
    assert tokens_of(spans) == [[t for t, flag in enumerate(mask) if flag] for mask in masks]
    assert spans.counts().tolist() == [sum(mask[1:]) for mask in masks]
    # Neighbouring tokens are one span.
    assert all(
        end < begin
        for low, high in zip(spans.offsets[:-1].tolist(), spans.offsets[1:].tolist(), strict=True)
        for end, begin in zip(spans.ends[low : max(high - 1, low)], spans.begins[low + 1 : high], strict=True)
    )
    spans.check(np.array([len(mask) for mask in masks], dtype=np.int32))


@given(masks=masks_of_samples, data=st.data())
def test_spans_follow_their_samples(masks: list[list[bool]], data: Any) -> None:
    order = np.array(data.draw(st.permutations(range(len(masks)))))
    cut = data.draw(st.integers(0, len(masks)))
    spans = spans_of(masks)
    assert tokens_of(spans.take(order)) == tokens_of(spans_of([masks[sample] for sample in order]))
    assert tokens_of(spans.take(slice(cut, None))) == tokens_of(spans)[cut:]
    joined = LossSpans.joined([spans.take(slice(0, cut)), spans.take(slice(cut, None))])
    assert tokens_of(joined) == tokens_of(spans)
    assert joined.content_hash() == spans.content_hash()


@given(masks=masks_of_samples, over_long=st.sampled_from(["split", "truncate"]), row=st.sampled_from(cutting))
def test_pieces_have_the_loss_tokens_of_their_part(
    masks: list[list[bool]], over_long: Any, row: packsim.Strategy
) -> None:
    lengths = np.array([len(mask) for mask in masks], dtype=np.int32)
    if not lengths.any():
        return
    packing = packsim.pack(lengths, strategy=row.name, capacity_tokens=12, over_long=over_long)
    plan = packsim.make_plan(packing, loss_tokens=spans_of(masks), last_iteration="shorten")
    n_pieces = 0
    for micro_batch in (one for iteration in plan for one in iteration):
        arrays = (
            micro_batch.samples,
            micro_batch.starts_tokens,
            micro_batch.tokens,
            micro_batch.loss_tokens,
        )
        for sample, start, n_tokens, n_loss_tokens in zip(*(a.tolist() for a in arrays), strict=True):
            # The first token of a piece has nothing in front of it that predicts it.
            assert n_loss_tokens == sum(masks[sample][start + 1 : start + n_tokens])
            n_pieces += 1
    assert n_pieces == sum(len(group.samples) for group in packing.groups)


def test_numbers_and_spans_of_whole_samples_weigh_the_same() -> None:
    masks = [[False, True, True], [True] * 5, [False] * 4]
    packing = packsim.pack([3, 5, 4], strategy="bfd", capacity_tokens=8)
    of_spans = packsim.make_plan(packing, loss_tokens=spans_of(masks))
    of_numbers = packsim.make_plan(packing, loss_tokens=[2, 4, 0])
    assert of_spans.content_hash == of_numbers.content_hash


def array(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("spans", "mistake"),
    [
        ((array(0, 1), array(0), array(2)), "loss_tokens: expected 2 samples, got 1"),
        ((array(0, 1, 1), array(0), array(2, 3)), "expected as many ends as begins, 1, got 2"),
        ((array(1, 1, 1), array(0), array(2)), "expected the first offset to be 0, got 1"),
        ((array(0, 2, 1), array(0), array(2)), "expected offsets that do not fall, at least 2, got 1"),
        ((array(0, 1, 3), array(0), array(2)), "expected the last offset to be 1, got 3"),
        ((array(0, 0, 1), array(0), array(6)), r"sample 1: expected a span .* in 0..5, got 0..6"),
        ((array(0, 2, 2), array(0, 1), array(2, 3)), r"sample 0: expected a span .* in 2..20, got 1..3"),
        ((array(0, 1, 1), array(4), array(4)), r"sample 0: expected a span .* in 0..20, got 4..4"),
    ],
)
def test_false_spans_are_refused(spans: tuple[NDArray[Any], ...], mistake: str) -> None:
    packing = packsim.pack([20, 5], strategy="bfd", capacity_tokens=8, over_long="split")
    with pytest.raises(ValueError, match=mistake):
        packsim.make_plan(packing, loss_tokens=LossSpans(*spans))


def test_arrays_of_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="offsets: expected one dimension of integers, got shape"):
        LossSpans(np.zeros((2, 2)), array(0), array(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="begins: expected lengths in 0..2147483647, got 1"):
        LossSpans(array(0, 1), array(-1), array(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has_loss: expected 3 flags, got 2"):
        LossSpans.of_mask(np.zeros(2, dtype=bool), np.array([1, 2]))


def test_numbers_say_too_little_of_cut_samples() -> None:
    packing = packsim.pack([20, 5], strategy="bfd", capacity_tokens=8, over_long="split")
    with pytest.raises(ValueError, match="loss_tokens: expected LossSpans for a packing that cuts samples"):
        packsim.make_plan(packing, loss_tokens=[3, 4])
