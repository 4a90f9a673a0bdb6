"""Losses under weights: no other mean than theirs."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from packsim.torch import weighted_loss, weighted_token_loss  # noqa: E402


def drawn() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 6, 11, generator=generator)
    labels = torch.randint(0, 11, (2, 6), generator=generator)
    labels[:, 0] = labels[1, 4:] = -100
    weights = torch.rand(2, 6, generator=generator) * (labels != -100)
    return logits, labels, weights


def test_it_is_the_sum_of_weights_times_losses() -> None:
    logits, labels, weights = drawn()
    expected = 0.0
    for row in range(2):
        for token in range(1, 6):
            if labels[row, token] != -100:
                # The logits of a token say what comes next.
                log_likelihood = logits[row, token - 1].log_softmax(-1)[labels[row, token]]
                expected -= float(weights[row, token] * log_likelihood)
    assert float(weighted_loss(logits, labels, weights)) == pytest.approx(expected, rel=1e-6)
    assert float(weighted_loss(logits, labels, weights, averaged_over=4)) == pytest.approx(4 * expected)
    shifted = logits, labels.roll(-1, 1), weights.roll(-1, 1)
    assert float(weighted_loss(*shifted, is_shifted=True)) == pytest.approx(expected, rel=1e-6)


def test_losses_of_a_kernel_are_weighed_the_same() -> None:
    logits, labels, weights = drawn()
    losses = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="none"
    )
    weighed = weighted_token_loss(losses, weights[:, 1:].flatten(), averaged_over=3)
    assert torch.equal(weighed, weighted_loss(logits, labels, weights, averaged_over=3))
    # What is ignored may be anything.
    losses[weights[:, 1:].flatten() == 0] = float("nan")
    assert torch.equal(weighted_token_loss(losses, weights[:, 1:].flatten(), averaged_over=3), weighed)
    with pytest.raises(ValueError, match=r"loss_weights: expected shape \(10,\), .* got \(2, 5\)"):
        weighted_token_loss(losses, weights[:, 1:])


def test_it_adds_up_in_float32_at_least() -> None:
    logits, labels, weights = drawn()
    half = weighted_loss(logits.bfloat16(), labels, weights)
    assert half.dtype == torch.float32
    assert float(half) == pytest.approx(float(weighted_loss(logits, labels, weights)), rel=1e-2)
    assert weighted_loss(logits.double(), labels, weights).dtype == torch.float64
    # 2^13 losses of 1 with a weight of 2^-13: in bfloat16 the sum would stop at 2^8 of them.
    losses = torch.ones(1 << 13, dtype=torch.bfloat16)
    assert float(weighted_token_loss(losses, torch.full((1 << 13,), 2.0**-13))) == 1.0


def test_padding_alone_has_a_loss_of_zero_and_gradients_of_zero() -> None:
    logits = torch.randn(1, 1, 5, requires_grad=True)
    loss = weighted_loss(logits, torch.tensor([[-100]]), torch.zeros(1, 1))
    loss.backward()
    assert float(loss) == 0
    assert logits.grad is not None and not logits.grad.any()
